import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Metric } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Failure, Supervisor } from "espalier"
import { Journal } from "espalier/journal"
import { Metrics } from "espalier/observe"
import { Dependency, Observer, Office, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { quiet, Stage } from "../fixtures/stage.ts"
import { desk, settle, task } from "../run/desks.ts"
import { r1 } from "../run/guards.ts"
import { registry } from "./scrape.ts"
import { story } from "./story.ts"

class Inbox extends Actor.Service<Inbox>()("Inbox", [Rpc.make("Note", {})]) {}

/** All that there is to be measured: a run of events, a tree in trouble, a desk whose run waits for somebody. */
const everything = Effect.gen(function* () {
  const [observer] = yield* Observer.all
  const attendance = observer!.attend!("r1")
  attendance.recall?.(story[0]!)
  attendance.begin?.({ cause: "crash-recovery", desk: "desk", decided: [], at: 0, context: Context.empty() })
  attendance.happened?.([{ _tag: "RunResumed", at: 0, cause: "crash-recovery", note: "" }])
  attendance.end?.()
  const whole = observer!.attend!("r2")
  const account = () => ({ limit: { tokens: 10 }, settled: { tokens: 5 }, reserved: {} })
  whole.happened?.(story, { account })
  yield* whole.around!(
    { _tag: "Attempt", task: "a", dispatch: "a/1", worker: "d.x", attempt: 1, waitMillis: 5 },
    Effect.void,
    () => ({ outcome: "accepted" })
  )

  const stage = new Stage()
  const { context, tree } = yield* stage.start(
    Supervisor.make("root", {
      children: [
        Supervisor.make("inner", { intensity: { restarts: 1 }, restart: "never", children: [stage.child("a")] }),
        Inbox.child(Effect.succeed(Inbox.handlers({ Note: () => Effect.never })), {
          mailbox: { capacity: 1, whenFull: "fail" }
        })
      ]
    })
  )
  yield* Metrics.tree(tree)
  for (let n = 0; n < 3; n++) yield* Context.get(context, Inbox).tell.Note()
  stage.end("a")
  yield* quiet
  stage.end("a")
  yield* quiet

  const risky = desk([Fake.worker("one", { answers: ["a"], risk: "high" })], [task("a")])
  const office = yield* Office.open(risky, { log: false })
  yield* Run.start(risky, { ...r1, id: "r3" })
  office.health.trip("d.one", 0, "ill")
  yield* Effect.exit(Dependency.call("acme", Effect.fail(Failure.transient("429", { retryAfter: "1 minute" }))))
  const live = observer!.attend!("r4")
  live.begin?.({ cause: "start", desk: "desk", decided: [], at: 0, context: Context.empty() })
  live.happened?.([story[0]!])
  yield* settle
  return new Map((yield* Metric.snapshot).map((each) => [each.id, each]))
})

const emitted = (options: Metrics.Options) =>
  everything.pipe(
    Effect.scoped,
    Effect.provide(Layer.mergeAll(Metrics.layer(options), Journal.layerMemory, Dependency.layer())),
    Effect.provide(registry())
  )

describe("what is emitted", () => {
  it.effect.each(["genai-0.1", "semconv-1.41"] as const)(
    "R-502 is every metric of the catalogue of %s, and no other, each with its instrument and unit",
    (profile) =>
      Effect.gen(function* () {
        // So few series that some are dropped, which is a metric, too.
        const found = yield* emitted({ profile, maxSeries: 2 })
        const catalog = Metrics.catalogOf(profile)
        assert.deepStrictEqual([...found.keys()].toSorted(), catalog.map(({ name }) => name).toSorted())
        for (const { attributes, description, instrument, name, unit } of catalog) {
          const each = found.get(name)!
          assert.strictEqual(each.type.toLowerCase(), instrument, name)
          assert.strictEqual(each.description, description)
          assert.strictEqual(each.attributes?.["unit"], unit, name)
          for (const attribute of Object.keys(each.attributes ?? {})) {
            assert.isTrue(["unit", "espalier.overflow", ...attributes].includes(attribute), `${attribute} of ${name}`)
          }
        }
      })
  )
})
