import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Logger } from "effect"
import { Child, Redaction, Supervisor } from "espalier"

import { tellable, tellWarning } from "../../src/internal/telling.ts"
import { quiet } from "../fixtures/stage.ts"

const { defaults } = Redaction

class Refused extends Error {
  readonly options: object
  constructor(message: string, options: object) {
    super(message)
    this.options = options
  }
}

describe("tellable", () => {
  it("R-305 gives a cause, an error and a value without secrets back as they are", () => {
    for (const value of [Cause.fail("x"), Cause.die(new Error("y")), new Error("z"), { a: 1 }, "text", undefined]) {
      assert.strictEqual(tellable(value, defaults), value)
    }
  })

  it("R-305 makes a text without secrets of a cause and an error that hold some, also in fields and causes of errors", () => {
    const holding: ReadonlyArray<Error> = [
      new Error("password=hunter2"),
      new Refused("no", { password: "hunter2" }),
      new Error("outer", { cause: new Refused("no", { config: { secret: "hunter2" } }) })
    ]
    for (const error of holding) {
      for (const value of [error, Cause.die(error), Cause.fail(error)]) {
        const told = tellable(value, defaults)
        assert(typeof told === "string")
        assert.notInclude(told, "hunter2")
        assert.include(told, error.message.replace("hunter2", "[redacted:password]"))
      }
    }
  })

  it("R-305 says so of what cannot be read", () => {
    const error = new Refused("no", {})
    Object.defineProperty(error, "message", {
      get: () => {
        throw new Error("unreadable")
      }
    })
    assert.strictEqual(tellable(error, defaults), "what cannot be read")
  })
})

describe("tellWarning", () => {
  it.effect("R-305 goes by the rules around it", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(message))])
      const none = Layer.succeed(Redaction.Redaction, Redaction.none)
      yield* tellWarning("a", "password=x").pipe(Effect.provide(logger))
      yield* tellWarning("a", "password=x").pipe(Effect.provide(Layer.merge(logger, none)))
      assert.deepStrictEqual(lines, [
        ["a", "password=[redacted:password]"],
        ["a", "password=x"]
      ])
    })
  )
})

describe("the log of a tree", () => {
  it.effect("R-305 has no secrets of those who crash", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make((entry) => void lines.push(Logger.formatJson.log(entry)))
      const crash = Effect.die(new Refused("cannot open postgres://app:hunter2@db/app", { apiKey: "hunter2" }))
      const root = Supervisor.make("root", { intensity: { restarts: 0 }, children: [Child.effect("a", crash)] })
      yield* Effect.exit(Supervisor.run(root, { log: true })).pipe(Effect.provide(Logger.layer([logger])))
      yield* quiet
      assert.isAtLeast(lines.length, 2)
      assert.include(lines.join("\n"), "[redacted:url-credentials]")
      assert.notInclude(lines.join("\n"), "hunter2")
    })
  )
})
