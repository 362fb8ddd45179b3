import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Schema } from "effect"
import { Failure } from "espalier"
import { Artefacts, Journal } from "espalier/journal"
import { Effects, Plan, Result, Run, Worker } from "espalier/run"
import { Fake, WorkerSuite } from "espalier/testing"

import { elapse, history, memory, task, worker } from "./desks.ts"
import { deskOf, ends, of, options, resume } from "./living.ts"
import { Bank, desk, killed, tagged } from "./outside.ts"

class Point {
  readonly x = 1
}

const cycle: Record<string, unknown> = {}
cycle["self"] = cycle

const throws = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error("no")
    }
  }
)

/** Values that are no plain JSON. */
const hostile: ReadonlyArray<readonly [string, unknown]> = [
  ["a cycle", cycle],
  ["an object of a class", new Point()],
  ["a map", new Map([["a", 1]])],
  ["a property that is undefined", { a: undefined }],
  ["not a number", Number.NaN],
  ["a function", () => 1],
  ["a symbol", Symbol("s")],
  ["a bigint", 1n],
  ["something that cannot be read", throws],
  ["more than 2 MiB", "x".repeat(3 * 1024 * 1024)]
]

describe("Effects.perform", () => {
  const wrong: ReadonlyArray<readonly [string, string, object]> = [
    ...hostile.map(([what, args]) => [`arguments with ${what}`, "args must", { args }] as const),
    ["no name", "name must be", { name: undefined }],
    ["an empty name", "name must be", { name: "" }],
    ["a name with spaces", "name must be", { name: "pay now" }],
    ["a long name", "name must be", { name: "x".repeat(101) }],
    ["half an occurrence", "occurrence must be a whole number >= 0", { occurrence: 0.5 }],
    ["an occurrence below 0", "occurrence must be a whole number >= 0", { occurrence: -1 }],
    ["nothing to run", "run must be a function", { run: undefined }]
  ]
  it.effect.each(wrong)("R-303 does nothing with %s, and says what is wrong", ([, message, fields]) => {
    let calls = 0
    const seen: Array<Effects.EffectError> = []
    const built = desk(() =>
      Effects.perform({
        name: "pay",
        run: () => Effect.sync(() => `${++calls}`),
        ...fields
      } as Effects.Options<string> & {
        readonly schema?: undefined
      }).pipe(
        Effect.catch((error) => {
          seen.push(error)
          return Effect.succeed("none")
        })
      )
    )
    return Effect.gen(function* () {
      const outcome = yield* Run.start(built, options)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual([calls, seen.length, seen[0]?.reason], [0, 1, "invalid"])
      assert.include(seen[0]?.message, `Effects.perform: ${message}`)
      assert.strictEqual(Failure.kindOf(seen[0]), undefined)
      assert.deepStrictEqual(of(yield* history("r1"), "EffectIntended"), [])
    }).pipe(memory)
  })

  it.effect.each(hostile)("R-303 never repeats what came to %s: a person is asked for the value", ([, value]) => {
    let calls = 0
    const built = desk(() =>
      Effect.as(
        Effects.perform({ name: "pay", idempotent: true, run: () => Effect.sync(() => (calls++, value as string)) }),
        "ok"
      )
    )
    return Effect.gen(function* () {
      const waiting = yield* elapse(Run.start(built, options), "10 minutes")
      assert.deepStrictEqual([waiting.status, calls], ["waiting", 1])
      assert.deepStrictEqual(waiting.reviews[0]?.allowed, ["answer", "reject"])
      const [quarantined] = of(yield* history("r1"), "EffectQuarantined")
      assert.include(quarantined?.note, "it has happened, and what came of it cannot be recorded: the value must")
      yield* Run.decide({ review: "r1/review/1", decision: "answer", by: "ann", answer: "by hand" })
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.status, calls], ["completed", 1])
    }).pipe(memory)
  })

  const Receipt = Schema.Struct({ tip: Schema.Option(Schema.Int), cents: Schema.BigInt })

  it.effect("R-303 records what came of it by its schema, and answers the same from the record", () => {
    const seen: Array<unknown> = []
    const built = desk(({ attempt }) =>
      Effects.perform({
        name: "pay",
        schema: Receipt,
        run: () => Effect.succeed({ tip: Option.some(1), cents: 12n })
      }).pipe(
        Effect.flatMap((receipt) => {
          seen.push(receipt)
          return attempt === 1 ? Effect.fail(Failure.transient("busy")) : Effect.succeed("ok")
        })
      )
    )
    return Effect.gen(function* () {
      yield* elapse(Run.start(built, options), "1 minute")
      assert.deepStrictEqual(seen, [
        { tip: Option.some(1), cents: 12n },
        { tip: Option.some(1), cents: 12n }
      ])
      assert.deepStrictEqual(of(yield* history("r1"), "EffectSettled")[0]?.value, {
        tip: { _tag: "Some", value: 1 },
        cents: "12"
      })
    }).pipe(memory)
  })

  it.effect("R-303 never repeats what its schema refuses", () => {
    let calls = 0
    const built = desk(() =>
      Effects.perform({
        name: "pay",
        schema: Schema.String.check(Schema.isMinLength(3)),
        run: () => Effect.sync(() => (calls++, "no"))
      })
    )
    return Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(built, options), "10 minutes")
      assert.deepStrictEqual([outcome.status, calls, outcome.reviews[0]?.facts["happened"]], ["waiting", 1, true])
    }).pipe(memory)
  })

  it.effect("R-303 D120 keeps a large value with the artefacts, and answers it from there in another process", () => {
    const large = "x".repeat(100_000)
    let calls = 0
    let seen = 0
    const built = desk(() =>
      Effects.perform({
        name: "fetch",
        args: { big: "y".repeat(40_000) },
        run: () => Effect.sync(() => (calls++, large))
      }).pipe(
        Effect.tap((value) => Effect.sync(() => (seen = value.length))),
        Effect.as("ok")
      )
    )
    return Effect.gen(function* () {
      yield* elapse(killed(Run.start(built, options), tagged("Reported"), "before"), "1 minute")
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.status, calls, seen], ["completed", 1, 100_000])
      const events = yield* history("r1")
      const [settled] = of(events, "EffectSettled")
      assert.deepStrictEqual([settled?.value, settled?.valueRef?.bytes], [undefined, 100_002])
      const [intended] = of(events, "EffectIntended")
      assert.deepStrictEqual([intended?.arguments, intended?.largeArguments], [undefined, 40_010])
    }).pipe(Effect.provide(Layer.mergeAll(Journal.layerMemory, Artefacts.layerMemory())))
  })

  it.effect("R-303 R-305 answers without the secrets, before a crash and after it", () => {
    const seen: Array<unknown> = []
    const built = desk(() =>
      Effects.perform({
        name: "login",
        run: () => Effect.succeed({ user: "ada", password: "correct horse" })
      }).pipe(
        Effect.tap((value) => Effect.sync(() => seen.push(value))),
        Effect.as("ok")
      )
    )
    return Effect.gen(function* () {
      yield* elapse(killed(Run.start(built, options), tagged("Reported"), "before"), "1 minute")
      yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual(seen, [
        { user: "ada", password: "[redacted:password]" },
        { user: "ada", password: "[redacted:password]" }
      ])
    }).pipe(memory)
  })
})

describe("Effects and the order of a run", () => {
  it.effect(
    "R-303 D53 what was done before a question to a person is not done again after it, three levels down",
    () => {
      const bank = new Bank()
      const asks = worker("one", ({ answers }) =>
        Effect.map(
          Effects.perform({ name: "pay", run: () => Effect.sync(() => `receipt ${bank.pay("five")}`) }),
          (receipt) => (answers.length > 0 ? receipt : Result.ambiguous("Which?"))
        )
      ) as Worker.Worker<never>
      const leaf = Plan.make<unknown>([{ id: "leaf", worker: "d.one", objective: "Pay" }])
      const middle = Plan.make<unknown>([{ id: "middle", by: leaf, objective: "Have it paid" }])
      const built = deskOf([asks], Plan.make<string>([{ id: "top", by: middle, objective: "Have it paid" }]))
      return Effect.gen(function* () {
        const waiting = yield* elapse(Run.start(built, options), "1 minute")
        assert.deepStrictEqual([waiting.status, bank.done.length, waiting.reviews[0]?.kind], ["waiting", 1, "question"])
        yield* Run.decide({ review: "r1/review/1", decision: "answer", by: "ann", answer: "this" })
        const outcome = yield* elapse(resume(built), "1 minute")
        assert.deepStrictEqual([outcome.status, bank.done.length], ["completed", 1])
        assert.strictEqual(outcome.results["top/middle/leaf"]?.output, "receipt 1")
      }).pipe(memory)
    }
  )

  it.effect("R-303 D59 retrying the one of five that failed does nothing again for the others", () => {
    const bank = new Bank()
    let broken = true
    const built = desk(
      ({ task }) =>
        Effect.flatMap(
          Effects.perform({ name: "pay", args: task, run: () => Effect.sync(() => `${bank.pay(task)}`) }),
          (receipt) => (task === "t3" && broken ? Effect.fail(Failure.denied("not now")) : Effect.succeed(receipt))
        ),
      ["t0", "t1", "t2", "t3", "t4"]
    )
    return Effect.gen(function* () {
      const waiting = yield* elapse(Run.start(built, options), "1 minute")
      assert.deepStrictEqual([waiting.status, bank.done.length], ["waiting", 5])
      broken = false
      yield* Run.decide({ review: "r1/review/1", decision: "retry", by: "ann" })
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.status, bank.done.length, outcome.dispatches.length], ["completed", 5, 6])
    }).pipe(memory)
  })

  it.effect("R-303 is answered from the record for another worker who takes over", () => {
    const bank = new Bank()
    const paying = (after: Effect.Effect<string, unknown>) => () =>
      Effect.flatMap(
        Effects.perform({ name: "pay", run: () => Effect.sync(() => `receipt ${bank.pay("five")}`) }),
        (receipt) => Effect.as(after, receipt)
      )
    const built = deskOf(
      [
        worker("one", paying(Effect.fail(Failure.capability("no printer")))) as Worker.Worker<never>,
        worker("two", paying(Effect.succeed("")), { description: "Another one" }) as Worker.Worker<never>
      ],
      Plan.make<string>([task("a", { capability: "work" })])
    )
    return Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(built, options), "1 minute")
      assert.deepStrictEqual([ends(outcome), outcome.results["a"]?.output], [["a accepted"], "receipt 1"])
      assert.deepStrictEqual([bank.done.length, outcome.dispatches.length], [1, 2])
    }).pipe(memory)
  })

  it.effect("R-303 is repeated where the worker declares its tool to be idempotent", () => {
    const keys: Array<string> = []
    const put = (name: string) =>
      Effects.perform({
        name,
        run: (key) => (keys.push(key) === 1 ? Effect.die(new Error("dead")) : Effect.succeed("ok"))
      })
    const tools = [{ name: "put", idempotent: true }, "post", { name: "patch" }]
    return Effect.gen(function* () {
      const outcome = yield* elapse(
        Run.start(
          desk(() => put("put"), ["a"], { tools }),
          options
        ),
        "1 minute"
      )
      assert.deepStrictEqual([outcome.status, keys.length, new Set(keys).size], ["completed", 2, 1])
      for (const [index, name] of ["post", "patch"].entries()) {
        keys.length = 0
        const other = yield* elapse(
          Run.start(
            desk(() => put(name), ["a"], { tools }),
            { ...options, id: `r${index + 2}` }
          ),
          "1 minute"
        )
        assert.deepStrictEqual([other.status, keys.length], ["waiting", 1])
      }
    }).pipe(memory)
  })
})

describe("Effects.layerMemory", () => {
  const pay = (
    bank: Bank,
    fields: Partial<Effects.Options<string, Failure.Failure>> & { readonly schema?: undefined } = {}
  ) => Effects.perform({ name: "pay", run: (key) => Effect.sync(() => `receipt ${bank.pay("five", key)}`), ...fields })
  const provided = Effect.provide(Effects.layerMemory({ run: "r1", task: "a" }))

  it.effect("R-303 does it once, under the key that it would have in a run", () => {
    const bank = new Bank()
    return Effect.gen(function* () {
      assert.deepStrictEqual([yield* pay(bank), yield* pay(bank)], ["receipt 1", "receipt 1"])
      assert.deepStrictEqual([...bank.byKey.keys()], [Effects.key({ run: "r1", task: "a" }, { name: "pay" })])
    }).pipe(provided)
  })

  it.effect("R-303 does again what did not happen", () => {
    const bank = new Bank()
    return Effect.gen(function* () {
      const failed = yield* Effect.flip(pay(bank, { run: () => Effect.fail(Failure.transient("closed")) }))
      assert.strictEqual(Failure.kindOf(failed), "transient")
      assert.strictEqual(yield* pay(bank), "receipt 1")
    }).pipe(provided)
  })

  it.effect("R-303 fails each time where a person would be asked, and asks or repeats where it may", () => {
    const bank = new Bank()
    return Effect.gen(function* () {
      const dead = yield* Effect.exit(pay(bank, { run: () => Effect.die(new Error("dead")) }))
      assert.isTrue(Exit.isFailure(dead))
      for (const _ of [1, 2]) {
        const error = yield* Effect.flip(pay(bank))
        assert.deepStrictEqual([error._tag, "reason" in error ? error.reason : ""], ["EffectError", "unknown"])
        assert.strictEqual(Failure.kindOf(error), "denied")
      }
      assert.strictEqual(yield* pay(bank, { probe: () => Effect.succeed(Option.some("found")) } as never), "found")
      assert.deepStrictEqual(bank.done, [])
    }).pipe(provided)
  })

  it.effect("R-303 tells what has happened and cannot be recorded", () =>
    Effect.gen(function* () {
      const lost = pay(new Bank(), { run: () => Effect.succeed(new Point() as never) })
      assert.include((yield* Effect.flip(lost)).message, "it has happened, and what came of it cannot be recorded")
      assert.include((yield* Effect.flip(pay(new Bank(), { idempotent: true }))).message, "it has happened")
    }).pipe(provided)
  )

  it.effect("R-701 comes by itself with an order of the suite for workers, and with a fake's", () => {
    const bank = new Bank()
    const paying = Worker.make("pay", {
      description: "Pays",
      input: Schema.Struct({ amount: Schema.Int }),
      output: Schema.String,
      handle: ({ input: { amount } }) =>
        Effects.perform({ name: "pay", args: amount, run: (key) => Effect.sync(() => `receipt ${bank.pay("x", key)}`) })
    })
    const fake = Fake.worker("fake", { answers: () => pay(bank) })
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* elapse(WorkerSuite.check(paying, { inputs: [{ amount: 5 }] }), "1 hour"), [])
      // Asked twice for an answer, and two times interrupted.
      assert.deepStrictEqual([...bank.byKey.values()], [1, 1, 1])
      assert.deepStrictEqual(yield* elapse(WorkerSuite.check(fake, { inputs: [{ amount: 5 }] }), "1 hour"), [])
    })
  })
})
