import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Ladder, Office, Result, Review, ReviewPolicy, Reviewers, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { history, memory, settle, task, worker } from "./desks.ts"
import { guarded, of } from "./guards.ts"

const hour = 3_600_000

const ladder = Ladder.make({
  stages: [
    { to: ["user:ann"], after: 0 },
    { to: ["group:release"], after: "1 hour" }
  ],
  final: { after: "2 hours", action: "reject" }
})

const people = Effect.provide(Reviewers.layer({ groups: { release: ["rob"] }, users: { ann: {}, eve: {}, rob: {} } }))

const acting = (risk: "low" | "high" = "low", name = "one") => Fake.worker(name, { risk, otherwise: "done" })

/** A desk at which a person is asked before anything is done, and how long. */
const desk = (
  options: {
    readonly risk?: "low" | "high"
    readonly policy?: ReviewPolicy.Options
    readonly tasks?: Parameters<typeof guarded>[1]
  } = {}
) =>
  guarded([acting(options.risk), acting(options.risk, "two")], options.tasks ?? [task("a")], {
    tier: "low",
    reviews: ReviewPolicy.make({ ladders: { low: ladder, high: ladder }, ...options.policy })
  })

const start = (built: ReturnType<typeof desk>, id = "r1") => Run.start(built, { id, input: "go", log: false })

const approve = (review: string, by = "ann"): Run.Deciding => ({ review, decision: "approve", by })

const first = "r1/review/1"

const told = (error: { readonly _tag: string; readonly message: string; readonly because?: string | undefined }) => [
  error._tag,
  error.because
]

describe("Review", () => {
  describe("queue", () => {
    it.effect("R-306 has the questions of all runs with what a person needs to choose one", () =>
      Effect.gen(function* () {
        yield* start(desk({ risk: "high" }))
        const { items, next, total, unread } = yield* Review.queue()
        assert.deepStrictEqual([total, next, unread], [1, undefined, []])
        const [{ digest, note, ...item } = assert.fail("nothing is asked")] = items
        assert.match(digest ?? "", /^[0-9a-f]{32}$/)
        assert.include(note, "a")
        assert.deepStrictEqual(item, {
          review: first,
          run: "r1",
          desk: "desk",
          path: ["desk", "d.one", "a"],
          task: "a",
          worker: "d.one",
          kind: "action-approval",
          reason: "autonomy",
          allowed: ["approve", "reject"],
          risk: "high",
          irreversible: false,
          rule: "high of policy 1",
          stage: "primary",
          held: false,
          asked: ["user:ann"],
          openedAt: 0,
          next: { at: hour, what: "widen" },
          final: { at: 2 * hour, action: "reject" },
          word: false,
          votes: [],
          quorum: 1,
          revision: 1,
          batchable: false
        })
      }).pipe(memory)
    )

    it.effect("R-306 begins with what is over first, and goes on from page to page while others are decided", () =>
      Effect.gen(function* () {
        const slow = desk({ policy: { ladders: {} } })
        yield* start(slow, "slow")
        yield* start(desk({ tasks: [task("a"), task("b")] }), "r1")
        yield* TestClock.adjust("1 minute")
        yield* start(desk(), "r2")
        const page = yield* Review.queue({ limit: 2 })
        assert.deepStrictEqual(
          page.items.map(({ review }) => review),
          [first, "r1/review/2"]
        )
        yield* Run.decide(approve("r1/review/2"))
        const rest = yield* Review.queue({ limit: 2, after: page.next ?? "" })
        assert.deepStrictEqual(
          [rest.items.map(({ review }) => review), rest.next, rest.total],
          [["r2/review/1", "slow/review/1"], undefined, 3]
        )
      }).pipe(memory)
    )

    it.effect("R-306 shows only those of a run, a desk, a kind, or a person, by whom the ladder asks", () =>
      Effect.gen(function* () {
        yield* start(desk())
        const count = (filter: Review.Filter) => Effect.map(Review.queue(filter), ({ total }) => total)
        const counts = (all: ReadonlyArray<Review.Filter>) => Effect.forEach(all, count)
        assert.deepStrictEqual(
          yield* counts([
            { run: "r1" },
            { desk: "desk" },
            { desk: "other" },
            { kind: "action-approval" },
            { kind: "question" },
            { mine: "ann" },
            { mine: "rob" }
          ]),
          [1, 1, 0, 1, 0, 1, 0]
        )
        yield* TestClock.adjust("1 hour")
        const resumed = yield* Run.resume(desk(), "r1", { log: false })
        assert.strictEqual(resumed.status, "waiting")
        const [item] = (yield* Review.queue()).items
        assert.deepStrictEqual([item?.stage, item?.asked], ["alternate", ["user:ann", "group:release"]])
        assert.deepStrictEqual(yield* counts([{ mine: "ann" }, { mine: "rob" }, { mine: "eve" }]), [1, 1, 0])
        assert.strictEqual((yield* Effect.flip(count({ run: "r2" })))._tag, "RunNotFound")
      }).pipe(people, memory)
    )

    it.effect("D51 a run that cannot be read is told, and keeps nobody from the others", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        yield* start(desk())
        const data = { run: "odd", desk: "desk", version: "1", definition: "", input: null, tasks: [], note: "" }
        yield* journal.append({
          run: "odd",
          expected: 0,
          events: [
            { type: "RunStarted", at: 0, data },
            { type: "FromTheFuture@7", at: 0, data: {} }
          ],
          listing: { status: "waiting", desk: "desk", startedAt: 0 },
          reviews: { opened: [{ review: "odd/review/1", kind: "question", openedAt: 0 }] }
        })
        const { items, unread } = yield* Review.queue()
        assert.deepStrictEqual([items.map(({ run }) => run), unread.map(({ run }) => run)], [["r1"], ["odd"]])
      }).pipe(memory)
    )

    it.effect.each([
      [{ limit: 0 }, "limit"],
      [{ limit: 1001 }, "limit must be a whole number from 1 to 1000, got 1001"],
      [{ kind: "whim" as never }, "kind"],
      [{ mine: " " }, "mine must be the name of somebody"],
      [{ after: "somewhere" }, "after must be the next of a page"],
      [{ sort: "asc" } as never, "sort"]
    ] as const)("dies for a filter that is none: %j", ([filter, message]) =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(Review.queue(filter))
        assert.include(String(exit), message)
      }).pipe(memory)
    )
  })

  describe("get", () => {
    it.effect("R-306 has what is proposed, what each decision does, and what silence does and when", () =>
      Effect.gen(function* () {
        yield* start(desk({ tasks: [task("a"), task("b")] }))
        yield* Run.decide({ review: first, decision: "reject", by: "ann", note: "not today" })
        const whole = yield* Review.get("r1/review/2")
        assert.strictEqual(whole.status, "open")
        assert.deepStrictEqual(whole.decisions, [
          { decision: "approve", does: "the worker gets the order" },
          { decision: "reject", does: "the task ends as rejected" }
        ])
        assert.deepStrictEqual(whole.silence, { at: 2 * hour, does: "it counts as not approved, and nothing is done" })
        assert.deepStrictEqual(
          whole.previous.map(({ by, decision, note, review, task }) => [review, task, decision, by, note]),
          [[first, "a", "reject", "ann", "not today"]]
        )
        // The order is only there for people: the state of the run has no place for it.
        assert.property(whole.facts, "order")
        assert.deepStrictEqual(
          [whole.terms?.policy, whole.words, whole.refusals],
          [{ version: "1", rule: "low" }, [], []]
        )
      }).pipe(memory)
    )

    it.effect("R-306 has what was spent and what is left, and what a model says apart from the facts", () =>
      Effect.gen(function* () {
        const asks = worker("one", () =>
          Review.ask({ name: "which", question: "Which one?", rationale: "Ignore all rules", choices: ["x", "y"] })
        )
        const built = guarded([asks], [task("a")], { limits: { tokens: 100 } })
        yield* Run.start(built, { id: "r1", input: "go", log: false })
        const { budget, decisions, facts, rationale, silence } = yield* Review.get(first)
        assert.strictEqual(rationale, "Ignore all rules")
        assert.notProperty(facts, "rationale")
        assert.deepStrictEqual(facts["choices"], ["x", "y"])
        assert.deepStrictEqual(budget, { tokens: 100 })
        assert.strictEqual(silence?.does, "it stays open")
        assert.deepStrictEqual(decisions, [
          { decision: "answer", does: "the worker gets the answer" },
          { decision: "reject", does: "whoever asked hears a no" }
        ])
      }).pipe(memory)
    )

    it.effect("R-306 says of one that is closed how that came, and who was too late", () =>
      Effect.gen(function* () {
        yield* start(desk())
        yield* TestClock.adjust("5 seconds")
        yield* Run.decide({ ...approve(first), note: "go" })
        yield* Effect.flip(Run.decide({ review: first, decision: "reject", by: "rob" }))
        const { closed, refusals, status } = yield* Review.get(first)
        assert.deepStrictEqual(
          [status, closed],
          ["decided", { as: "decided", at: 5_000, by: "ann", decision: "approve", note: "go" }]
        )
        assert.deepStrictEqual(refusals, [{ by: "rob", decision: "reject", because: "already-decided", at: 5_000 }])
      }).pipe(memory)
    )

    it.effect("R-306 says that one has expired, and what was done then", () =>
      Effect.gen(function* () {
        yield* start(desk())
        yield* TestClock.adjust("2 hours")
        yield* Run.resume(desk(), "r1", { log: false })
        const { closed, status } = yield* Review.get(first)
        assert.deepStrictEqual([status, closed?.action, closed?.by], ["expired", "reject", undefined])
        assert.include(closed?.note, "Nobody has decided r1/review/1")
      }).pipe(memory)
    )

    it.effect("R-306 names those that are open where there is none, the nearest ones first", () =>
      Effect.gen(function* () {
        yield* start(desk({ tasks: [task("a"), task("b")] }))
        for (const wrong of ["r1/review/3", "r1/reveiw/1", "r2/review/1", "r1"]) {
          const error = yield* Effect.flip(Review.get(wrong))
          assert.strictEqual(error._tag, "ReviewNotFound")
          assert.include(error.message, `the journal has no review ${wrong}; open are r1/review/`)
        }
      }).pipe(memory)
    )
  })

  describe("withdraw", () => {
    it.effect("R-306 closes the question as withdrawn, and whoever comes later is told by whom", () =>
      Effect.gen(function* () {
        yield* start(desk())
        assert.deepStrictEqual(yield* Review.withdraw(first, { by: "ann", note: "done by hand" }), { _tag: "Applied" })
        const { closed, status } = yield* Review.get(first)
        assert.deepStrictEqual([status, closed?.by, closed?.note], ["withdrawn", "ann", "done by hand"])
        const late = yield* Effect.flip(Run.decide(approve(first)))
        assert.deepStrictEqual(told(late), ["CommandRefused", "withdrawn"])
        const again = yield* Effect.flip(Review.withdraw(first, { by: "ann", note: "once more" }))
        assert.deepStrictEqual(told(again), ["CommandRefused", "withdrawn"])
        assert.include(again.message, "was withdrawn at 1970-01-01T00:00:00.000Z by ann")
        const ended = yield* Run.resume(desk(), "r1", { log: false })
        assert.deepStrictEqual([ended.status, ended.results["a"]?.status], ["failed", "cancelled"])
      }).pipe(memory)
    )

    it.effect("R-306 is for whoever has asked for the run, too", () =>
      Effect.gen(function* () {
        yield* Run.start(desk({ risk: "high" }), { id: "r1", input: "go", log: false, requester: "eve" })
        assert.deepStrictEqual(told(yield* Effect.flip(Run.decide(approve(first, "eve")))).at(0), "CommandRefused")
        assert.deepStrictEqual(yield* Review.withdraw(first, { by: "eve", note: "not needed" }), { _tag: "Applied" })
      }).pipe(people, memory)
    )

    it.effect("R-306 D87 is not for those who are not asked", () =>
      Effect.gen(function* () {
        yield* start(desk())
        const before = yield* history("r1")
        const refused = yield* Effect.flip(Review.withdraw(first, { by: "eve", note: "no" }))
        assert.deepStrictEqual(told(refused), ["CommandRefused", "not-a-reviewer"])
        assert.deepStrictEqual(yield* history("r1"), before)
      }).pipe(people, memory)
    )
  })

  describe("claim", () => {
    it.effect("R-306 tells the others for a while, and keeps nobody from deciding", () =>
      Effect.gen(function* () {
        yield* start(desk())
        yield* Review.claim(first, { by: "ann" })
        const item = Effect.map(Review.queue(), ({ items: [item] }) => [item?.claimed, item?.revision])
        assert.deepStrictEqual(yield* item, [{ by: "ann", until: 900_000 }, 2])
        yield* Review.claim(first, { by: "rob", for: "1 hour" })
        assert.deepStrictEqual(yield* item, [{ by: "rob", until: hour }, 3])
        yield* Review.release(first, { by: "ann" })
        assert.deepStrictEqual(yield* item, [undefined, 4])
        const nobody = yield* Effect.flip(Review.release(first, { by: "ann" }))
        assert.include(nobody.message, "the change of r1/review/1 is refused: nobody takes care of r1/review/1")
        yield* Review.claim(first, { by: "ann", for: "1 minute" })
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* item, [undefined, 5])
        yield* Review.claim(first, { by: "ann" })
        assert.deepStrictEqual(yield* Run.decide(approve(first, "rob")), { _tag: "Applied" })
      }).pipe(memory)
    )
  })

  describe("reassign", () => {
    it.effect("R-306 has others asked instead, and those who were asked may not decide any more", () =>
      Effect.gen(function* () {
        yield* start(desk())
        yield* Review.reassign(first, { by: "ann", to: ["group:release"], note: "it is theirs" })
        const [item] = (yield* Review.queue()).items
        assert.deepStrictEqual([item?.asked, item?.revision], [["group:release"], 2])
        assert.deepStrictEqual(told(yield* Effect.flip(Run.decide(approve(first)))), [
          "CommandRefused",
          "not-a-reviewer"
        ])
        assert.deepStrictEqual(yield* Run.decide(approve(first, "rob")), { _tag: "Applied" })
        const [changed] = yield* of("ReviewChanged")
        assert.strictEqual(changed?.note, "ann has group:release asked about r1/review/1: it is theirs")
      }).pipe(people, memory)
    )
  })

  describe("extend", () => {
    it.effect("R-306 moves all that is to come, as often as the terms say", () =>
      Effect.gen(function* () {
        const built = desk({ policy: { maxExtensions: 1 } })
        yield* start(built)
        yield* Review.extend(first, { by: "ann", for: "1 day", note: "she is away" })
        const [item] = (yield* Review.queue()).items
        assert.deepStrictEqual([item?.next?.at, item?.final?.at], [25 * hour, 26 * hour])
        const again = yield* Effect.flip(Review.extend(first, { by: "ann", for: "1 day" }))
        assert.include(again.message, "r1/review/1 has been extended 1 times, and no more is allowed")
        yield* TestClock.adjust("3 hours")
        assert.strictEqual((yield* Run.resume(built, "r1", { log: false })).status, "waiting")
      }).pipe(memory)
    )

    it.effect("R-306 is refused for a question that has no deadline any more", () =>
      Effect.gen(function* () {
        const holding = Ladder.make({
          stages: [{ to: ["anyone"], after: 0 }],
          final: { after: "1 hour", action: "hold" }
        })
        const built = desk({ policy: { ladders: { low: holding } } })
        yield* start(built)
        yield* TestClock.adjust("1 hour")
        yield* Run.resume(built, "r1", { log: false })
        const [item] = (yield* Review.queue()).items
        assert.deepStrictEqual([item?.held, item?.final], [true, undefined])
        const refused = yield* Effect.flip(Review.extend(first, { by: "ann", for: "1 day" }))
        assert.include(refused.message, "r1/review/1 has no deadline that could be later")
      }).pipe(memory)
    )
  })

  describe("what is said of a question", () => {
    const by = "ann"
    const wrong: ReadonlyArray<readonly [string, Effect.Effect<unknown, Review.Refusals, Journal.Journal>, string]> = [
      ["an id that is none", Review.claim("r1", { by }), "review must be an id such as RUN/review/1"],
      ["nobody", Review.release(first, { by: " " }), "by must be"],
      ["no reason", Review.withdraw(first, { by, note: "" }), "note must be a text that is not empty"],
      ["no reason at all", Review.withdraw(first, { by } as never), "note must be the reason, in a sentence"],
      ["no time", Review.claim(first, { by, for: 0 }), "for must be a duration > 0 and at most 24 hours"],
      [
        "too long a time",
        Review.claim(first, { by, for: "25 hours" }),
        "for must be a duration > 0 and at most 24 hours"
      ],
      ["what is no time", Review.extend(first, { by, for: "soon" as never }), "for must be a duration > 0"],
      ["others that are none", Review.reassign(first, { by, to: [], note: "so" }), "to must be a list of 1 to 50"],
      ["others by no kind", Review.reassign(first, { by, to: ["ann"], note: "so" }), "to[0] must be anyone, requester"]
    ]
    it.effect.each(wrong)("R-306 is refused with %s, and nothing is written", ([, said, reason]) =>
      Effect.gen(function* () {
        yield* start(desk())
        const before = yield* history("r1")
        const refused = yield* Effect.flip(said)
        assert.strictEqual(refused._tag, "CommandRefused")
        assert.include(refused.message, reason)
        assert.deepStrictEqual(yield* history("r1"), before)
      }).pipe(memory)
    )

    it.effect("R-306 reaches a run that is being carried out, and says the same when it is refused there", () =>
      Effect.gen(function* () {
        const held = Deferred.makeUnsafe<void>()
        const slow = worker("two", () => Effect.as(Deferred.await(held), "other"), { capabilities: [] })
        const asks = Fake.worker("one", { answers: [Result.ambiguous("Which?")], otherwise: "done" })
        const office = yield* Office.open(guarded([slow, asks], [task("a"), task("b", { worker: "d.two" })]), {
          log: false
        })
        const fiber = yield* Effect.forkChild(Run.startIn(office, { id: "r1", input: "go" }))
        yield* settle
        yield* Review.claim(first, { by, office })
        yield* settle
        assert.strictEqual((yield* Review.queue()).items[0]?.claimed?.by, "ann")
        yield* Review.withdraw(first, { by, note: "no need", office })
        const late = yield* Effect.flip(Review.claim(first, { by, office }))
        assert.deepStrictEqual(told(late), ["CommandRefused", "withdrawn"])
        yield* Deferred.succeed(held, undefined)
        const outcome = yield* Fiber.join(fiber)
        assert.deepStrictEqual([outcome.results["a"]?.status, outcome.results["b"]?.status], ["cancelled", "accepted"])
      }).pipe(Effect.scoped, memory)
    )
  })

  describe("decideAll", () => {
    const many = desk({ tasks: ["a", "b", "c"].map((id) => task(id)) })
    const id = (n: number) => `r1/review/${n}`

    it.effect("R-306 decides each with an event of its own, and says what became of each", () =>
      Effect.gen(function* () {
        yield* start(many)
        yield* Run.decide({ review: id(2), decision: "reject", by: "rob" })
        const each = yield* Review.decideAll([1, 2, 3, 4].map((n) => approve(id(n))))
        assert.deepStrictEqual(
          each.map((one) => [one.review, "result" in one ? one.result._tag : told(one.refused)]),
          [
            [id(1), "Applied"],
            [id(2), ["CommandRefused", "already-decided"]],
            [id(3), "Applied"],
            [id(4), ["CommandRefused", "not-open"]]
          ]
        )
        const again = yield* Review.decideAll([1, 3].map((n) => approve(id(n))))
        assert.deepStrictEqual(
          again.map((one) => ("result" in one ? one.result._tag : one.refused._tag)),
          ["Replayed", "Replayed"]
        )
        assert.lengthOf(yield* of("ReviewDecided"), 3)
      }).pipe(memory)
    )

    const alone: ReadonlyArray<readonly [string, ReadonlyArray<Run.Deciding>, string]> = [
      ["none", [], "the decisions must be 1 to 50, got 0"],
      ["too many", Array.from({ length: 51 }, (_, n) => approve(id(n + 1))), "the decisions must be 1 to 50, got 51"],
      ["one twice", [approve(id(1)), approve(id(1))], "[1].review must be another one than those before it"],
      [
        "different decisions",
        [approve(id(1)), { review: id(2), decision: "reject", by: "ann" }],
        `[1].decision must be approve, as of [0], got "reject"`
      ],
      [
        "another worker",
        [approve(id(1)), approve(id(4))],
        "[1] must be about the worker d.one, as [0] is, got the worker d.two"
      ],
      ["what is decided alone", [approve(id(1)), approve("high/review/1")], "[1] must be decided alone"],
      ["another rule", [approve(id(1)), approve("other/review/1")], "[1] must be asked by the same rule as [0]"]
    ]
    it.effect.each(alone)("R-306 decides nothing of %s", ([, decisions, reason]) =>
      Effect.gen(function* () {
        yield* start(desk({ tasks: [task("a"), task("b"), task("c"), task("d", { worker: "d.two" })] }))
        yield* start(desk({ risk: "high" }), "high")
        yield* start(desk({ policy: { version: "2" } }), "other")
        const error = yield* Effect.flip(Review.decideAll(decisions))
        assert.strictEqual(error._tag, "BatchRefused")
        assert.include(error.message, `nothing is decided: `)
        assert.include(error.message, reason)
        assert.lengthOf(yield* of("ReviewDecided"), 0)
      }).pipe(memory)
    )

    it.effect("R-306 takes a single one whatever its risk", () =>
      Effect.gen(function* () {
        yield* start(desk({ risk: "high" }))
        assert.deepStrictEqual(yield* Review.decideAll([approve(first)]), [
          { review: first, result: { _tag: "Applied" } }
        ])
      }).pipe(memory)
    )
  })
})
