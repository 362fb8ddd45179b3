import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { RunEvent } from "espalier/run"

import { byKey } from "../../../src/observe/internal/catalogue.ts"
import { make } from "../../../src/observe/internal/measures/measuring.ts"
import { allowed } from "../../../src/observe/internal/recorder.ts"
import { simulate } from "../../run/simulate.ts"
import * as e from "../events.ts"

const one = e.begun([{ id: "a" }])

const Seed = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000 }))
const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

describe("measures", () => {
  describe("replay", () => {
    it.prop(
      "R-502 what is recalled measures nothing again: at every cut, the parts measure what the whole does",
      [Seed, Share],
      ([seed, share]) => {
        const { events } = simulate(seed)
        const whole = e.measurements(events)
        const cut = Math.floor(share * events.length)
        const first = make()
        const before = events.slice(0, cut).flatMap(first.happened)
        const second = make()
        for (const event of events.slice(0, cut)) second.recall(event)
        const after = events.slice(cut).flatMap(second.happened)
        assert.deepStrictEqual([...before, ...after], whole)
      },
      { arbitrary: { runs: 200 } }
    )

    it("R-502 a run measures as many results as it has tasks, and one of its own", () => {
      for (let seed = 1; seed < 60; seed++) {
        const { events } = simulate(seed)
        const found = e.measurements(events)
        const tasks = events.filter(({ _tag }) => _tag === "TaskEnded").length
        assert.strictEqual(found.filter(({ metric }) => metric === "espalier.task.results").length, tasks)
        assert.strictEqual(found.filter(({ metric }) => metric === "espalier.run.results").length, 1)
        const orders = events.filter(({ _tag }) => _tag === "Reported").length
        assert.strictEqual(found.filter(({ metric }) => metric === "espalier.delegation.attempts").length, orders)
      }
    })

    it("R-502 nothing is remembered of a run that is over, and little of tasks that are", () => {
      const { memory, happened } = make()
      const tasks = Array.from({ length: 50 }, (_, index) => `t${index}`)
      happened(e.begun(tasks.map((id) => ({ id }))))
      for (const id of tasks) {
        happened(e.dispatched(id, "d.one"))
        happened(e.reported(id, "d.one", "accepted"))
        happened(e.ended(id, "accepted"))
      }
      assert.deepStrictEqual([memory.tasks.size, memory.producers.size], [0, 50])
      happened(e.finished())
      assert.deepStrictEqual([memory.producers.size, memory.states.size], [0, 0])
    })

    it("R-502 no number is below zero, whatever happens", () => {
      for (let seed = 1; seed < 200; seed++) {
        for (const { metric, value } of e.measurements(simulate(seed).events)) {
          assert.isTrue(value >= 0 && Number.isFinite(value), `${metric} of seed ${seed} is ${value}`)
        }
      }
    })
  })

  describe("attributes", () => {
    it.prop(
      "R-502 no id of a run, task, order, question or person, and no text of people, is on any metric",
      [Seed, Schema.String.check(Schema.isUUID())],
      ([seed, id]) => {
        const tagged = [...simulate(seed).events, ...loose(id)].map((event) => tag(event, id))
        const entries = byKey("genai-0.1")
        for (const { attributes, metric } of e.measurements(tagged)) {
          const entry = entries.get(metric)
          const shown = JSON.stringify(entry === undefined ? attributes : allowed(entry, attributes))
          assert.isFalse(shown.includes(id), `${metric} has ${shown}`)
        }
      },
      { arbitrary: { runs: 100 } }
    )

    it("R-502 what is measured is in the catalogue, with all of its attributes", () => {
      const known = new Map([...byKey("semconv-1.41"), ...byKey("genai-0.1")])
      for (let seed = 1; seed < 60; seed++) {
        for (const { attributes, metric } of e.measurements([...simulate(seed).events, ...loose("x")])) {
          const entry = known.get(metric)
          assert.isDefined(entry, metric)
          assert.deepStrictEqual(allowed(entry!, attributes), attributes, metric)
        }
      }
    })
  })
})

/** Ids and words of people are given a mark. Names of workers, desks and tools are code. */
const tag = (event: RunEvent.RunEvent, id: string): RunEvent.RunEvent => {
  const marked: Record<string, unknown> = { ...event, note: `${event.note} ${id}` }
  for (const field of ["task", "dispatch", "review", "consult", "subject", "group", "effect", "timer", "by", "run"]) {
    if (typeof marked[field] === "string" && marked[field] !== "") marked[field] = `${String(marked[field])}~${id}`
  }
  if (event._tag === "RunStarted" || event._tag === "TasksAdded") {
    marked["tasks"] = event.tasks.map((task) => ({
      ...task,
      id: `${task.id}~${id}`,
      needs: task.needs.map((need) => `${need}~${id}`)
    }))
  }
  if (event._tag === "Reported") marked["result"] = { ...event.result, output: id, error: event.result.error }
  return marked as unknown as RunEvent.RunEvent
}

/** Events that a plain plan does not have, of a run of their own. */
const loose = (id: string): ReadonlyArray<RunEvent.RunEvent> => [
  {
    _tag: "BudgetRefused",
    at: 1,
    task: "a",
    worker: "d.w",
    account: `task:${id}`,
    measure: id,
    limit: 1,
    asked: 2,
    note: id
  },
  { _tag: "Overrun", at: 1, task: "a", dispatch: "a/1", account: id, measure: "tokens", settled: 3, note: id },
  { _tag: "Noticed", at: 1, subject: "a", what: "compacted", note: id },
  { _tag: "Noticed", at: 1, subject: "a", what: id, note: id },
  e.spent("a", "a/1", "d.w", { requestId: id, reason: id }),
  e.opened({ review: "late", facts: { risk: id, group: id, choices: [id] }, kind: "routing", reason: "no-route" }),
  e.decided("answer", 2, { review: "late", answer: `${id}-other` }),
  { _tag: "ReviewRefused", at: 2, review: "late", decision: "approve", by: id, because: "expired", note: id }
]

describe("routing", () => {
  it("R-502 a first choice whose result was accepted was right", () => {
    const events = [one, e.dispatched("a", "d.x"), e.reported("a", "d.x", "accepted"), e.ended("a", "accepted")]
    assert.deepStrictEqual(e.of("espalier.routing.evaluations", events), [
      [
        1,
        { supervisor: "desk", "routing.predicted": "d.x", "routing.expected": "d.x", "routing.label_source": "outcome" }
      ]
    ])
  })

  it.each(["refused", "failed", "rejected-quality"] as const)(
    "R-502 one that %s was wrong, when another worker was accepted for the task",
    (outcome) => {
      const events = [
        one,
        e.dispatched("a", "d.x"),
        e.reported("a", "d.x", outcome),
        e.dispatched("a", "d.y", 0, 2),
        e.reported("a", "d.y", "accepted", 0, 2),
        e.ended("a", "accepted")
      ]
      const cells = e.of("espalier.routing.evaluations", events)
      assert.deepStrictEqual(
        cells.map(([, cell]) => [cell["routing.predicted"], cell["routing.expected"]]),
        [["d.x", "d.y"]]
      )
    }
  )

  it.each(["crashed", "timed-out", "cancelled", "budget-exceeded"] as const)(
    "R-502 one that %s is no label: nothing is known of the choice",
    (outcome) => {
      const events = [
        one,
        e.dispatched("a", "d.x"),
        e.reported("a", "d.x", outcome),
        e.dispatched("a", "d.y", 0, 2),
        e.reported("a", "d.y", "accepted", 0, 2),
        e.ended("a", "accepted")
      ]
      assert.deepStrictEqual(e.of("espalier.routing.evaluations", events), [])
    }
  )

  it("R-502 a task that nobody did is no label", () => {
    const events = [one, e.dispatched("a", "d.x"), e.reported("a", "d.x", "refused"), e.ended("a", "failed")]
    assert.deepStrictEqual(e.of("espalier.routing.evaluations", events), [])
  })

  it("R-502 people who route say whom they would have chosen, and only of those that they could", () => {
    const facts = { choices: ["d.x", "d.y"], group: "" }
    const asked = e.opened({ kind: "routing", reason: "no-route", allowed: ["answer"], facts })
    const cells = e.of("espalier.routing.evaluations", [one, asked, e.decided("answer", 1, { answer: "d.y" })])
    assert.deepStrictEqual(
      cells.map(([, cell]) => [cell["routing.predicted"], cell["routing.expected"], cell["routing.label_source"]]),
      [["none", "d.y", "human"]]
    )
    const odd = e.of("espalier.routing.evaluations", [one, asked, e.decided("answer", 1, { answer: "ann@home" })])
    assert.deepStrictEqual(odd, [])
    const decisions = e.of("espalier.routing.decisions", [one, asked])
    assert.deepStrictEqual(
      decisions.map(([, each]) => each["routing.selected"]),
      ["none"]
    )
  })

  it("R-502 a choice says by what it was made: a model, a rule, or because the first one was none", () => {
    const consult = (events: ReadonlyArray<RunEvent.RunEvent>) => [
      e.begun([]),
      { _tag: "Consulted", at: 0, consult: "r1/choice/1", subject: "", purpose: "route", note: "" } as const,
      ...events,
      { _tag: "Decided", at: 1500, consult: "r1/choice/1", subject: "", answer: "d.x", note: "" } as const,
      {
        _tag: "TasksAdded",
        at: 1500,
        group: "",
        tasks: [{ id: "a", needs: [], acceptMissing: false }],
        note: ""
      } as const,
      e.routed("a", "d.x", { candidates: ["d.x", "d.y"] }),
      e.dispatched("a", "d.x"),
      e.reported("a", "d.x", "failed"),
      e.routed("a", "d.y")
    ]
    const methods = (events: ReadonlyArray<RunEvent.RunEvent>) =>
      e.of("espalier.routing.decisions", events).map(([, each]) => each["routing.method"])
    assert.deepStrictEqual(methods(consult([])), ["rule", "fallback"])
    const asked = consult([e.spent("", "r1/choice/1", "")])
    assert.deepStrictEqual(methods(asked), ["llm", "fallback"])
    assert.deepStrictEqual(e.of("espalier.routing.duration", asked), [
      [1.5, { supervisor: "desk", "routing.purpose": "route", "routing.method": "llm" }]
    ])
    assert.deepStrictEqual(
      e.of("espalier.routing.candidates", asked).map(([value]) => value),
      [2, 1]
    )
  })
})

describe("handoffs", () => {
  it("R-502 an order counts on its edge, with how it ended, and as the first only when it was", () => {
    const events = [
      one,
      e.dispatched("a", "d.x", 0),
      e.reported("a", "d.x", "failed", 2000),
      e.dispatched("a", "d.y", 2000, 2),
      e.reported("a", "d.y", "accepted", 5000, 2)
    ]
    const edge = { "delegation.from": "desk" }
    assert.deepStrictEqual(e.of("espalier.delegation.attempts", events), [
      [
        1,
        { ...edge, "delegation.to": "d.x", outcome: "failed", "error.type": "capability", "task.first_attempt": "true" }
      ],
      [1, { ...edge, "delegation.to": "d.y", outcome: "accepted", "task.first_attempt": "false" }]
    ])
    assert.deepStrictEqual(
      e.of("espalier.delegation.duration", events).map(([value]) => value),
      [2, 3]
    )
  })

  it("R-502 an order that took a second attempt was not accepted at the first", () => {
    const events = [one, e.dispatched("a", "d.x"), e.reported("a", "d.x", "accepted", 0, 1, { attempts: 2 })]
    assert.strictEqual(e.of("espalier.delegation.attempts", events)[0]?.[1]["task.first_attempt"], "false")
  })

  it("R-502 what another worker delivered, and was accepted, is a delivery to whoever is given it", () => {
    const events = [
      e.begun([{ id: "a" }, { id: "b", needs: ["a"] }]),
      e.dispatched("a", "d.x"),
      e.reported("a", "d.x", "accepted"),
      e.ended("a", "accepted"),
      e.dispatched("b", "d.y"),
      e.reported("b", "d.y", "failed"),
      e.dispatched("b", "d.y", 0, 2)
    ]
    assert.deepStrictEqual(e.of("espalier.handoff.deliveries", events), [
      [1, { "handoff.producer": "d.x", "handoff.consumer": "d.y", "workflow.type": "desk" }]
    ])
    assert.deepStrictEqual(e.of("espalier.delegation.repeats", events), [
      [1, { "delegation.from": "desk", "delegation.to": "d.y" }]
    ])
  })

  it("R-502 a group gives orders under its own name, one level deeper", () => {
    const task = { id: "b", needs: [], acceptMissing: false }
    const events: ReadonlyArray<RunEvent.RunEvent> = [
      one,
      { _tag: "GroupOpened", at: 0, task: "a", kind: "decompose", containment: "isolate", tasks: [task], note: "" },
      e.dispatched("b", "d.x"),
      e.reported("b", "d.x", "accepted")
    ]
    assert.deepStrictEqual(e.of("espalier.delegation.depth", events), [[2, { "workflow.type": "desk" }]])
    assert.strictEqual(e.of("espalier.delegation.attempts", events)[0]?.[1]["delegation.from"], "desk/decompose")
  })
})

describe("outcomes", () => {
  const wait = (what: "people" | "timer" | "retry" | "crash" | "stop"): ReadonlyArray<RunEvent.RunEvent> => {
    switch (what) {
      case "people":
        return [
          { _tag: "Parked", at: 1000, task: "a", dispatch: "r1/a/1", worker: "d.x", note: "" },
          { _tag: "Unparked", at: 61_000, task: "a", dispatch: "r1/a/1", worker: "d.x", note: "" }
        ]
      case "retry":
        return [
          {
            _tag: "AttemptFailed",
            at: 1000,
            task: "a",
            dispatch: "r1/a/1",
            worker: "d.x",
            attempt: 1,
            kind: "transient",
            waitMillis: 60_000,
            note: ""
          }
        ]
      case "crash":
        return [
          { _tag: "Noticed", at: 1000, subject: "", what: "sign", note: "" },
          { _tag: "RunResumed", at: 61_000, note: "" }
        ]
      case "stop":
        return [
          { _tag: "RunSuspended", at: 1000, reason: "asked", note: "" },
          { _tag: "RunResumed", at: 61_000, note: "" }
        ]
      case "timer":
        return []
    }
  }

  it.each(["people", "retry", "crash", "stop"] as const)(
    "R-502 a wait for %s is no time in which anybody works on the order or the task",
    (what) => {
      const events = [
        one,
        e.dispatched("a", "d.x", 0),
        ...wait(what),
        e.reported("a", "d.x", "accepted", 63_000),
        e.ended("a", "accepted", 63_000),
        e.finished(63_000)
      ]
      const value = (metric: string) => e.of(metric, events)[0]?.[0]
      assert.strictEqual(value("espalier.delegation.duration"), 3)
      assert.strictEqual(value("espalier.task.active.duration"), 3)
      assert.strictEqual(value("espalier.task.duration"), 63)
      assert.strictEqual(value("espalier.run.duration"), 63)
      // A retry is waited for by its order alone: the run works.
      assert.strictEqual(value("espalier.run.active.duration"), what === "retry" ? 63 : 3)
    }
  )

  it("R-502 a wait for a person before an order, and for a timer, is none either", () => {
    const events = [
      one,
      { _tag: "TimerSet", at: 0, timer: "r1/timer/1", subject: "a", purpose: "after", due: 10_000, note: "" } as const,
      { _tag: "TimerFired", at: 10_000, timer: "r1/timer/1", subject: "a", due: 10_000, note: "" } as const,
      e.opened({ at: 10_000, task: "a" }),
      e.decided("approve", 40_000),
      e.dispatched("a", "d.x", 40_000),
      e.reported("a", "d.x", "accepted", 42_000),
      e.ended("a", "accepted", 42_000),
      e.finished(42_000)
    ]
    assert.deepStrictEqual(
      ["espalier.task.active.duration", "espalier.run.active.duration"].map((name) => e.of(name, events)[0]?.[0]),
      [2, 2]
    )
  })

  it("R-502 what people do while nobody carries out the run is no sign that somebody works", () => {
    const events: ReadonlyArray<RunEvent.RunEvent> = [
      one,
      e.dispatched("a", "d.x", 1000),
      { _tag: "AutonomyChanged", at: 50_000, from: "low", to: "full", by: "ann", note: "" },
      { _tag: "RunResumed", at: 61_000, note: "" },
      e.reported("a", "d.x", "accepted", 63_000),
      e.ended("a", "accepted", 63_000)
    ]
    assert.strictEqual(e.of("espalier.delegation.duration", events)[0]?.[0], 2)
  })

  it("R-502 a wait for a person and the time in which nobody carried out the run are not counted twice", () => {
    const events = [
      one,
      e.opened({ at: 1000, task: "a" }),
      e.decided("approve", 40_000),
      { _tag: "RunResumed", at: 50_000, note: "" } as const,
      e.dispatched("a", "d.x", 50_000),
      e.reported("a", "d.x", "accepted", 52_000),
      e.ended("a", "accepted", 52_000)
    ]
    // The second before the question, and the two of the order.
    assert.strictEqual(e.of("espalier.task.active.duration", events)[0]?.[0], 3)
  })

  it("R-502 a task begins when what it needs is there, not when it was planned", () => {
    const events = [
      e.begun([{ id: "a" }, { id: "b", needs: ["a"] }]),
      e.dispatched("a", "d.x", 0),
      { _tag: "RunSuspended", at: 1000, reason: "asked", note: "" } as const,
      { _tag: "RunResumed", at: 21_000, note: "" } as const,
      e.ended("a", "accepted", 30_000),
      e.ended("b", "accepted", 34_000)
    ]
    assert.deepStrictEqual(
      e.of("espalier.task.duration", events).map(([value]) => value),
      [30, 4]
    )
    assert.deepStrictEqual(
      e.of("espalier.task.active.duration", events).map(([value]) => value),
      [10, 4]
    )
  })

  it("R-502 retries are attempts and orders beyond the first", () => {
    const [again] = wait("retry")
    const events = [
      one,
      e.dispatched("a", "d.x"),
      again!,
      e.reported("a", "d.x", "failed", 70_000),
      e.dispatched("a", "d.y", 70_000, 2),
      e.reported("a", "d.y", "accepted", 71_000, 2),
      e.ended("a", "accepted", 71_000)
    ]
    assert.deepStrictEqual(e.of("espalier.task.retries", events), [
      [2, { "workflow.type": "desk", "task.result": "accepted", "error.type": "capability" }]
    ])
  })

  it("R-502 what goes round in circles is told once, and what is put down is told", () => {
    const stopping = {
      _tag: "GroupStopping",
      at: 0,
      group: "",
      reason: "loop-detected",
      recall: true,
      note: ""
    } as const
    const end = e.finished(0, { status: "failed", stopReason: "loop-detected" })
    assert.strictEqual(e.of("espalier.loop.detections", [one, stopping, end]).length, 1)
    assert.strictEqual(e.of("espalier.loop.detections", [one, { ...stopping, group: "a" }]).length, 1)
    assert.strictEqual(e.of("espalier.run.suspensions", [one, ...wait("stop")]).length, 1)
    assert.deepStrictEqual(e.of("espalier.run.results", [one, end])[0]?.[1], {
      "workflow.type": "desk",
      "run.status": "failed",
      "run.stop_reason": "loop_detected",
      "run.degraded": "false"
    })
  })
})

describe("people", () => {
  const asked = e.opened({ at: 1000, facts: { risk: "high" } })
  const claimed = (at: number, what: "claimed" | "released" = "claimed", until?: number): RunEvent.RunEvent => ({
    _tag: "ReviewChanged",
    at,
    review: "r1/review/1",
    by: "ann",
    what,
    ...(until === undefined ? {} : { until }),
    note: ""
  })

  it("R-502 a question counts with why it is asked, and its answer with who gave it, when and how", () => {
    const events: ReadonlyArray<RunEvent.RunEvent> = [
      one,
      asked,
      { _tag: "ReviewAdvanced", at: 2000, review: "r1/review/1", what: "widened", stage: 1, due: 2000, note: "" },
      e.decided("edit", 31_000)
    ]
    assert.deepStrictEqual(e.of("espalier.review.requests", events)[0]?.[1], {
      "review.kind": "action_approval",
      "review.risk": "high",
      "review.reason": "gate",
      "workflow.type": "desk"
    })
    const decision = { "review.kind": "action_approval", "review.risk": "high", "review.decision": "edited" }
    assert.deepStrictEqual(e.of("espalier.review.decisions", events), [
      [1, { ...decision, "review.stage": "alternate", "workflow.type": "desk", "review.actor_kind": "human" }]
    ])
    assert.deepStrictEqual(e.of("espalier.review.wait.duration", events), [
      [30, { ...decision, "review.stage": "alternate" }]
    ])
  })

  it("R-502 how long somebody works on a question is known from when they take care of it, or not at all", () => {
    const handling = (events: ReadonlyArray<RunEvent.RunEvent>) =>
      e.of("espalier.review.handling.duration", [one, asked, ...events]).map(([value]) => value)
    assert.deepStrictEqual(handling([e.decided("approve", 9000)]), [])
    assert.deepStrictEqual(handling([claimed(4000), e.decided("approve", 9000)]), [5])
    assert.deepStrictEqual(handling([claimed(2000), claimed(3000, "released"), e.decided("approve", 9000)]), [])
    // Nobody takes care of it longer than they said, and who does so again begins anew.
    assert.deepStrictEqual(handling([claimed(2000, "claimed", 5000), e.decided("approve", 900_000)]), [3])
    const again = [claimed(2000, "claimed", 5000), claimed(60_000, "claimed", 90_000), e.decided("approve", 61_000)]
    assert.deepStrictEqual(handling(again), [1])
    const longer = [claimed(2000, "claimed", 5000), claimed(4000, "claimed", 9000), e.decided("approve", 8000)]
    assert.deepStrictEqual(handling(longer), [6])
  })

  it.each([
    ["auto", "policy", e.decided("approve", 2000, { grant: "g" })],
    ["withdrawn", "system", { _tag: "ReviewWithdrawn", at: 2000, review: "r1/review/1", note: "" }],
    [
      "expired",
      "system",
      {
        _tag: "ReviewExpired",
        at: 2000,
        review: "r1/review/1",
        action: "reject",
        because: "deadline",
        due: 1,
        note: ""
      }
    ]
  ] as const)("R-502 what nobody decides is told as %s, by the %s", (decision, actor, event) => {
    const [found] = e.of("espalier.review.decisions", [one, asked, event])
    assert.deepStrictEqual([found?.[1]["review.decision"], found?.[1]["review.actor_kind"]], [decision, actor])
  })

  it("R-502 a question that stays open after its deadline is not decided", () => {
    const held = {
      _tag: "ReviewExpired",
      at: 2000,
      review: "r1/review/1",
      action: "hold",
      because: "deadline",
      due: 1,
      note: ""
    } as const
    assert.strictEqual(e.of("espalier.review.decisions", [one, asked, held]).length, 0)
    assert.strictEqual(e.of("espalier.review.decisions", [one, asked, held, e.decided("approve", 3000)]).length, 1)
  })

  it("R-502 a decision that does not count is a conflict, with its reason, also after the end", () => {
    const refused = {
      _tag: "ReviewRefused",
      at: 9,
      review: "r1/review/1",
      decision: "approve",
      by: "eve",
      because: "digest-mismatch",
      note: ""
    } as const
    assert.deepStrictEqual(e.of("espalier.review.conflicts", [one, asked, e.finished(1), refused]), [
      [1, { "review.conflict": "digest_mismatch" }]
    ])
  })
})

describe("checks", () => {
  const evidence = (exitStatus: number) =>
    e.reported("a", "d.x", exitStatus === 0 ? "accepted" : "rejected-quality", 0, 1, {
      result: {
        status: "completed",
        output: 1,
        confidence: 1,
        evidence: [{ requirement: "it works", command: "npm test", exitStatus }],
        usage: {},
        missing: []
      }
    })
  const sources = (events: ReadonlyArray<RunEvent.RunEvent>) =>
    e
      .of("espalier.task.verifications", events)
      .map(([, each]) => `${each["verification.source"]} ${each["verification.verdict"]}`)

  it("R-502 evidence that was run verifies a result, and a result without any is not verified", () => {
    const begun = [one, e.dispatched("a", "d.x")]
    assert.deepStrictEqual(sources([...begun, evidence(0)]), ["test pass"])
    assert.deepStrictEqual(sources([...begun, evidence(1)]), ["test fail"])
    assert.deepStrictEqual(sources([...begun, e.reported("a", "d.x", "accepted")]), [])
  })

  it("R-502 a validator verifies with its findings, people with their decision", () => {
    const found = (severity: "low" | "high") =>
      e.reported("a", "d.x", "accepted", 0, 1, {
        result: {
          status: "completed",
          output: 1,
          confidence: 1,
          evidence: [],
          usage: {},
          missing: [],
          findings: [{ severity, statement: "hm" }]
        }
      })
    const begun = [one, e.dispatched("a", "d.x")]
    assert.deepStrictEqual(sources([...begun, found("low")]), ["validator pass"])
    assert.deepStrictEqual(sources([...begun, found("high")]), ["validator fail"])
    const asked = e.opened({ kind: "result-acceptance", task: "a" })
    assert.deepStrictEqual(sources([one, asked, e.decided("approve")]), ["human pass"])
    assert.deepStrictEqual(sources([one, asked, e.decided("retry")]), ["human fail"])
  })

  it("R-502 work that is sent back is a revision, with who sent it", () => {
    const causes = (events: ReadonlyArray<RunEvent.RunEvent>) =>
      e.of("espalier.task.revisions", events).map(([, each]) => each["revision.cause"])
    const begun = [one, e.dispatched("a", "d.x")]
    assert.deepStrictEqual(causes([...begun, e.reported("a", "d.x", "rejected-contract")]), ["contract"])
    assert.deepStrictEqual(causes([...begun, e.reported("a", "d.x", "rejected-quality")]), ["validator"])
    assert.deepStrictEqual(causes([one, e.opened({ kind: "escalation", task: "a" }), e.decided("retry")]), ["human"])
    const group = {
      _tag: "GroupOpened",
      at: 0,
      task: "a",
      kind: "follow-up",
      containment: "isolate",
      tasks: [],
      note: ""
    } as const
    assert.deepStrictEqual(causes([one, group]), ["follow_up"])
  })
})

describe("spending", () => {
  const begun = [one, e.dispatched("a", "d.x")]
  const model = { "gen_ai.operation.name": "chat", "gen_ai.provider.name": "acme", "gen_ai.request.model": "small" }

  it("R-502 a call counts its tokens with those of the cache, and its time", () => {
    const events = [...begun, e.spent("a", "r1/a/1", "d.x")]
    const total = { ...model, "gen_ai.token.modality": "unknown" }
    assert.deepStrictEqual(e.of("inputTokens", events), [[400, total]])
    assert.deepStrictEqual(e.of("outputTokens", events), [[20, total]])
    assert.deepStrictEqual(e.of("cacheReadTokens", events), [[300, total]])
    assert.deepStrictEqual(e.of("inferenceDuration", events), [[0.8, model]])
    assert.deepStrictEqual(e.of("espalier.context_window.utilization", events), [
      [0.4, { "gen_ai.agent.name": "d.x", "gen_ai.request.model": "small" }]
    ])
  })

  it("R-502 a call that failed says of what; one that was taken back has not failed", () => {
    const failed = (end: ModelEnd, more: object = {}) =>
      e.of("inferenceDuration", [...begun, e.spent("a", "r1/a/1", "d.x", { end, ...more })])[0]?.[1]["error.type"]
    assert.deepStrictEqual(
      (["transient", "malformed", "defect", "interrupted", "answered"] as const).map((end) =>
        failed(end, { errorType: "rate_limited" })
      ),
      ["rate_limited", "rate_limited", "rate_limited", undefined, undefined]
    )
    // What is none of the list is no call that can be read.
    assert.deepStrictEqual(
      e.of("inferenceDuration", [...begun, e.spent("a", "r1/a/1", "d.x", { errorType: "4242" as never })]),
      []
    )
    // Calls of old journals do not say it.
    const old = (["transient", "malformed", "defect", "interrupted", "answered"] as const).map((end) => failed(end))
    assert.deepStrictEqual(old, ["transient", "invalid_output", "crash", undefined, undefined])
  })

  it("R-502 what a provider did not say is in no sum, and a price that is not known is not 0", () => {
    const { cost: _, currency: __, ...unknown } = e.call()
    const silent = e.spent("a", "r1/a/1", "d.x", { ...unknown, estimated: true })
    const { cost: ___, ...usage } = silent.usage
    const { cost: ____, currency: _____, ...facts } = silent.facts!
    const events: ReadonlyArray<RunEvent.RunEvent> = [
      ...begun,
      { ...silent, usage, facts },
      e.reported("a", "d.x", "accepted"),
      e.ended("a", "accepted"),
      e.finished()
    ]
    const values = (metric: string) => e.of(metric, events).map(([value]) => value)
    assert.deepStrictEqual(values("inputTokens"), [0])
    assert.deepStrictEqual(values("outputTokens"), [0])
    assert.deepStrictEqual(values("operationInputTokens"), [])
    assert.deepStrictEqual(values("espalier.task.tokens"), [])
    assert.deepStrictEqual(values("espalier.run.tokens"), [])
    assert.deepStrictEqual(values("espalier.task.cost"), [])
    assert.deepStrictEqual(values("espalier.cost.spent"), [])
    assert.deepStrictEqual([values("espalier.usage.unknown"), values("espalier.cost.unknown")], [[1], [1]])
  })

  it("R-502 money has its currency, and models, tools and rework are apart", () => {
    const tool: RunEvent.RunEvent = {
      _tag: "Spent",
      at: 0,
      task: "a",
      dispatch: "r1/a/2",
      worker: "d.x",
      what: "tool",
      usage: { toolCalls: 1, cost: 2 },
      facts: { tool: "search", outcome: "failed", durationMillis: 250 },
      note: ""
    }
    const events = [
      ...begun,
      e.spent("a", "r1/a/1", "d.x"),
      e.reported("a", "d.x", "rejected-quality"),
      e.dispatched("a", "d.x", 0, 2),
      e.spent("a", "r1/a/2", "d.x", { currency: "USD", cost: 0.5 }),
      tool,
      e.reported("a", "d.x", "accepted", 0, 2),
      e.ended("a", "accepted"),
      e.finished()
    ]
    assert.deepStrictEqual(
      e
        .of("espalier.cost.spent", events)
        .map(([value, each]) => [value, each["cost.currency"], each["cost.kind"], each["cost.rework"]]),
      [
        [0.25, "EUR", "model", "false"],
        [0.5, "USD", "model", "true"],
        [2, "unknown", "tool", "true"]
      ]
    )
    assert.deepStrictEqual(
      e.of("espalier.task.cost", events).map(([value, each]) => [value, each["cost.currency"]]),
      [
        [0.25, "EUR"],
        [0.5, "USD"],
        [2, "unknown"]
      ]
    )
    assert.deepStrictEqual(e.of("espalier.task.rework.tokens", events), [[420, { "workflow.type": "desk" }]])
    assert.deepStrictEqual(e.of("toolDuration", events), [
      [0.25, { "gen_ai.tool.name": "search", "gen_ai.agent.name": "d.x", "error.type": "tool_failed" }]
    ])
    assert.deepStrictEqual(
      e.of("espalier.task.tokens", events).map(([value, each]) => [value, each["token.kind"]]),
      [
        [800, "input"],
        [40, "output"],
        [600, "cache_read"],
        [10, "reasoning"]
      ]
    )
    assert.deepStrictEqual(e.of("espalier.task.steps", events)[0]?.[0], 3)
    assert.deepStrictEqual(
      [e.of("inferenceCalls", events), e.of("toolCalls", events)].map((all) => all.map(([value]) => value)),
      [
        [1, 1],
        [0, 1]
      ]
    )
  })

  it("R-502 another model that was asked instead is a swap", () => {
    const events = [
      ...begun,
      e.spent("a", "r1/a/1", "d.x"),
      e.spent("a", "r1/a/1", "d.x", { attempt: 2, model: "large" })
    ]
    assert.deepStrictEqual(e.of("espalier.model.swaps", events), [
      [1, { "gen_ai.agent.name": "d.x", "gen_ai.request.model": "large" }]
    ])
  })

  it("R-502 a call of which nobody knows how full the window was is counted, and not guessed", () => {
    const events = [...begun, e.spent("a", "r1/a/1", "d.x", {}, {})]
    assert.strictEqual(e.of("espalier.context_window.utilization", events).length, 0)
    assert.strictEqual(e.of("espalier.context_window.unknown", events).length, 1)
  })
})

type ModelEnd = "answered" | "interrupted" | "defect" | "transient" | "malformed"

describe("incidents", () => {
  const begun = [one, e.dispatched("a", "d.x")]

  it("R-502 a budget says what kind of account it was, and never which task's", () => {
    const refused = {
      _tag: "BudgetRefused",
      at: 0,
      task: "a",
      worker: "d.x",
      account: "task:a",
      measure: "toolCalls",
      limit: 1,
      asked: 2,
      note: ""
    } as const
    assert.deepStrictEqual(e.of("espalier.budget.exhaustions", [one, refused]), [
      [1, { "budget.scope": "task", "budget.kind": "tool_calls", "budget.action": "refused" }]
    ])
  })

  it("R-502 an effect that is about to happen again under its key is told", () => {
    const intended = {
      _tag: "EffectIntended",
      at: 0,
      task: "a",
      dispatch: "r1/a/1",
      effect: "k",
      name: "mail",
      digest: "d",
      occurrence: 0,
      recovery: "repeat",
      note: ""
    } as const
    assert.deepStrictEqual(e.of("espalier.tool.duplicate_calls", [...begun, intended]), [])
    assert.deepStrictEqual(e.of("espalier.tool.duplicate_calls", [...begun, intended, intended]), [
      [1, { "gen_ai.tool.name": "mail", dedup: "executed" }]
    ])
  })

  it("R-502 a window that fills up and one that is emptied are told of the worker whose it is", () => {
    const noticed = (what: string): RunEvent.RunEvent => ({ _tag: "Noticed", at: 0, subject: "a", what, note: "" })
    const events = [...begun, noticed("window-alert"), noticed("compacted"), noticed("corrected-answer")]
    assert.deepStrictEqual(
      ["espalier.context_window.alerts", "espalier.context_window.compactions"].map((name) => e.of(name, events)),
      [[[1, { "gen_ai.agent.name": "d.x" }]], [[1, { "gen_ai.agent.name": "d.x" }]]]
    )
  })

  it("R-502 scores of an evaluation are those of the run that it looked at", () => {
    const score = (scorer: string, value: number | null) => ({ scorer, value, why: "so" })
    const output = {
      run: "r0",
      desk: "release",
      status: "completed",
      endedAt: 1,
      workers: [],
      failures: [],
      scores: [score("whole", 0.5), score("style", null)]
    }
    const events = [
      { ...e.begun([{ id: "score" }]), desk: "evaluation" },
      e.dispatched("score", "d.x"),
      e.reported("score", "d.x", "accepted", 0, 1, {
        result: { status: "completed", output, confidence: 1, evidence: [], usage: {}, missing: [] }
      })
    ]
    assert.deepStrictEqual(e.of("espalier.evaluation.score", events), [
      [0.5, { "workflow.type": "release", "evaluation.scorer": "whole" }]
    ])
    assert.strictEqual(e.of("espalier.evaluation.unscored", events).length, 1)
  })
})
