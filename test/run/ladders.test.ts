import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Failure } from "espalier"
import { Decider, Health, Office, Plan, Recovery, type Result, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, task } from "./desks.ts"
import { deskOf, ends, of, options, resume, rows } from "./living.ts"
import { envelope, fold, started } from "./simulate.ts"
import { failures, shown } from "./steps.ts"

type With = {
  readonly others?: string
  readonly larger?: string
  readonly same?: boolean
  readonly can?: string
  readonly per?: number
  readonly ladder?: ReadonlyArray<Recovery.Rung>
}
const words = (text: string): ReadonlyArray<string> => text.split(" ").filter((word) => word !== "")

const next = (failed: string, { can, ladder, larger, others = "a b c", per, same }: With): string => {
  const history = failures(failed)
  const kind = history.at(-1)!.kind
  return shown(
    Recovery.next(history, {
      others: words(others),
      ...(larger === undefined ? {} : { larger: words(larger) }),
      ...(same === undefined ? {} : { same }),
      ...(can === undefined ? {} : { can: new Set(words(can) as ReadonlyArray<Recovery.Expansion>) }),
      policy: {
        ...Recovery.policy,
        ...(per === undefined ? {} : { dispatchesPerWorker: per }),
        ...(ladder === undefined ? {} : { ladders: { ...Recovery.ladders, [kind]: ladder } })
      }
    })
  )
}

describe("A ladder", () => {
  const all = "decompose re-plan follow-up"
  const table: ReadonlyArray<readonly [failed: string, options: With, step: string]> = [
    // transient: attempts are spent, another worker, a new plan, the end
    ["transient@a", {}, "other b"],
    ["transient@a", { can: all }, "other b"],
    ["transient@a transient@b", {}, "other c"],
    ["transient@a transient@b transient@c", { can: all }, "re-plan"],
    ["transient@a transient@b transient@c", { can: "decompose follow-up" }, "incomplete no-other-worker"],
    ["transient@a", { others: "a", can: "re-plan" }, "re-plan"],
    ["transient@a", { others: "" }, "incomplete no-other-worker"],
    ["transient@a", { others: "b", same: false }, "other b"],
    ["defect@a transient@a", { others: "a" }, "incomplete no-other-worker"],
    // capability
    ["capability@a", {}, "other b"],
    ["capability@a capability@b", { can: all }, "other c"],
    ["capability@a capability@b capability@c", { can: all }, "re-plan"],
    ["capability@a capability@b capability@c", {}, "incomplete no-other-worker"],
    ["capability@a", { others: "a", can: "re-plan" }, "re-plan"],
    ["capability@a", { others: "a", can: "decompose" }, "incomplete no-other-worker"],
    ["capability@a", { others: "", can: "follow-up" }, "incomplete no-other-worker"],
    ["capability@plan", { others: "", same: false, can: "re-plan" }, "re-plan"],
    ["capability@plan", { others: "", same: false }, "incomplete no-other-worker"],
    // oversized: split, a larger window, the end
    ["oversized@a", { can: all }, "decompose"],
    ["oversized@a", { can: "re-plan follow-up" }, "other b"],
    ["oversized@a", { larger: "c" }, "other c"],
    ["oversized@a", { larger: "" }, "incomplete no-other-worker"],
    ["oversized@a oversized@b", { larger: "b c" }, "other c"],
    ["oversized@a oversized@decompose", { larger: "b" }, "other b"],
    ["oversized@a oversized@c", { larger: "c" }, "incomplete no-other-worker"],
    ["oversized@a", { larger: "b c", can: "decompose" }, "decompose"],
    ["capability@a oversized@b", { larger: "c" }, "other c"],
    ["oversized@a", { others: "", can: "re-plan" }, "incomplete no-other-worker"],
    // malformed: follow-up where there is one, one correction, another worker, the end
    ["malformed@a", {}, "correct a"],
    ["malformed@a", { can: all }, "follow-up"],
    ["malformed@a", { can: "decompose re-plan" }, "correct a"],
    ["malformed@a malformed@follow-up", { same: false }, "other b"],
    ["malformed@a malformed@a", {}, "other b"],
    ["malformed@a malformed@a malformed@b", {}, "correct b"],
    ["malformed@a malformed@a malformed@b malformed@b", {}, "other c"],
    ["malformed@a malformed@a", { others: "a" }, "incomplete no-other-worker"],
    ["malformed@a", { others: "a", same: false }, "incomplete no-other-worker"],
    ["malformed@a", { same: false }, "other b"],
    ["malformed@a", { per: 1 }, "other b"],
    ["defect@a malformed@a", { per: 2 }, "other b"],
    ["defect@a malformed@a", { per: 3 }, "correct a"],
    ["defect@a defect@a malformed@a", {}, "other b"],
    ["malformed@a defect@b malformed@a", {}, "other c"],
    ["malformed@a malformed@a", { can: "re-plan", others: "a" }, "incomplete no-other-worker"],
    // denied: a person
    ["denied@a", {}, "review"],
    ["denied@a", { can: all, others: "" }, "review"],
    ["capability@a denied@b", {}, "review"],
    ["denied@a denied@a", {}, "review"],
    // exhausted: the end
    ["exhausted@a", {}, "incomplete no-rung"],
    ["exhausted@a", { can: all }, "incomplete no-rung"],
    ["transient@a exhausted@b", { can: "re-plan" }, "incomplete no-rung"],
    // defect: once more, another worker, the end
    ["defect@a", {}, "again a"],
    ["defect@a", { can: all }, "again a"],
    ["defect@a", { same: false }, "other b"],
    ["defect@a", { per: 1 }, "other b"],
    ["defect@a defect@a", {}, "other b"],
    ["defect@a defect@a", { others: "a", can: all }, "incomplete no-other-worker"],
    ["defect@a malformed@a defect@a", {}, "other b"],
    ["malformed@a transient@a defect@a", { per: 3 }, "other b"],
    ["malformed@a transient@a defect@a", { per: 4 }, "again a"],
    ["defect@a defect@a defect@b defect@b defect@c", {}, "again c"],
    ["defect@a defect@a defect@b defect@b defect@c defect@c", {}, "incomplete no-other-worker"],
    // ladders of one's own
    ["defect@a", { ladder: ["incomplete"] }, "incomplete no-rung"],
    ["defect@a", { ladder: ["review"] }, "review"],
    ["denied@a", { ladder: ["other-worker", "review"] }, "other b"],
    ["denied@a", { ladder: ["other-worker", "review"], others: "a" }, "review"],
    ["transient@a", { ladder: ["retry", "decompose"], can: "decompose" }, "decompose"],
    ["transient@a", { ladder: ["retry"] }, "incomplete no-rung"],
    ["transient@a", { ladder: [] }, "incomplete no-rung"],
    ["exhausted@a", { ladder: ["larger-worker", "incomplete"], larger: "c" }, "other c"],
    ["capability@a", { ladder: ["re-plan", "other-worker"], can: "re-plan" }, "re-plan"],
    ["malformed@a", { ladder: ["again", "incomplete"] }, "again a"]
  ]
  it.each(table)("R-206 after %s with %j comes: %s", (failed, options, step) => {
    assert.strictEqual(next(failed, options), step)
  })

  it("has more than sixty rows, one of them for each kind and each rung", () => {
    assert.isAbove(table.length, 60)
    const kinds = new Set(table.flatMap(([failed]) => failures(failed).map(({ kind }) => kind)))
    assert.deepStrictEqual([...kinds].toSorted(), Object.keys(Recovery.ladders).toSorted())
  })

  it("R-206 ends, whatever fails how often", () => {
    const kinds = Object.keys(Recovery.ladders) as ReadonlyArray<Result.ErrorKind>
    for (let seed = 0; seed < 500; seed++) {
      const history: Array<Recovery.Failed> = []
      const can = new Set<Recovery.Expansion>(["decompose", "re-plan", "follow-up"])
      let worker = "a"
      let steps = 0
      for (let dice = seed; ; dice = (dice * 16_807 + 12_345) % 2_147_483_647) {
        history.push({ worker, kind: kinds[dice % kinds.length]! })
        const step = Recovery.next(history, { others: ["a", "b", "c"], can, same: worker.length === 1 })
        if (step._tag === "Review" || step._tag === "Incomplete") break
        if (step._tag === "Expand") can.delete(step.purpose)
        worker = step._tag === "Expand" ? step.purpose : step.worker
        assert.isBelow(++steps, 13)
      }
      for (const each of ["a", "b", "c"]) {
        assert.isAtMost(history.filter((failed) => failed.worker === each).length, 3)
      }
    }
  })

  const blame: ReadonlyArray<readonly [Result.ErrorKind, boolean]> = [
    ["transient", true],
    ["malformed", true],
    ["defect", true],
    ["capability", false],
    ["oversized", false],
    ["denied", false],
    ["exhausted", false]
  ]
  it.each(blame)("says of %s that the worker is to blame: %s", (kind, expected) => {
    assert.strictEqual(Recovery.blames(kind), expected)
  })

  it.effect.each(blame)("R-209 counts %s against the worker's health: %s", ([kind, expected]) =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { size: 3, otherwise: kind === "defect" ? Fake.die() : Fake.fail(kind) })
      const built = deskOf([one], Plan.make<string>([task("a"), task("b"), task("c")]), {
        policy: { attempts: 1 },
        breaker: { failures: 3 }
      })
      const office = yield* Office.open(built, { log: false })
      yield* Run.startIn(office, options)
      const { status } = Health.standing(office.health.facts(), "d.one")
      assert.strictEqual(status === "degraded", expected)
    }).pipe(Effect.scoped, memory)
  )
})

describe("What decisions make of a history", () => {
  const spec = Decider.spec({
    workers: [
      { name: "d.one", capabilities: ["work"], size: 10 },
      { name: "d.two", capabilities: ["work"], size: 10 }
    ]
  })
  const fails = (task: string, n: number, worker: string, kind: Result.ErrorKind): ReadonlyArray<RunEvent.RunEvent> => [
    { _tag: "Routed", at: 1, task, worker, candidates: [worker], note: "" },
    { _tag: "Dispatched", at: 1, task, dispatch: `r1/${task}/${n}`, worker, contract: 1, note: "" },
    {
      _tag: "Reported",
      at: 2,
      task,
      dispatch: `r1/${task}/${n}`,
      worker,
      attempts: 1,
      outcome: "failed",
      result: envelope({ status: "failed", confidence: 0, error: { kind, reason: "broke" } }),
      note: ""
    }
  ]
  const ended = (task: string): RunEvent.RunEvent => ({
    _tag: "TaskEnded",
    at: 3,
    task,
    status: "failed",
    missing: [],
    note: ""
  })
  const decided = (events: ReadonlyArray<RunEvent.RunEvent>) =>
    Decider.decide(fold(events), spec).map((action) =>
      action._tag === "Dispatch" ? `${action.task} to ${action.worker}` : action._tag
    )
  const many = (count: number, kind: Result.ErrorKind) => [
    started([
      ...Array.from({ length: count }, (_, index) => ({ id: `t${index}`, worker: "d.one" })),
      { id: "z", worker: "d.one" }
    ]),
    ...Array.from({ length: count }, (_, index) => [...fails(`t${index}`, 1, "d.one", kind), ended(`t${index}`)]).flat()
  ]

  const skips: ReadonlyArray<readonly [number, Result.ErrorKind, string]> = [
    [4, "defect", "z to d.one"],
    [5, "defect", "z to d.two"],
    [5, "transient", "z to d.two"],
    [5, "malformed", "z to d.two"],
    [9, "capability", "z to d.one"],
    [9, "denied", "z to d.one"]
  ]
  it.each(skips)("R-209 after %d dispatches that failed as %s a worker's next task is: %s", (count, kind, expected) => {
    assert.deepStrictEqual(decided(many(count, kind)), [expected])
  })

  it("R-206 a person's retry begins a new ladder, with the worker that failed", () => {
    const failed = [
      started([{ id: "a", worker: "d.one" }]),
      ...fails("a", 1, "d.one", "defect"),
      ...fails("a", 2, "d.one", "denied")
    ]
    assert.deepStrictEqual(decided(failed), ["Review"])
    const asked: RunEvent.RunEvent = {
      _tag: "ReviewOpened",
      at: 4,
      review: "r1/review/1",
      task: "a",
      kind: "escalation",
      reason: "denied",
      allowed: ["retry", "reject"],
      facts: {},
      note: ""
    }
    const retry: RunEvent.RunEvent = {
      _tag: "ReviewDecided",
      at: 5,
      review: "r1/review/1",
      decision: "retry",
      by: "ada",
      note: "The right is there now"
    }
    const anew = [...failed, asked, retry]
    assert.deepStrictEqual(decided(anew), ["a to d.one"])
    assert.deepStrictEqual(decided([...anew, ...fails("a", 3, "d.one", "defect")]), ["a to d.one"])
    const twice = [...anew, ...fails("a", 3, "d.one", "defect"), ...fails("a", 4, "d.one", "defect")]
    assert.deepStrictEqual(decided(twice), ["a to d.two"])
  })
})

describe("A run", () => {
  it.effect("D40 has one owner of retries: a worker is called as often as its policy says", () =>
    Effect.gen(function* () {
      for (const attempts of [1, 2, 3, 5]) {
        const one = Fake.worker("one", { otherwise: Fake.fail("transient") })
        const built = deskOf([one], Plan.make<string>([task("a")]), { policy: { attempts } })
        const id = `r${attempts}`
        const outcome = yield* elapse(Run.start(built, { ...options, id }), "1 hour")
        assert.strictEqual((yield* one.calls).length, attempts)
        assert.deepStrictEqual(
          outcome.dispatches.map(({ attempts }) => attempts),
          [attempts]
        )
      }
    }).pipe(memory)
  )

  it.effect("D50 spends no attempts on what is malformed, and no correction on what is passing", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        answers: [Fake.fail("transient"), Fake.malformed(), Fake.fail("transient"), Fake.fail("transient"), "done"]
      })
      const outcome = yield* elapse(Run.start(deskOf([one], Plan.make<string>([task("a")])), options), "1 hour")
      assert.deepStrictEqual(
        outcome.dispatches.map(({ attempts, outcome }) => `${attempts} ${outcome}`),
        ["2 rejected-contract", "3 accepted"]
      )
    }).pipe(memory)
  )

  it.effect("D109 an answer that is invalid and a check that throws are both failed tries", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ["bad", "worse"], capabilities: ["work"] })
      const two = Fake.worker("two", { answers: ["good"], capabilities: ["work"] })
      const checked = task("a", {
        validate: (output) => {
          if (output === "worse") throw new Error("no idea")
          return output === "good" ? [] : ["it is not good"]
        }
      })
      const outcome = yield* Run.start(deskOf([one, two], Plan.make([checked])), options)
      assert.deepStrictEqual(rows(outcome), [
        "r1/a/1 d.one rejected-quality",
        "r1/a/2 d.one rejected-quality",
        "r1/a/3 d.two accepted"
      ])
      const reasons = of(yield* history("r1"), "Reported").map(({ result }) => result.error?.reason)
      assert.deepStrictEqual(reasons, ["it is not good", "the validation threw: no idea", undefined])
      assert.deepStrictEqual(
        (yield* two.calls)[0]?.previous.map(({ reason }) => reason),
        ["it is not good", "the validation threw: no idea"]
      )
    }).pipe(memory)
  )

  it.effect("D10 ends a worker's crashes whatever it did before each of them", () =>
    Effect.gen(function* () {
      let progress = 0
      const one = Fake.worker("one", { answers: () => (progress++, Fake.die()), capabilities: ["work"] })
      const two = Fake.worker("two", { answers: () => (progress++, Fake.die()), capabilities: ["work"] })
      const outcome = yield* elapse(Run.start(deskOf([one, two], Plan.make<string>([task("a")])), options), "1 day")
      assert.deepStrictEqual(
        rows(outcome).map((row) => row.slice(7)),
        ["d.one crashed", "d.one crashed", "d.two crashed", "d.two crashed"]
      )
      assert.strictEqual(progress, 4)
    }).pipe(memory)
  )

  it.effect("D07 does not begin what needs a result that a defect has cost", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { otherwise: Fake.die() })
      const two = Fake.worker("two", { otherwise: "invented" })
      const plan = Plan.make<string>([task("a"), task("b", { worker: "d.two", needs: ["a"] })])
      const outcome = yield* elapse(Run.start(deskOf([one, two], plan), options), "1 minute")
      assert.deepStrictEqual(ends(outcome), ["a failed", "b blocked"])
      assert.deepStrictEqual(yield* two.calls, [])
    }).pipe(memory)
  )

  it.effect("R-206 tells the worker what a person said when it is tried anew", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: [Fake.fail("denied", { reason: "No right" }), "done"] })
      const built = deskOf([one], Plan.make<string>([task("a")]))
      yield* Run.start(built, options)
      yield* Run.decide({ review: "r1/review/1", decision: "retry", by: "ada", note: "You have it now" })
      const outcome = yield* resume(built)
      assert.strictEqual(outcome.status, "completed")
      const [, again] = yield* one.calls
      assert.deepStrictEqual(again?.answers, [{ by: "ada", note: "You have it now" }])
      assert.deepStrictEqual(
        again?.previous.map(({ kind }) => kind),
        ["denied" satisfies Failure.Kind]
      )
    }).pipe(memory)
  )
})
