import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Stream } from "effect"
import { Failure } from "espalier"
import { Journal } from "espalier/journal"
import { Effects, Run, type RunEvent, type Worker } from "espalier/run"

import { elapse, history, memory } from "./desks.ts"
import { ends, of, options, resume, rows } from "./living.ts"
import { Bank, decide, desk, killed, type Moment, pays, tagged } from "./outside.ts"

/** What the journal says of effects, in short. */
const told = Effect.map(history("r1"), (events) =>
  events.flatMap((event) => {
    switch (event._tag) {
      case "EffectIntended":
        return [`intended ${event.task}`]
      case "EffectSettled":
        return [`${event.outcome} ${event.task} by ${event.by}`]
      case "EffectQuarantined":
        return [`quarantined ${event.task}${event.happened ? " happened" : ""}`]
      default:
        return []
    }
  })
)

/** Runs a desk in a process that is killed, and takes the run up in another one. */
const killedAndResumed = (
  built: ReturnType<typeof desk>,
  tag: RunEvent.RunEvent["_tag"],
  moment: Moment
): Effect.Effect<Effect.Success<ReturnType<typeof resume>>, unknown, Journal.Journal> =>
  Effect.gen(function* () {
    yield* elapse(killed(Run.start(built, options), tagged(tag), moment), "1 minute")
    return yield* elapse(resume(built), "1 minute")
  })

describe("Effects.perform", () => {
  it.effect("R-301 D57 does nothing before the intent is written, and answers nothing before the end is", () => {
    const log: Array<string> = []
    const bank = new Bank()
    const built = desk(() =>
      Effect.tap(pays(bank, { run: () => Effect.sync(() => (log.push("done"), "receipt")) }), () =>
        Effect.sync(() => log.push("answered"))
      )
    )
    return Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const append: (typeof journal)["append"] = (append) =>
        Effect.gen(function* () {
          const ours = append.events.filter(({ type }) => type.startsWith("Effect") || type === "Reported")
          for (const { type } of ours) log.push(`${type} begun`)
          yield* Effect.sleep("1 second")
          const version = yield* journal.append(append)
          for (const { type } of ours) log.push(`${type} written`)
          return version
        })
      const slow = Effect.provideService(Run.start(built, options), Journal.Journal, { ...journal, append })
      const outcome = yield* elapse(slow, "1 minute")
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(log, [
        "EffectIntended begun",
        "EffectIntended written",
        "done",
        "EffectSettled begun",
        "EffectSettled written",
        "answered",
        "Reported begun",
        "Reported written"
      ])
    }).pipe(memory)
  })

  it.effect("R-303 is handed the key that anybody can compute, and writes down what it is done with", () => {
    let seen = ""
    const built = desk(() => pays(new Bank(), { run: (key) => Effect.sync(() => (seen = key)) }))
    return Effect.gen(function* () {
      yield* Run.start(built, options)
      assert.strictEqual(seen, Effects.key({ run: "r1", task: "a" }, { name: "pay", args: { amount: 5 } }))
      const [event] = of(yield* history("r1"), "EffectIntended")
      assert.deepStrictEqual(event, {
        _tag: "EffectIntended",
        at: 0,
        task: "a",
        dispatch: "r1/a/1",
        effect: seen,
        name: "pay",
        digest: event?.digest ?? "",
        occurrence: 0,
        recovery: "person",
        arguments: { amount: 5 },
        note: "r1/a/1 is about to do pay"
      })
    }).pipe(memory)
  })

  describe("done once", () => {
    const again: ReadonlyArray<readonly [string, (order: Worker.Order) => Effect.Effect<string, unknown>]> = [
      [
        "a passing failure",
        ({ attempt }) => (attempt === 1 ? Effect.fail(Failure.transient("busy")) : Effect.succeed("ok"))
      ],
      [
        "a malformed answer",
        ({ dispatch }) => (dispatch === "r1/a/1" ? Effect.succeed(1 as never) : Effect.succeed("ok"))
      ],
      [
        "a crash of the worker",
        ({ dispatch }) => (dispatch === "r1/a/1" ? Effect.die(new Error("bug")) : Effect.succeed("ok"))
      ],
      ["a time-out", ({ attempt }) => (attempt === 1 ? Effect.never : Effect.succeed("ok"))]
    ]
    it.effect.each(again)("D58 over %s", ([, then]) => {
      const bank = new Bank()
      const seen: Array<string> = []
      const built = desk((order) =>
        Effect.flatMap(pays(bank), (receipt) => {
          seen.push(receipt)
          return then(order)
        })
      )
      return Effect.gen(function* () {
        const outcome = yield* elapse(Run.start(built, options), "5 minutes")
        assert.deepStrictEqual(ends(outcome), ["a accepted"])
        assert.deepStrictEqual([bank.done, seen], [["five"], ["receipt 1", "receipt 1"]])
        assert.deepStrictEqual(yield* told, ["intended a", "done a by run"])
        assert.deepStrictEqual(outcome.unsettled, [])
      }).pipe(memory)
    })

    it.effect(
      "R-302 D64 and answered from the record once the store is back, which costs the worker no attempt",
      () => {
        const bank = new Bank()
        const attempts: Array<number> = []
        const built = desk(({ attempt }) =>
          Effect.tap(pays(bank), () =>
            attempts.push(attempt) === 1 ? Effect.fail(Failure.transient("busy")) : Effect.void
          )
        )
        return Effect.gen(function* () {
          const journal = yield* Journal.Journal
          const reason = new Journal.JournalUnavailable({ location: "memory", problem: "io", detail: "down" })
          let failures = 5
          const read: (typeof journal)["read"] = (run, range) =>
            Stream.suspend(() =>
              range?.to !== undefined && failures-- > 0
                ? Stream.fail(new Journal.JournalError({ reason }))
                : journal.read(run, range)
            )
          const run = Effect.provideService(Run.start(built, options), Journal.Journal, { ...journal, read })
          const outcome = yield* elapse(run, "1 minute")
          assert.strictEqual(outcome.status, "completed")
          assert.deepStrictEqual(bank.done, ["five"])
          assert.deepStrictEqual(attempts, [1, 2])
          assert.isAtMost(failures, 0)
        }).pipe(memory)
      }
    )

    it.effect("R-303 by whoever asks for it at the same time, and all get its value", () => {
      const bank = new Bank()
      const slowly = pays(bank, {
        run: (key) =>
          Effect.delay(
            Effect.sync(() => `receipt ${bank.pay("five", key)}`),
            "1 second"
          )
      })
      const built = desk(() =>
        Effect.map(Effect.all([slowly, slowly, slowly], { concurrency: "unbounded" }), (all) => all.join())
      )
      return Effect.gen(function* () {
        const outcome = yield* elapse(Run.start(built, options), "1 minute")
        assert.strictEqual(outcome.results["a"]?.output, "receipt 1,receipt 1,receipt 1")
        assert.deepStrictEqual(bank.done, ["five"])
      }).pipe(memory)
    })

    it.effect("R-303 for each occurrence, for other arguments and for another name, and by each task", () => {
      const bank = new Bank()
      const built = desk(
        () =>
          Effect.map(
            Effect.all([
              pays(bank),
              pays(bank, { occurrence: 1 }),
              pays(bank, { args: { amount: 6 } }),
              pays(bank, { name: "refund" })
            ]),
            (all) => all.join()
          ),
        ["a", "b"]
      )
      return Effect.gen(function* () {
        yield* Run.start(built, options)
        assert.deepStrictEqual([bank.done.length, bank.byKey.size], [8, 8])
      }).pipe(memory)
    })

    it.effect("R-303 with the keys of the arguments in any order", () => {
      const bank = new Bank()
      const built = desk(() =>
        Effect.andThen(pays(bank, { args: { a: 1, b: 2 } }), pays(bank, { args: { b: 2, a: 1 } }))
      )
      return Effect.gen(function* () {
        yield* Run.start(built, options)
        assert.deepStrictEqual(bank.done, ["five"])
      }).pipe(memory)
    })
  })

  describe("that did not happen", () => {
    it.effect("R-303 is done by the next attempt, when a typed failure says so", () => {
      const bank = new Bank()
      let calls = 0
      const built = desk(() =>
        pays(bank, {
          run: (key) =>
            ++calls === 1
              ? Effect.fail(Failure.transient("the bank is closed"))
              : Effect.sync(() => `receipt ${bank.pay("five", key)}`)
        })
      )
      return Effect.gen(function* () {
        const outcome = yield* elapse(Run.start(built, options), "5 minutes")
        assert.deepStrictEqual([ends(outcome), bank.done], [["a accepted"], ["five"]])
        assert.deepStrictEqual(yield* told, ["intended a", "failed a by run", "intended a", "done a by run"])
        const [first] = of(yield* history("r1"), "EffectSettled")
        assert.strictEqual(first?.note, "pay of r1/a/1 has not happened: the bank is closed")
      }).pipe(memory)
    })

    it.effect("R-303 leaves nothing unknown when nobody waits any more before it is begun", () => {
      const bank = new Bank()
      const built = desk(() => Effect.retry(Effect.timeout(pays(bank), "1500 millis"), { times: 1 }))
      return Effect.gen(function* () {
        const journal = yield* Journal.Journal
        let slowly = true
        const append: (typeof journal)["append"] = (append) => {
          if (!slowly || !append.events.some(tagged("EffectIntended"))) return journal.append(append)
          slowly = false
          return Effect.delay(journal.append(append), "2 seconds")
        }
        const slow = Effect.provideService(Run.start(built, options), Journal.Journal, { ...journal, append })
        const outcome = yield* elapse(slow, "1 minute")
        assert.deepStrictEqual(
          [outcome.status, bank.done, outcome.unsettled, yield* told],
          ["completed", ["five"], [], ["intended a", "failed a by run", "intended a", "done a by run"]]
        )
      }).pipe(memory)
    })
  })

  describe("in a process that is killed", () => {
    it.effect("R-302 is done once when the intent was never written", () => {
      const bank = new Bank()
      const built = desk(() => pays(bank))
      return Effect.gen(function* () {
        const outcome = yield* killedAndResumed(built, "EffectIntended", "before")
        assert.deepStrictEqual([outcome.status, bank.done], ["completed", ["five"]])
      }).pipe(memory)
    })

    it.effect("R-303 D58 is not repeated when its end was never written: a person is asked", () => {
      const bank = new Bank()
      const built = desk(() => pays(bank))
      return Effect.gen(function* () {
        const outcome = yield* killedAndResumed(built, "EffectSettled", "before")
        assert.deepStrictEqual([outcome.status, bank.done], ["waiting", ["five"]])
        assert.deepStrictEqual(yield* told, ["intended a", "quarantined a"])
        const effect = Effects.key({ run: "r1", task: "a" }, { name: "pay", args: { amount: 5 } })
        const [opened] = outcome.reviews
        // By which rules it is decided is looked at elsewhere.
        const { steps, terms, ...review } = opened ?? assert.fail("nobody is asked")
        assert.deepStrictEqual([steps?.at(-1)?.what, terms?.final], ["expire", "hold"])
        assert.deepStrictEqual(review, {
          at: review.at,
          review: "r1/review/1",
          task: "a",
          kind: "reconciliation",
          reason: "unknown-effect",
          allowed: ["answer", "retry", "reject"],
          facts: {
            task: "a",
            tries: 1,
            effect,
            name: "pay",
            of: "a",
            dispatch: "r1/a/1",
            intendedAt: 0,
            happened: false,
            arguments: { amount: 5 }
          },
          note: "a cannot go on: it is not known whether the effect pay has happened; answer with what came of it if it has, retry if it has not, or reject"
        })
        assert.deepStrictEqual(
          outcome.unsettled.map(({ effect, name }) => [effect, name]),
          [[effect, "pay"]]
        )
        assert.deepStrictEqual(rows(outcome), ["r1/a/1 d.one cancelled"])
      }).pipe(memory)
    })

    it.effect("R-303 is not begun again when nobody heard that the intent was written", () => {
      const bank = new Bank()
      const built = desk(() => pays(bank))
      return Effect.gen(function* () {
        const outcome = yield* killedAndResumed(built, "EffectIntended", "after")
        assert.deepStrictEqual([outcome.status, bank.done, outcome.unsettled.length], ["waiting", [], 1])
      }).pipe(memory)
    })

    it.effect("R-302 is answered from the record when nobody heard that its end was written", () => {
      const bank = new Bank()
      const built = desk(() => pays(bank))
      return Effect.gen(function* () {
        const outcome = yield* killedAndResumed(built, "EffectSettled", "after")
        assert.deepStrictEqual([outcome.status, bank.done], ["completed", ["five"]])
        assert.strictEqual(outcome.results["a"]?.output, "receipt 1")
        assert.deepStrictEqual(rows(outcome), ["r1/a/1 d.one accepted"])
      }).pipe(memory)
    })

    const moments: ReadonlyArray<readonly [RunEvent.RunEvent["_tag"], Moment, number]> = [
      ["EffectIntended", "before", 1],
      ["EffectIntended", "after", 1],
      ["EffectSettled", "before", 2],
      ["EffectSettled", "after", 1]
    ]
    it.effect.each(moments)(
      "R-303 is repeated under its key where that does no harm (%s, %s)",
      ([tag, moment, times]) => {
        const bank = new Bank()
        const built = desk(() => pays(bank, { idempotent: true }))
        return Effect.gen(function* () {
          const outcome = yield* killedAndResumed(built, tag, moment)
          assert.strictEqual(outcome.status, "completed")
          assert.deepStrictEqual([...bank.byKey.values()], [times])
          assert.strictEqual((yield* told).filter((line) => line.startsWith("intended")).length, 1)
        }).pipe(memory)
      }
    )

    it.effect.each(moments)("R-303 is asked for where that can be (%s, %s)", ([tag, moment]) => {
      const bank = new Bank()
      let probes = 0
      const built = desk(() =>
        pays(bank, {
          probe: (key) =>
            Effect.sync(() => {
              probes += 1
              return bank.byKey.has(key) ? Option.some("receipt found") : Option.none()
            })
        })
      )
      return Effect.gen(function* () {
        const outcome = yield* killedAndResumed(built, tag, moment)
        assert.deepStrictEqual([outcome.status, bank.done], ["completed", ["five"]])
        const asked = tag === "EffectSettled" && moment === "before"
        assert.strictEqual(outcome.results["a"]?.output, asked ? "receipt found" : "receipt 1")
        assert.strictEqual((yield* told).at(-1), asked ? "done a by probe" : "done a by run")
        assert.strictEqual(probes, asked || (tag === "EffectIntended" && moment === "after") ? 1 : 0)
      }).pipe(memory)
    })

    it.effect("R-303 is left to a person when nobody can be asked for good", () => {
      const bank = new Bank()
      let probes = 0
      const probe = () => Effect.suspend(() => (++probes, Effect.fail(Failure.transient("no answer"))))
      const built = desk(() => pays(bank, { probe }))
      return Effect.gen(function* () {
        yield* elapse(killed(Run.start(built, options), tagged("EffectSettled"), "before"), "1 minute")
        const outcome = yield* elapse(resume(built), "10 minutes")
        assert.deepStrictEqual([outcome.status, bank.done], ["waiting", ["five"]])
        assert.isAbove(probes, 1)
        assert.deepStrictEqual(yield* told, ["intended a", "quarantined a"])
        yield* decide("answer", "receipt by hand")
        const after = yield* elapse(resume(built), "1 minute")
        assert.deepStrictEqual([after.status, after.results["a"]?.output], ["completed", "receipt by hand"])
      }).pipe(memory)
    })
  })

  describe("of which nobody knows whether it has happened", () => {
    const ways: ReadonlyArray<readonly [string, () => Effect.Effect<string, unknown>]> = [
      ["a defect", () => Effect.die(new Error("the line went dead"))],
      ["an interruption of its own", () => Effect.interrupt],
      ["a time-out of Effect", () => Effect.timeout(Effect.never, "1 second")],
      ["the time-out of the attempt", () => Effect.never],
      [
        "something thrown",
        () => {
          throw new Error("thrown")
        }
      ]
    ]
    it.effect.each(ways)("R-303 is not begun again after %s, by no attempt and no order", ([, run]) => {
      let calls = 0
      const built = desk(() => pays(new Bank(), { run: () => (++calls, run()) }))
      return Effect.gen(function* () {
        const outcome = yield* elapse(Run.start(built, options), "10 minutes")
        assert.deepStrictEqual([outcome.status, calls], ["waiting", 1])
        assert.deepStrictEqual(yield* told, ["intended a", "quarantined a"])
        assert.strictEqual(outcome.dispatches.length, 1)
      }).pipe(memory)
    })

    it.effect("R-303 is one that failed with an error after which that is not sure", () => {
      let calls = 0
      const built = desk(() =>
        pays(new Bank(), {
          run: () => (++calls, Effect.fail(Failure.transient("reset by peer"))),
          ambiguous: (error) => error instanceof Failure.Failure && error.reason === "reset by peer"
        })
      )
      return Effect.gen(function* () {
        const outcome = yield* elapse(Run.start(built, options), "10 minutes")
        assert.deepStrictEqual([outcome.status, calls], ["waiting", 1])
      }).pipe(memory)
    })

    it.effect("R-303 is not done again inside its attempt either", () => {
      let calls = 0
      const late = pays(new Bank(), { run: () => (++calls, Effect.never) }).pipe(Effect.timeout("1 second"))
      const built = desk(() => Effect.retry(late, { times: 3 }))
      return Effect.gen(function* () {
        const outcome = yield* elapse(Run.start(built, options), "10 minutes")
        assert.deepStrictEqual([outcome.status, calls], ["waiting", 1])
      }).pipe(memory)
    })

    it.effect("R-303 is done again inside its attempt under the same key where that does no harm", () => {
      const keys: Array<string> = []
      const late = pays(new Bank(), {
        idempotent: true,
        run: (key) => (keys.push(key) < 3 ? Effect.never : Effect.succeed("receipt"))
      }).pipe(Effect.timeout("1 second"))
      const built = desk(() => Effect.retry(late, { times: 3 }))
      return Effect.gen(function* () {
        const outcome = yield* elapse(Run.start(built, options), "10 minutes")
        assert.deepStrictEqual([outcome.status, keys.length, new Set(keys).size], ["completed", 3, 1])
      }).pipe(memory)
    })

    it.effect("D58 keeps an order from succeeding, whatever its worker makes of it", () => {
      const built = desk(() =>
        Effect.as(Effect.ignoreCause(pays(new Bank(), { run: () => Effect.die(new Error("dead")) })), "fine")
      )
      return Effect.gen(function* () {
        const outcome = yield* elapse(Run.start(built, options), "10 minutes")
        assert.deepStrictEqual([outcome.status, ends(outcome)], ["waiting", ["a open"]])
      }).pipe(memory)
    })

    it.effect("D58 keeps an order from succeeding until it is done again or asked for", () => {
      let calls = 0
      const late = pays(new Bank(), {
        idempotent: true,
        run: () => (++calls === 1 ? Effect.never : Effect.succeed("receipt"))
      }).pipe(
        Effect.timeout("1 second"),
        Effect.orElseSucceed(() => "I do not care")
      )
      const built = desk(() => late)
      return Effect.gen(function* () {
        const outcome = yield* elapse(Run.start(built, options), "10 minutes")
        assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output, calls], ["completed", "receipt", 2])
      }).pipe(memory)
    })
  })

  it.effect("D57 no report overtakes an effect that its worker has left behind", () => {
    const log: Array<string> = []
    const bank = new Bank()
    const behind = pays(bank, {
      run: (key) =>
        Effect.delay(
          Effect.sync(() => `${bank.pay("five", key)}`),
          "10 seconds"
        )
    })
    const built = desk(() =>
      Effect.forkDetach(behind).pipe(Effect.andThen(Effect.sleep("1 second")), Effect.as("already"))
    )
    return Effect.gen(function* () {
      const onEvent = ({ _tag }: RunEvent.RunEvent) => void log.push(_tag)
      const outcome = yield* elapse(Run.start(built, { ...options, onEvent }), "1 minute")
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(log.slice(-4), ["EffectSettled", "Reported", "TaskEnded", "RunFinished"])
    }).pipe(memory)
  })
})
