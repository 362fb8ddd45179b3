import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Result as EffectResult, Schema } from "effect"
import { Failure } from "espalier"
import { Result, Worker } from "espalier/run"

const worker = Worker.make("count", {
  description: "Counts",
  input: Schema.Struct({}),
  output: Schema.Struct({
    words: Schema.Int,
    at: Schema.optionalKey(Schema.DateTimeUtcFromMillis),
    note: Schema.optionalKey(Schema.String)
  }),
  handle: () => Effect.succeed({ words: 1 })
})

const check = (answer: unknown, boundary?: Result.Boundary) => Result.check(answer, worker.encodeOutput, boundary)

const hash = `sha256:${"0".repeat(64)}`
const patch = { uri: `artefact:${hash}`, hash, bytes: 12, mediaType: "text/x-diff" }
const output = { words: 1 }
const completed = Result.completed(output)
const declared: Result.Boundary = { artefacts: ["patch", "log"] }
const origin = { worker: "docs.count", task: "count", at: 7 }

describe("Result", () => {
  describe("check", () => {
    it("takes a plain output for completed with full confidence", () => {
      assert.deepStrictEqual(EffectResult.getOrThrow(check({ words: 3 })), {
        status: "completed",
        output: { words: 3 },
        confidence: 1,
        evidence: [],
        usage: {},
        missing: []
      })
    })

    it("makes the output plain JSON by the worker's schema", () => {
      const { output } = EffectResult.getOrThrow(check({ words: 3, at: DateTime.makeUnsafe(5) }))
      assert.deepStrictEqual(output, { words: 3, at: 5 })
    })

    it("keeps what was said beside the output", () => {
      const usage = { tokens: 12 }
      const evidence = [{ requirement: "counts", command: "wc -w", exitStatus: 0 }]
      const checked = check(Result.completed({ words: 3 }, { confidence: 0.5, usage, evidence }))
      const { confidence, ...rest } = EffectResult.getOrThrow(checked)
      assert.deepStrictEqual([confidence, rest.usage, rest.evidence], [0.5, usage, evidence])
    })

    const good: ReadonlyArray<readonly [Result.Status, unknown]> = [
      ["partial", Result.partial({ words: 1 }, [{ part: "p", reason: "r" }])],
      ["needs-review", Result.needsReview({ words: 1 }, [{ part: "p", reason: "r" }])],
      ["blocked", Result.blocked("denied", "No key")],
      ["failed", Result.failed("transient", "Busy")]
    ]
    it.each(good)("takes %s", (status, answer) => {
      assert.strictEqual(EffectResult.getOrThrow(check(answer)).status, status)
    })

    type Bad = readonly [message: string, answer: unknown, boundary?: Result.Boundary]

    const bad: ReadonlyArray<Bad> = [
      ["output is empty", undefined],
      ["output is empty", null],
      ["output is empty", "  "],
      ["output is empty", Result.completed("")],
      ["output is empty", Result.delivered({}), declared],
      ["output is empty", Result.partial("", [{ part: "p", reason: "r" }])],
      ["output must be at most 2 MiB of JSON", { words: 3, note: "é".repeat(1_100_000) }],
      ["output.words is required", {}],
      ['output.words must be a number, got "3"', { words: "3" }],
      ["output must be an object, got [1 item]", [1]],
      ["output must be an object, got a function", () => output],
      ["confidence must be a number between 0 and 1, got 1.5", Result.completed(output, { confidence: 1.5 })],
      [
        "confidence must be a finite number, got NaN; confidence must be a number between 0 and 1, got NaN",
        Result.completed(output, { confidence: Number.NaN })
      ],
      ["usage.tokens must be a whole number >= 0, got -1", Result.completed(output, { usage: { tokens: -1 } })],
      ["usage.steps must be a whole number >= 0, got 0.5", Result.completed(output, { usage: { steps: 0.5 } })],
      [
        "usage.cost must be an amount >= 0 and at most 1e15, got Infinity",
        Result.completed(output, { usage: { cost: Infinity } })
      ],
      ["usage.tokns is not a known field", { ...completed, usage: { tokns: 1 } }],
      ["usage must be an object, got null", { ...completed, usage: null }],
      ["missing must name at least one part when the status is partial", Result.partial(output, [])],
      ["missing must name at least one part when the status is needs-review", Result.needsReview(output, [])],
      ["missing contradicts the status completed", { ...completed, missing: [{ part: "p", reason: "r" }] }],
      [
        'missing[0].reason must be a text that is not empty, got ""',
        Result.partial(output, [{ part: "p", reason: "" }])
      ],
      ["missing must be a list, got {0 fields}", { ...completed, missing: {} }],
      ['error.reason must be a text that is not empty, got ""', Result.failed("transient", "")],
      ["error is required when the status is failed", { ...Result.failed("transient", "x"), error: undefined }],
      ["error is required when the status is blocked", { ...Result.blocked("denied", "x"), error: undefined }],
      ["error contradicts the status completed", { ...completed, error: { kind: "denied", reason: "x" } }],
      [
        'error.kind must be "transient" | "capability" | "oversized" | "malformed" | "denied" | "exhausted" | "defect", got "odd"',
        { ...Result.failed("transient", "x"), error: { kind: "odd", reason: "x" } }
      ],
      [
        'status must be "completed" | "partial" | "blocked" | "failed" | "needs-review", got "done"',
        { ...completed, status: "done" }
      ],
      ["criteria is not a known field", { ...completed, criteria: "none" }],

      ...[
        "definitionOfDone",
        "limits",
        "permissions",
        "contract",
        "objective",
        "constraints",
        "onIncomplete",
        "task"
      ].map((field): Bad => [
        `${field} belongs to the contract, which a result cannot change`,
        { ...completed, [field]: [] }
      ]),

      ["evidence[0].requirement is required", { ...completed, evidence: [{ command: "wc" }] }],
      [
        'evidence[0].requirement must be a text that is not empty, got " "',
        Result.completed(output, { evidence: [{ requirement: " " }] })
      ],
      [
        'evidence[0].command must be a text that is not empty, got ""',
        Result.completed(output, { evidence: [{ requirement: "counts", command: "", exitStatus: 0 }] })
      ],
      [
        "evidence[0].exitStatus must be an integer, got 0.5",
        Result.completed(output, { evidence: [{ requirement: "counts", exitStatus: 0.5 }] })
      ],
      ["evidence[0].stdout is not a known field", { ...completed, evidence: [{ requirement: "counts", stdout: "3" }] }],
      [
        'evidence[1].worker must be "docs.count", who gives it, got "docs.other"',
        Result.completed(output, {
          evidence: [{ requirement: "a" }, { requirement: "b", worker: "docs.other" }]
        }),
        { origin }
      ],
      [
        'evidence[0].task must be "count", who gives it, got "other"',
        Result.completed(output, { evidence: [{ requirement: "a", task: "other" }] }),
        { origin }
      ],

      ["artefacts.patch is not declared by the worker", Result.completed(output, { artefacts: { patch } })],
      [
        "artefacts.constructor is not declared by the worker",
        Result.completed(output, { artefacts: { patch, constructor: patch } }),
        declared
      ],
      [
        "artefacts.__proto__ must have a name of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got {4 fields}",
        { ...completed, artefacts: JSON.parse(`{"__proto__":${JSON.stringify(patch)}}`) },
        declared
      ],
      ["artefacts.patch.hash is required", { ...completed, artefacts: { patch: { uri: patch.uri } } }, declared],
      [
        'artefacts.patch.hash must be sha256: and 64 hexadecimal digits in lower case, got "md5:0"',
        Result.completed(output, { artefacts: { patch: { ...patch, hash: "md5:0" } } }),
        declared
      ],
      [
        'artefacts.patch.uri must be a URI with a scheme and without blanks, at most 2048 characters, got "../../etc/passwd"',
        Result.completed(output, { artefacts: { patch: { ...patch, uri: "../../etc/passwd" } } }),
        declared
      ],

      [
        'findings[0].severity must be "low" | "medium" | "high", got "critical"',
        { ...completed, findings: [{ severity: "critical", statement: "x" }] }
      ],
      [
        'findings[0].statement must be a text that is not empty, got ""',
        Result.completed(output, { findings: [{ severity: "low", statement: "" }] })
      ],
      [
        "findings[0].subject must be an id of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got \"\"",
        Result.completed(output, { findings: [{ severity: "low", statement: "x", subject: "" }] })
      ],
      ["ambiguity contradicts the status completed", Result.completed(output, { ambiguity: "Which one?" })],
      ['ambiguity must be a text that is not empty, got ""', Result.blocked("capability", "x", { ambiguity: "" })]
    ]
    const rows = bad.map(([message, answer, boundary = {}]) => [message, answer, boundary] as const)
    it.each(rows)("R-202 never passes on what does not hold: %s", (message, answer, boundary) => {
      const checked = check(answer, boundary)
      assert.isTrue(EffectResult.isFailure(checked))
      if (EffectResult.isFailure(checked)) {
        assert.strictEqual(checked.failure.message, `RESULT_INVALID: ${message}`)
        assert.strictEqual(
          Failure.kindOf(checked.failure),
          message.includes("at most 2 MiB") ? "oversized" : "malformed"
        )
      }
    })

    it("passes on artefacts, findings and a question as they are", () => {
      const findings = [{ severity: "high", statement: "It is wrong", subject: "links" }] as const
      const answer = Result.needsReview(output, [{ part: "p", reason: "r" }], {
        artefacts: { patch },
        findings,
        ambiguity: "Which one?"
      })
      const envelope = EffectResult.getOrThrow(check(answer, declared))
      assert.deepStrictEqual(envelope.artefacts, { patch })
      assert.deepStrictEqual(envelope.findings, findings)
      assert.strictEqual(envelope.ambiguity, "Which one?")
    })

    it("stores the output null where everything lies in artefacts", () => {
      const { artefacts, confidence, output } = EffectResult.getOrThrow(check(Result.delivered({ patch }), declared))
      assert.deepStrictEqual([artefacts, confidence, output], [{ patch }, 1, null])
    })

    it("lets a failure keep the artefacts that explain it, without an output", () => {
      const answer = Result.failed("transient", "It broke", { artefacts: { log: patch } })
      assert.notProperty(EffectResult.getOrThrow(check(answer, declared)), "output")
    })

    it("takes a question for a block that nobody but the answer can lift", () => {
      const { ambiguity, error, status } = EffectResult.getOrThrow(check(Result.ambiguous("Which one?")))
      assert.deepStrictEqual([status, error?.kind, ambiguity], ["blocked", "capability", "Which one?"])
    })

    it("writes the worker, the task and the time into evidence", () => {
      const evidence = [{ requirement: "a" }, { requirement: "b", worker: "docs.count", at: 3 }]
      assert.deepStrictEqual(
        EffectResult.getOrThrow(check(Result.completed(output, { evidence }), { origin })).evidence,
        [
          { requirement: "a", worker: "docs.count", task: "count", at: 7 },
          { requirement: "b", worker: "docs.count", task: "count", at: 3 }
        ]
      )
    })

    const outputs: ReadonlyArray<readonly [string, text: string, kept: boolean]> = [
      ["4096 bytes", "x".repeat(4096), true],
      ["4097 bytes", "x".repeat(4097), false],
      ["4095 bytes in characters of three", "€".repeat(1365), true],
      ["4098 bytes in characters of three", "€".repeat(1366), false],
      ["a megabyte of emoji", "😀".repeat(262_144), false]
    ]
    it.each(outputs)("D106 keeps evidence output of %s only as far as 4 KB, and says so", (_, text, kept) => {
      const answer = Result.completed(output, { evidence: [{ requirement: "a", output: text }] })
      const shortened = EffectResult.getOrThrow(check(answer)).evidence[0]?.output ?? ""
      if (kept) return assert.strictEqual(shortened, text)
      const bytes = (part: string) => new TextEncoder().encode(part).length
      assert.isAtMost(bytes(shortened), 4096)
      const [head = "", sign = "", tail = ""] = shortened.split("\n")
      assert.isTrue(text.startsWith(head) && text.endsWith(tail))
      assert.isTrue(head.length > 0 && tail.length > 0)
      assert.strictEqual(sign, `… ${bytes(text) - bytes(head) - bytes(tail)} bytes left out …`)
    })

    it("reads what an earlier release has stored", () => {
      const stored: unknown = {
        status: "failed",
        confidence: 0,
        evidence: [{ requirement: "a" }],
        usage: {},
        missing: []
      }
      assert.deepStrictEqual(Schema.decodeUnknownSync(Result.Envelope)(stored) as unknown, stored)
    })
  })
})
