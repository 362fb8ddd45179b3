import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Decider, Office, Plan, type Result, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, short, task } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass } from "./living.ts"
import { envelope, fold, started } from "./simulate.ts"

const failing = Fake.fail("capability", { reason: "No" })

/** Five tasks, one to three of which fail after their time, each with an effect if it is let go on to its end. */
const five = (bad: ReadonlyArray<number>, log: Array<string>) =>
  Fake.worker("one", {
    size: 5,
    answers: ({ task }) => {
      const index = Number(task.slice(-1))
      return Effect.sleep(`${index} seconds`).pipe(
        Effect.andThen(Effect.sync(() => (bad.includes(index) ? failing : (log.push(`effect ${index}`), index)))),
        Effect.onInterrupt(() =>
          Effect.delay(
            Effect.sync(() => log.push(`finalizer ${index}`)),
            "500 millis"
          )
        )
      )
    }
  })

const tasks = [1, 2, 3, 4, 5].map((index) => task(`t${index}`))

const run = (containment: RunEvent.Containment, bad: ReadonlyArray<number>, nested: boolean) =>
  Effect.gen(function* () {
    const log: Array<string> = []
    const group = Plan.make<unknown>(
      tasks.map(({ id }) => ({ id, worker: "d.one", objective: `Do ${id}` })),
      {
        containment
      }
    )
    const coordinator = nested
      ? Plan.make<string>([{ id: "all", by: group, objective: "All" }, task("beside", { worker: "d.two" })])
      : Plan.make<string>(tasks, { containment })
    const two = Fake.worker("two", { latency: "20 seconds", otherwise: "beside" })
    const outcome = yield* elapse(Run.start(deskOf([five(bad, log), two], coordinator), options), "1 minute")
    const events = yield* history("r1")
    const inside = events.filter((event) => nested && event._tag === "Merged" && event.group === "all")
    return { outcome, log, events, endedAt: nested ? inside[0]?.at : outcome.endedAt }
  })

describe("Containment", () => {
  const table: ReadonlyArray<
    readonly [
      name: string,
      containment: RunEvent.Containment,
      bad: ReadonlyArray<number>,
      statuses: string,
      log: string,
      seconds: number,
      status: string
    ]
  > = [
    [
      "D03 isolate: the others go on",
      "isolate",
      [3],
      "accepted accepted failed accepted accepted",
      "effect 1,effect 2,effect 4,effect 5",
      5,
      "partial"
    ],
    [
      "D04 fail-fast: the others are stopped, and it is told when their finalizers are done",
      "fail-fast",
      [3],
      "accepted accepted failed cancelled cancelled",
      "effect 1,effect 2,finalizer 4,finalizer 5",
      3.5,
      "partial"
    ],
    [
      "fail-fast without a failure is as isolate",
      "fail-fast",
      [],
      "accepted accepted accepted accepted accepted",
      "effect 1,effect 2,effect 3,effect 4,effect 5",
      5,
      "accepted"
    ],
    [
      "quorum reached: the others are stopped, and nobody needs them",
      { quorum: 2 },
      [1],
      "failed accepted accepted skipped skipped",
      "effect 2,effect 3,finalizer 4,finalizer 5",
      3.5,
      "accepted"
    ],
    [
      "quorum out of reach: the others are stopped at once",
      { quorum: 4 },
      [1, 2],
      "failed failed cancelled cancelled cancelled",
      "finalizer 3,finalizer 4,finalizer 5",
      2.5,
      "failed"
    ],
    [
      "a quorum of all is as fail-fast",
      { quorum: 5 },
      [4],
      "accepted accepted accepted failed cancelled",
      "effect 1,effect 2,effect 3,finalizer 5",
      4.5,
      "partial"
    ]
  ]
  it.effect.each(table)("R-220 of a run, %s", ([, containment, bad, statuses, log, seconds, status]) =>
    Effect.gen(function* () {
      const seen = yield* run(containment, bad, false)
      assert.strictEqual(
        Object.values(seen.outcome.results)
          .map(({ status }) => status)
          .join(" "),
        statuses
      )
      assert.strictEqual(seen.log.join(), log)
      assert.strictEqual(seen.endedAt, seconds * 1_000)
      assert.strictEqual(seen.outcome.status, status === "accepted" ? "completed" : status)
    }).pipe(memory)
  )

  it.effect.each(table)("R-220 of a group, %s", ([, containment, bad, statuses, log, seconds, status]) =>
    Effect.gen(function* () {
      const { endedAt, log: seen, outcome } = yield* run(containment, bad, true)
      const own = tasks.map(({ id }) => outcome.results[`all/${id}`]?.status)
      assert.strictEqual(own.join(" "), statuses)
      assert.strictEqual(seen.join(), log)
      assert.strictEqual(endedAt, seconds * 1_000)
      assert.strictEqual(outcome.results["all"]?.status, status)
      assert.strictEqual(outcome.results["beside"]?.status, "accepted")
    }).pipe(memory)
  )

  it.effect("R-220 finished results are in the journal before anything is called back", () =>
    Effect.gen(function* () {
      const { events } = yield* run("fail-fast", [3], false)
      const lines = short(events)
      const stop = lines.indexOf("GroupStopping")
      const kept = ["TaskEnded t1 accepted", "TaskEnded t2 accepted", "TaskEnded t3 failed"]
      for (const line of kept) assert.isTrue(lines.indexOf(line) >= 0 && lines.indexOf(line) < stop, line)
      assert.isAbove(lines.indexOf("Recalled"), stop)
    }).pipe(memory)
  )

  it.effect("D94 an order that is called back in the moment in which it is given never begins", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ({ task }) => (task === "a" ? failing : "done") })
      const coordinator = Plan.make<string>([task("a"), task("b", { acceptMissing: true })], {
        containment: "fail-fast",
        concurrency: 1
      })
      const outcome = yield* Run.start(deskOf([one], coordinator), options)
      assert.deepStrictEqual(ends(outcome), ["a failed", "b cancelled"])
      assert.strictEqual((yield* one.calls).length, 1)
    }).pipe(memory)
  )

  it.effect("R-220 a nested group stops with the one that it is in, waits, questions and choices included", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const one = Fake.worker("one", {
        size: 10,
        answers: ({ task }) => {
          if (task === "bad") return Effect.delay(Effect.succeed(failing), "2 seconds")
          if (task.endsWith("asks")) return Fake.fail("denied")
          if (task.endsWith("waits")) return Fake.fail("transient", { retryAfter: "30 seconds" })
          return Effect.onInterrupt(Effect.never, () => Effect.sync(() => log.push(task)))
        }
      })
      const inner = Plan.make<unknown>(
        ["asks", "waits", "hangs"].map((id) => ({ id, worker: "d.one", objective: `Do ${id}` }))
      )
      const middle = Plan.make<unknown>([{ id: "in", by: inner, objective: "In" }])
      const coordinator = Plan.make<string>([{ id: "out", by: middle, objective: "Out" }, task("bad")], {
        containment: "fail-fast"
      })
      const outcome = yield* elapse(Run.start(deskOf([one], coordinator), options), "1 minute")
      assert.strictEqual(outcome.endedAt, 2_000)
      assert.deepStrictEqual(log, ["out/in/hangs"])
      assert.deepStrictEqual(outcome.reviews, [])
      assert.deepStrictEqual(ends(outcome).slice(-3), [
        "out/in/asks cancelled",
        "out/in/waits cancelled",
        "out/in/hangs cancelled"
      ])
    }).pipe(memory)
  )

  it.effect("R-220 whoever is asked for a choice of a group that is stopped is stopped, too", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const one = Fake.worker("one", {
        size: 3,
        answers: ({ task }) =>
          task === "bad"
            ? Effect.delay(Effect.succeed(failing), "1 second")
            : Effect.uninterruptible(Effect.delay(Effect.succeed("slow"), "3 seconds"))
      })
      const coordinator = Plan.make<string>(
        [
          {
            id: "asks",
            objective: "Ask",
            by: {
              kind: "router",
              tasks: [{ id: "a", worker: "d.one", objective: "a" }],
              initial: [],
              adds: true,
              concurrency: 1,
              containment: "isolate",
              next: ({ consult }) =>
                consult === undefined ? { _tag: "Consult", purpose: "route", note: "Who?" } : { _tag: "Wait" },
              decide: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => log.push("stopped")))
            }
          },
          task("bad"),
          task("slow")
        ],
        { containment: "fail-fast" }
      )
      const office = yield* Office.open(deskOf([one], coordinator), { log: false })
      const run = yield* begin(Run.startIn(office, options))
      yield* pass("1 second")
      assert.deepStrictEqual([log, yield* run.over], [["stopped"], false])
      yield* pass("2 seconds")
      assert.deepStrictEqual(ends(yield* run.join), ["asks cancelled", "bad failed", "slow cancelled"])
    }).pipe(Effect.scoped, memory)
  )

  describe("decide", () => {
    const spec = Decider.spec({ workers: [{ name: "d.one", capabilities: [], size: 10 }], concurrency: 10 })
    const plan = (containment: RunEvent.Containment): RunEvent.RunEvent => ({
      ...started(["a", "b", "c", "d"].map((id) => ({ id, worker: "d.one" }))),
      containment
    })
    const given = (task: string): ReadonlyArray<RunEvent.RunEvent> => [
      { _tag: "Routed", at: 1, task, worker: "d.one", candidates: ["d.one"], note: "" },
      { _tag: "Dispatched", at: 1, task, dispatch: `r1/${task}/1`, worker: "d.one", contract: 1, note: "" }
    ]
    const back = (task: string, kind?: Result.ErrorKind): ReadonlyArray<RunEvent.RunEvent> => [
      {
        _tag: "Reported",
        at: 2,
        task,
        dispatch: `r1/${task}/1`,
        worker: "d.one",
        attempts: 1,
        outcome: kind === undefined ? "accepted" : "failed",
        result:
          kind === undefined
            ? envelope({ output: 1 })
            : envelope({ status: "failed", confidence: 0, error: { kind, reason: "broke" } }),
        note: ""
      },
      {
        _tag: "TaskEnded",
        at: 2,
        task,
        status: kind === undefined ? "accepted" : "failed",
        ...(kind === undefined ? { dispatch: `r1/${task}/1` } : {}),
        missing: [],
        note: ""
      }
    ]
    const all = ["a", "b", "c", "d"].flatMap(given)
    const table: ReadonlyArray<readonly [string, RunEvent.Containment, ReadonlyArray<RunEvent.RunEvent>, string]> = [
      ["nothing while nothing failed", "fail-fast", back("a"), ""],
      ["a stop once one failed", "fail-fast", back("b", "exhausted"), "StopGroup no-ready-task recall"],
      ["nothing when one failed", "isolate", back("b", "exhausted"), ""],
      ["nothing short of the quorum", { quorum: 2 }, back("a"), ""],
      ["a stop at the quorum", { quorum: 2 }, [...back("a"), ...back("c")], "StopGroup accepted recall"],
      ["nothing while it can be reached", { quorum: 3 }, back("a", "exhausted"), ""],
      [
        "a stop once it cannot be reached",
        { quorum: 3 },
        [...back("a", "exhausted"), ...back("b", "exhausted")],
        "StopGroup no-ready-task recall"
      ],
      ["a stop when there are fewer tasks than the quorum", { quorum: 5 }, [], "StopGroup no-ready-task recall"],
      ["nothing more when all ended", "fail-fast", ["a", "b", "c"].flatMap((id) => back(id)), ""]
    ]
    it.each(table)("R-220 gives %s (%j)", (_, containment, events, expected) => {
      const said = Decider.decide(fold([plan(containment), ...all, ...events]), spec).map((action) =>
        action._tag === "StopGroup" ? `StopGroup ${action.reason} ${action.recall ? "recall" : "wait"}` : action._tag
      )
      assert.strictEqual(said.join(), expected)
    })
  })

  it.effect("takes no quorum that is none", () =>
    Effect.sync(() => {
      for (const quorum of [0, -1, 1.5, Number.NaN]) {
        assert.throws(() => Plan.make([task("a")], { containment: { quorum } }), RangeError)
      }
      assert.strictEqual(of([], "RunStarted").length, 0)
    })
  )
})
