import { assert, describe, it } from "@effect/vitest"
import { Redaction } from "espalier"
import { type RunEvent } from "espalier/run"

import { canonical, digest } from "../../../src/run/internal/canonical.ts"
import { redacted } from "../../../src/run/internal/redacting.ts"

const { defaults } = Redaction

const token = `ghp_${"a1".repeat(18)}`
const taken = "[redacted:github-token]"

const envelope = { status: "completed", confidence: 1, evidence: [], usage: { tokens: 5 }, missing: [] } as const

/** An event whose ids, names and digests look like secrets, with something else to say. */
const reported = (result: object, note = "done"): RunEvent.RunEvent => ({
  _tag: "Reported",
  at: 1,
  task: token,
  dispatch: token,
  worker: token,
  attempts: 1,
  outcome: "accepted",
  result: { ...envelope, ...result },
  label: token,
  digest: digest(canonical((result as { output?: unknown }).output)),
  dependency: token,
  note
})

const noted = { at: 1, note: "so it is" }

const harmless: ReadonlyArray<RunEvent.RunEvent> = [
  {
    _tag: "RunStarted",
    ...noted,
    run: token,
    desk: token,
    version: token,
    owner: token,
    definition: token,
    input: { a: [1, { tokens: 5 }] },
    tasks: [{ id: token, needs: [token], acceptMissing: false, worker: token, amendment: { inputs: { a: 1 } } }]
  },
  { _tag: "Routed", ...noted, task: token, worker: token, candidates: [token] },
  { _tag: "Consulted", ...noted, consult: token, subject: token, purpose: "route" },
  { _tag: "Decided", ...noted, consult: token, subject: token, answer: { to: "d.one" }, usage: { tokens: 1 } },
  { _tag: "Dispatched", ...noted, task: token, dispatch: token, worker: token, contract: 1, digest: token },
  { _tag: "TimerFired", ...noted, timer: token, subject: token, due: 1 },
  { _tag: "ReviewDecided", ...noted, review: token, decision: "approve", by: token },
  reported({ output: { words: 12 }, outputRef: undefined })
]

describe("redacted", () => {
  it.each(harmless.map((event) => [event._tag, event] as const))(
    "R-305 leaves ids, names, references and digests of %s alone, and gives the same event back",
    (_, event) => {
      assert.strictEqual(redacted(event, defaults), event)
    }
  )

  it("R-305 takes secrets out of what is said of each event", () => {
    for (const event of harmless) {
      const next = redacted({ ...event, note: `because of ${token}` }, defaults)
      assert.deepStrictEqual(next, { ...event, note: `because of ${taken}` })
    }
  })

  it("R-305 takes secrets out of everything that a result brings", () => {
    const event = redacted(
      reported({
        output: { token: "abc-12345" },
        error: { kind: "transient", reason: token },
        evidence: [
          { requirement: token, command: token, environment: token, output: token, revision: token, exitStatus: 0 }
        ],
        missing: [{ part: token, reason: token }],
        findings: [{ severity: "low", statement: token, subject: token }],
        ambiguity: token
      }),
      defaults
    )
    assert(event._tag === "Reported")
    assert.deepStrictEqual(event.result as unknown, {
      ...envelope,
      output: { token: "[redacted:token]" },
      error: { kind: "transient", reason: taken },
      evidence: [
        { requirement: token, command: taken, environment: taken, output: taken, revision: token, exitStatus: 0 }
      ],
      missing: [{ part: taken, reason: taken }],
      findings: [{ severity: "low", statement: taken, subject: token }],
      ambiguity: taken
    })
    assert.isTrue(Object.isFrozen(event.result.output))
  })

  it("R-305 has the digest of the output that is written", () => {
    const event = redacted(reported({ output: { token: "abc-12345" } }), defaults)
    assert(event._tag === "Reported")
    assert.strictEqual(event.digest, digest(canonical({ token: "[redacted:token]" })))
  })

  it("R-305 takes secrets out of inputs, amendments, answers, facts, conflicts and what is left out", () => {
    const value = { password: "x" }
    const other = { password: "[redacted:password]" }
    const plan = (amendment: Record<string, Record<string, string>>) => [
      { id: "a", needs: [], acceptMissing: false, amendment }
    ]
    const given: ReadonlyArray<readonly [RunEvent.RunEvent, object]> = [
      [{ _tag: "TasksAdded", ...noted, group: "", tasks: plan({ inputs: value }) }, { tasks: plan({ inputs: other }) }],
      [{ _tag: "Decided", ...noted, consult: "c", subject: "", answer: value }, { answer: other }],
      [
        {
          _tag: "DecisionFailed",
          ...noted,
          consult: "c",
          subject: "",
          error: { kind: "transient", reason: token }
        },
        { error: { kind: "transient", reason: taken } }
      ],
      [
        {
          _tag: "Merged",
          ...noted,
          group: "",
          kind: "fields",
          outcome: "partial",
          result: { ...envelope, output: value },
          conflicts: [value],
          leftOut: [{ part: "a", reason: token }],
          open: [{ task: "a", requirement: "r", reason: token }]
        },
        {
          result: { ...envelope, output: other },
          conflicts: [other],
          leftOut: [{ part: "a", reason: taken }],
          open: [{ task: "a", requirement: "r", reason: taken }]
        }
      ],
      [
        {
          _tag: "ReviewOpened",
          ...noted,
          review: "r",
          kind: "question",
          reason: "ambiguity",
          allowed: ["answer"],
          facts: { order: { inputs: value }, digest: "0".repeat(32) }
        },
        { facts: { order: { inputs: other }, digest: "0".repeat(32) } }
      ],
      [
        { _tag: "ReviewDecided", ...noted, review: "r", decision: "answer", by: "ann", answer: value },
        { answer: other }
      ],
      [
        {
          _tag: "EffectSettled",
          ...noted,
          task: "a",
          effect: "e",
          outcome: "done",
          by: "run",
          value
        },
        { value: other }
      ],
      [
        { _tag: "TaskEnded", ...noted, task: "a", status: "partial", missing: [{ part: "p", reason: token }] },
        { missing: [{ part: "p", reason: taken }] }
      ]
    ]
    for (const [event, changed] of given) {
      const next = redacted(event, defaults)
      assert.deepStrictEqual(next as unknown, { ...event, ...changed })
      assert.strictEqual(redacted(next, defaults), next)
    }
  })

  it("R-305 keeps no output that what stands in for secrets made too large", () => {
    const output = Array.from({ length: 100_000 }, () => ({ pwd: "x" }))
    const event = redacted(reported({ output }), defaults)
    assert(event._tag === "Reported")
    assert.strictEqual(event.result.output, "[redacted:crowded]")
  })
})
