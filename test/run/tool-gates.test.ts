import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Failure } from "espalier"
import { Journal } from "espalier/journal"
import { type Desk, Effects, Plan, Review, ReviewPolicy, Run, type RunEvent, type Worker } from "espalier/run"

import { elapse, history, memory, task, worker } from "./desks.ts"
import { deskOf, of } from "./living.ts"

const start = { id: "r1", input: "go", log: false }

const Refund = Schema.Struct({ to: Schema.String, amount: Schema.Number })

type Args = typeof Refund.Type

/** What was paid, and how. */
class Till {
  readonly paid: Array<string> = []

  /** Pays back, and says what of it is a mistake. */
  refund(to: string, amount = 5, occurrence = 0) {
    return Effects.perform({
      name: "refund",
      args: { to, amount },
      occurrence,
      run: (_, args) =>
        Effect.sync(() => {
          const { amount, to } = args as Args
          this.paid.push(`${to} ${amount}`)
          return `${to} ${amount}`
        })
    })
  }
}

const refund: Worker.Tool = { name: "refund", input: Refund, gate: "always", editable: ["/amount"] }

const said = (effect: Effect.Effect<string, Effects.EffectError, Effects.Effects>) =>
  Effect.catchTag(effect, "EffectError", ({ message, reason }) => Effect.succeed(`${reason}: ${message}`))

const decide = (number: number, decision: RunEvent.Decision, fields: Partial<Run.Deciding> = {}) =>
  Run.decide({ review: `r1/review/${number}`, decision, by: "ann", ...fields })

const notices = Effect.map(history("r1"), (events) => of(events, "Noticed").map(({ what }) => what))

const resume = (built: Desk.Desk<string, never>) => Run.resume(built, "r1", { log: false })

/** A desk with one worker that pays back. */
const desked = (
  handle: (order: Worker.Order<unknown>) => Effect.Effect<unknown, unknown, Effects.Effects>,
  tool: Partial<Worker.Tool> = {},
  options: Partial<
    Pick<Worker.Options<unknown, unknown, string, string, never, never>, "risk" | "irreversible" | "tools">
  > & {
    readonly settings?: Parameters<typeof deskOf>[2]
    readonly tasks?: ReadonlyArray<Plan.Task<string>>
  } = {}
): Desk.Desk<string, never> => {
  const { settings = {}, tasks = [task("a")], ...rest } = options
  const one = worker("one", handle, { tools: [{ ...refund, ...tool }], size: 4, ...rest })
  return deskOf([one], Plan.make<string>(tasks), settings)
}

const open = ({ reviews }: { readonly reviews: ReadonlyArray<{ readonly review: string }> }) =>
  reviews.map(({ review }) => review.slice("r1/review/".length))

/** A desk whose work pays several people back at once. */
const atOnce = (till: Till, people: ReadonlyArray<string>) =>
  desked(() =>
    Effect.map(
      Effect.forEach(people, (to) => till.refund(to), { concurrency: "unbounded" }),
      (all) => all.join(", ")
    )
  )

describe("A gate before a tool", () => {
  it.effect("R-306 D82 a call waits for a person, is done once, and the approval is spent", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = desked(() =>
        Effect.gen(function* () {
          const one = yield* till.refund("ann")
          for (const turn of [1, 2, 3]) assert.strictEqual(yield* till.refund("ann"), one, `turn ${turn}`)
          return one
        })
      )
      const first = yield* Run.start(built, start)
      assert.strictEqual(first.status, "waiting")
      const [review] = first.reviews
      assert.deepStrictEqual(
        [review?.kind, review?.reason, review?.allowed, review?.facts["arguments"], review?.facts["tool"]],
        ["action-approval", "gate", ["approve", "edit", "reject"], { to: "ann", amount: 5 }, "refund"]
      )
      assert.deepStrictEqual(till.paid, [])
      yield* decide(1, "approve")
      const last = yield* resume(built)
      assert.deepStrictEqual([last.status, last.results["a"]?.output], ["completed", "ann 5"])
      assert.deepStrictEqual(till.paid, ["ann 5"])
      const [intended] = of(yield* history("r1"), "EffectIntended")
      assert.strictEqual(intended?.grant, "r1/review/1")
    }).pipe(memory)
  )

  it.effect("R-306 a rejected call is not done, and the work is told so", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = desked(() => said(till.refund("ann")))
      yield* Run.start(built, start)
      yield* decide(1, "reject", { note: "not this one" })
      const last = yield* resume(built)
      assert.strictEqual(
        last.results["a"]?.output,
        'rejected: The call of "refund" was rejected by "ann". It was not executed. Reason, quoted as data: "not this one". Do not repeat it as it is.'
      )
      assert.deepStrictEqual(till.paid, [])
    }).pipe(memory)
  )

  it.effect("D75 of two calls of the same tool, the approval of one lets that one be done", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = atOnce(till, ["ann", "bob"])
      assert.strictEqual((yield* Run.start(built, start)).reviews.length, 2)
      yield* decide(2, "approve")
      const between = yield* resume(built)
      assert.deepStrictEqual(till.paid, ["bob 5"])
      assert.deepStrictEqual(
        between.reviews.map(({ review }) => review),
        ["r1/review/1"]
      )
      yield* decide(1, "approve")
      assert.strictEqual((yield* resume(built)).results["a"]?.output, "ann 5, bob 5")
      assert.deepStrictEqual([till.paid, yield* notices], [["bob 5", "ann 5"], []])
    }).pipe(memory)
  )

  it.effect("R-306 D78 whoever approves it may change it, within what fits, and it is done as it was changed", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = desked(() => till.refund("ann", 500))
      yield* Run.start(built, start)
      const wrong = yield* Effect.flip(decide(1, "edit", { edits: { "/amount": "3" } }))
      assert.strictEqual(wrong._tag === "CommandRefused" ? wrong.because : wrong._tag, "invalid-edits")
      const outside = yield* Effect.flip(decide(1, "edit", { edits: { "/to": "bob" } }))
      assert.include(outside.message, "/to must lie in what may be changed")
      yield* decide(1, "edit", { edits: { "/amount": 3 } })
      const last = yield* resume(built)
      assert.deepStrictEqual([last.results["a"]?.output, till.paid], ["ann 3", ["ann 3"]])
      const [intended] = of(yield* history("r1"), "EffectIntended")
      assert.deepStrictEqual(intended?.arguments, { to: "ann", amount: 3 })
    }).pipe(memory)
  )

  it.effect("R-306 nobody is asked while it waits for days, and an approval lapses", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = desked(() => till.refund("ann"))
      yield* Run.start(built, start)
      yield* decide(1, "approve")
      yield* TestClock.adjust("2 days")
      const again = yield* resume(built)
      assert.deepStrictEqual([again.status, again.reviews.map(({ review }) => review)], ["waiting", ["r1/review/2"]])
      assert.deepStrictEqual(till.paid, [])
      yield* decide(2, "approve")
      assert.strictEqual((yield* resume(built)).status, "completed")
      assert.deepStrictEqual(till.paid, ["ann 5"])
    }).pipe(memory)
  )

  it.effect("R-306 several calls are decided in any order, each in its own way", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = desked(() =>
        Effect.map(
          Effect.forEach(["ann", "bob", "cy"], (to) => said(till.refund(to)), { concurrency: "unbounded" }),
          (all) => all.map((each) => each.slice(0, 8)).join(", ")
        )
      )
      assert.deepStrictEqual(open(yield* Run.start(built, start)), ["1", "2", "3"])
      yield* decide(3, "edit", { edits: { "/amount": 7 } })
      assert.deepStrictEqual(open(yield* resume(built)), ["1", "2"])
      yield* decide(1, "reject", { note: "no" })
      assert.deepStrictEqual(open(yield* resume(built)), ["2"])
      yield* decide(2, "approve")
      const last = yield* resume(built)
      assert.deepStrictEqual([last.results["a"]?.output, till.paid], ["rejected, bob 5, cy 7", ["cy 7", "bob 5"]])
      assert.strictEqual(last.dispatches.length, 1)
    }).pipe(memory)
  )

  it.effect("D75 what is approved is done also where the journal takes its time", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = atOnce(till, ["ann", "bob"])
      const journal = yield* Journal.Journal
      const turns = Effect.repeat(Effect.yieldNow, { times: 50 })
      const read: (typeof journal)["read"] = (...range) => Stream.unwrap(Effect.as(turns, journal.read(...range)))
      const slow = Effect.provide(Layer.succeed(Journal.Journal, { ...journal, read }))
      yield* slow(Run.start(built, start))
      yield* decide(2, "approve")
      assert.deepStrictEqual(open(yield* slow(resume(built))), ["1"])
      assert.deepStrictEqual(till.paid, ["bob 5"])
    }).pipe(memory)
  )

  describe("D80 an approval is for one call, once", () => {
    const calls: ReadonlyArray<readonly [string, (till: Till) => ReturnType<Till["refund"]>]> = [
      ["other arguments", (till) => till.refund("ann", 50)],
      ["another receiver", (till) => till.refund("ann 5", 5)],
      ["the same once more", (till) => till.refund("ann", 5, 1)]
    ]
    for (const [name, call] of calls) {
      it.effect(`D80 not for ${name}`, () =>
        Effect.gen(function* () {
          const till = new Till()
          let begun = 0
          const built = desked(() => {
            begun += 1
            return begun === 1 ? till.refund("ann") : call(till)
          })
          yield* Run.start(built, start)
          yield* decide(1, "approve")
          assert.deepStrictEqual(open(yield* resume(built)), ["2"])
          assert.deepStrictEqual(till.paid, [])
          const noticed = of(yield* history("r1"), "Noticed")
          assert.deepStrictEqual(
            noticed.map(({ what }) => what),
            ["approval-mismatch"]
          )
          const digests = of(yield* history("r1"), "ReviewOpened").map(({ digest }) => digest ?? "none")
          if (name !== "the same once more") for (const digest of digests) assert.include(noticed[0]?.note, digest)
        }).pipe(memory)
      )
    }

    it.effect("D80 not for another task, and not for another version of the tool", () =>
      Effect.gen(function* () {
        const till = new Till()
        const both = (version: string) =>
          desked(() => till.refund("ann"), { version }, { tasks: [task("a"), task("b")] })
        yield* Run.start(both("1"), start)
        yield* decide(1, "approve")
        const second = yield* resume(both("2"))
        assert.deepStrictEqual([till.paid, open(second)], [[], ["2", "3"]])
        assert.include(yield* notices, "approval-mismatch")
        yield* decide(3, "approve")
        assert.deepStrictEqual([open(yield* resume(both("2"))), till.paid], [["2"], ["ann 5"]])
      }).pipe(memory)
    )

    it.effect("D82 what was approved and has not happened may be done once more, what has happened may not", () =>
      Effect.gen(function* () {
        const till = new Till()
        let tries = 0
        const built = desked(() =>
          Effects.perform({
            name: "refund",
            args: { to: "ann", amount: 5 },
            run: () => {
              tries += 1
              const busy = new Failure.Failure({ kind: "transient", reason: "busy", retryAfterMillis: 1 })
              return tries === 1 ? Effect.fail(busy) : Effect.sync(() => `${till.paid.push("ann")}`)
            }
          })
        )
        yield* Run.start(built, start)
        yield* decide(1, "approve")
        const last = yield* elapse(resume(built), "1 minute")
        assert.deepStrictEqual([last.results["a"]?.output, tries, last.dispatches.length], ["1", 2, 1])
        assert.deepStrictEqual(
          of(yield* history("r1"), "EffectIntended").map(({ grant }) => grant),
          ["r1/review/1", "r1/review/1"]
        )
      }).pipe(memory)
    )

    it.effect("R-306 an approval that its order makes no use of is told of, and gone", () =>
      Effect.gen(function* () {
        const till = new Till()
        let begun = 0
        const built = desked(() => {
          begun += 1
          return begun === 1 ? till.refund("ann") : Effect.succeed("never mind")
        })
        yield* Run.start(built, start)
        yield* decide(1, "approve")
        assert.strictEqual((yield* resume(built)).status, "completed")
        const [lapsed] = of(yield* history("r1"), "GrantStalled")
        assert.deepStrictEqual(
          [lapsed?.what, lapsed?.note, till.paid],
          ["lapsed", "What was approved in r1/review/1 was not done: r1/a/1 is over", []]
        )
      }).pipe(memory)
    )
  })

  describe("D81 what does not fit is refused before anybody is asked", () => {
    const wrong: ReadonlyArray<readonly [string, Schema.Json]> = [
      ["a list", []],
      ["nothing", null],
      ["a text", "[]"],
      ["JSON that is broken", '{"to":"ann'],
      ["a field too many", { to: "ann", amount: 5, all: true }]
    ]
    for (const [name, args] of wrong) {
      it.effect(`D81 ${name}`, () =>
        Effect.gen(function* () {
          let looked = 0
          let done = 0
          const gate = () => {
            looked += 1
            return "ask" as const
          }
          const built = desked(
            () => said(Effects.perform({ name: "refund", args, run: () => Effect.sync(() => `${++done}`) })),
            { gate, editable: [] }
          )
          const last = yield* Run.start(built, start)
          assert.match(String(last.results["a"]?.output), /^malformed: the effect refund is not performed: /)
          assert.deepStrictEqual([looked, done, yield* notices], [0, 0, ["malformed-call"]])
        }).pipe(memory)
      )
    }
  })

  describe("A gate that says no", () => {
    const gates: ReadonlyArray<readonly [string, Worker.Tool["gate"], RegExp]> = [
      [
        "one that throws",
        () => {
          throw new Error("broken")
        },
        /its gate says no \(gate-failed\): The gate failed: broken$/
      ],
      ["one that answers with something else", (() => true) as never, /did not answer with a verdict$/],
      ["one with a rule", () => ({ decision: "deny", rule: "no-cash", reason: "No cash" }), /\(no-cash\): No cash$/]
    ]
    for (const [name, gate, text] of gates) {
      it.effect(`R-306 ${name}: nothing is done, and nobody is asked`, () =>
        Effect.gen(function* () {
          const till = new Till()
          const last = yield* Run.start(
            desked(() => said(till.refund("ann")), { gate }),
            start
          )
          assert.match(String(last.results["a"]?.output), text)
          assert.deepStrictEqual([till.paid, yield* notices], [[], ["denied-call"]])
        }).pipe(memory)
      )
    }

    it.effect("R-306 also to what somebody has approved before", () =>
      Effect.gen(function* () {
        const till = new Till()
        let closed = false
        const built = desked(() => said(till.refund("ann")), { gate: () => (closed ? "deny" : "ask") })
        yield* Run.start(built, start)
        yield* decide(1, "approve")
        closed = true
        assert.match(String((yield* resume(built)).results["a"]?.output), /^denied: /)
        assert.deepStrictEqual(till.paid, [])
      }).pipe(memory)
    )

    it.effect("R-306 a worker with tools does nothing else; the third refusal ends its order", () =>
      Effect.gen(function* () {
        let done = 0
        const other = (name: string) => Effects.perform({ name, run: () => Effect.sync(() => void ++done) })
        const built = desked(() =>
          Effect.as(
            Effect.forEach(["one", "two", "three"], (name) => Effect.ignore(other(name))),
            "done"
          )
        )
        const last = yield* Run.start(built, start)
        assert.deepStrictEqual(
          last.reviews.map(({ kind, reason }) => [kind, reason]),
          [["escalation", "denied"]]
        )
        assert.deepStrictEqual([done, yield* notices], [0, ["undeclared-tool", "undeclared-tool", "undeclared-tool"]])
        const [reported] = of(yield* history("r1"), "Reported")
        assert.deepStrictEqual([reported?.outcome, reported?.review], ["denied", undefined])
        assert.include(reported?.result.error?.reason, "TOOL_UNKNOWN")
      }).pipe(memory)
    )
  })

  describe("A call that nobody let be done", () => {
    const rejecting = (onReject: ReviewPolicy.OnReject) => ({
      settings: { reviews: ReviewPolicy.make({ onReject }) }
    })

    it.effect("R-306 ends the task as rejected where the work cannot go on; nobody is asked once more", () =>
      Effect.gen(function* () {
        const till = new Till()
        const built = desked(() => till.refund("ann"))
        yield* Run.start(built, start)
        yield* decide(1, "reject", { note: "no" })
        const last = yield* resume(built)
        assert.deepStrictEqual([last.results["a"]?.status, till.paid, open(last)], ["rejected", [], []])
        const [reported] = of(yield* history("r1"), "Reported")
        assert.deepStrictEqual([reported?.outcome, reported?.review], ["denied", "r1/review/1"])
      }).pipe(memory)
    )

    it.effect("R-306 ends the task where the policy says so, whatever the work makes of it", () =>
      Effect.gen(function* () {
        const till = new Till()
        const built = desked(
          () =>
            Effect.as(
              Effect.forEach(["ann", "bob"], (to) => Effect.ignore(till.refund(to))),
              "fine"
            ),
          {},
          rejecting("fail")
        )
        yield* Run.start(built, start)
        yield* decide(1, "reject", { note: "no" })
        const last = yield* resume(built)
        assert.deepStrictEqual([last.results["a"]?.status, till.paid, open(last)], ["rejected", [], []])
      }).pipe(memory)
    )

    it.effect("R-306 has somebody else asked where the policy says so; what is tried anew is asked about anew", () =>
      Effect.gen(function* () {
        const till = new Till()
        const built = desked(() => till.refund("ann"), {}, rejecting("escalate"))
        yield* Run.start(built, start)
        yield* decide(1, "reject", { note: "no" })
        const between = yield* resume(built)
        assert.deepStrictEqual(
          between.reviews.map(({ kind, reason }) => [kind, reason]),
          [["escalation", "denied"]]
        )
        yield* decide(2, "retry", { note: "it is fine" })
        assert.deepStrictEqual(open(yield* resume(built)), ["3"])
        yield* decide(3, "approve")
        assert.deepStrictEqual([(yield* resume(built)).status, till.paid], ["completed", ["ann 5"]])
      }).pipe(memory)
    )

    it.effect("R-306 is refused at once when it is proposed again, in its order and in another task", () =>
      Effect.gen(function* () {
        const till = new Till()
        const again = ({ task }: Worker.Order<unknown>) =>
          Effect.map(
            Effect.forEach(task === "a" ? [0, 0, 1] : [0], (occurrence) => said(till.refund("ann", 5, occurrence))),
            (all) => all.join(" | ")
          )
        const built = desked(again, {}, { tasks: [task("a"), task("b", { needs: ["a"] })] })
        yield* Run.start(built, start)
        yield* decide(1, "reject", { note: "not her" })
        const last = yield* resume(built)
        const [first = "", second = "", third = ""] = String(last.results["a"]?.output).split(" | ")
        assert.include(first, 'was rejected by "ann"')
        for (const text of [second, third, String(last.results["b"]?.output)]) {
          assert.include(text, "is the same as one that was rejected before")
          assert.include(text, "not her")
        }
        assert.deepStrictEqual([till.paid, open(last)], [[], []])
        assert.isTrue((yield* notices).every((what) => what === "rejected-repeat"))
        assert.strictEqual(of(yield* history("r1"), "ReviewOpened").length, 1)
      }).pipe(memory)
    )

    it.effect("R-306 has expired when nobody has decided in time, which is no rejection", () =>
      Effect.gen(function* () {
        const till = new Till()
        const built = desked(() => said(till.refund("ann")))
        yield* Run.start(built, start)
        yield* TestClock.adjust("4 days")
        const last = yield* resume(built)
        assert.match(
          String(last.results["a"]?.output),
          /^expired: Nobody decided .* in time\. It was not executed, and nobody rejected it/
        )
        assert.deepStrictEqual(till.paid, [])
      }).pipe(memory)
    )

    it.effect("R-306 is withdrawn when somebody takes the question back", () =>
      Effect.gen(function* () {
        const till = new Till()
        const built = desked(() => said(till.refund("ann")))
        yield* Run.start(built, start)
        yield* Review.withdraw("r1/review/1", { by: "ann", note: "not needed" })
        const last = yield* resume(built)
        assert.match(String(last.results["a"]?.output), /^withdrawn: .* was withdrawn\. The call was not executed/)
        assert.deepStrictEqual(till.paid, [])
      }).pipe(memory)
    )
  })

  describe("What is changed", () => {
    const byAmount: Worker.Tool["gate"] = ({ amount }: Args) =>
      amount > 100 ? { decision: "ask", rule: "over-100", risk: "high" } : { decision: "ask", rule: "any" }

    it.effect("R-306 is asked about anew where it asks for more, in the place of the first", () =>
      Effect.gen(function* () {
        const till = new Till()
        const built = desked(() => till.refund("ann"), { gate: byAmount })
        yield* Run.start(built, start)
        yield* decide(1, "edit", { edits: { "/amount": 500 } })
        const [more] = (yield* resume(built)).reviews
        assert.deepStrictEqual(
          [more?.review, more?.facts["arguments"], more?.facts["rule"], more?.facts["risk"], till.paid],
          ["r1/review/2", { to: "ann", amount: 500 }, "over-100", "high", []]
        )
        const opened = of(yield* history("r1"), "ReviewOpened")
        assert.deepStrictEqual([opened[1]?.supersedes, opened[1]?.edited], ["r1/review/1", ["r1/review/1"]])
        yield* decide(2, "edit", { edits: { "/amount": 400 } })
        assert.deepStrictEqual([(yield* resume(built)).status, till.paid], ["completed", ["ann 400"]])
      }).pipe(memory)
    )

    it.effect("R-306 and does not fit the tool is never done: it is asked about anew", () =>
      Effect.gen(function* () {
        const till = new Till()
        const even = Schema.Number.check(Schema.makeFilter((n: number) => n % 2 === 1 || "must be odd"))
        const input = Schema.Struct({ to: Schema.String, amount: even })
        const built = desked(() => till.refund("ann"), { input })
        yield* Run.start(built, start)
        yield* decide(1, "edit", { edits: { "/amount": 4 } })
        assert.deepStrictEqual(open(yield* resume(built)), ["2"])
        assert.deepStrictEqual([till.paid, yield* notices], [[], ["edits-refused"]])
        yield* decide(2, "edit", { edits: { "/amount": 3 } })
        assert.deepStrictEqual([(yield* resume(built)).status, till.paid], ["completed", ["ann 3"]])
      }).pipe(memory)
    )

    it.effect("R-306 takes the place of the call: that is not done afterwards, either", () =>
      Effect.gen(function* () {
        const till = new Till()
        const built = desked(() =>
          Effect.map(Effect.all([till.refund("ann"), till.refund("ann"), said(till.refund("ann", 5, 1))]), (all) =>
            all.join(" | ")
          )
        )
        yield* Run.start(built, start)
        yield* decide(1, "edit", { edits: { "/amount": 3 }, note: "less" })
        const last = yield* resume(built)
        const [first, second, third] = String(last.results["a"]?.output).split(" | ")
        assert.deepStrictEqual([first, second, till.paid], ["ann 3", "ann 3", ["ann 3"]])
        assert.include(third, "less")
      }).pipe(memory)
    )
  })

  describe("The risk of a tool", () => {
    const plain = { gate: "never", editable: [] } as const

    it.effect("R-216 is confirmed by the supervisor where the tier says so, and that is written down", () =>
      Effect.gen(function* () {
        const till = new Till()
        const last = yield* Run.start(
          desked(() => till.refund("ann"), { ...plain, risk: "medium" }),
          start
        )
        assert.deepStrictEqual([last.status, till.paid], ["completed", ["ann 5"]])
        const [confirmed] = of(yield* history("r1"), "Confirmed")
        assert.deepStrictEqual([confirmed?.allowed, confirmed?.dispatch], [true, "r1/a/1"])
        const refusing = desked(
          () => till.refund("bob"),
          { ...plain, risk: "medium" },
          { settings: { confirm: () => ({ allowed: false, reason: "Not today" }) } }
        )
        const asked = yield* Run.start(refusing, { ...start, id: "r2" })
        assert.strictEqual(asked.status, "waiting")
        assert.include(asked.reviews[0]?.note, "not confirmed: Not today")
      }).pipe(memory)
    )

    it.effect("R-216 is asked about once with the order, where its worker is as risky", () =>
      Effect.gen(function* () {
        const till = new Till()
        const built = desked(() => till.refund("ann"), { ...plain, risk: "high" }, { risk: "high" })
        assert.deepStrictEqual(open(yield* Run.start(built, start)), ["1"])
        yield* decide(1, "approve")
        assert.deepStrictEqual([(yield* resume(built)).status, till.paid], ["completed", ["ann 5"]])
      }).pipe(memory)
    )

    it.effect("R-216 is a person's matter where it cannot be undone, at every tier", () =>
      Effect.gen(function* () {
        const till = new Till()
        const built = desked(() => till.refund("ann"), { ...plain, irreversible: true }, { settings: { tier: "full" } })
        const first = yield* Run.start(built, start)
        const [review] = first.reviews
        assert.deepStrictEqual(
          [first.status, review?.facts["irreversible"], review?.facts["tier"]],
          ["waiting", true, "full"]
        )
        assert.deepStrictEqual(till.paid, [])
      }).pipe(memory)
    )
  })
})

describe("Effects.layerMemory", () => {
  const one = worker("one", () => said(new Till().refund("ann")), { tools: [refund] })
  const work = (layer: Layer.Layer<Effects.Effects>) =>
    Effect.flatMap(Effects.Effects, (effects) => {
      const contract = { task: "a", version: 1, objective: "Do it", inputs: {} }
      const prepared = one.prepare({
        run: "none",
        task: "none",
        dispatch: "none/none/1",
        attempt: 1,
        idempotencyKey: "none",
        contract: contract as never,
        input: undefined,
        accepted: {},
        artefacts: {},
        missing: [],
        previous: [],
        answers: [],
        effects
      })
      return prepared._tag === "Success" ? prepared.success : Effect.die(prepared.failure)
    }).pipe(Effect.provide(layer))

  it.effect("R-306 has a function decide about calls, and nobody where there is none", () =>
    Effect.gen(function* () {
      assert.match(String(yield* work(Effects.layerMemory())), /^rejected: .*there are no people here/)
      assert.strictEqual(yield* work(Effects.layerMemory({ decide: () => ({ decision: "approve" }) })), "ann 5")
      const edit = Effects.layerMemory({ decide: () => ({ decision: "edit", edits: { "/amount": 2 } }) })
      assert.strictEqual(yield* work(edit), "ann 2")
      const wrong = Effects.layerMemory({ decide: () => ({ decision: "edit", edits: { "/to": "bob" } }) })
      assert.match(String(yield* work(wrong)), /^rejected: .*\/to must lie/)
    })
  )
})
