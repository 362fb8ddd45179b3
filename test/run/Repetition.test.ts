import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Repetition } from "espalier/run"

import { dice } from "./simulate.ts"

/** `"a1x b2y"` are two calls: worker, digest of the input, digest of the output. */
const calls = (text: string): ReadonlyArray<Repetition.Call> =>
  text
    .split(" ")
    .filter((word) => word !== "")
    .map(([worker, input, output]) => ({ worker: worker!, input: input!, output: output! }))

const record = (text: string, policy?: Repetition.Policy): Repetition.History =>
  calls(text).reduce((history, call) => Repetition.record(history, call, policy), Repetition.empty)

const shown = (found: Repetition.Detection | undefined): string =>
  found === undefined ? "nothing" : `${found._tag} ${found.workers.join("+")} ${found.times}`

describe("Repetition", () => {
  describe("detect", () => {
    const table: ReadonlyArray<readonly [history: string, found: string]> = [
      ["", "nothing"],
      ["a1x", "nothing"],
      ["a1x a1x", "nothing"],
      ["a1x a1x a1x", "identical-call a 3"],
      ["a1x a1x a1x a1x", "identical-call a 4"],
      ["a1x a1y a1x", "nothing"],
      ["a1x a2x a1x", "nothing"],
      ["a1x b1x c1x", "nothing"],
      ["a1x c1p a1x c2q a1x", "identical-call a 3"],
      ["a1x c1p d1p a1x c2q a1x", "identical-call a 3"],
      ["a1x b2y c3z a1x b2y c3z a1x", "identical-call a 3"],
      ["a1x a1x a1x b2y", "nothing"],
      ["a1x b2y a1x b2y", "nothing"],
      ["a1x b2y a1x b2y a1x", "nothing"],
      ["a1x b2y a1x b2y a1x b2y", "ping-pong a+b 3"],
      ["a1x b2y a1x b2y a1x b2y a1x", "ping-pong a+b 3"],
      ["c1p b2y a1x b2y a1x b2y a1x", "ping-pong b+a 3"],
      ["a1x b2y a1x b2y a1x b2y a1x b2y", "ping-pong a+b 4"],
      ["a1x b2y a1x b2y a1x b3y", "nothing"],
      ["a1x b2y a1x b3y a1x", "identical-call a 3"],
      ["a1x b2y a1x b3y a1x b2y", "nothing"],
      ["a1x b2y a1x c3z a1x b2y a1x b2y", "nothing"],
      ["a1x c1p a1x c2q b2y a1x b2y a1x b2y a1x", "ping-pong b+a 3"],
      ["a1x c1p a1x c2q b2y a1x b2y a1x", "identical-call a 3"]
    ]
    it.each(table)("D39 finds after %s: %s", (history, found) => {
      assert.strictEqual(shown(Repetition.detect(record(history))), found)
    })

    it("D39 stops two workers that hand the same things to and fro after three rounds", () => {
      const [there, back] = calls("a1x b2y") as [Repetition.Call, Repetition.Call]
      let history = Repetition.empty
      let made = 0
      while (Repetition.detect(history) === undefined && made < 100) {
        history = Repetition.record(history, made % 2 === 0 ? there : back)
        made += 1
      }
      assert.strictEqual(made, 6)
    })

    it("D39 goes by the numbers of the policy", () => {
      const policy = Repetition.make({ identical: 2, rounds: 2 })
      assert.strictEqual(shown(Repetition.detect(record("a1x a1x"), policy)), "identical-call a 2")
      assert.strictEqual(shown(Repetition.detect(record("a1x b2y c3z a1x"), policy)), "identical-call a 2")
      assert.strictEqual(shown(Repetition.detect(record("a1x b2y a1x b2y"), policy)), "ping-pong a+b 2")
      const patient = Repetition.make({ identical: 5, rounds: 4 })
      assert.strictEqual(shown(Repetition.detect(record("a1x a1x a1x a1x"), patient)), "nothing")
      assert.strictEqual(shown(Repetition.detect(record("a1x b2y a1x b2y a1x b2y a1x"), patient)), "nothing")
    })

    it("forgets calls that have left the window", () => {
      const policy = Repetition.make({ window: 6 })
      assert.strictEqual(
        shown(Repetition.detect(record("a1x a1x b1p b2p b3p a1x", policy), policy)),
        "identical-call a 3"
      )
      assert.strictEqual(shown(Repetition.detect(record("a1x a1x b1p b2p b3p b4p a1x", policy), policy)), "nothing")
    })

    it("R-210 finds a worker that was called too often though each call was another", () => {
      const policy = Repetition.make({ perWorker: 2 })
      assert.strictEqual(shown(Repetition.detect(record("a1x b1x a2x"), policy)), "nothing")
      assert.strictEqual(shown(Repetition.detect(record("a1x b1x a2x a3x"), policy)), "loop-count a 3")
    })
  })

  describe("refuse", () => {
    it.each([0, 1, 5])("D30 R-210 lets one worker be called exactly %d times when that is the limit", (perWorker) => {
      const policy = Repetition.make({ perWorker })
      let history = Repetition.empty
      let made = 0
      while (Repetition.refuse(history, "router", policy) === undefined && made < 100) {
        made += 1
        history = Repetition.record(history, { worker: "router", input: `${made}`, output: `${made}` }, policy)
      }
      assert.strictEqual(made, perWorker)
      assert.strictEqual(shown(Repetition.refuse(history, "router", policy)), `loop-count router ${perWorker}`)
    })

    it("counts calls that run", () => {
      const policy = Repetition.make({ perWorker: 3 })
      assert.strictEqual(shown(Repetition.refuse(record("a1x"), "a", policy, 1)), "nothing")
      assert.strictEqual(shown(Repetition.refuse(record("a1x"), "a", policy, 2)), "loop-count a 3")
      assert.strictEqual(shown(Repetition.refuse(record("a1x"), "b", policy, 2)), "nothing")
    })

    it("refuses nobody unless told to", () => {
      assert.isUndefined(Repetition.refuse(record("a1x a2x a3x a4x"), "a"))
    })

    it("R-210 counts calls that have left the window too", () => {
      const policy = Repetition.make({ window: 6, perWorker: 20 })
      const text = Array.from({ length: 20 }, (_, index) => `a${index % 10}${"pq"[index < 10 ? 0 : 1]}`).join(" ")
      assert.strictEqual(shown(Repetition.refuse(record(text, policy), "a", policy)), "loop-count a 20")
    })
  })

  describe("record", () => {
    it("keeps the window and no more, and leaves the history that it is given as it was", () => {
      const policy = Repetition.make({ window: 6 })
      const before = record("a1x b1x a2x b2x a3x b3x", policy)
      const after = Repetition.record(before, calls("c1z")[0]!, policy)
      assert.deepStrictEqual(before, record("a1x b1x a2x b2x a3x b3x", policy))
      assert.deepStrictEqual(after.newest, calls("b1x a2x b2x a3x b3x c1z"))
    })

    it("shortens a history to a window that has become smaller", () => {
      const long = record("a1x a2x a3x a4x a5x a6x a7x a8x")
      const policy = Repetition.make({ window: 6 })
      assert.deepStrictEqual(Repetition.record(long, calls("b1z")[0]!, policy).newest, calls("a4x a5x a6x a7x a8x b1z"))
    })

    const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
    it.prop(
      "P1 P2 R-215 is bounded, counts every call, and finds the same after a round trip",
      { seed },
      ({ seed }) => {
        const { below, pick } = dice(seed)
        const policy = Repetition.make({ window: 6 + below(6), perWorker: 5 })
        const Json = Schema.toCodecJson(Repetition.History)
        const made: Array<Repetition.Call> = []
        let history = Repetition.empty
        for (let count = 0; count < 40; count++) {
          const call = { worker: pick(["a", "b", "c"]), input: pick(["1", "2"]), output: pick(["x", "y"]) }
          made.push(call)
          history = Repetition.record(history, call, policy)
          assert.deepStrictEqual(history.newest, made.slice(-policy.window))
          const times = made.filter(({ worker }) => worker === call.worker).length
          assert.strictEqual(history.calls.get(call.worker), times)
          const again = Schema.decodeUnknownSync(Json)(JSON.parse(JSON.stringify(Schema.encodeSync(Json)(history))))
          assert.deepStrictEqual(again, history)
          assert.deepStrictEqual(Repetition.detect(again, policy), Repetition.detect(history, policy))
          if (times > 5) assert.isDefined(Repetition.detect(history, policy))
        }
      }
    )
  })

  describe("make", () => {
    it("has 3 identical calls, 3 rounds, no limit per worker and a window of 64 unless told otherwise", () => {
      assert.deepStrictEqual(Repetition.policy, { identical: 3, rounds: 3, perWorker: undefined, window: 64 })
    })

    it("has a window that is large enough", () => {
      assert.strictEqual(Repetition.make({ identical: 100 }).window, 100)
      assert.strictEqual(Repetition.make({ rounds: 50 }).window, 100)
    })

    it.each([
      ["identical", 1, 2],
      ["identical", Number.NaN, 2],
      ["rounds", 1, 2],
      ["rounds", 2.5, 2],
      ["perWorker", -1, 0],
      ["perWorker", Number.POSITIVE_INFINITY, 0],
      ["window", 5, 6]
    ] as const)("throws when %s is %d", (name, value, least) => {
      assert.throws(
        () => Repetition.make({ [name]: value }),
        RangeError,
        `Repetition.make: ${name} must be a whole number >= ${least}, got ${value}`
      )
    })
  })
})
