import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Redaction } from "espalier"
import { Journal } from "espalier/journal"
import { Effects, Result, Review, ReviewPolicy, Run, type Worker } from "espalier/run"
import { Fake } from "espalier/testing"

import { desk, history, memory, task, worker } from "./desks.ts"
import { guarded, of } from "./guards.ts"

const start = { id: "r1", input: "go", log: false } as const

const first = "r1/review/1"

const Payment = Schema.Struct({ to: Schema.String, amount: Schema.Finite })

/** A worker that pays 1 to each of these, and what was paid. */
const paying = (to: ReadonlyArray<string>, fields: Partial<Worker.Tool>, reviews: ReviewPolicy.Options = {}) => {
  const paid: Array<string> = []
  const pays = worker(
    "one",
    () =>
      Effect.as(
        Effect.forEach(to, (each) =>
          Effects.perform({
            name: "pay",
            args: { to: each, amount: 1 },
            run: (_key, args) => {
              const { amount, to } = args as typeof Payment.Type
              return Effect.sync(() => void paid.push(`${to} ${amount}`))
            }
          })
        ),
        "done"
      ),
    { tools: [{ name: "pay", input: Payment, gate: "always", editable: ["/amount"], ...fields }] }
  )
  return { built: guarded([pays], [task("a")], { reviews: ReviewPolicy.make(reviews) }), paid }
}

const decide = (fields: Partial<Run.Deciding>) =>
  Run.decide({ review: first, decision: "approve", by: "ann", ...fields })

const because = <A, R>(said: Effect.Effect<A, Review.Refusals, R>) =>
  Effect.map(Effect.flip(said), (error) => (error._tag === "CommandRefused" ? error.because : error._tag))

const edit = (amount: number) => ({ by: "bob", decision: "edit", edits: { "/amount": amount }, key: "bob-1" }) as const

describe("An approval of what was proposed", () => {
  it.effect("R-306 that is sent again does not count for what somebody has changed since", () =>
    Effect.gen(function* () {
      const { built, paid } = paying(["cy"], { risk: "high" }, { quorum: { high: 2 } })
      yield* Run.start(built, start)
      yield* decide({ key: "ann-1" })
      yield* decide(edit(1000))
      assert.strictEqual(yield* because(decide({ key: "ann-1" })), "stale-revision")
      assert.strictEqual((yield* Run.resume(built, "r1", { log: false })).status, "waiting")
      const { changed, revision } = yield* Review.get(first)
      assert.deepStrictEqual(changed?.arguments, { to: "cy", amount: 1000 })
      assert.deepStrictEqual(yield* decide({ key: "ann-2", revision }), { _tag: "Applied" })
      yield* Run.resume(built, "r1", { log: false })
      assert.deepStrictEqual(paid, ["cy 1000"])
    }).pipe(memory)
  )

  it.effect("R-306 says nothing of what somebody has changed since, unless it names the revision of now", () =>
    Effect.gen(function* () {
      const { built, paid } = paying(["cy"], { risk: "high" }, { quorum: { high: 2 } })
      yield* Run.start(built, start)
      yield* decide(edit(1000))
      // Who has changed it has approved that, and not what was proposed.
      assert.deepStrictEqual(yield* decide({ by: "bob" }), { _tag: "Replayed" })
      const error = yield* Effect.flip(decide({}))
      assert.include(error.message, '{"/amount":1000}')
      assert.include(error.message, "with the revision 2")
      assert.deepStrictEqual(yield* decide({ revision: 2 }), { _tag: "Applied" })
      yield* Run.resume(built, "r1", { log: false })
      assert.deepStrictEqual(paid, ["cy 1000"])
    }).pipe(memory)
  )

  it.effect("R-306 by its digest alone is none of what it was changed to; with the revision of now it is", () =>
    Effect.gen(function* () {
      const { built } = paying(["cy"], { risk: "high" }, { quorum: { high: 2 } })
      yield* Run.start(built, start)
      const { digest } = yield* Review.get(first)
      yield* decide(edit(1000))
      const { revision } = yield* Review.get(first)
      assert.strictEqual(yield* because(decide({ digest })), "stale-revision")
      assert.strictEqual(yield* because(decide({ digest, revision: 1 })), "stale-revision")
      assert.deepStrictEqual(yield* decide({ digest, revision }), { _tag: "Applied" })
    }).pipe(memory)
  )

  it.effect("R-306 with a key that another change came with is a mismatch", () =>
    Effect.gen(function* () {
      const { built } = paying(["cy"], { risk: "high" }, { quorum: { high: 2 } })
      yield* Run.start(built, start)
      yield* decide(edit(1000))
      assert.strictEqual(yield* because(decide(edit(5))), "idempotency-mismatch")
      assert.deepStrictEqual(yield* decide(edit(1000)), { _tag: "Replayed" })
    }).pipe(memory)
  )
})

describe("An approval of a call", () => {
  const dearer: ReadonlyArray<readonly [what: string, fields: Partial<Worker.Tool>]> = [
    ["is riskier now", { risk: "critical" }],
    ["cannot be undone any more", { irreversible: true }],
    ["is said to be riskier by its gate", { gate: () => ({ decision: "ask", risk: "high" }) }]
  ]
  for (const [what, fields] of dearer) {
    it.effect(`R-306 is none of one that ${what}`, () =>
      Effect.gen(function* () {
        yield* Run.start(paying(["cy"], { risk: "medium" }).built, start)
        yield* decide({})
        const { built, paid } = paying(["cy"], { risk: "medium", ...fields })
        const { reviews } = yield* Run.resume(built, "r1", { log: false })
        assert.deepStrictEqual([paid, reviews.map(({ review }) => review)], [[], ["r1/review/2"]])
        assert.deepStrictEqual(
          (yield* of("Noticed")).map(({ what }) => what),
          ["approval-mismatch"]
        )
      }).pipe(memory)
    )
  }

  it.effect("R-306 that is made twice at once is asked about once, and stops at once", () =>
    Effect.gen(function* () {
      const paid: Array<string> = []
      const pay = Effects.perform({
        name: "pay",
        args: { to: "cy", amount: 1 },
        run: (key) => Effect.sync(() => paid.push(key))
      })
      const pays = worker("one", () => Effect.as(Effect.all([pay, pay], { concurrency: 2 }), "done"), {
        tools: [{ name: "pay", input: Payment, gate: "always" }]
      })
      const built = guarded([pays], [task("a")])
      // The test clock stands still: what does not stop by itself never does.
      assert.lengthOf((yield* Run.start(built, start)).reviews, 1)
      yield* decide({})
      assert.strictEqual((yield* Run.resume(built, "r1", { log: false })).status, "completed")
      assert.lengthOf(paid, 1)
    }).pipe(memory)
  )
})

describe("A raise that two have to approve", () => {
  it.effect("R-306 R-210 is one that both approve: another amount is another raise", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        estimate: { tokens: 400 },
        otherwise: Result.completed("done", { usage: { tokens: 400 } })
      })
      const built = guarded([one], [task("a"), task("b", { needs: ["a"] })], {
        limits: { tokens: 400 },
        policy: { atCap: "review" },
        reviews: ReviewPolicy.make({ quorum: { low: 2 } })
      })
      yield* Run.start(built, start)
      const voted = { _tag: "Voted", votes: 1, need: 2 } as const
      assert.deepStrictEqual(yield* decide({ raise: { tokens: 400 } }), voted)
      assert.deepStrictEqual(yield* decide({ by: "bob", raise: { tokens: 400_000 } }), voted)
      assert.deepStrictEqual(yield* decide({ by: "cem", raise: { tokens: 400 } }), { _tag: "Applied" })
      const [decided] = yield* of("ReviewDecided")
      assert.deepStrictEqual([decided?.by, decided?.raise], ["cem", { tokens: 400 }])
    }).pipe(memory)
  )
})

describe("Once the time of a question is over, and nobody has written that down", () => {
  const later: ReadonlyArray<readonly [string, Effect.Effect<unknown, Review.Refusals, Journal.Journal>]> = [
    ["given more time", Review.extend(first, { by: "ann", for: "60 days" })],
    ["allowed in general", Review.allow(first, { by: "ann", uses: 1, for: "1 hour" })],
    ["put to others", Review.reassign(first, { by: "ann", to: ["user:eve"], note: "away" })],
    ["taken care of", Review.claim(first, { by: "ann" })],
    ["withdrawn", Review.withdraw(first, { by: "ann", note: "enough" })]
  ]
  for (const [what, said] of later) {
    it.effect(`R-306 it is not ${what} any more`, () =>
      Effect.gen(function* () {
        const { built, paid } = paying(["cy"], {})
        yield* Run.start(built, start)
        yield* TestClock.adjust("30 days")
        assert.strictEqual(yield* because(said), "expired")
        yield* because(decide({}))
        yield* Run.resume(built, "r1", { log: false })
        assert.deepStrictEqual([paid, (yield* of("ReviewExpired")).length], [[], 1])
      }).pipe(memory)
    )
  }

  it.effect("R-306 D65 word that was left in time counts, whenever it is taken in; later word does not", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const leave = (run: string, at: number) =>
        journal.command({
          run,
          type: "ReviewDecided",
          at,
          review: `${run}/review/1`,
          data: { review: `${run}/review/1`, by: "ann", decision: "approve", note: "" }
        })
      const { built, paid } = paying(["cy"], {})
      yield* Run.start(built, start)
      yield* Run.start(built, { ...start, id: "r2" })
      yield* leave("r1", 3_600_000)
      yield* TestClock.adjust("30 days")
      yield* leave("r2", 30 * 24 * 3_600_000)
      yield* Run.resume(built, "r1", { log: false })
      yield* Run.resume(built, "r2", { log: false })
      assert.deepStrictEqual(paid, ["cy 1"])
      assert.deepStrictEqual(
        (yield* of("ReviewRefused", "r2")).map(({ because }) => because),
        ["expired"]
      )
    }).pipe(memory)
  )
})

describe("A standing grant", () => {
  it.effect("R-306 does not cover what needs more than one approval by the rules of now", () =>
    Effect.gen(function* () {
      const before = paying(["cy", "dee"], { risk: "medium" })
      yield* Run.start(before.built, start)
      yield* Review.allow(first, { by: "ann", uses: 5, for: "1 hour" })
      yield* decide({})
      const { built, paid } = paying(["cy", "dee"], { risk: "medium" }, { quorum: { medium: 2 } })
      yield* Run.resume(built, "r1", { log: false })
      assert.deepStrictEqual(paid, ["cy 1"])
    }).pipe(memory)
  )
})

describe("A secret", () => {
  const rules = Effect.provide(Redaction.layer({ rules: [Redaction.rule({ name: "pin", pattern: /pin\d{4}/ })] }))
  const tool = { input: Schema.Struct({ to: Schema.String, amount: Schema.Unknown }) }

  it.effect("R-306 R-304 in a change of a call or in the bounds of a grant is refused, and not written", () =>
    Effect.gen(function* () {
      yield* Run.start(paying(["cy"], tool).built, start)
      const before = yield* history("r1")
      const changed = yield* Effect.flip(decide({ decision: "edit", edits: { "/amount": "pin1234" } }))
      assert.include(changed.message, 'edits["/amount"] must not hold a secret')
      const where = { "/to": "pin1234" }
      const bounded = yield* Effect.flip(Review.allow(first, { by: "ann", uses: 1, for: "1 hour", where }))
      assert.include(bounded.message, 'where["/to"] must not hold a secret')
      assert.deepStrictEqual(yield* history("r1"), before)
    }).pipe(rules, memory)
  )

  it.effect("R-306 R-304 in the key of a decision is not in what is said of it", () =>
    Effect.gen(function* () {
      yield* Run.start(paying(["cy"], {}).built, start)
      yield* decide({ key: "pin1234" })
      yield* because(decide({ decision: "reject", key: "pin1234" }))
      const [refused] = yield* of("ReviewRefused")
      assert.include(refused?.note, 'the key "[redacted:pin]" came with another decision')
    }).pipe(rules, memory)
  )
})

describe("A note of a million characters", () => {
  const note = "n".repeat(1_000_000)
  const noted: ReadonlyArray<readonly [string, Effect.Effect<unknown, Review.Refusals, Journal.Journal>]> = [
    ["a withdrawal", Review.withdraw(first, { by: "ann", note })],
    ["more time", Review.extend(first, { by: "ann", for: "1 hour", note })],
    ["others", Review.reassign(first, { by: "ann", to: ["anyone"], note })],
    ["a grant", Review.allow(first, { by: "ann", uses: 1, for: "1 hour", note })],
    ["a decision", decide({ note: `${note}${note}` })]
  ]
  for (const [what, said] of noted) {
    it.effect(`R-306 does not fit into a run, with ${what}`, () =>
      Effect.gen(function* () {
        yield* Run.start(paying(["cy"], {}).built, start)
        const before = yield* history("r1")
        const refused = yield* Effect.flip(said)
        assert.strictEqual(refused._tag, "CommandRefused")
        assert.isBelow(refused.message.length, 500)
        assert.deepStrictEqual(yield* history("r1"), before)
      }).pipe(memory)
    )
  }
})

describe("Word that nobody can have said", () => {
  const said = { review: first, note: "" }
  const ann = { ...said, by: "ann" }
  const words: ReadonlyArray<readonly [what: string, type: string, data: Schema.Json]> = [
    ["a decision in the place of another", "ReviewDecided", { ...ann, decision: "approve", via: "boss" }],
    ["a decision by a grant", "ReviewDecided", { ...ann, decision: "approve", grant: `${first}/grant` }],
    [
      "a decision under another name",
      "ReviewDecided",
      { ...said, by: "boss", decision: "approve", principal: { kind: "human", id: "ann" } }
    ],
    ["a withdrawal by the run", "ReviewWithdrawn", said],
    ["time without end", "ReviewChanged", { ...ann, what: "extended", millis: 1.7e308 }],
    ["half a millisecond", "ReviewChanged", { ...ann, what: "extended", millis: 0.5 }],
    ["care without end", "ReviewChanged", { ...ann, what: "claimed", until: 1e300 }],
    ["others that cannot be asked", "ReviewChanged", { ...ann, what: "reassigned", to: ["nobody"] }],
    ["a tier of the configuration", "AutonomyChanged", { from: "medium", to: "full", by: "configuration", note: "" }]
  ]
  for (const [what, type, data] of words) {
    it.effect(`R-306 R-304 is told and changes nothing: ${what}`, () =>
      Effect.gen(function* () {
        const { built, paid } = paying(["cy"], { risk: "high" })
        yield* Run.start(built, start)
        const journal = yield* Journal.Journal
        yield* journal.command({ run: "r1", type, at: 0, data })
        const { status, tier } = yield* Run.resume(built, "r1", { log: false })
        assert.deepStrictEqual([status, tier, paid, yield* journal.commands()], ["waiting", "medium", [], []])
        const [, ...after] = (yield* history("r1")).slice(-2)
        assert.deepStrictEqual(
          after.map((event) => (event._tag === "Noticed" ? event.what : event._tag)),
          ["refused-command"]
        )
        assert.deepStrictEqual(yield* decide({}), { _tag: "Applied" })
      }).pipe(memory)
    )
  }
})

describe("A worker that asks", () => {
  it.effect("R-306 far too much is refused, and what is open can be answered", () =>
    Effect.gen(function* () {
      const refusals: Array<string> = []
      const asks = worker("one", () =>
        Effect.as(
          Effect.forEach(
            Array.from({ length: 1000 }, (_, n) => n),
            (n) =>
              Effect.catchTag(
                Review.ask({ name: "q", occurrence: n, question: "why? ".repeat(400) }),
                "ReviewError",
                ({ detail, reason }) => Effect.sync(() => void refusals.push(`${reason}: ${detail}`))
              ),
            { concurrency: "unbounded" }
          ),
          "done"
        )
      )
      const { reviews, status } = yield* Run.start(desk([asks], [task("a")]), start)
      assert.strictEqual(status, "waiting")
      assert.isAbove(reviews.length, 100)
      assert.strictEqual(reviews.length + refusals.length, 1000)
      assert.match(refusals[0] ?? "", /^refused: with this question .* larger than 1048576 bytes$/)
      for (const { review } of reviews.slice(0, 20)) {
        const answered = yield* Run.decide({ review, decision: "answer", answer: "x".repeat(2000), by: "ann" })
        assert.deepStrictEqual(answered, { _tag: "Applied" })
      }
    }).pipe(memory)
  )

  it.effect("R-306 from inside an effect is refused at once: it would wait for its own end", () =>
    Effect.gen(function* () {
      const asks = worker("one", () =>
        Effects.perform({
          name: "send",
          run: () =>
            Effect.match(Review.ask({ name: "q", question: "Which?" }), {
              onFailure: ({ detail, reason }) => `${reason}: ${detail}`,
              onSuccess: ({ _tag }) => _tag
            })
        })
      )
      const { results, status } = yield* Run.start(desk([asks], [task("a")]), start)
      assert.strictEqual(status, "completed")
      assert.strictEqual(results["a"]?.output, "refused: people cannot be asked while send is done; ask before it")
    }).pipe(memory)
  )
})
