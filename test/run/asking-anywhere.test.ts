import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Journal } from "espalier/journal"
import {
  type Coordinator,
  Effects,
  Graph,
  Office,
  Pipeline,
  Plan,
  Review,
  Router,
  Run,
  type RunEvent,
  Swarm
} from "espalier/run"

import { history, memory, settle, task, worker } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, resume, rows } from "./living.ts"

/** Asks, does something outside once, and says what it was told. */
const asks = (begun: Array<string>) =>
  worker(
    "one",
    (order) =>
      Effect.gen(function* () {
        begun.push(order.task)
        const reply = yield* Review.ask({ name: "which", question: `Which for ${order.task}?` })
        return reply._tag === "Answered" ? String(reply.value) : reply._tag
      }),
    { size: 50 }
  )

const counts = (done: Array<string>) =>
  worker(
    "two",
    (order) =>
      Effect.gen(function* () {
        yield* Effects.perform({
          name: "write",
          args: { task: order.task },
          run: () => Effect.sync(() => done.push(order.task))
        })
        return order.task
      }),
    { size: 50 }
  )

/** A task without its worker, for others to carry it out. */
const without = (id: string, fields: Partial<Plan.Task<never>> = {}) => {
  const { worker: _, ...rest } = task(id)
  return { ...rest, ...fields }
}

/** What carries a task out, of each kind, with something beside it that is done before or at the same time. */
const around: Readonly<Record<string, (inner: Omit<Plan.Task<never>, "id">) => Coordinator.Coordinator<never>>> = {
  plan: (inner) => Plan.make<never>([{ ...inner, id: "in" }, task("by", { worker: "d.two" })]),
  pipeline: (inner) =>
    Pipeline.make<never>([task("by", { worker: "d.two" }) as never, { ...inner, id: "in" } as never]),
  swarm: (inner) =>
    Swarm.make({
      start: "by",
      peers: {
        by: { worker: "d.two", objective: "Do by", handOver: () => "in" },
        in: { ...inner, handOver: () => "done" }
      }
    } as never),
  graph: (inner) =>
    Graph.make({
      start: "by",
      nodes: {
        by: { worker: "d.two", objective: "Do by", outcomes: ["ok"], outcome: () => "ok" },
        in: { ...inner, outcomes: ["ok"], outcome: () => "ok" }
      },
      edges: { by: { ok: "in" }, in: { ok: "finish" } }
    } as never) as unknown as Coordinator.Coordinator<never>,
  router: (inner) =>
    Router.make<never>({
      tasks: [{ ...inner, id: "in" }] as never,
      choose: (question) => Effect.succeed(question.tasks.length === 0 ? "in" : "finish"),
      fallback: "review"
    })
}

/** A desk whose question is so many groups down, the kinds of which are named from the outside to the inside. */
const nested = (
  kinds: ReadonlyArray<string>,
  leaf: Omit<Plan.Task<never>, "id">,
  begun: Array<string>,
  done: Array<string>
) => {
  const inner = kinds.reduceRight<Omit<Plan.Task<never>, "id">>(
    (within, kind) => ({ objective: `Do a ${kind}`, by: around[kind]!(within) }),
    leaf
  )
  return deskOf(
    [asks(begun), counts(done)] as never,
    Plan.make<string>([{ ...inner, id: "top" }, task("side", { worker: "d.two" })] as never)
  )
}

const leaf = { worker: "d.one", objective: "Ask" }
const gated = { worker: "d.two", objective: "Write", acceptance: "person" as const }

const depths: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ["1: nothing around it", []],
  ["2: a plan", ["plan"]],
  ["2: a router", ["router"]],
  ["3: a swarm in a plan", ["plan", "swarm"]],
  ["3: a graph in a pipeline", ["pipeline", "graph"]],
  ["4: a swarm in a graph in a pipeline", ["pipeline", "graph", "swarm"]],
  ["4: a router in a graph in a plan", ["plan", "graph", "router"]]
]

const isInside = (path: string | undefined, kinds: ReadonlyArray<string>) => {
  const parts = (path ?? "").split("/")
  return (
    parts.length === kinds.length + 1 && parts[0] === "top" && parts.slice(1).every((part) => part.startsWith("in"))
  )
}

describe("What is asked at any depth", () => {
  it.effect.each(depths)(
    "D73 is in one list with its whole path, and the answer begins that one anew: %s",
    ([, kinds]) =>
      Effect.gen(function* () {
        const begun: Array<string> = []
        const done: Array<string> = []
        const built = nested(kinds, leaf, begun, done)
        const first = yield* Run.start(built, options)
        assert.strictEqual(first.status, "waiting")
        const [review] = first.reviews
        assert.strictEqual(first.reviews.length, 1)
        assert.isTrue(isInside(review?.task, kinds), review?.task)
        const journal = yield* Journal.Journal
        assert.deepStrictEqual(
          (yield* journal.reviews("r1")).map(({ review, task }) => [review, task]),
          [[review?.review, review?.task]]
        )
        const before = [...done]
        yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: "this", by: "ann" })
        // An office of its own is another process.
        const last = yield* resume(built)
        assert.strictEqual(last.status, "completed")
        assert.deepStrictEqual(last.results[review?.task ?? ""]?.output, "this")
        assert.deepStrictEqual(begun, [review?.task, review?.task])
        assert.deepStrictEqual(new Set(done).size, done.length)
        assert.deepStrictEqual(done.slice(0, before.length), before)
        assert.strictEqual(of(yield* history("r1"), "ReviewOpened").length, 1)
        assert.deepStrictEqual(
          of(yield* history("r1"), "Unparked").map(({ task }) => task),
          [review?.task]
        )
      }).pipe(memory)
  )

  it.effect.each(depths)("D73 so is a gate, and what is beside it is not done again: %s", ([, kinds]) =>
    Effect.gen(function* () {
      const done: Array<string> = []
      const built = nested(kinds, gated, [], done)
      const first = yield* Run.start(built, options)
      const [review] = first.reviews
      assert.isTrue(isInside(review?.task, kinds), review?.task)
      const before = done.toSorted()
      yield* Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" })
      const last = yield* resume(built)
      assert.strictEqual(last.status, "completed")
      assert.deepStrictEqual(done.toSorted(), before)
      assert.deepStrictEqual(new Set(rows(last)).size, rows(last).length)
    }).pipe(memory)
  )

  it.effect("D85 of three branches with a gate on one, the others are finished, and what joins them waits", () =>
    Effect.gen(function* () {
      const done: Array<string> = []
      const branch = (id: string, fields: Parameters<typeof task>[1] = {}) => task(id, { worker: "d.two", ...fields })
      const built = deskOf(
        [counts(done)] as never,
        Plan.make<string>([
          branch("a1"),
          branch("a2", { needs: ["a1"] }),
          branch("b1", { acceptance: "person" }),
          branch("b2", { needs: ["b1"] }),
          branch("c1"),
          branch("c2", { needs: ["c1"] }),
          branch("join", { needs: ["a2", "b2", "c2"] })
        ])
      )
      const first = yield* Run.start(built, options)
      assert.deepStrictEqual(ends(first), [
        "a1 accepted",
        "a2 accepted",
        "b1 open",
        "b2 open",
        "c1 accepted",
        "c2 accepted",
        "join open"
      ])
      const before = done.length
      yield* Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" })
      const last = yield* resume(built)
      assert.strictEqual(last.status, "completed")
      assert.deepStrictEqual(done.slice(before), ["b2", "join"])
    }).pipe(memory)
  )
})

/** Twenty questions at once: of orders, of gates, of what is carried out by others, and of plans. */
const crowd = (begun: Array<string>, done: Array<string>, settings: Parameters<typeof deskOf>[2] = {}) => {
  const many = <A>(prefix: string, make: (id: string) => A) =>
    Array.from({ length: 5 }, (_, n) => make(`${prefix}${n}`))
  return deskOf(
    [asks(begun), counts(done)] as never,
    Plan.make<string>(
      [
        ...many("ask", (id) => task(id)),
        ...many("gate", (id) => task(id, { worker: "d.two", acceptance: "person" })),
        ...many("deep", (id) => ({
          ...without(id),
          by: Plan.make<never>([task("x"), task("y", { needs: ["x"] })])
        })),
        ...many("group", (id) => ({
          ...without(id, { acceptance: "person" }),
          by: Plan.make<never>([task("x", { worker: "d.two" })])
        })),
        task("after", { worker: "d.two", needs: ["ask0"] })
      ] as never,
      { concurrency: 50 }
    ),
    settings
  )
}

const nothingLeft = Effect.gen(function* () {
  const state = yield* Run.state("r1")
  assert.strictEqual(state.reviews.size, 0)
  assert.strictEqual(state.grants.size, 0)
  assert.strictEqual(state.asks.size, 0)
  assert.strictEqual(state.ledger.reservations.size, 0)
  for (const { reserved } of state.ledger.accounts.values()) {
    assert.isTrue(Object.values(reserved).every((each) => each === 0))
  }
  assert.deepStrictEqual([state.running, state.load.size, state.open], [0, 0, 0])
  const journal = yield* Journal.Journal
  assert.deepStrictEqual(yield* journal.reviews("r1"), [])
})

/** The commit in which each event was written, by its tag. */
const commits = (appended: ReadonlyArray<ReadonlyArray<string>>, tag: RunEvent.RunEvent["_tag"]) =>
  appended.flatMap((events, index) => events.filter((each) => each === tag).map(() => index))

const watching = Effect.fnUntraced(function* () {
  const journal = yield* Journal.Journal
  const appended: Array<ReadonlyArray<string>> = []
  const append: (typeof journal)["append"] = (append) => {
    appended.push(append.events.map(({ type }) => type))
    return journal.append(append)
  }
  return { appended, journal: { ...journal, append } }
})

describe("The end of a run with twenty open questions", () => {
  it.effect("D73 D89 takes all of them back in the commit of the end, where it is cancelled", () =>
    Effect.gen(function* () {
      const { appended, journal } = yield* watching()
      const begun: Array<string> = []
      const built = crowd(begun, [], { limits: { tokens: 100_000 } })
      const first = yield* Effect.provideService(Run.start(built, options), Journal.Journal, journal)
      assert.strictEqual(first.reviews.length, 20)
      yield* Run.cancel("r1", { by: "ann" })
      const last = yield* Effect.provideService(resume(built), Journal.Journal, journal)
      assert.strictEqual(last.status, "cancelled")
      const withdrawn = new Set(commits(appended, "ReviewWithdrawn"))
      assert.strictEqual(commits(appended, "ReviewWithdrawn").length, 20)
      assert.deepStrictEqual([...withdrawn], commits(appended, "RunFinished"))
      yield* nothingLeft
      const late = yield* Effect.flip(
        Run.decide({ review: "r1/review/7", decision: "answer", answer: "late", by: "ann" })
      )
      assert.strictEqual(late._tag === "CommandRefused" ? late.because : late._tag, "withdrawn")
    }).pipe(memory)
  )

  it.effect("D73 D89 does so at once where it is being carried out", () =>
    Effect.gen(function* () {
      const waits = worker("three", () => Effect.never, { attemptTimeout: "1 day" })
      const built = deskOf(
        [asks([]), waits] as never,
        Plan.make<string>([task("a"), task("b"), task("c", { worker: "d.three" })])
      )
      const office = yield* Office.open(built, { log: false })
      const run = yield* begin(Run.startIn(office, options))
      yield* pass("1 second")
      assert.strictEqual((yield* Run.outcome("r1")).reviews.length, 2)
      yield* Run.cancel("r1", { by: "ann", office })
      yield* settle
      const last = yield* run.join
      assert.strictEqual(last.status, "cancelled")
      yield* nothingLeft
    }).pipe(Effect.scoped, memory)
  )

  it.effect("D73 takes back those of siblings where one fails and the others do not go on without it", () =>
    Effect.gen(function* () {
      const fails = worker("three", () => Effect.andThen(Effect.sleep("1 minute"), Effect.die("broken")), {
        capabilities: ["other"]
      })
      const built = deskOf(
        [asks([]), counts([]), fails] as never,
        Plan.make<string>(
          [
            task("a"),
            task("b", { worker: "d.two", acceptance: "person" }),
            { ...without("g"), by: Plan.make<never>([task("x")]) },
            task("c", { worker: "d.three" })
          ] as never,
          { containment: "fail-fast" }
        ),
        { policy: { attempts: 1 }, limits: { tokens: 1_000 } }
      )
      const run = yield* begin(Run.start(built, options))
      yield* pass("5 minutes")
      const last = yield* run.join
      assert.deepStrictEqual(ends(last), ["a cancelled", "b cancelled", "g cancelled", "c failed", "g/x cancelled"])
      yield* nothingLeft
    }).pipe(memory)
  )

  it.effect("D73 takes back those of the others where enough results are there", () =>
    Effect.gen(function* () {
      const built = deskOf(
        [asks([]), counts([])] as never,
        Plan.make<string>([task("a"), task("b", { worker: "d.two" }), task("c")], { containment: { quorum: 1 } })
      )
      const last = yield* Run.start(built, options)
      assert.strictEqual(last.status, "completed")
      yield* nothingLeft
    }).pipe(memory)
  )

  it.effect("D73 sets free what was set aside for orders that wait", () =>
    Effect.gen(function* () {
      const dear = worker("one", () => Review.ask({ name: "which", question: "Which?" }), {
        estimate: { tokens: 100 },
        size: 5
      })
      const built = deskOf([dear] as never, Plan.make<string>([task("a"), task("b")]), { limits: { tokens: 1_000 } })
      yield* Run.start(built, options)
      const waiting = yield* Run.state("r1")
      assert.strictEqual(waiting.ledger.reservations.size, 2)
      yield* Run.cancel("r1", { by: "ann" })
      assert.strictEqual((yield* resume(built)).status, "cancelled")
      yield* nothingLeft
    }).pipe(memory)
  )
})
