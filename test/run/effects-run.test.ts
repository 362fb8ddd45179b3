import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { Effects, Office, Run, type RunEvent } from "espalier/run"

import { elapse, history, memory } from "./desks.ts"
import { begin, ends, of, options, pass, resume, rows } from "./living.ts"
import { Bank, decide, desk, type Fields, killed, pays, tagged } from "./outside.ts"

/** A run that was killed between the payment and its record, and is taken up: it waits for a person. */
const unknown = (built: ReturnType<typeof desk>) =>
  Effect.gen(function* () {
    yield* elapse(killed(Run.start(built, options), tagged("EffectSettled"), "before"), "1 minute")
    return yield* elapse(resume(built), "1 minute")
  })

describe("What a person says of an effect", () => {
  const decisions: ReadonlyArray<
    readonly [RunEvent.Decision, Schema.Json | undefined, status: string, output: unknown, times: number]
  > = [
    ["answer", "receipt by hand", "completed", "receipt by hand", 1],
    ["retry", undefined, "completed", "receipt 2", 2],
    ["reject", undefined, "failed", undefined, 1]
  ]
  it.effect.each(decisions)("R-303 D53 is heeded: %s", ([decision, answer, status, output, times]) => {
    const bank = new Bank()
    const built = desk(() => pays(bank))
    return Effect.gen(function* () {
      assert.strictEqual((yield* unknown(built)).status, "waiting")
      yield* decide(decision, answer)
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], [status, output])
      assert.deepStrictEqual([bank.done.length, bank.byKey.size], [times, 1])
      assert.deepStrictEqual(ends(outcome), [decision === "reject" ? "a rejected" : "a accepted"])
      assert.strictEqual(outcome.unsettled.length, decision === "reject" ? 1 : 0)
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
      const audited = outcome.dispatches.map(({ effects }) => effects?.map(({ name, outcome }) => `${name} ${outcome}`))
      const expected = {
        answer: [["pay done"], undefined],
        retry: [["pay failed"], ["pay done"]],
        reject: [["pay open"]]
      }
      assert.deepStrictEqual(audited, expected[decision as "answer"])
    }).pipe(memory)
  })

  it.effect("R-303 takes effect at once where the run is carried out, and what is beside it goes on", () => {
    const bank = new Bank()
    const built = desk(
      ({ task }) =>
        task === "a"
          ? pays(bank, { run: () => Effect.die(new Error("dead")) })
          : Effect.delay(Effect.succeed(task), "20 seconds"),
      ["a", "b"]
    )
    return Effect.scoped(
      Effect.gen(function* () {
        const office = yield* Office.open(built, { log: false })
        const run = yield* begin(Run.startIn(office, { id: "r1", input: "go" }))
        yield* pass("1 second")
        yield* Run.decide({ review: "r1/review/1", decision: "answer", by: "ann", answer: "by hand" }, { office })
        yield* pass("1 second")
        const now = yield* Run.outcome("r1")
        assert.deepStrictEqual(ends(now), ["a accepted", "b open"])
        yield* pass("2 minutes")
        assert.strictEqual((yield* run.join).status, "completed")
      })
    ).pipe(memory)
  })

  it.effect("R-303 has to be a value, which may be nothing", () => {
    let seen: unknown = "nobody"
    const built = desk(() =>
      Effects.perform({ name: "mail", run: () => Effect.die(new Error("dead")) as Effect.Effect<void> }).pipe(
        Effect.tap((value) => Effect.sync(() => (seen = value))),
        Effect.as("sent")
      )
    )
    return Effect.gen(function* () {
      yield* elapse(Run.start(built, options), "1 minute")
      const refused = yield* Effect.flip(decide("answer"))
      assert.include(String(refused), "answer must be the answer, got none")
      yield* decide("answer", null)
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output, seen], ["completed", "sent", null])
    }).pipe(memory)
  })

  it.effect("R-303 is asked for once more when it does not fit, and the effect is not done again", () => {
    let calls = 0
    const Receipt = Schema.Struct({ number: Schema.Int })
    const built = desk(() =>
      Effects.perform({
        name: "pay",
        schema: Receipt,
        run: () => (++calls, Effect.die(new Error("dead")))
      }).pipe(Effect.map(({ number }) => `receipt ${number}`))
    )
    return Effect.gen(function* () {
      yield* elapse(Run.start(built, options), "1 minute")
      yield* decide("answer", { number: "seven" })
      const again = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([again.status, again.reviews[0]?.allowed], ["waiting", ["answer", "reject"]])
      const [, second] = of(yield* history("r1"), "EffectQuarantined")
      assert.include(second?.note, "what is recorded of it does not fit: number must be")
      yield* decide("answer", { number: 7 }, 2)
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.results["a"]?.output, calls], ["receipt 7", 1])
    }).pipe(memory)
  })

  it.effect("R-303 is not handed to the worker as an answer to a question of its own", () => {
    const seen: Array<number> = []
    const built = desk(({ answers }) => {
      seen.push(answers.length)
      return pays(new Bank(), { run: () => Effect.die(new Error("dead")) })
    })
    return Effect.gen(function* () {
      yield* elapse(Run.start(built, options), "1 minute")
      yield* decide("answer", "by hand")
      yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual(seen, [0, 0])
    }).pipe(memory)
  })

  it.effect("R-303 is asked of one effect after the other", () => {
    const built = desk(() =>
      Effect.all(
        [1, 2].map((amount) => pays(new Bank(), { args: { amount }, run: () => Effect.never })),
        { concurrency: "unbounded" }
      ).pipe(Effect.map((all) => all.join()))
    )
    return Effect.gen(function* () {
      const first = yield* elapse(Run.start(built, options), "1 minute")
      assert.deepStrictEqual([first.reviews.length, first.unsettled.length], [1, 2])
      yield* decide("answer", "one")
      const second = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual(
        [second.reviews.map(({ review }) => review), second.dispatches.length],
        [["r1/review/2"], 1]
      )
      yield* decide("answer", "two", 2)
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.results["a"]?.output, outcome.dispatches.length], ["one,two", 2])
    }).pipe(memory)
  })
})

describe("The same effect of another task", () => {
  const twins = (
    a: Effect.Effect<string, unknown, Effects.Effects>,
    b: Effect.Effect<string, unknown, Effects.Effects>
  ) => desk(({ task }) => (task === "a" ? a : b), ["a", "b"])

  it.effect("D58 waits while it is under way, and is done on its own account then", () => {
    const bank = new Bank()
    const slowly = pays(bank, {
      run: (key) =>
        Effect.delay(
          Effect.sync(() => `receipt ${bank.pay("five", key)}`),
          "5 seconds"
        )
    })
    return Effect.gen(function* () {
      const run = yield* begin(Run.start(twins(slowly, slowly), options))
      yield* pass("6 seconds")
      assert.strictEqual(bank.done.length, 1)
      yield* pass("5 seconds")
      assert.deepStrictEqual([(yield* run.join).status, bank.byKey.size], ["completed", 2])
    }).pipe(memory)
  })

  it.effect("D58 is blocked while nobody knows, with one question for both, and goes on after the answer", () => {
    const bank = new Bank()
    let calls = 0
    const dies = pays(bank, { run: () => (++calls, Effect.die(new Error("dead"))) })
    const built = twins(dies, Effect.andThen(Effect.sleep("1 second"), pays(bank)))
    return Effect.gen(function* () {
      const waiting = yield* elapse(Run.start(built, options), "1 minute")
      assert.deepStrictEqual([waiting.status, waiting.reviews.length, calls, bank.done], ["waiting", 1, 1, []])
      assert.deepStrictEqual(rows(waiting), ["r1/a/1 d.one crashed", "r1/b/1 d.one denied"])
      yield* decide("answer", "by hand")
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.status, bank.done, calls], ["completed", ["five"], 1])
      assert.deepStrictEqual([outcome.results["a"]?.output, outcome.results["b"]?.output], ["by hand", "receipt 1"])
      assert.strictEqual(outcome.degraded, false)
    }).pipe(memory)
  })

  it.effect("D58 is asked about by whoever is left, when the task whose effect it is has ended", () => {
    const bank = new Bank()
    const built = twins(
      pays(bank, { run: () => Effect.die(new Error("dead")) }),
      Effect.andThen(Effect.sleep("1 second"), pays(bank))
    )
    return Effect.gen(function* () {
      yield* elapse(Run.start(built, options), "1 minute")
      yield* decide("reject")
      const waiting = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([waiting.status, ends(waiting)], ["waiting", ["a rejected", "b open"]])
      assert.deepStrictEqual([waiting.reviews[0]?.task, waiting.reviews[0]?.facts["of"]], ["b", "a"])
      yield* decide("retry", undefined, 2)
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([ends(outcome), bank.done], [["a rejected", "b accepted"], ["five"]])
    }).pipe(memory)
  })

  it.effect("D58 waits for its turn while the other can still find out", () => {
    const bank = new Bank()
    let first = true
    const asks = pays(bank, {
      run: (key) => {
        if (!first) return Effect.sync(() => `receipt ${bank.pay("five", key)}`)
        first = false
        return Effect.die(new Error("dead"))
      },
      probe: () => Effect.succeed(Option.none())
    })
    return Effect.gen(function* () {
      const outcome = yield* elapse(
        Run.start(twins(asks, Effect.andThen(Effect.sleep("10 millis"), asks)), options),
        "10 minutes"
      )
      assert.deepStrictEqual([outcome.status, bank.byKey.size, outcome.unsettled], ["completed", 2, []])
    }).pipe(memory)
  })
})

describe("An effect that is under way", () => {
  const slow = (bank: Bank, fields: Fields = {}) =>
    pays(bank, {
      run: (key) =>
        Effect.delay(
          Effect.sync(() => `receipt ${bank.pay("five", key)}`),
          "10 seconds"
        ),
      ...fields
    })

  it.effect("R-303 when the run is cancelled stays unknown, and that is told", () => {
    const bank = new Bank()
    const built = desk(() => slow(bank))
    return Effect.scoped(
      Effect.gen(function* () {
        const office = yield* Office.open(built, { log: false })
        const run = yield* begin(Run.startIn(office, { id: "r1", input: "go" }))
        yield* pass("1 second")
        yield* Run.cancel("r1", { by: "ann", office })
        yield* pass("1 second")
        const outcome = yield* run.join
        assert.deepStrictEqual([outcome.status, bank.done], ["cancelled", []])
        assert.deepStrictEqual(
          outcome.unsettled.map(({ name, task }) => `${task} ${name}`),
          ["a pay"]
        )
        const told = "it is not known whether its effect pay has happened"
        assert.include(of(yield* history("r1"), "Reported")[0]?.note, told)
        assert.include(outcome.results["a"]?.note, told)
      })
    ).pipe(memory)
  })

  it.effect("R-303 when the run is put down stays unknown, and a person is asked when it is taken up", () => {
    const bank = new Bank()
    const built = desk(() => slow(bank))
    return Effect.gen(function* () {
      const run = yield* begin(Run.start(built, options))
      yield* pass("1 second")
      yield* run.interrupt
      const down = yield* Run.outcome("r1")
      assert.deepStrictEqual([down.status, down.unsettled.length], ["suspended", 1])
      assert.include(down.note, "it is not known whether 1 effect has happened")
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.status, outcome.reviews.length, bank.done], ["waiting", 1, []])
    }).pipe(memory)
  })

  it.effect("R-303 and cannot be interrupted is recorded before the run is put down", () => {
    const bank = new Bank()
    const built = desk(() =>
      pays(bank, {
        interruptible: false,
        run: (key) =>
          Effect.delay(
            Effect.sync(() => `receipt ${bank.pay("five", key)}`),
            "3 seconds"
          )
      })
    )
    return Effect.gen(function* () {
      const run = yield* begin(Run.start(built, options))
      yield* pass("1 second")
      yield* Effect.forkChild(run.interrupt)
      yield* pass("4 seconds")
      const down = yield* Run.outcome("r1")
      assert.deepStrictEqual([down.status, down.unsettled], ["suspended", []])
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual(
        [outcome.status, outcome.results["a"]?.output, bank.done],
        ["completed", "receipt 1", ["five"]]
      )
    }).pipe(memory)
  })

  it.effect("R-303 D91 and is left behind comes too late to count, and is told", () => {
    const bank = new Bank()
    return Effect.gen(function* () {
      const other = desk(
        ({ progress, task }) =>
          task === "a"
            ? stubborn(bank)
            : Effect.as(Effect.repeat(Effect.delay(progress, "5 seconds"), { times: 30 }), "b"),
        ["a", "b"],
        { attemptTimeout: "10 seconds" }
      )
      const run = yield* begin(Run.start(other, options))
      yield* pass("30 seconds")
      assert.strictEqual((yield* Run.outcome("r1")).reviews.length, 1)
      yield* pass("1 minute")
      assert.deepStrictEqual(bank.done, ["five"])
      const late = of(yield* history("r1"), "Noticed").filter(({ what }) => what === "late-effect")
      assert.deepStrictEqual(
        late.map(({ note, subject }) => [subject, note]),
        [["a", "pay of r1/a/1 has happened, which came too late: the effect pay is quarantined"]]
      )
      yield* run.interrupt
    }).pipe(memory)
  })

  const stubborn = (bank: Bank) =>
    pays(bank, {
      interruptible: false,
      run: (key) =>
        Effect.delay(
          Effect.sync(() => `receipt ${bank.pay("five", key)}`),
          "1 minute"
        )
    })
})
