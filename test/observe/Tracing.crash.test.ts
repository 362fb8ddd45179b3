/** A run that four processes have to do with: one is killed, one takes it up, one decides, one ends it; and a collector. */
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import { assert, describe } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { JournalSqlite } from "espalier/journal"
import { SemConv } from "espalier/observe"

import { folder } from "../crash/harness.ts"
import { begin, type Ending } from "../crash/life.ts"
import { bundled } from "../fixtures/bundled.ts"
import { withProcesses } from "../fixtures/real.ts"
import type { Settings } from "./fixtures/life.ts"
import { otlpReceiver } from "./otlpReceiver.ts"
import { received, type Seen } from "./seen.ts"
import { realTime } from "./shape.ts"
import { agree, sound } from "./traced.ts"
import { eventsOf } from "./trees.ts"

const { espalier, spanName } = SemConv

const program = fileURLToPath(new URL("fixtures/life.ts", import.meta.url))

const named = (spans: ReadonlyArray<Seen>, name: string) => spans.filter((span) => span.name === name)

/** Where a link of a span leads to, among all that a collector has. */
const led = (spans: ReadonlyArray<Seen>, from: Seen | undefined, type: string) =>
  from?.links
    .filter((link) => link.type === type)
    .map((link) => spans.find(({ id, trace }) => id === link.id && trace === link.trace))

describe("A run that is traced by several processes", () => {
  withProcesses(
    "R-501 D102 D103 is whole at the collector: after a kill in the midst of work, a wait, and an answer from elsewhere",
    () =>
      Effect.gen(function* () {
        const receiver = yield* otlpReceiver
        const [root, cache] = [yield* folder, yield* folder]
        const script = yield* Effect.promise(() => bundled(program))
        const filename = join(root, "journal.db")
        const common = { filename, collector: receiver.url, interval: 20 }
        const seen = () => received(receiver.spans)
        const live = (settings: Pick<Settings, "act">) =>
          Effect.scoped(
            Effect.flatMap(
              begin({ ...common, ...settings } satisfies Settings, { cache, script }),
              ({ ended }) => ended
            )
          )

        // The first one is killed when it is in the midst of its second order, and all that had ended has arrived.
        const left = yield* Effect.scoped(
          Effect.gen(function* () {
            const settings: Settings = { ...common, act: "start", hangs: true }
            const { ended, lines, signal } = yield* begin(settings, { cache, script })
            assert.strictEqual(yield* Queue.take(lines), "midst")
            yield* receiver.until(() => named(seen(), spanName.delegate("library.reader")).length > 0)
            signal("SIGKILL")
            assert.deepStrictEqual(yield* ended, { _tag: "killed" })
            return seen()
          })
        )
        assert.deepStrictEqual(left.map(({ name }) => name).toSorted(), [
          "chat small",
          "chat small",
          "espalier.delegate library.reader",
          "espalier.segment",
          "execute_tool look",
          "invoke_agent library.reader",
          "search"
        ])

        assert.deepStrictEqual(yield* live({ act: "resume" }), { _tag: "waiting" } satisfies Ending)
        assert.deepStrictEqual(yield* live({ act: "decide" }), { _tag: "over" } satisfies Ending)
        assert.deepStrictEqual(yield* live({ act: "resume" }), { _tag: "over" } satisfies Ending)

        assert.deepStrictEqual(receiver.problems, [])
        const spans = seen()
        const own = spans.filter(({ name }) => name !== "POST /decide")
        const events = yield* Effect.provide(eventsOf("r1"), JournalSqlite.layerSqlite({ filename }))
        sound(own, "r1")
        agree("r1", own, events, [realTime])

        const [first, second, third, ...more] = named(spans, spanName.segment)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(new Set([first?.trace, second?.trace, third?.trace]).size, 3)
        assert.deepStrictEqual(led(spans, second, "recovers"), [first])
        assert.deepStrictEqual(led(spans, second, "run_origin"), [first])
        assert.strictEqual(second?.attributes[espalier.segmentLost], true)
        assert.deepStrictEqual(led(spans, third, "resumed_from"), [second])
        assert.deepStrictEqual(led(spans, third, "run_origin"), [first])
        assert.isUndefined(third?.attributes[espalier.segmentLost])

        const [decide] = named(spans, spanName.reviewDecide)
        const [request] = named(spans, "POST /decide")
        assert.deepStrictEqual([decide?.trace, decide?.parent], [request?.trace, request?.id])
        assert.deepStrictEqual(led(spans, third, "decided_by"), [decide])
        // What is asked is found by the trace in which it was asked.
        assert.deepStrictEqual(led(spans, decide, "answers"), [second])
        assert.isTrue(named(spans, spanName.reviewRequest).every(({ trace }) => trace === second?.trace))
        assert.isFalse(spans.some(({ end }) => end === "error"))
      }).pipe(Effect.scoped),
    120_000
  )
})
