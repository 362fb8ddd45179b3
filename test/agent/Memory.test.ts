import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result, Schema } from "effect"
import { Tool } from "effect/ai"
import { Failure } from "espalier"
import { Memory } from "espalier/agent"
import { Journal } from "espalier/journal"
import { Effects, Run } from "espalier/run"

import { elapse, history } from "../run/desks.ts"
import { of, options, resume } from "../run/living.ts"
import { desk, killed, tagged } from "../run/outside.ts"

const alone = Effect.provide(Effects.layerMemory())

const failed = <A>(result: Result.Result<A, Memory.MemoryError>) =>
  Result.isFailure(result) ? result.failure : undefined

describe("Memory.apply", () => {
  const put = (key: string, value: Schema.Json): Memory.Change => ({ _tag: "Put", key, value })

  it.effect.each<[string, Memory.Change, string, Failure.Kind]>([
    ["an empty key", put("", 1), "a key must be", "malformed"],
    ["a key of other signs", put("a b", 1), "a key must be", "malformed"],
    ["a long key", put("a".repeat(129), 1), "a key must be", "malformed"],
    ["a key of a property", put("__proto__", 1), "a key must be", "malformed"],
    ["removal by no key", { _tag: "Remove", key: "/" }, "a key must be", "malformed"],
    ["a large value", put("a", "x".repeat(64 * 1024)), "value must be at most 65536 bytes of JSON", "malformed"],
    ["what is not JSON", put("a", undefined as unknown as Schema.Json), "value must be a plain JSON value", "malformed"]
  ])("R-405 does not take %s", ([, change, detail, kind]) =>
    Effect.sync(() => {
      const error = failed(Memory.apply(Memory.empty, change))
      assert.include(error?.message, detail)
      assert.strictEqual(Failure.kindOf(error), kind)
    })
  )

  it("R-405 takes 1,000 keys, and any of them again", () => {
    let state = Memory.empty
    for (let index = 0; index < 1000; index++) state = Result.getOrThrow(Memory.apply(state, put(`k${index}`, index)))
    const error = failed(Memory.apply(state, put("one-more", 1)))
    assert.strictEqual(Failure.kindOf(error), "exhausted")
    assert.isTrue(Result.isSuccess(Memory.apply(state, put("k7", "other"))))
    const fewer = Result.getOrThrow(Memory.apply(state, { _tag: "Remove", key: "k7" }))
    assert.isTrue(Result.isSuccess(Memory.apply(fewer, put("one-more", 1))))
    assert.strictEqual(state.entries.size, 1000)
  })

  it("keeps a copy of its own", () => {
    const value = { list: [1] }
    const { entries } = Result.getOrThrow(Memory.apply(Memory.empty, put("a", value)))
    value.list.push(2)
    assert.deepStrictEqual(entries.get("a"), { list: [1] })
  })
})

describe("Memory", () => {
  it.effect("reads what this order has written, and no longer what it has removed", () =>
    Effect.gen(function* () {
      const memory = yield* Memory.make()
      assert.deepStrictEqual(yield* memory.get("a"), Option.none())
      yield* memory.put("b/2", [2])
      yield* memory.put("b/1", { one: 1 })
      yield* memory.put("a", null)
      assert.deepStrictEqual(yield* memory.get("a"), Option.some(null))
      assert.deepStrictEqual(yield* memory.get("b/1"), Option.some({ one: 1 }))
      assert.deepStrictEqual(yield* memory.list(), ["a", "b/1", "b/2"])
      assert.deepStrictEqual(yield* memory.list("b/"), ["b/1", "b/2"])
      yield* memory.remove("a")
      yield* memory.remove("never")
      assert.deepStrictEqual(yield* memory.list(), ["b/1", "b/2"])
      assert.strictEqual((yield* Effect.flip(memory.get("no key")))._tag, "MemoryError")
    }).pipe(alone)
  )

  it.effect("makes changes in the order in which they were asked for, also when they are at once", () =>
    Effect.gen(function* () {
      const memory = yield* Memory.make()
      const values = [1, 2, 1, 3, 1]
      yield* Effect.forEach(values, (value) => memory.put("a", value), { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* memory.get("a"), Option.some(1))
    }).pipe(alone)
  )

  it.effect("D25 is not what another task has, whatever the keys are", () => {
    const seen: Array<ReadonlyArray<string>> = []
    const built = desk(
      (order) =>
        Effect.gen(function* () {
          const memory = yield* Memory.make()
          yield* memory.put(`of-${order.task}`, 1)
          seen.push(yield* memory.list())
          return "done"
        }),
      ["a", "b"]
    )
    return Effect.gen(function* () {
      const { status } = yield* elapse(Run.start(built, options), "1 minute")
      assert.strictEqual(status, "completed")
      assert.deepStrictEqual(seen, [["of-a"], ["of-b"]])
    }).pipe(Effect.provide(Journal.layerMemory))
  })

  it.effect(
    "R-405 is rebuilt as it was recorded when its order is given again in another process, with nothing written twice",
    () => {
      const seen: Array<unknown> = []
      const built = desk(
        () =>
          Effect.gen(function* () {
            const memory = yield* Memory.make()
            yield* memory.put("a", 1)
            yield* memory.put("b", 1)
            yield* memory.put("a", 2)
            yield* memory.remove("b")
            yield* memory.put("a", 1)
            seen.push([yield* memory.list(), yield* memory.get("a")])
            yield* Effects.perform({ name: "last", run: () => Effect.void })
            return "done"
          }),
        ["a"],
        { tools: [...Memory.effects, { name: "last", idempotent: true }] }
      )
      return Effect.gen(function* () {
        const last = ({ data, type }: Journal.Event) =>
          type === "EffectIntended" && JSON.stringify(data).includes('"last"')
        yield* elapse(killed(Run.start(built, options), last, "after"), "1 minute")
        const { status } = yield* elapse(resume(built), "1 minute")
        assert.strictEqual(status, "completed")
        const [first, second] = seen
        assert.deepStrictEqual(first, [["a"], Option.some(1)])
        assert.deepStrictEqual(second, first)
        const intended = of(yield* history("r1"), "EffectIntended")
        assert.deepStrictEqual(
          intended.map(({ name, occurrence }) => `${name} ${occurrence}`),
          ["memory.put 0", "memory.put 0", "memory.put 0", "memory.remove 0", "memory.put 1", "last 0"]
        )
      }).pipe(Effect.provide(Journal.layerMemory))
    }
  )

  it.effect("R-405 is rebuilt also where the process ends between a change and what is recorded of it", () => {
    const seen: Array<unknown> = []
    const built = desk(() =>
      Effect.gen(function* () {
        const memory = yield* Memory.make()
        yield* memory.put("a", 1)
        seen.push(yield* memory.get("a"))
        return "done"
      })
    )
    return Effect.gen(function* () {
      yield* elapse(killed(Run.start(built, options), tagged("EffectSettled"), "before"), "1 minute")
      assert.deepStrictEqual(seen, [])
      const { status } = yield* elapse(resume(built), "1 minute")
      assert.strictEqual(status, "completed")
      assert.deepStrictEqual(seen, [Option.some(1)])
    }).pipe(Effect.provide(Journal.layerMemory))
  })

  it.effect("lets a worker with tools that has not declared its effects keep nothing", () => {
    const said: Array<string> = []
    const built = desk(
      () =>
        Effect.gen(function* () {
          const memory = yield* Memory.make()
          said.push((yield* Effect.flip(memory.put("a", 1))).message)
          assert.deepStrictEqual(yield* memory.get("a"), Option.none())
          return "done"
        }),
      ["a"],
      { tools: ["other"] }
    )
    return Effect.gen(function* () {
      yield* elapse(Run.start(built, options), "1 minute")
      assert.include(said[0], "memory.put")
    }).pipe(Effect.provide(Journal.layerMemory))
  })
})

describe("Memory with a namespace", () => {
  it.effect("D25 is shared by those who are given the same namespace, and by nobody else", () =>
    Effect.gen(function* () {
      const store = yield* Memory.storeMemory
      const as = (task: string, namespace: string) =>
        Effect.provide(Memory.make({ namespace, store }), Effects.layerMemory({ task }))
      const one = yield* as("one", "acme/notes")
      yield* one.put("a", 1)
      yield* one.put("b", 1)
      const other = yield* as("two", "acme/notes")
      assert.deepStrictEqual(yield* other.get("a"), Option.some(1))
      yield* other.remove("a")
      yield* other.put("c", 3)
      assert.deepStrictEqual(yield* other.get("a"), Option.none())
      assert.deepStrictEqual(yield* other.list(), ["b", "c"])
      assert.deepStrictEqual(yield* (yield* as("three", "acme/notes")).list(), ["b", "c"])
      assert.deepStrictEqual(yield* (yield* as("four", "globex/notes")).list(), [])
    })
  )

  it.effect("shows an order what was there when it first looked, also when it is given again", () =>
    Effect.gen(function* () {
      const store = yield* Memory.storeMemory
      yield* store.put("n", "a", "old")
      const order = Effect.gen(function* () {
        const memory = yield* Memory.make({ namespace: "n", store })
        return [yield* memory.get("a"), yield* memory.get("b"), yield* memory.list()]
      })
      yield* Effect.gen(function* () {
        const first = yield* order
        assert.deepStrictEqual(first, [Option.some("old"), Option.none(), ["a"]])
        yield* store.put("n", "a", "new")
        yield* store.put("n", "b", "new")
        assert.deepStrictEqual(yield* order, first)
      }).pipe(alone)
    })
  )

  it.effect("D25 is read and written anew by another order of the same task", () =>
    Effect.gen(function* () {
      const store = yield* Memory.storeMemory
      const seen: Array<Schema.Json | undefined> = []
      const program = desk<Effects.Effects>(
        (order) =>
          Effect.gen(function* () {
            const memory = yield* Memory.make({ namespace: "notes", store })
            seen.push(Option.getOrUndefined(yield* memory.get("b")))
            yield* memory.put("a", 1)
            if (order.dispatch !== "r1/a/1") return "done"
            yield* memory.put("a", 2)
            yield* store.put("notes", "b", 7)
            return yield* Effect.die(new Error("once"))
          }),
        ["a"],
        { output: Schema.String, tools: Memory.effects }
      )
      const outcome = yield* elapse(Run.start(program, options), "1 minute")
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(seen, [undefined, 7])
      assert.deepStrictEqual(yield* store.get("notes", "a"), Option.some(1))
    }).pipe(Effect.provide(Journal.layerMemory))
  )

  it.effect("makes changes one after the other, however long its store takes for each", () =>
    Effect.gen(function* () {
      const store = yield* Memory.storeMemory
      const slow: Memory.Store = {
        ...store,
        put: (namespace, key, value) =>
          Effect.andThen(Effect.repeat(Effect.yieldNow, { times: Number(value) }), store.put(namespace, key, value))
      }
      const memory = yield* Memory.make({ namespace: "n", store: slow })
      yield* Effect.all([memory.put("a", 50), memory.put("a", 1)], { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* memory.get("a"), Option.some(1))
      assert.deepStrictEqual(yield* store.get("n", "a"), Option.some(1))
    }).pipe(alone)
  )

  it.effect("does not show what its store has not taken", () =>
    Effect.gen(function* () {
      const store = yield* Memory.storeMemory
      const full = { ...store, put: () => Effect.fail(Failure.exhausted("the disk is full")) }
      const memory = yield* Memory.make({ namespace: "n", store: full })
      assert.strictEqual(Failure.kindOf(yield* Effect.flip(memory.put("a", 1))), "exhausted")
      assert.deepStrictEqual(yield* memory.get("a"), Option.none())
    }).pipe(alone)
  )

  it("refuses a namespace that is none", () => {
    const store = Effect.runSync(Memory.storeMemory)
    assert.throws(() => Memory.make({ namespace: "", store }), "Memory.make: namespace must be 1 to 128 letters")
  })
})

describe("Memory.tools", () => {
  const { get, list, put } = Memory.tools

  it.effect("R-405 let a model keep, read and list", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* put.handle({ key: "a", value: { x: 1 } }), { kept: "a" })
      assert.deepStrictEqual(yield* get.handle({ key: "a" }), { found: true, value: { x: 1 } })
      assert.deepStrictEqual(yield* get.handle({ key: "b" }), { found: false, value: null })
      assert.deepStrictEqual(yield* list.handle({}), { keys: ["a"], total: 1 })
      assert.deepStrictEqual(yield* list.handle({ prefix: "b" }), { keys: [], total: 0 })
      for (let index = 0; index < 120; index++) yield* put.handle({ key: `k${index}`, value: index })
      const many = yield* list.handle({ prefix: "k" })
      assert.deepStrictEqual([many.keys.length, many.total], [100, 120])
      assert.strictEqual((yield* Effect.flip(put.handle({ key: "no key", value: 1 })))._tag, "MemoryError")
    }).pipe(Effect.provide(Memory.layer()), alone)
  )

  it("have schemas that a provider can be sent, and say what they take", () => {
    for (const { idempotent, risk, tool } of [get, put, list]) {
      assert.deepStrictEqual([risk, idempotent], ["low", true])
      assert.strictEqual(Tool.getJsonSchema(tool)["type"], "object")
    }
  })
})
