/** What becomes of many people who decide one question at once, with every store of the journal. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Ref, type Scope } from "effect"
import { Chain, Journal } from "espalier/journal"
import { Host, Office, ReviewPolicy, Run, type RunEvent } from "espalier/run"

import { task, worker } from "./desks.ts"
import { guarded, of } from "./guards.ts"

const first = "r1/review/1"

/** How a decision went, for whoever made it. */
interface Told {
  readonly by: string
  readonly decision: "approve" | "reject"
  /** `because` of a refusal, and else what became of it. */
  readonly what: string
  readonly message: string
}

const decide = (by: string, decision: Told["decision"], options?: Parameters<typeof Run.decide>[1]) =>
  Run.decide({ review: first, decision, by, note: `${by} says so` }, options).pipe(
    Effect.match({
      onSuccess: ({ _tag }): Told => ({ by, decision, what: _tag, message: "" }),
      onFailure: (error): Told => ({
        by,
        decision,
        what: error._tag === "CommandRefused" ? (error.because ?? "invalid") : error._tag,
        message: error.message
      })
    })
  )

/** Fifty people, each of whom says twice what they say; half of them say no. */
const hundred = Array.from({ length: 100 }, (_, n) => ({
  by: `p${n % 50}`,
  decision: n % 2 === 0 ? ("approve" as const) : ("reject" as const)
}))

/** How often what came of it. */
const counts = (all: ReadonlyArray<Told>): Readonly<Record<string, number>> => {
  const found: Record<string, number> = {}
  for (const { what } of all) found[what] = (found[what] ?? 0) + 1
  return found
}

/** A desk that asks before it does something, and how often that was done; `beside`: something else goes on meanwhile. */
const asking = (policy: ReviewPolicy.Options = {}, beside = false) =>
  Effect.gen(function* () {
    const done = yield* Ref.make(0)
    const acts = worker(
      "one",
      () =>
        Effect.as(
          Ref.update(done, (n) => n + 1),
          "done"
        ),
      { risk: "high" }
    )
    const slow = worker("slow", () => Effect.as(Effect.sleep("1 hour"), "slow"))
    const desk = guarded([acts, slow], [task("a"), ...(beside ? [task("s", { worker: "d.slow" })] : [])], {
      reviews: ReviewPolicy.make(policy)
    })
    return { desk, done: Ref.get(done) }
  })

/** One decision stands, and everybody else heard which, of whom, and when. */
const oneStands = (told: ReadonlyArray<Told>, done: number) =>
  Effect.gen(function* () {
    const [decided, ...more] = yield* of("ReviewDecided")
    assert.deepStrictEqual(more, [])
    if (decided === undefined) return assert.fail("nobody has decided")
    const { by, decision } = decided
    for (const each of told) {
      if (each.what === "Applied" || each.what === "Left") continue
      if (each.what === "Replayed") assert.deepStrictEqual([each.by, each.decision], [by, decision])
      else {
        assert.strictEqual(each.what, "already-decided", each.message)
        assert.include(each.message, `${first} was decided by ${by} at `)
        assert.include(each.message, `(${decision})`)
      }
    }
    assert.strictEqual(done, decision === "approve" ? 1 : 0)
    const dispatched = (yield* of("Dispatched")).filter(({ task }) => task === "a")
    assert.strictEqual(dispatched.length, done)
    const { damage } = yield* Chain.verify("r1")
    assert.strictEqual(damage, undefined)
    return decided
  })

/** A store as two processes have it: `here` is its owner's journal; `there`, where there can be one, another's. */
export interface Store {
  readonly here: Journal.Journal["Service"]
  readonly there?: Journal.Journal["Service"] | undefined
}

const at = (journal: Journal.Journal["Service"]) => Effect.provideService(Journal.Journal, journal)

/** Waits for something that the test can see but not be told of. */
const until = <E, R>(seen: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.flatMap(seen, (now) => (now ? Effect.void : Effect.andThen(Effect.yieldNow, until(seen))))

const options = { id: "r1", input: "go", log: false } as const

const everybody = { concurrency: "unbounded" } as const

export const contract = (opened: Effect.Effect<Store, Journal.JournalError, Scope.Scope>): void => {
  describe("a hundred decisions of one question", () => {
    it.effect("R-306 D82 in the process that carries the run out: one stands, and one order is given", () =>
      Effect.gen(function* () {
        const { here } = yield* opened
        const { desk, done } = yield* asking({}, true)
        yield* Effect.gen(function* () {
          const office = yield* Office.open(desk, { log: false })
          const asked = yield* Deferred.make<void>()
          const onEvent = ({ _tag }: RunEvent.RunEvent) =>
            void (_tag === "ReviewOpened" && Deferred.doneUnsafe(asked, Effect.void))
          const fiber = yield* Effect.forkChild(Run.startIn(office, { ...options, onEvent }))
          yield* Deferred.await(asked)
          const told = yield* Effect.forEach(hundred, ({ by, decision }) => decide(by, decision, { office }), everybody)
          assert.deepStrictEqual(counts(told), { Applied: 1, Replayed: 1, "already-decided": 98 })
          yield* until(Effect.map(of("TaskEnded"), (all) => all.length > 0))
          yield* Fiber.interrupt(fiber)
          yield* oneStands(told, yield* done)
          assert.strictEqual((yield* of("ReviewRefused")).length, 98)
        }).pipe(at(here))
      }).pipe(Effect.scoped)
    )

    it.effect("R-306 D82 while nobody carries the run out: one stands, and it is taken up once", () =>
      Effect.gen(function* () {
        const { here } = yield* opened
        const { desk, done } = yield* asking()
        yield* Effect.gen(function* () {
          yield* Run.start(desk, options)
          const told = yield* Effect.forEach(hundred, ({ by, decision }) => decide(by, decision), everybody)
          assert.deepStrictEqual(counts(told), { Applied: 1, Replayed: 1, "already-decided": 98 })
          yield* Run.resume(desk, "r1", { log: false })
          yield* oneStands(told, yield* done)
          assert.strictEqual((yield* of("ReviewRefused")).length, 98)
        }).pipe(at(here))
      }).pipe(Effect.scoped)
    )

    it.effect("D82 that were left as word: the owner takes the first", () =>
      Effect.gen(function* () {
        const { here } = yield* opened
        const { desk, done } = yield* asking()
        yield* Effect.gen(function* () {
          const office = yield* Office.open(desk, { log: false })
          yield* Run.startIn(office, options)
          for (const { by, decision } of hundred) {
            yield* here.command({
              run: "r1",
              type: "ReviewDecided",
              at: 0,
              data: { review: first, by, decision, note: "" }
            })
          }
          assert.lengthOf(yield* Host.pass(office), 1)
          const decided = yield* oneStands([], yield* done)
          assert.strictEqual(decided.by, "p0")
          assert.strictEqual((yield* of("ReviewRefused")).length, 98)
          assert.deepStrictEqual(yield* here.commands(), [])
        }).pipe(at(here))
      }).pipe(Effect.scoped)
    )

    it.effect("R-306 of which three have to agree: three people's votes count", () =>
      Effect.gen(function* () {
        const { here } = yield* opened
        const { desk, done } = yield* asking({ quorum: { high: 3 } })
        yield* Effect.gen(function* () {
          yield* Run.start(desk, options)
          const told = yield* Effect.forEach(hundred, ({ by }) => decide(by, "approve"), everybody)
          const { Applied, Replayed = 0, Voted, "already-decided": late = 0, ...rest } = counts(told)
          assert.deepStrictEqual([Applied, Voted, Replayed + late, rest], [1, 2, 97, {}])
          yield* Run.resume(desk, "r1", { log: false })
          const { by } = yield* oneStands(
            told.filter(({ what }) => what !== "Voted" && what !== "Replayed"),
            yield* done
          )
          const voters = (yield* of("ReviewVoted")).map((vote) => vote.by)
          assert.strictEqual(new Set([...voters, by]).size, 3)
        }).pipe(at(here))
      }).pipe(Effect.scoped)
    )

    it.effect("R-306 in an office, of which three have to agree: three people's votes count", () =>
      Effect.gen(function* () {
        const { here } = yield* opened
        const { desk, done } = yield* asking({ quorum: { high: 3 } }, true)
        yield* Effect.gen(function* () {
          const office = yield* Office.open(desk, { log: false })
          const asked = yield* Deferred.make<void>()
          const onEvent = ({ _tag }: RunEvent.RunEvent) =>
            void (_tag === "ReviewOpened" && Deferred.doneUnsafe(asked, Effect.void))
          const fiber = yield* Effect.forkChild(Run.startIn(office, { ...options, onEvent }))
          yield* Deferred.await(asked)
          const told = yield* Effect.forEach(hundred, ({ by }) => decide(by, "approve", { office }), everybody)
          const { Applied, Replayed = 0, Voted, "already-decided": late = 0, ...rest } = counts(told)
          assert.deepStrictEqual([Applied, Voted, Replayed + late, rest], [1, 2, 97, {}])
          yield* until(Effect.map(of("TaskEnded"), (all) => all.length > 0))
          yield* Fiber.interrupt(fiber)
          const { by } = yield* oneStands(
            told.filter(({ what }) => what !== "Voted" && what !== "Replayed"),
            yield* done
          )
          const voters = (yield* of("ReviewVoted")).map((vote) => vote.by)
          assert.strictEqual(new Set([...voters, by]).size, 3)
        }).pipe(at(here))
      }).pipe(Effect.scoped)
    )

    it.effect("D74 one of which comes from elsewhere while another is taken in: it hears that it is too late", () =>
      Effect.gen(function* () {
        const { here, there } = yield* opened
        if (there === undefined) return
        const { desk } = yield* asking()
        yield* Run.start(desk, options).pipe(at(here))
        const bob = yield* Effect.cached(decide("bob", "reject").pipe(at(here)))
        // It was looked at when nobody had decided yet.
        const slow: Journal.Journal["Service"] = {
          ...there,
          command: (word) => Effect.andThen(bob, there.command(word))
        }
        const ann = yield* decide("ann", "approve").pipe(at(slow))
        assert.deepStrictEqual([(yield* bob).what, ann.what], ["Applied", "already-decided"])
        assert.include(ann.message, `${first} was decided by bob at `)
      }).pipe(Effect.scoped)
    )

    it.effect("D74 D82 from processes that do not own the journal: one is left, the others hear of whom and when", () =>
      Effect.gen(function* () {
        const { here, there } = yield* opened
        if (there === undefined) return
        const { desk, done } = yield* asking()
        yield* Run.start(desk, options).pipe(at(here))
        const told = yield* Effect.forEach(hundred, ({ by, decision }) => decide(by, decision), everybody).pipe(
          at(there)
        )
        yield* Effect.gen(function* () {
          yield* Run.resume(desk, "r1", { log: false })
          yield* oneStands(told, yield* done)
          assert.deepStrictEqual(counts(told), { Left: 1, Replayed: 1, "already-decided": 98 })
          // No more of them wait for the owner.
          assert.strictEqual((yield* of("ReviewRefused")).length, 20)
        }).pipe(at(here))
      }).pipe(Effect.scoped)
    )
  })
}
