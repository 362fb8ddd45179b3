import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Effects, Plan, Review, Reviewers, Run, type RunEvent, type Worker } from "espalier/run"

import { history, memory, task, worker } from "./desks.ts"
import { deskOf, of } from "./living.ts"

const start = { id: "r1", input: "go", log: false }

const Mail = Schema.Struct({ to: Schema.String, text: Schema.String })

/** Mail that was sent. */
class Post {
  readonly sent: Array<string> = []

  send(to: string, text = "hi") {
    return Effects.perform({
      name: "mail.send",
      args: { to, text },
      run: () =>
        Effect.sync(() => {
          this.sent.push(`${to}: ${text}`)
          return to
        })
    })
  }

  /** Sends one after the other. */
  each(...to: ReadonlyArray<string>) {
    return Effect.as(
      Effect.forEach(to, (each) => this.send(each)),
      "sent"
    )
  }
}

const tool: Worker.Tool = { name: "mail.send", input: Mail, gate: "always" }

const desked = (
  handle: (order: Worker.Order<unknown>) => Effect.Effect<unknown, unknown, Effects.Effects>,
  fields: Partial<Worker.Tool> = {},
  tasks: ReadonlyArray<Plan.Task<string>> = [task("a")]
) => deskOf([worker("one", handle, { tools: [{ ...tool, ...fields }], size: 4 })], Plan.make<string>(tasks))

const first = "r1/review/1"

const approve = (number: number) => Run.decide({ review: `r1/review/${number}`, decision: "approve", by: "ann" })

const resume = (built: ReturnType<typeof desked>) => Run.resume(built, "r1", { log: false })

const open = ({
  reviews
}: {
  readonly reviews: ReadonlyArray<{ readonly facts: RunEvent.Of<"ReviewOpened">["facts"] }>
}) => reviews.map(({ facts }) => (facts["arguments"] as typeof Mail.Type).to)

const allow = (options: Partial<Review.Allowing> = {}) =>
  Review.allow(first, { by: "ann", uses: 10, for: "1 hour", ...options })

describe("A standing grant", () => {
  it.effect("R-306 lets the like be done, and each use is a question that was decided by it", () =>
    Effect.gen(function* () {
      const post = new Post()
      const built = desked(() => post.each("ann", "bob", "cy", "dee"))
      yield* Run.start(built, start)
      assert.strictEqual(yield* allow({ uses: 2 }), "r1/review/1/grant")
      yield* approve(1)
      const between = yield* resume(built)
      assert.deepStrictEqual([between.status, open(between), post.sent.length], ["waiting", ["dee"], 3])
      const all = yield* history("r1")
      const uses = of(all, "ReviewDecided").filter(({ grant }) => grant !== undefined)
      assert.deepStrictEqual(
        uses.map(({ by, decision, grant, note, review }) => [review, decision, by, grant, note]),
        [
          ["r1/review/2", "approve", "ann", "r1/review/1/grant", "r1/review/1/grant of ann covers it, use 1 of 2"],
          ["r1/review/3", "approve", "ann", "r1/review/1/grant", "r1/review/1/grant of ann covers it, use 2 of 2"]
        ]
      )
      assert.deepStrictEqual(
        of(all, "EffectIntended").map(({ grant }) => grant),
        ["r1/review/1", "r1/review/2", "r1/review/3"]
      )
      yield* approve(4)
      assert.strictEqual((yield* resume(built)).status, "completed")
    }).pipe(memory)
  )

  const limits: ReadonlyArray<readonly [string, Partial<Review.Allowing>, ReadonlyArray<string>]> = [
    ["any arguments", {}, []],
    ["the value of an argument, and no other", { where: { "/to": "cy" } }, ["bob"]],
    ["an argument that has to be there", { where: { "/copy": null } }, ["bob"]],
    ["its task", { task: "a" }, []],
    ["no other task", { task: "b" }, ["bob"]]
  ]
  for (const [name, options, asked] of limits) {
    it.effect(`R-306 is for ${name}`, () =>
      Effect.gen(function* () {
        const post = new Post()
        const built = desked(() => post.each("ann", "bob"))
        yield* Run.start(built, start)
        yield* allow(options)
        yield* approve(1)
        assert.deepStrictEqual(open(yield* resume(built)), asked)
        assert.strictEqual(post.sent.length, 2 - asked.length)
      }).pipe(memory)
    )
  }

  it.effect("R-306 ends with its time", () =>
    Effect.gen(function* () {
      const post = new Post()
      const built = desked(() => post.each("ann", "bob"))
      yield* Run.start(built, start)
      yield* allow({ for: "15 minutes" })
      yield* TestClock.adjust("15 minutes")
      yield* approve(1)
      assert.deepStrictEqual(open(yield* resume(built)), ["bob"])
    }).pipe(memory)
  )

  it.effect("R-306 covers nothing any more once it is taken back", () =>
    Effect.gen(function* () {
      const post = new Post()
      const built = desked(() => post.each("ann", "bob"))
      yield* Run.start(built, start)
      const grant = yield* allow()
      yield* Review.revoke(grant, { by: "ann", note: "enough" })
      yield* approve(1)
      assert.deepStrictEqual(open(yield* resume(built)), ["bob"])
      const again = yield* Effect.flip(Review.revoke(grant, { by: "ann" }))
      assert.include(again.message, "is taken back already")
      const [revoked] = of(yield* history("r1"), "GrantRevoked")
      assert.deepStrictEqual([revoked?.by, revoked?.note], ["ann", "ann takes r1/review/1/grant back: enough"])
    }).pipe(memory)
  )

  it.effect("R-306 does not cover what is riskier than what it was given for", () =>
    Effect.gen(function* () {
      const post = new Post()
      const gate: Worker.Tool["gate"] = ({ to }: typeof Mail.Type) => ({
        decision: "ask",
        risk: to === "all" ? "high" : "low"
      })
      const built = desked(() => post.each("ann", "bob", "all"), { gate })
      yield* Run.start(built, start)
      yield* allow()
      yield* approve(1)
      assert.deepStrictEqual(open(yield* resume(built)), ["all"])
    }).pipe(memory)
  )

  it.effect("R-306 its last use is one use, also where two calls come at once", () =>
    Effect.gen(function* () {
      const post = new Post()
      const built = desked(() =>
        Effect.andThen(
          post.send("ann"),
          Effect.as(
            Effect.forEach(["bob", "cy"], (to) => post.send(to), { concurrency: "unbounded" }),
            "sent"
          )
        )
      )
      yield* Run.start(built, start)
      yield* allow({ uses: 1 })
      yield* approve(1)
      assert.strictEqual(open(yield* resume(built)).length, 1)
      assert.strictEqual(post.sent.length, 2)
    }).pipe(memory)
  )

  describe("is given only", () => {
    const people = Effect.provide(Reviewers.layer({ users: { ann: {}, eve: {} }, groups: {} }))
    const never: ReadonlyArray<readonly [string, Partial<Worker.Tool>, Partial<Review.Allowing>, string]> = [
      ["for what can be undone", { irreversible: true }, {}, "must not be for an action that cannot be undone"],
      ["for what is not critical", { risk: "critical" }, {}, "needs more than one approval"],
      ["for 8 hours at most", {}, { for: "9 hours" }, "for must be a duration > 0 and at most 8 hours"],
      ["for a number of uses", {}, { uses: 0 }, "uses must be a whole number > 0"],
      ["for places that there can be", {}, { where: { to: "ann" } }, "a JSON Pointer"]
    ]
    for (const [name, fields, options, reason] of never) {
      it.effect(`R-306 ${name}`, () =>
        Effect.gen(function* () {
          yield* Run.start(
            desked(() => new Post().each("ann"), fields),
            start
          )
          const refused = yield* Effect.flip(allow(options))
          assert.include(refused.message, reason)
          assert.deepStrictEqual(of(yield* history("r1"), "GrantGiven"), [])
        }).pipe(memory)
      )
    }

    it.effect("R-306 by who may decide the question, while it is open, and once", () =>
      Effect.gen(function* () {
        const built = desked(() => new Post().each("ann", "bob"), { risk: "high" })
        yield* Run.start(built, { ...start, requester: "eve" })
        const self = yield* Effect.flip(allow({ by: "eve" }))
        assert.strictEqual(self._tag === "CommandRefused" ? self.because : self._tag, "self-approval")
        const grant = yield* allow()
        assert.include((yield* Effect.flip(allow())).message, "is given already")
        yield* approve(1)
        const late = yield* Effect.flip(allow())
        assert.strictEqual(late._tag === "CommandRefused" ? late.because : late._tag, "already-decided")
        const stranger = yield* Effect.flip(Review.revoke(grant, { by: "agent:zed" }))
        assert.strictEqual(stranger._tag === "CommandRefused" ? stranger.because : stranger._tag, "not-a-reviewer")
        yield* Review.revoke(grant, { by: "eve" })
      }).pipe(people, memory)
    )
  })
})
