import { assert, describe, it } from "@effect/vitest"
import { Cause, Console, Effect, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Logs, PrettyLogger } from "espalier/observe"
import { Run } from "espalier/run"

import { type Entry, render, renderJson } from "../../src/observe/internal/logLook.ts"
import { desk, task, worker } from "../run/desks.ts"

const at = 34_200_120

const entry = (fields: Partial<Entry> = {}): Entry => ({
  at,
  level: "Warn",
  messages: ["attempt 1 of r1/pay/1 at billing.refunds failed (transient), again after 1000 ms"],
  fields: {
    "event.name": "espalier.attempt.failed",
    run_id: "r1",
    task: "pay",
    worker: "billing.refunds",
    domain: "billing",
    attempt: 1,
    outcome: "failed",
    "error.type": "_OTHER",
    error: { kind: "transient", reason: "the bank is busy" },
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    span_id: "00f067aa0ba902b7"
  },
  cause: undefined,
  ...fields
})

const plain = (columns: number | undefined) => ({ colour: false, columns })

describe("PrettyLogger", () => {
  describe("on a terminal", () => {
    it("R-505 prints a record in eighty columns", () => {
      assert.deepStrictEqual(render(plain(80), entry()).split("\n"), [
        "09:30:00.120Z WARN  billing.refunds    attempt 1 of r1/pay/1 at billing.refunds",
        "    failed (transient), again after 1000 ms",
        "    run_id=r1 task=pay attempt=1 outcome=failed error.kind=transient",
        '    error.reason="the bank is busy" trace_id=4bf92f3577b34da6a3ce929d0e0e4736'
      ])
    })

    it("R-505 prints a record in a hundred and twenty columns", () => {
      assert.deepStrictEqual(render(plain(120), entry()).split("\n"), [
        "09:30:00.120Z WARN  billing.refunds    attempt 1 of r1/pay/1 at billing.refunds failed (transient), again after 1000 ms",
        '    run_id=r1 task=pay attempt=1 outcome=failed error.kind=transient error.reason="the bank is busy"',
        "    trace_id=4bf92f3577b34da6a3ce929d0e0e4736"
      ])
    })

    it("R-505 keeps what fits on one line", () => {
      const short = entry({ messages: ["busy"], fields: { worker: "d.one", run_id: "r1" } })
      assert.strictEqual(render(plain(80), short), "09:30:00.120Z WARN  d.one              busy  run_id=r1")
    })

    it("R-505 colours the level, and dims time and fields", () => {
      const coloured = render({ colour: true, columns: 80 }, entry({ messages: ["busy"], fields: { run_id: "r1" } }))
      assert.strictEqual(
        coloured,
        "\u001B[2m09:30:00.120Z\u001B[22m \u001B[33mWARN \u001B[39m \u001B[36m-                 \u001B[39m busy  \u001B[2mrun_id=r1\u001B[22m"
      )
    })

    it("R-505 hangs the lines of a cause below", () => {
      const cause = "Error: ink\n    at clerk\nError: paper"
      const text = render(plain(80), entry({ messages: ["down"], fields: {}, cause }))
      assert.deepStrictEqual(text.split("\n").slice(1), ["    Error: ink", "        at clerk", "    Error: paper"])
    })

    it.each([40, 80, 120])("R-505 no line but those of a cause is wider than %d columns", (columns) => {
      const long = entry({ messages: ["x".repeat(500), "two words ".repeat(40)], fields: { note: "y".repeat(900) } })
      for (const line of render(plain(columns), long).split("\n")) assert.isAtMost(line.length, columns)
      assert.include(render(plain(columns), long).replaceAll(/\s/g, ""), "x".repeat(500))
    })
  })

  it("R-505 prints one plain line elsewhere, with the whole time", () => {
    const text = render(plain(undefined), entry({ messages: ["a\nb"], fields: { run_id: "r1", worker: "d.one" } }))
    assert.strictEqual(text, "1970-01-01T09:30:00.120Z WARN  d.one              a\\nb run_id=r1")
  })

  describe("hostile text", () => {
    const hostile = "\u001B[2J\u001B]0;owned\u0007\u202Etxt\u2066\u009B31m\rroot OK\u2028next\u0000"
    const obeyed = /[^\n\P{Cc}]|[\p{Cf}\p{Zl}\p{Zp}]/u

    it.each([80, undefined])("D106 obeys nothing and begins no line, in %s columns", (columns) => {
      const text = render(plain(columns), {
        ...entry(),
        messages: [hostile, { hostile }, `a\n09:30:00.000Z INFO  forged`],
        fields: { worker: hostile, [hostile]: hostile, error: { kind: hostile, [hostile]: hostile }, node: hostile },
        cause: `Error: ${hostile}\n09:30:00.000Z INFO  forged`
      })
      assert.notMatch(text, obeyed)
      const [, ...rest] = text.split("\n")
      assert.isAbove(rest.length, 0)
      for (const line of rest) assert.isTrue(line.startsWith("    "), line)
    })

    it("D106 is escaped in JSON, on one line, and comes back the same", () => {
      const line = renderJson(entry({ messages: [hostile], fields: { [hostile]: hostile }, cause: hostile }))
      assert.notMatch(line, obeyed)
      assert.lengthOf(line.split(/[\n\u2028]/), 1)
      const back = JSON.parse(line)
      assert.deepStrictEqual([back.message, back[hostile], back.cause], [hostile, hostile, hostile])
    })
  })

  describe("lines of JSON", () => {
    it("R-505 have the names of R-505 at the top level, and none of an annotation takes the place of ours", () => {
      const line = JSON.parse(renderJson(entry({ fields: { ...entry().fields, level: "x", latency_ms: 12 } })))
      assert.strictEqual(line.timestamp, "1970-01-01T09:30:00.120Z")
      assert.strictEqual(line.level, "WARN")
      assert.strictEqual(line["annotation.level"], "x")
      assert.strictEqual(line.run_id, "r1")
      assert.strictEqual(line.latency_ms, 12)
      assert.deepStrictEqual(line.error, { kind: "transient", reason: "the bank is busy" })
      assert.deepStrictEqual(Object.keys(line).slice(0, 5), ["timestamp", "level", "message", "run_id", "task"])
    })

    it("R-505 are written whatever an annotation is", () => {
      const circle: Record<string, unknown> = {}
      circle["self"] = circle
      const line = JSON.parse(renderJson(entry({ messages: ["m"], fields: { circle, run_id: "r1", big: 1n } })))
      assert.strictEqual(line.run_id, '"r1"')
      assert.strictEqual(line.circle, "unreadable")
      assert.strictEqual(JSON.parse(renderJson(entry({ fields: { big: 1n } }))).big, "1")
    })
  })

  describe("as loggers", () => {
    const console_ = () => {
      const out: Array<string> = []
      const err: Array<string> = []
      const console = { log: (text: string) => void out.push(text), error: (text: string) => void err.push(text) }
      return { out, err, layer: Layer.succeed(Console.Console, console as unknown as Console.Console) }
    }

    it.effect("R-505 print a real run, for people and for programs", () => {
      const people: Array<string> = []
      const programs: Array<string> = []
      const loggers = Logger.layer([
        PrettyLogger.make({ colours: "never", columns: 120, write: (text) => void people.push(text) }),
        PrettyLogger.makeJson({ write: (text) => void programs.push(text) })
      ])
      return Effect.gen(function* () {
        yield* TestClock.setTime(at)
        const one = worker("one", () => Effect.succeed("done"))
        yield* Run.start(desk([one], [task("a")]), { id: "r1", input: "go", log: false })
        assert.deepStrictEqual(people, [
          "09:30:00.120Z INFO  -                  the run of desk 1 began\n    run_id=r1 input_size=4 desk=desk version=1 tier=medium tasks=1",
          "09:30:00.120Z INFO  d.one              r1/a/1 of d.one: accepted\n    run_id=r1 task=a attempt=1 latency_ms=0 input_size=2 output_size=6 outcome=accepted dispatch=r1/a/1 confidence=1",
          "09:30:00.120Z INFO  -                  the run is completed: accepted\n    run_id=r1 outcome=completed desk=desk stop_reason=accepted degraded=false elapsed_ms=0"
        ])
        const lines = programs.map((text) => JSON.parse(text))
        assert.deepStrictEqual(
          lines.map((line) => line["event.name"]),
          ["espalier.run.started", "espalier.dispatch.reported", "espalier.run.finished"]
        )
        assert.strictEqual(lines[1].worker, "d.one")
        assert.strictEqual(lines[1].attempt, 1)
      }).pipe(Effect.provide(Layer.mergeAll(Logs.layer({ tree: false }), loggers, Journal.layerMemory)))
    })

    it.effect("R-505 print to the console around, and to its errors where that is said", () => {
      const { err, layer, out } = console_()
      return Effect.gen(function* () {
        yield* Effect.log("one").pipe(Effect.provide(PrettyLogger.layerJson()))
        yield* Effect.log("two").pipe(
          Effect.provide(PrettyLogger.layer({ colours: "never" })),
          Effect.provideService(Logger.LogToStderr, true)
        )
        assert.strictEqual(JSON.parse(out[0]!).message, "one")
        assert.lengthOf(out, 1)
        assert.include(err[0], "INFO  -                  two")
      }).pipe(Effect.provide(layer))
    })

    it.effect("R-505 print causes, spans of logs, and the trace of the span around", () => {
      const printed: Array<string> = []
      return Effect.gen(function* () {
        const log = Effect.logError("down", Cause.die(new Error("ink")))
        yield* Effect.withSpan(Effect.provideService(log, References.CurrentLogSpans, [["work", -5]]), "s")
        const line = JSON.parse(printed[0]!)
        assert.include(line.cause, "Error: ink")
        assert.strictEqual(line.work_ms, 5)
        assert.match(line.trace_id, /^[\da-f]{32}$/)
      }).pipe(Effect.provide(PrettyLogger.layerJson({ write: (text) => void printed.push(text) })))
    })

    it("R-505 refuse options that do not hold, by name", () => {
      const made = (given: unknown) => () => PrettyLogger.make(given as PrettyLogger.Options)
      assert.throws(
        made({ columns: 10 }),
        RangeError,
        "PrettyLogger.make: columns must be a whole number >= 40, got 10"
      )
      assert.throws(
        made({ colours: "some" }),
        RangeError,
        'colours must be one of "auto", "always", "never", got "some"'
      )
      assert.throws(made({ color: "auto" }), RangeError, "each field of options must be one of")
      assert.throws(made({ write: "x" }), RangeError, "write must be a function")
      assert.doesNotThrow(made({ columns: Number.POSITIVE_INFINITY }))
    })
  })
})
