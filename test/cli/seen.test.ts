import { writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join } from "node:path"

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"

import { withProcesses } from "../fixtures/real.ts"
import { freshPath } from "../journal/fixtures/folder.ts"
import { otlpReceiver, type ReceivedSpan } from "../observe/otlpReceiver.ts"
import { espalier } from "./command.ts"

const letters = join(import.meta.dirname, "desks", "letters.ts")

/** A port that somebody else has. */
const taken = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed({ port, close: () => void server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

const linked = (span: ReceivedSpan | undefined, type: string) =>
  span?.links.filter(({ attributes }) => attributes["espalier.link.type"] === type) ?? []

describe("seen", () => {
  withProcesses(
    "R-501 R-502 R-505 three commands tell one collector what each did, and point to each other",
    () =>
      Effect.gen(function* () {
        const { logs, points, problems, spans, url } = yield* otlpReceiver
        const journal = yield* freshPath
        const cwd = dirname(journal)
        writeFileSync(join(cwd, "go"), "")
        const options = { cwd, env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: "letters" } }
        const begun = yield* espalier(journal, ["run", letters, "--id", "r1"], options)
        assert.strictEqual(begun.code, 10, begun.err.join("\n"))
        // What is told to the collector is not told to the terminal again.
        assert.notMatch(begun.out.join("\n"), /espalier\.run\.started|event\.name/)
        const said = yield* espalier(journal, ["approve", "r1/review/1", "--as", "ann"], options)
        assert.strictEqual(said.code, 0, said.err.join("\n"))
        const gone = yield* espalier(journal, ["resume", "r1"], options)
        assert.include([0, 10], gone.code, gone.err.join("\n"))
        assert.deepStrictEqual(problems, [])

        const anchors = spans.filter(({ name }) => name === "espalier.segment")
        const [first, second] = anchors
        const decide = spans.find(({ name }) => name === "espalier.review decide")
        assert.lengthOf(anchors, 2)
        const [origin] = linked(second, "resumed_from")
        assert.deepStrictEqual([origin?.traceId, origin?.spanId], [first?.traceId, first?.spanId])
        const [by] = linked(second, "decided_by")
        assert.deepStrictEqual([by?.traceId, by?.spanId], [decide?.traceId, decide?.spanId])
        const [asked] = linked(decide, "answers")
        assert.strictEqual(asked?.traceId, first?.traceId)
        assert.include(
          spans.map(({ spanId }) => spanId),
          asked?.spanId
        )

        assert.include(
          points.map(({ name }) => name),
          "espalier.review.requests"
        )
        assert.include(
          logs.map(({ attributes }) => attributes["event.name"]),
          "espalier.run.started"
        )
      }),
    120_000
  )

  withProcesses(
    "R-502 a port that somebody else has keeps no run from going on, and one that is none is refused in a line",
    () =>
      Effect.gen(function* () {
        const journal = yield* freshPath
        const cwd = dirname(journal)
        writeFileSync(join(cwd, "go"), "")
        const { port } = yield* taken
        const run = (value: string) =>
          espalier(journal, ["run", letters, "--id", "r1"], { cwd, env: { ESPALIER_METRICS_PORT: value } })
        const busy = yield* run(String(port))
        assert.strictEqual(busy.code, 10, busy.err.join("\n"))
        const told = [...busy.out, ...busy.err].filter((line) => line.includes("No metrics are offered"))
        assert.lengthOf(told, 1)
        assert.include(told[0], String(port))
        const wrong = yield* run("99999")
        assert.deepStrictEqual(
          [wrong.code, wrong.err],
          [1, ["espalier: ESPALIER_METRICS_PORT must be a whole number from 0 to 65535, got 99999"]]
        )
      })
  )
})
