import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Journal } from "espalier/journal"
import { Decider, Desk, Outcome, Run, RunState, Standing } from "espalier/run"

import { desk } from "../fixtures/journals/desk.ts"
import { released } from "./released.ts"
import { simulate } from "./simulate.ts"

const whats = ({ next }: Standing.Standing) => next.map(({ subject, what }) => `${what} ${subject}`)

describe("Standing.ofRun", () => {
  it.effect("R-309 says where each accepted fact comes from, and on what it is built", () =>
    Effect.gen(function* () {
      const { facts, next, outstanding, status, stopReason } = yield* Standing.ofRun("large")
      assert.deepStrictEqual([status, stopReason, next], ["completed", "accepted", []])
      assert.deepStrictEqual(outstanding, {
        reviews: [],
        choices: [],
        timers: [],
        deadlines: [],
        orders: [],
        effects: []
      })
      const [write, print] = facts
      const hash = "sha256:112a761ced848f1078e815c94513ef2d93e689b9da3ac9e98b598f83b267d0f6"
      assert.deepStrictEqual(write, {
        task: "write",
        status: "accepted",
        version: 4,
        dispatch: "large/write/1",
        contract: 1,
        worker: "press.writer",
        confidence: 0.9,
        hash,
        reference: { uri: `artefact:${hash}`, hash, bytes: 100_011, mediaType: "application/json" },
        evidence: [],
        missing: [],
        builtOn: [],
        approvals: []
      })
      assert.deepInclude(print, {
        task: "print",
        version: 11,
        dispatch: "large/print/1",
        builtOn: [{ task: "write", version: 4 }],
        approvals: ["approve by ada"]
      })
      assert.match(print?.hash ?? "", /^sha256:[0-9a-f]{64}$/)
    }).pipe(Effect.provide(released))
  )

  it.effect("R-309 names what people are asked, and what they may say", () =>
    Effect.gen(function* () {
      const standing = yield* Standing.ofRun("waiting", { desk })
      const [review] = standing.outstanding.reviews
      assert.deepInclude(review, {
        review: "waiting/review/1",
        kind: "action-approval",
        task: "print",
        allowed: ["approve", "reject"]
      })
      assert.deepStrictEqual(whats(standing), ["decide waiting/review/1", "cancel run"])
    }).pipe(Effect.provide(released))
  )

  it.effect("R-309 names the orders under way of a run that was cut off or put down", () =>
    Effect.gen(function* () {
      for (const run of ["cut-off", "suspended"]) {
        const standing = yield* Standing.ofRun(run, { desk })
        assert.deepStrictEqual(
          standing.outstanding.orders.map(({ dispatch, worker }) => [dispatch, worker]),
          [[`${run}/write/1`, "press.writer"]]
        )
        assert.deepStrictEqual(whats(standing), ["resume run", "cancel run"])
      }
    }).pipe(Effect.provide(released))
  )

  it.effect("R-309 names what the desk does next, as it was after any event", () =>
    Effect.gen(function* () {
      const steps = yield* Effect.forEach([1, 3, 4, 6], (at) => Standing.ofRun("finished", { desk, at }))
      assert.deepStrictEqual(steps.map(whats), [
        ["Dispatch write", "resume run", "cancel run"],
        ["resume run", "cancel run"],
        ["EndTask write", "resume run", "cancel run"],
        ["decide finished/review/1", "cancel run"]
      ])
      const error = yield* Effect.flip(Standing.ofRun("finished", { at: 14 }))
      assert.strictEqual(error._tag, "NoSuchEvent")
    }).pipe(Effect.provide(released))
  )
})

describe("Standing.of", () => {
  const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

  it.prop("R-309 has a fact for each result that stands, built only on earlier ones", { seed }, ({ seed }) => {
    const { events, state } = simulate(seed)
    const fold = Outcome.fold()
    for (const event of events) fold.add(event)
    const { facts } = Standing.of(state, fold)
    const stand = [...state.tasks.values()].filter(({ status }) => status === "accepted" || status === "partial")
    assert.deepStrictEqual(
      facts.map(({ task }) => task),
      stand.flatMap(({ id, result }) => (result === undefined ? [] : [id]))
    )
    for (const { builtOn, dispatch, version, worker } of facts) {
      const event = events[version - 1]
      assert.include(["Reported", "Merged", "Reused"], event?._tag)
      if (event?._tag === "Reported") assert.deepStrictEqual([event.dispatch, event.worker], [dispatch, worker])
      for (const each of builtOn) assert.isBelow(each.version, version)
    }
  })
})

describe("Run.stateAt", () => {
  it.effect("R-304 is the state after so many events, each of them", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const last = yield* journal.version("stumbled")
      for (let at = 1; at <= last; at++) {
        const state = yield* Run.stateAt("stumbled", at)
        const outcome = yield* Run.outcomeAt("stumbled", at)
        assert.deepStrictEqual([state.version, outcome.status], [at, state.status])
      }
      assert.deepStrictEqual(yield* Run.stateAt("stumbled", last), yield* Run.state("stumbled"))
      assert.deepStrictEqual(yield* Run.outcomeAt("stumbled", last), yield* Run.outcome("stumbled"))
      const { status } = yield* Run.stateAt("stumbled", 7)
      assert.strictEqual(status, "waiting")
    }).pipe(Effect.provide(released))
  )

  it.effect("R-304 decides as it was decided then", () =>
    Effect.gen(function* () {
      const state = yield* Run.stateAt("stumbled", 1)
      const actions = Decider.decide(state, Desk.spec(desk))
      assert.deepStrictEqual(
        actions.map((action) => [action._tag, "task" in action ? action.task : ""]),
        [["Dispatch", "write"]]
      )
      assert.isTrue(RunState.isFinished((yield* Run.state("stumbled")).status))
    }).pipe(Effect.provide(released))
  )

  it.effect.each([0, -1, 1.5, 15, Number.NaN])("R-304 refuses the event %d of fourteen", (at) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Run.stateAt("stumbled", at))
      assert.strictEqual(error._tag, "NoSuchEvent")
      assert.include(error.message, "its last one is 14")
      assert.strictEqual((yield* Effect.flip(Run.outcomeAt("stumbled", at)))._tag, "NoSuchEvent")
      assert.strictEqual((yield* Effect.flip(Run.stateAt("nobody", at)))._tag, "RunNotFound")
    }).pipe(Effect.provide(released))
  )
})
