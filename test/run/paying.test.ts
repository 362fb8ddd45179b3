import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Schema } from "effect"
import { Failure } from "espalier"
import { Budget, Effects, Office, Review, Router, Run, type Result, type Worker } from "espalier/run"

import { elapse, history, memory, task, worker } from "./desks.ts"
import { begin, deskOf, of, options, pass, resume } from "./living.ts"
import { Bank, decide, desk, killed, pays, tagged } from "./outside.ts"

const plus = (one: Result.Usage, other: Result.Usage): Result.Usage => ({
  tokens: (one.tokens ?? 0) + (other.tokens ?? 0)
})

/** A turn that is asked for once: it is paid for, and its answer is recorded. */
const turn = (order: Worker.Order<unknown>, number: number, receipts: Array<number>, tokens = 10) =>
  Effects.perform({
    name: "model",
    args: { turn: number },
    per: "dispatch",
    idempotent: true,
    run: () =>
      order.spend({ tokens: 100 }, (record) =>
        Effect.gen(function* () {
          receipts.push(tokens)
          yield* record({ what: "model", usage: { tokens }, facts: { model: "m", number } })
          return `answer ${number}`
        })
      )
  })

const agent = (receipts: Array<number>, turns = 3) =>
  desk((order) =>
    Effect.as(
      Effect.forEach([...Array(turns).keys()], (number) => turn(order, number, receipts)),
      "done"
    )
  )

const sum = (receipts: ReadonlyArray<number>) => receipts.reduce((all, each) => all + each, 0)

/** What the events of a run say that was paid for. */
const paid = Effect.map(history("r1"), (events) =>
  of(events, "Spent").reduce<Result.Usage>((all, { usage }) => plus(all, usage), {})
)

describe("What is paid for call by call", () => {
  it.effect("R-406 is an event each, and the whole is in the result, the task and the run once", () => {
    const receipts: Array<number> = []
    return Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(agent(receipts), options), "1 minute")
      assert.deepStrictEqual(
        of(yield* history("r1"), "Spent").map(({ dispatch, facts, usage, what, worker }) => [
          dispatch,
          worker,
          what,
          usage,
          facts?.["number"]
        ]),
        [0, 1, 2].map((number) => ["r1/a/1", "d.one", "model", { tokens: 10 }, number])
      )
      assert.deepStrictEqual(outcome.usage, { tokens: 30 })
      const [reported] = of(yield* history("r1"), "Reported")
      assert.deepStrictEqual(reported?.result.usage, { tokens: 30 })
    }).pipe(memory)
  })

  const loop: Record<string, unknown> = {}
  loop["loop"] = loop
  const unfit: ReadonlyArray<readonly [string, unknown]> = [
    ["a list", [1]],
    ["a text", "model m"],
    ["nothing", null],
    ["a circle", loop],
    [
      "a getter that throws",
      {
        get model(): string {
          throw new Error("no")
        }
      }
    ],
    ["more than there is room for", { text: "x".repeat(9000) }]
  ]
  it.effect.each(unfit)("R-406 counts, and the journal can be read, where the facts are %s", ([, facts]) => {
    const spends = desk((order) =>
      order.spend({ tokens: 10 }, (record) =>
        Effect.as(record({ what: "model", usage: { tokens: 9 }, facts: facts as {} }), "done")
      )
    )
    return Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(spends, options), "1 minute")
      const [spent] = of(yield* history("r1"), "Spent")
      assert.deepStrictEqual([spent?.usage, spent?.facts], [{ tokens: 9 }, undefined])
      assert.include(spent?.note, "what is known of it cannot be recorded")
      assert.deepStrictEqual(outcome.usage, { tokens: 9 })
    }).pipe(memory)
  })

  const cuts = (["Spent", "EffectSettled", "Reported"] as const).flatMap((tag) =>
    (["before", "after"] as const).map((moment) => [tag, moment] as const)
  )
  it.effect.each(cuts)("R-406 D34 is exact after a process that died at %s, %s", ([tag, moment]) => {
    const receipts: Array<number> = []
    return Effect.gen(function* () {
      yield* elapse(killed(Run.start(agent(receipts), options), tagged(tag), moment), "1 minute")
      const lost = tag !== "Reported" && moment === "before" ? 10 : 0
      const outcome = yield* elapse(resume(agent(receipts)), "1 minute")
      assert.strictEqual(outcome.status, "completed")
      // Only the call whose answer the journal never heard of, and which was made again, is not in it.
      assert.deepStrictEqual(outcome.usage, { tokens: sum(receipts) - lost })
      assert.deepStrictEqual(yield* paid, outcome.usage)
      assert.deepStrictEqual((yield* Run.state("r1")).ledger.accounts.get("run")?.settled, outcome.usage)
    }).pipe(memory)
  })

  it.effect("R-406 D35 is charged when its order is called back in the middle of a call", () => {
    const built = desk((order) =>
      order.spend({ tokens: 100 }, (record) =>
        Effect.onInterrupt(Effect.never, () => record({ what: "model", usage: { tokens: 7 } }))
      )
    )
    return Effect.scoped(
      Effect.gen(function* () {
        const office = yield* Office.open(built, { log: false })
        const run = yield* begin(Run.startIn(office, { id: "r1", input: "go" }))
        yield* pass("1 second")
        yield* Run.cancel("r1", { by: "ann", note: "enough", office } as never)
        yield* pass("1 minute")
        const outcome = yield* run.join
        assert.deepStrictEqual([outcome.status, outcome.usage], ["cancelled", { tokens: 7 }])
        const { ledger } = yield* Run.state("r1")
        assert.strictEqual(ledger.reservations.size, 0)
      })
    ).pipe(memory)
  })

  it.effect("R-406 is charged once when the run is put down and taken up again", () => {
    const receipts: Array<number> = []
    const built = desk((order) =>
      Effect.gen(function* () {
        yield* turn(order, 0, receipts)
        // What was not paid for one by one is counted beside it.
        yield* order.allowance.call({ tokens: 50 }, Effect.void, () => ({ tokens: 5 }))
        if (receipts.length === 1) return yield* Effect.never
        return yield* turn(order, 1, receipts)
      })
    )
    return Effect.gen(function* () {
      const run = yield* begin(Run.start(built, options))
      yield* pass("1 second")
      yield* run.interrupt
      assert.deepStrictEqual((yield* Run.outcome("r1")).usage, { tokens: 15 })
      receipts.push(0)
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.status, outcome.usage], ["completed", { tokens: 30 }])
      const [reported] = of(yield* history("r1"), "Reported")
      assert.deepStrictEqual(reported?.result.usage, { tokens: 25 })
    }).pipe(memory)
  })

  it.effect("R-406 is charged once when its order waits for people", () => {
    const receipts: Array<number> = []
    const built = desk((order) =>
      Effect.gen(function* () {
        yield* turn(order, 0, receipts)
        yield* Review.ask({ name: "go", question: "May it go on?", schema: Schema.String })
        return yield* turn(order, 1, receipts)
      })
    )
    return Effect.gen(function* () {
      yield* elapse(Run.start(built, options), "1 minute")
      const [open] = [...(yield* Run.state("r1")).tasks.values()]
      assert.deepStrictEqual(open?.parked?.spent, { tokens: 10 })
      assert.deepStrictEqual((yield* Run.outcome("r1")).usage, { tokens: 10 })
      yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: "yes", by: "ann" })
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.status, outcome.usage, receipts.length], ["completed", { tokens: 20 }, 2])
    }).pipe(memory)
  })

  it.effect("R-210 D32 takes from what was set aside, so that others are not refused for it twice", () => {
    const left: Array<number | undefined> = []
    const built = desk(
      (order) =>
        Effect.gen(function* () {
          for (const number of [0, 1]) {
            yield* order.spend({ tokens: 40 }, (record) => record({ what: "model", usage: { tokens: 40 } }))
            left.push((yield* order.allowance.left).tokens)
            const { ledger } = yield* Run.state("r1")
            left.push(ledger.reservations.get(order.dispatch)?.amount.tokens, number)
          }
          return yield* Effect.flip(order.spend({ tokens: 40 }, () => Effect.void))
        }).pipe(Effect.map((refused) => (refused instanceof Budget.BudgetExceeded ? "refused" : "taken"))),
      ["a"],
      { estimate: { tokens: 100 } }
    )
    return Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(built, { ...options, limits: { tokens: 120 } } as never), "1 minute")
      assert.deepStrictEqual(outcome.results["a"]?.output, "refused")
      assert.deepStrictEqual([left[0], left[3]], [60, 20])
      assert.deepStrictEqual((yield* Run.state("r1")).ledger.accounts.get("run")?.settled, { tokens: 80 })
    }).pipe(memory)
  })

  it.effect("R-406 is charged to the run when a choice takes it, also when the choice fails", () => {
    const coordinator = Router.make({
      tasks: [task("a")],
      fallback: "a",
      choose: ({ spend }) =>
        spend === undefined
          ? Effect.die("nobody pays")
          : spend({ tokens: 50 }, (record) =>
              Effect.andThen(
                record({ what: "model", usage: { tokens: 9 }, facts: { model: "m" } }),
                Effect.fail(Failure.malformed("no choice"))
              )
            )
    })
    const built = deskOf([worker("one", () => Effect.succeed("done"))], coordinator)
    return Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(built, options), "1 minute")
      const spent = of(yield* history("r1"), "Spent")
      assert.isAbove(spent.length, 0)
      assert.deepStrictEqual([...new Set(spent.map(({ worker }) => worker))], [""])
      assert.deepStrictEqual(outcome.usage, { tokens: 9 * spent.length })
      assert.deepStrictEqual((yield* Run.state("r1")).ledger.accounts.get("run")?.settled, outcome.usage)
    }).pipe(memory)
  })
})

describe("What belongs to one order alone", () => {
  it.effect("R-303 is done anew by the next order, and known to the same one", () => {
    const seen: Array<Schema.Json> = []
    let looks = 0
    const built = desk((order) =>
      Effect.gen(function* () {
        const look = {
          name: "look",
          args: "the board",
          per: "dispatch" as const,
          idempotent: true,
          run: () => Effect.sync(() => `look ${++looks}`)
        }
        const first = yield* Effects.perform(look)
        seen.push(first, yield* Effects.perform(look))
        const { recall } = yield* Effects.Effects
        seen.push(Option.getOrElse(yield* recall(look), () => "nothing"))
        seen.push(Option.getOrElse(yield* recall({ ...look, args: "elsewhere" }), () => "nothing"))
        if (order.dispatch.endsWith("/1")) return yield* Failure.malformed("again")
        return first
      })
    )
    return Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(built, options), "1 minute")
      assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "look 2"])
      assert.deepStrictEqual(
        seen,
        [1, 2].flatMap((each) => [...Array<string>(3).fill(`look ${each}`), "nothing"])
      )
      assert.strictEqual((yield* Run.state("r1")).effects.size, 0)
    }).pipe(memory)
  })

  it.effect("R-303 and may be done again holds nothing up when nobody knows what came of it", () => {
    const built = desk(() =>
      Effects.perform({
        name: "look",
        per: "dispatch",
        idempotent: true,
        run: () => Effect.timeout(Effect.never, "1 second")
      }).pipe(
        Effect.exit,
        Effect.map((exit) => (Exit.isFailure(exit) ? "went on without" : "looked"))
      )
    )
    return Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(built, options), "1 minute")
      assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "went on without"])
      assert.deepStrictEqual([outcome.unsettled.length, (yield* Run.state("r1")).effects.size], [0, 0])
    }).pipe(memory)
  })

  it.effect("R-303 and may not be done again is left to a person as ever", () => {
    const built = desk(() =>
      Effects.perform({ name: "pay", per: "dispatch", run: () => Effect.timeout(Effect.never, "1 second") }).pipe(
        Effect.exit,
        Effect.as("went on without")
      )
    )
    return Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(built, options), "1 minute")
      assert.deepStrictEqual([outcome.status, outcome.reviews[0]?.reason], ["waiting", "unknown-effect"])
    }).pipe(memory)
  })

  const decisions = [
    ["answer", "paid already", 0],
    ["retry", undefined, 1]
  ] as const
  it.effect.each(decisions)(
    "R-303 and is what a person says of it (%s) for the next order",
    ([decision, answer, paid]) => {
      const bank = new Bank()
      const built = desk((order) =>
        order.dispatch === "r1/a/1"
          ? pays(bank, { per: "dispatch", run: () => Effect.die(new Error("lost")) })
          : pays(bank, { per: "dispatch" })
      )
      return Effect.gen(function* () {
        yield* elapse(Run.start(built, options), "1 minute")
        yield* decide(decision, answer)
        const outcome = yield* elapse(resume(built), "1 minute")
        assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", answer ?? "receipt 1"])
        assert.strictEqual(bank.done.length, paid)
      }).pipe(memory)
    }
  )

  it.effect("R-303 and is asked for by the next order, where it is not known, as it was called then", () => {
    const bank = new Bank()
    const keys: Array<string> = []
    let asked = 0
    const probe = (key: string) =>
      Effect.suspend(() => {
        keys.push(key)
        return ++asked < 2 ? Effect.fail(Failure.transient("no line")) : Effect.succeedSome("paid before")
      })
    const built = desk((order) =>
      pays(bank, {
        per: "dispatch",
        probe,
        ...(order.dispatch === "r1/a/1" ? { run: () => Effect.die(new Error("lost")) } : {})
      })
    )
    return Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(built, options), "10 minutes")
      assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "paid before"])
      assert.deepStrictEqual([bank.done.length, new Set(keys).size], [0, 1])
    }).pipe(memory)
  })
})

describe("What the work has to say", () => {
  it.effect("is written down, and at most a hundred times", () => {
    const built = desk((order) =>
      Effect.as(
        Effect.forEach([...Array(150).keys()], (each) => order.notice("remark", `remark ${each}`)),
        "done"
      )
    )
    return Effect.gen(function* () {
      yield* elapse(Run.start(built, options), "1 minute")
      const remarks = of(yield* history("r1"), "Noticed").filter(({ what }) => what === "remark")
      assert.strictEqual(remarks.length, 100)
      assert.include(remarks.at(-1)?.note, "remark 99; what else it has to say is not recorded")
      assert.deepStrictEqual(remarks[0]?.note, "r1/a/1: remark 0")
    }).pipe(memory)
  })
})
