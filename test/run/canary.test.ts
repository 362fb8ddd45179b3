import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { Notifier, Review, Run } from "espalier/run"

import { desk, history, memory, task, worker } from "./desks.ts"

const content = ["canary-about", "canary-rationale", "canary-answer", "canary-note"]
const secret = "password=hunter2-canary-secret"

describe("What people are asked and answer", () => {
  it.effect("R-305 R-306 is in no log and no notice, and a secret in it is not in the journal, either", () =>
    Effect.gen(function* () {
      const said: Array<string> = []
      const logger = Logger.make(({ message }) => void said.push(JSON.stringify(message)))
      const channel: Notifier.Channel = {
        name: "chat",
        send: (notice) => Effect.sync(() => void said.push(JSON.stringify(notice)))
      }
      const asks = worker("one", () =>
        Effect.map(
          Review.ask({
            name: "which",
            question: "Which one?",
            about: { what: "canary-about", secret },
            rationale: "canary-rationale"
          }),
          (reply) => reply._tag
        )
      )
      const built = desk([asks], [task("a")])
      const around = Layer.mergeAll(Logger.layer([logger]), Notifier.layer([channel]))
      yield* Effect.provide(Run.start(built, { id: "r1", input: "go", log: false }), around)
      yield* Run.decide({
        review: "r1/review/1",
        decision: "answer",
        answer: { value: "canary-answer", secret },
        by: "ann",
        note: `canary-note ${secret}`
      })
      const late = { review: "r1/review/1", decision: "reject", by: "bob", note: `canary-note ${secret}` } as const
      yield* Effect.flip(Run.decide(late))
      const last = yield* Effect.provide(Run.resume(built, "r1", { log: false }), around)
      assert.strictEqual(last.results["a"]?.output, "Answered")
      assert.isAtLeast(said.length, 2)
      for (const text of said) {
        for (const each of [...content, "hunter2"]) assert.notInclude(text, each)
      }
      const written = JSON.stringify(yield* history("r1"))
      for (const each of content) assert.include(written, each)
      assert.notInclude(written, "hunter2")
    }).pipe(memory)
  )
})
