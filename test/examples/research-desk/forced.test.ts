/** Each way of recovery, forced, on the test clock: which orders are given, what is asked, and what the report says. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Failure } from "espalier"

import { type Force, forces } from "../../../examples/research-desk/forced.ts"
import { exitCode } from "../../../examples/research-desk/print.ts"
import { type Asked, type Ran, report, rows, run, shipped, tagged } from "./runs.ts"

const catalogue = "catalogue/1 library.catalogue accepted 1"
const research = "research/1 library.keywords accepted 1"
const write = "write/1 writing.composer accepted 1"
const check = "check/1 checking.figures accepted 1"

const approved = (ran: Ran) => {
  const { kind, verdict } = report(ran)
  assert.deepStrictEqual([kind, verdict, ran.outcome.status], ["article", "APPROVED", "completed"])
  assert.strictEqual(exitCode(ran.outcome), 0)
}

const raw = (ran: Ran) => {
  const { kind, notes, text, verdict } = report(ran)
  assert.deepStrictEqual([kind, verdict, ran.outcome.status], ["raw-research", "UNKNOWN", ran.outcome.status])
  assert.isTrue(notes.some((note) => note.startsWith("Writing failed, this is the raw research: ")))
  assert.include(text, "[02-scion-wood.md:6]")
  assert.strictEqual(exitCode(ran.outcome), 2)
}

const paths: Readonly<Record<Force, (ran: Ran) => void>> = {
  retry: (ran) => {
    assert.deepStrictEqual(rows(ran), [catalogue, "research/1 library.keywords accepted 3", write, check])
    const waits = tagged(ran, "AttemptFailed").map(({ kind, waitMillis }) => [kind, waitMillis])
    assert.deepStrictEqual(waits, [
      ["transient", 1_000],
      ["transient", 2_000]
    ])
    assert.strictEqual((ran.outcome.endedAt ?? 0) - ran.outcome.startedAt, 3_000)
    assert.isFalse(ran.outcome.degraded)
    approved(ran)
  },
  correct: (ran) => {
    assert.deepStrictEqual(rows(ran), [
      catalogue,
      research,
      "write/1 writing.composer rejected-contract 1",
      "write/2 writing.composer accepted 1",
      check
    ])
    assert.match(ran.outcome.dispatches[3]?.routing ?? "", /asked to correct its answer$/)
    approved(ran)
  },
  "other-worker": (ran) => {
    assert.deepStrictEqual(rows(ran).slice(1, 3), [
      "research/1 library.keywords refused 1",
      "research/2 reading.sections accepted 1"
    ])
    assert.isTrue(ran.outcome.degraded)
    approved(ran)
  },
  decompose: (ran) => {
    assert.deepStrictEqual(rows(ran).slice(1, 5), [
      "research/1 library.keywords failed 1",
      "research/decompose/part-1/1 library.keywords accepted 1",
      "research/decompose/part-2/1 library.keywords accepted 1",
      "research/decompose/part-3/1 library.keywords accepted 1"
    ])
    assert.deepStrictEqual(
      tagged(ran, "GroupOpened").map(({ kind, task }) => `${task} ${kind}`),
      ["research decompose"]
    )
    // What one worker would have found is found by parts, the contradiction between two parts included.
    assert.isTrue(report(ran).notes.some((note) => note.includes("02-scion-wood.md:6 and 07-aftercare.md:5")))
    approved(ran)
  },
  "re-plan": (ran) => {
    assert.deepStrictEqual(rows(ran).slice(1, 4), [
      "research/1 library.keywords refused 1",
      "research/2 reading.sections refused 1",
      "research/re-plan/outline/1 library.outliner accepted 1"
    ])
    approved(ran)
  },
  "follow-up": (ran) => {
    assert.deepStrictEqual(rows(ran).slice(2), [
      write,
      "check/1 checking.figures rejected-quality 1",
      "check/follow-up/mend/1 writing.mender accepted 1",
      "check/follow-up/again/1 checking.figures accepted 1"
    ])
    const [refused] = tagged(ran, "Reported").filter(({ outcome }) => outcome === "rejected-quality")
    assert.deepStrictEqual(
      refused?.result.evidence.map(({ exitStatus, output, requirement }) => [requirement, exitStatus, output]),
      [["sources-resolve", 1, "01-why-graft.md:4"]]
    )
    // It is the mended article that is reported.
    assert.include(report(ran).sources, "01-why-graft.md:3")
    assert.notInclude(report(ran).sources, "01-why-graft.md:4")
    approved(ran)
  },
  "reduce-scope": (ran) => {
    const [asked] = tagged(ran, "ReviewOpened")
    assert.deepStrictEqual(
      [asked?.task, asked?.kind, asked?.allowed, asked?.facts["drop"]],
      ["write", "scope-reduction", ["approve", "reject"], ["figures"]]
    )
    assert.deepStrictEqual([ran.outcome.status, ran.outcome.reviews.length], ["waiting", 1])
    assert.strictEqual(exitCode(ran.outcome), 0)
  },
  escalate: (ran) => {
    const [asked] = tagged(ran, "ReviewOpened")
    assert.deepStrictEqual(
      [asked?.task, asked?.kind, asked?.reason, asked?.allowed],
      ["check", "escalation", "incomplete", ["retry", "accept-partial", "reject"]]
    )
    assert.deepStrictEqual([ran.outcome.status, ran.outcome.reviews.length], ["waiting", 1])
  },
  partial: (ran) => {
    assert.deepStrictEqual(rows(ran), [catalogue, "research/1 library.keywords partial 1", write, check])
    assert.deepStrictEqual([ran.outcome.status, ran.outcome.stopReason], ["partial", "accepted"])
    assert.isTrue(report(ran).notes.some((note) => note.startsWith("Research is partial: ")))
    assert.strictEqual(report(ran).verdict, "APPROVED")
    assert.strictEqual(exitCode(ran.outcome), 2)
  },
  "cross-check": (ran) => {
    assert.deepStrictEqual(rows(ran).slice(1, 3), [research, "research/2 reading.sections accepted 1"])
    assert.deepStrictEqual(
      ran.outcome.dispatches.slice(1, 3).map(({ confidence = 0 }) => confidence >= 0.6),
      [false, true]
    )
    // The stand-in is the one that is sure, so its result stands and nobody is warned.
    assert.strictEqual(tagged(ran, "TaskEnded").find(({ task }) => task === "research")?.dispatch, "r1/research/2")
    assert.isFalse(report(ran).notes.some((note) => note.startsWith("Caution")))
    approved(ran)
  },
  "low-confidence": (ran) => {
    assert.deepStrictEqual(rows(ran), [catalogue, research, write, check])
    assert.isTrue(ran.outcome.degraded)
    assert.strictEqual(report(ran).confidence, 0.4)
    assert.include(report(ran).notes, "Caution: the confidence is 0.4, below 0.6")
    approved(ran)
  },
  budget: (ran) => {
    assert.deepStrictEqual(rows(ran), [catalogue, research])
    const [refused] = tagged(ran, "BudgetRefused")
    assert.deepStrictEqual(
      [refused?.task, refused?.account, refused?.measure, refused?.limit, refused?.asked],
      ["write", "run", "steps", 4, 2]
    )
    assert.deepStrictEqual([ran.outcome.status, ran.outcome.stopReason], ["partial", "budget-exceeded"])
    assert.strictEqual(report(ran).steps, 3)
    raw(ran)
  },
  deadline: (ran) => {
    assert.deepStrictEqual(rows(ran), [catalogue, research, "write/1 writing.composer timed-out 1"])
    assert.deepStrictEqual([ran.outcome.status, ran.outcome.stopReason], ["partial", "deadline"])
    assert.strictEqual((ran.outcome.endedAt ?? 0) - ran.outcome.startedAt, 1_500)
    raw(ran)
  },
  breaker: (ran) => {
    assert.deepStrictEqual(rows(ran).slice(1, 7), [
      "research/1 library.keywords failed 1",
      "research/decompose/part-1/1 library.keywords crashed 1",
      "research/decompose/part-1/2 library.keywords crashed 1",
      "research/decompose/part-1/3 reading.sections accepted 1",
      "research/decompose/part-2/1 reading.sections accepted 1",
      "research/decompose/part-3/1 reading.sections accepted 1"
    ])
    assert.deepStrictEqual(
      tagged(ran, "HealthChanged").map(({ health, worker }) => `${worker} ${health}`),
      ["library.keywords degraded"]
    )
    assert.match(ran.outcome.dispatches[5]?.routing ?? "", /a stand-in for library\.keywords; .* is degraded/)
    approved(ran)
  },
  cancel: (ran) => {
    assert.deepStrictEqual(rows(ran), [catalogue, research, "write/1 writing.composer cancelled 1"])
    assert.deepStrictEqual([ran.outcome.status, ran.outcome.stopReason], ["cancelled", "stop-requested"])
    assert.strictEqual(tagged(ran, "CancelRequested")[0]?.by, "the reader")
    raw(ran)
  },
  "needs-revision": (ran) => {
    assert.deepStrictEqual(rows(ran), [catalogue, research, write, check])
    const { kind, notes, verdict } = report(ran)
    assert.deepStrictEqual([kind, verdict, ran.outcome.status], ["article", "NEEDS_REVISION", "completed"])
    assert.isTrue(notes.some((note) => note.startsWith("Not supported: ") && note.includes("18097")))
    assert.strictEqual(exitCode(ran.outcome), 1)
  }
}

describe("the research desk", () => {
  it.effect("R-802 researches, writes and checks: an approved article, its sources, steps and audit", () =>
    Effect.gen(function* () {
      const ran = yield* run({})
      assert.deepStrictEqual(rows(ran), [catalogue, research, write, check])
      const { confidence, notes, sources, steps, text } = report(ran)
      assert.isAbove(confidence, 0.6)
      assert.strictEqual(steps, 6)
      assert.strictEqual(ran.outcome.usage.steps, 6)
      // Every paragraph names its sources, and they are those of the report.
      const named = text.split("\n\n").map((paragraph) => /\[([^\]]+)\]$/.exec(paragraph)?.[1]?.split(", ") ?? [])
      assert.isTrue(named.every((places) => places.length > 0))
      assert.deepStrictEqual([...new Set(named.flat())].toSorted(), sources)
      assert.strictEqual(notes.filter((note) => note.startsWith("The notes do not agree: ")).length, 2)
      assert.isTrue(ran.outcome.dispatches.every(({ routing }) => routing !== ""))
      approved(ran)
    })
  )

  it("R-802 every step that can be forced has its path here", () => {
    assert.deepStrictEqual(Object.keys(paths), [...forces])
  })

  it.effect.each(forces)("R-802 R-206 --force %s takes that step", (force) => Effect.map(run({ force }), paths[force]))

  it.effect.each(forces)("R-802 the steps of the report with --force %s are those that the run has used", (force) =>
    Effect.map(run({ force }), (ran) => {
      if (ran.outcome.output !== undefined) assert.strictEqual(report(ran).steps, ran.outcome.usage.steps)
    })
  )

  describe("what fails for good", () => {
    it.effect("R-802 research: partial, with the reason and nothing else", () =>
      Effect.gen(function* () {
        const ran = yield* run({ fail: "research" })
        const { confidence, kind, notes, text, verdict } = report(ran)
        assert.deepStrictEqual([kind, text, verdict, confidence], ["nothing", "", "UNKNOWN", 0])
        assert.match(notes.join(), /^Research failed: .*a fault that was ordered/)
        assert.deepStrictEqual([ran.outcome.status, ran.outcome.stopReason], ["partial", "no-eligible-worker"])
        assert.deepStrictEqual(
          ran.outcome.missing.map(({ task }) => task),
          ["research", "write", "check"]
        )
      })
    )

    it.effect("R-802 writing: the raw research, with the note that writing failed", () =>
      Effect.gen(function* () {
        const ran = yield* run({ fail: "write" })
        assert.strictEqual(ran.outcome.status, "partial")
        raw(ran)
      })
    )

    it.effect("R-802 the check: the draft, with the verdict UNKNOWN", () =>
      Effect.gen(function* () {
        const ran = yield* run({ fail: "check" })
        const { kind, notes, text, verdict } = report(ran)
        assert.deepStrictEqual([kind, verdict, ran.outcome.status], ["article", "UNKNOWN", "partial"])
        assert.isTrue(notes.some((note) => note.startsWith("Nobody has checked this article: ")))
        assert.include(text, "Where the notes do not agree")
      })
    )
  })

  describe("what a person says", () => {
    const answers: ReadonlyArray<readonly [name: string, asked: Asked, expected: ReadonlyArray<unknown>]> = [
      ["retry", { force: "escalate", answer: "retry" }, ["completed", "article", "APPROVED"]],
      ["accept-partial", { force: "escalate", answer: "accept-partial" }, ["partial", "article", "UNKNOWN"]],
      ["reject", { force: "escalate", answer: "reject" }, ["partial", "article", "UNKNOWN"]],
      ["approve", { force: "reduce-scope", answer: "approve" }, ["completed", "article", "APPROVED"]],
      ["reject the scope", { force: "reduce-scope", answer: "reject" }, ["partial", "raw-research", "UNKNOWN"]]
    ]
    it.effect.each(answers)("R-802 %s is given to the run, which goes on", ([, asked, expected]) =>
      Effect.gen(function* () {
        const ran = yield* run(asked)
        const { kind, verdict } = report(ran)
        assert.deepStrictEqual([ran.outcome.status, kind, verdict], expected)
        const [said] = tagged(ran, "ReviewDecided")
        assert.deepStrictEqual([said?.decision, said?.by], [asked.answer, "the reader"])
      })
    )

    it.effect("an answer that the question does not allow is refused, and the question stands", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(run({ force: "escalate", answer: "approve" }))
        assert.strictEqual(error._tag, "CommandRefused")
        assert.include(error.message, 'retry, accept-partial, reject, got "approve"')
      })
    )

    it.effect("after the scope was reduced, the contract no longer asks for figures", () =>
      Effect.gen(function* () {
        const ran = yield* run({ force: "reduce-scope", answer: "approve" })
        assert.deepStrictEqual(rows(ran).slice(2, -1), [
          "write/1 writing.composer rejected-quality 1",
          "write/2 writing.composer rejected-quality 1",
          "write/3 writing.digest rejected-quality 1",
          "write/4 writing.digest rejected-quality 1",
          "write/5 writing.composer accepted 1"
        ])
      })
    )
  })

  describe("notes that nobody vouches for", () => {
    it.effect("no notes at all: nothing, and the run says so", () =>
      Effect.gen(function* () {
        const ran = yield* run({ notes: { notes: [], unread: [] } })
        assert.strictEqual(report(ran).kind, "nothing")
        assert.match(report(ran).notes.join(), /none of 0 notes bears on/)
        assert.strictEqual(exitCode(ran.outcome), 2)
      })
    )

    it.effect("a file that could not be read makes the run partial, and is named", () =>
      Effect.gen(function* () {
        const unread = [{ file: "photo.md", reason: "it is not text, it holds zero bytes" }]
        const ran = yield* run({ notes: { ...shipped, unread } })
        assert.strictEqual(ran.outcome.status, "partial")
        assert.include(report(ran).notes, "Not read: photo.md, it is not text, it holds zero bytes")
        assert.strictEqual(report(ran).verdict, "APPROVED")
      })
    )

    it.effect("more than a worker takes in is split for real", () =>
      Effect.gen(function* () {
        const line = `Grafting an apple tree takes 3 cuts. ${"It grows. ".repeat(50)}`.trim()
        const lines = ["# Long", ...Array.from({ length: 60 }, () => line)]
        const notes = Array.from({ length: 4 }, (_, index) => ({ file: `${index}.md`, title: "Long", lines }))
        const ran = yield* run({ notes: { notes, unread: [] } })
        assert.strictEqual(tagged(ran, "Reported")[1]?.result.error?.kind, Failure.kinds[2])
        assert.strictEqual(tagged(ran, "GroupOpened")[0]?.kind, "decompose")
        assert.strictEqual(report(ran).kind, "article")
      })
    )

    it.effect("a misspelt topic is found by the stand-in, which compares letters", () =>
      Effect.gen(function* () {
        const ran = yield* run({ topic: "graffting rootstoks" })
        assert.deepStrictEqual(rows(ran).slice(1, 3), [
          "research/1 library.keywords refused 1",
          "research/2 reading.sections accepted 1"
        ])
        assert.strictEqual(report(ran).verdict, "APPROVED")
      })
    )
  })
})
