import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Cause, ConfigProvider, Effect, Layer, Redacted } from "effect"
import { Failure, Redaction } from "espalier"
import { Artefacts, ArtefactsSqlite, JournalSqlite } from "espalier/journal"
import { Audit, Desk, Effects, Result, Review, Run, Secrets, type Worker } from "espalier/run"

import { espalier } from "../cli/command.ts"
import { freshPath } from "../journal/fixtures/folder.ts"
import { assertClean, canaries, ear, encodings, names, traces } from "./canaries.ts"
import { desk, history, memory, task, worker } from "./desks.ts"
import { of } from "./guards.ts"

const handed = Effect.fnUntraced(function* () {
  const all: Array<string> = []
  for (const name of names) all.push(Redacted.value(yield* Secrets.get(name)))
  return all
})

/** What a run of one worker with secrets comes to. */
const using = <A, R = never>(
  handle: (order: Worker.Order<unknown>) => Effect.Effect<A, unknown, R | Secrets.Secrets>,
  { secrets = ["token"], ...options }: Partial<Worker.Options<unknown, unknown, string, string, never, never>> = {}
) => desk([worker("one", handle, { secrets, ...options })], [task("a")])

const token = Secrets.layerMemory({ token: "canary-token", other: "canary-other" })

const start = { id: "r1", input: "go", log: false } as const

/** The error with which the only order of a run has ended. */
const failureOf = Effect.fnUntraced(function* <R>(built: Desk.Desk<string, R>) {
  yield* Run.start(built, start)
  const [reported] = yield* of("Reported")
  return reported?.result.error ?? { kind: "none", reason: "it has not failed" }
})

describe("Secrets", () => {
  describe("a worker", () => {
    it.effect("R-404 gets what it has declared, and uses the value itself", () =>
      Effect.gen(function* () {
        const used: Array<string> = []
        const built = using(() =>
          Effect.gen(function* () {
            const secret = yield* Secrets.get("token")
            assert.strictEqual(String(secret), "<redacted:token>")
            used.push(Redacted.value(secret))
            return "done"
          })
        )
        const { results } = yield* Run.start(built, start)
        assert.strictEqual(results["a"]?.output, "done")
        assert.deepStrictEqual(used, ["canary-token"])
      }).pipe(memory, Effect.provide(token))
    )

    it.effect.each([
      ["one that it has not declared", ["token"], "other", "undeclared", "token"],
      ["any without a declaration", [], "token", "undeclared", "none"],
      ["__proto__", ["token"], "__proto__", "undeclared", "token"],
      ["constructor", ["token"], "constructor", "undeclared", "token"],
      ["__proto__ though it is declared", ["__proto__"], "__proto__", "unknown", "__proto__"],
      ["constructor though it is declared", ["constructor"], "constructor", "unknown", "constructor"],
      ["one that nobody has", ["absent"], "absent", "unknown", "absent"]
    ] as const)("R-404 D115 is refused %s", ([, secrets, name, reason, may]) =>
      Effect.gen(function* () {
        const refused: Array<unknown> = []
        const built = using(
          () =>
            Effect.tapError(Effect.as(Secrets.get(name), "done"), (error) => Effect.sync(() => refused.push(error))),
          { secrets }
        )
        const failure = yield* failureOf(built)
        const [error] = refused
        assert(error instanceof Secrets.SecretRefused)
        assert.strictEqual(error.reason, reason)
        assert.strictEqual(Failure.kindOf(error), "denied")
        assert.strictEqual(failure.kind, "denied")
        assert.include(failure.reason, `the secret ${name} is not handed out to one: `)
        assert.match(failure.reason, new RegExp(`; it may have: ${may}$`))
      }).pipe(memory, Effect.provide(token))
    )

    it.effect("R-404 cannot name a secret in a refusal", () =>
      Effect.gen(function* () {
        const built = using(() => Effect.flatMap(Secrets.get("token"), (each) => Secrets.get(Redacted.value(each))))
        const { reason } = yield* failureOf(built)
        assert.include(reason, "the secret [redacted:token] is not handed out to one")
      }).pipe(memory, Effect.provide(token))
    )

    it("shows the names in the description of its desk, and refuses what is no name", () => {
      const [seat] = Desk.describe(using(() => Effect.succeed("done"))).workers
      assert.deepStrictEqual(seat?.secrets, ["token"])
      assert.throws(
        () => using(() => Effect.succeed("done"), { secrets: ["a", "a"] }),
        /secrets\[1\] must not be named/
      )
      assert.throws(() => using(() => Effect.succeed("done"), { secrets: [" "] }), /secrets\[0\] must be a name/)
    })
  })

  describe("sources", () => {
    it.effect("are asked each time, and what they brought before is still taken out", () =>
      Effect.gen(function* () {
        let count = 0
        const source = Effect.sync(() => Redacted.make(`canary-number-${(count += 1)}`))
        const built = using(() =>
          Effect.gen(function* () {
            const both = [yield* Secrets.get("token"), yield* Secrets.get("token")]
            return both.map(Redacted.value).join(" and ")
          })
        )
        const { results } = yield* Effect.provide(Run.start(built, start), Secrets.layer({ token: source }))
        assert.strictEqual(results["a"]?.output, "[redacted:token] and [redacted:token]")
        assert.strictEqual(count, 2)
      }).pipe(memory)
    )

    it.effect.each([
      ["fails", Effect.fail(new Cause.TimeoutError("canary-in-the-error")), "unavailable", "transient", "TimeoutError"],
      ["dies", Effect.die(new TypeError("canary-in-the-error")), "unavailable", "transient", "TypeError"],
      ["brings a text without Redacted", Effect.succeed("canary-x" as never), "unavailable", "transient", "Redacted"],
      ["is too short", Redacted.make("short"), "untraceable", "denied", "fewer than 6"],
      ["looks like what was taken out", Redacted.make("[redacted:x]"), "untraceable", "denied", "found again"],
      ["is empty", Effect.succeed(Redacted.make("")), "untraceable", "denied", "fewer than 6"]
    ] as const)("is refused when it %s, without what the source has said", ([, source, reason, kind, said]) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Secrets.get("token")).pipe(
          Effect.provide(Secrets.layer({ token: source as Secrets.Source }))
        )
        assert.strictEqual(error.reason, reason)
        assert.strictEqual(Failure.kindOf(error), kind)
        assert.include(error.message, said)
        assert.notInclude(inspect(error), "canary")
      })
    )

    it.effect("come out of the configuration when they are asked for, under their own or another name", () =>
      Effect.gen(function* () {
        const environment: Record<string, string> = { GITHUB_TOKEN: "canary-github" }
        const provider = ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment }))
        const read = Effect.map(Secrets.get("GITHUB_TOKEN"), Redacted.value)
        const listed = Secrets.layerConfig(["GITHUB_TOKEN", "ABSENT"]).pipe(Layer.provide(provider))
        assert.strictEqual(yield* Effect.provide(read, listed), "canary-github")
        const absent = yield* Effect.flip(Effect.provide(Secrets.get("ABSENT"), listed))
        assert.strictEqual(absent.reason, "unavailable")
        const named = Secrets.layerConfig({ github: "GITHUB_TOKEN" }).pipe(Layer.provide(provider))
        assert.strictEqual(
          yield* Effect.provide(Effect.map(Secrets.get("github"), Redacted.value), named),
          "canary-github"
        )
      })
    )

    it("are checked", () => {
      assert.throws(
        () => Secrets.layer({ token: "plain" as never }),
        /token must be a Redacted or an effect, got "string"/
      )
      assert.throws(
        () => Secrets.layer({ " ": Redacted.make("canary-x") }),
        /each name must be a name that is not empty/
      )
      assert.throws(() => Secrets.layer({ token: Redacted.make(5) as never }), /token must be a Redacted text/)
      assert.throws(() => Secrets.layerConfig({ a: "" }), /names.a must be the name of a variable/)
    })
  })

  describe("the rules", () => {
    const value = "canary-token"

    it.effect("are those around, and before them what is known", () =>
      Effect.gen(function* () {
        const around = Redaction.layer({ rules: [Redaction.rule({ name: "ticket", pattern: /INC-\d+/ })] })
        const { text } = yield* Effect.provide(Redaction.Redaction, Layer.provide(token, around))
        assert.strictEqual(
          text(`INC-1 ${value} password=x1`),
          "[redacted:ticket] [redacted:token] password=[redacted:password]"
        )
      })
    )

    it.effect("when others are in force nothing is handed out", () =>
      Effect.gen(function* () {
        const built = using(() => Effect.map(Secrets.get("token"), Redacted.value))
        for (const rules of [Redaction.none, Redaction.defaults]) {
          const inside = Layer.provideMerge(Layer.succeed(Redaction.Redaction, rules), token)
          const { reason } = yield* Effect.provide(failureOf(built), inside).pipe(memory)
          assert.include(reason, "the rules of Redaction in force are not those of Secrets")
        }
      })
    )

    it.effect.each(encodings)("D106 find each kind of secret %s, and leave nothing of it", ([, encode]) =>
      Effect.gen(function* () {
        const { scrub, scrubJson } = yield* Secrets.Secrets
        for (const [name, value] of Object.entries(canaries)) {
          const text = encode(value)
          const clean = scrub(text)
          for (const trace of traces(value)) assert.isFalse(clean.includes(trace), `${name}: ${clean}`)
          assert.include(clean, `[redacted:${name}]`)
          assert.strictEqual(scrub(clean), clean)
          const data = scrubJson({ [text]: [text] })
          assert.deepStrictEqual(data, { [clean]: [clean] })
        }
      }).pipe(Effect.provide(Secrets.layerMemory(canaries)))
    )

    it.effect("leave alone what holds none of them, and numbers that are none", () =>
      Effect.gen(function* () {
        const { scrub, scrubJson } = yield* Secrets.Secrets
        const data = { a: ["canar", 4815162, true, null], b: "token" }
        assert.strictEqual(scrubJson(data), data)
        assert.strictEqual(scrub("a token, and pin and password=x1"), "a token, and pin and password=x1")
        assert.deepStrictEqual(scrubJson({ a: 48151623, b: '{"a":48151623}' }), {
          a: "[redacted:secret]",
          b: '{"a":"[redacted:secret]"}'
        })
      }).pipe(Effect.provide(Secrets.layerMemory(canaries)))
    )

    it.effect("take a secret out that holds another one as a whole", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* Secrets.scrub("at a://u:canary-token@h/"), "at [redacted:url]h/")
      }).pipe(Effect.provide(Secrets.layerMemory({ token: value, url: `a://u:${value}@` })))
    )

    it.effect("a text stays as it is where there are no secrets", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* Secrets.scrub(value), value)
        assert.deepStrictEqual(yield* Secrets.scrubJson({ value }), { value })
      })
    )
  })

  describe("what was handed out", () => {
    /** A worker that lets every secret out in every way that there is. */
    const leaking = () =>
      desk(
        [
          worker(
            "one",
            ({ task }) =>
              Effect.gen(function* () {
                const all = yield* handed()
                const text = all.flatMap((each) => encodings.map(([, encode]) => encode(each))).join("\n")
                const data = { all, fields: Object.fromEntries(all.map((each) => [each, each])) }
                if (task === "fails") return yield* Failure.capability(text)
                if (task === "dies") return yield* Effect.die(Object.assign(new Error(text), data))
                if (task === "asks") {
                  const reply = yield* Review.ask({ name: "which", question: text.slice(0, 400), about: data })
                  return reply._tag
                }
                if (task === "logs") {
                  yield* Effect.logInfo(text, data, new Map([[1, all]]))
                  yield* Effect.logError(Cause.fail(Object.assign(new Error(text), { data })))
                  const logged = Effect.withLogSpan(
                    Effect.annotateLogs(Effect.logInfo("annotated"), { data, text }),
                    text
                  )
                  yield* logged
                  yield* Effect.annotateCurrentSpan({ text, data })
                  const failing = Effect.andThen(Effect.logInfo("in the span"), Effect.fail(new Error(text)))
                  yield* Effect.ignore(Effect.withSpan(failing, all[1] ?? "", { attributes: { text, data } }))
                  return yield* Effect.withSpan(Effect.succeed(text), "value")
                }
                if (task === "performs") {
                  const performed = yield* Effects.perform({
                    name: "send",
                    args: data,
                    run: (_, args) => {
                      // The effect itself has the value.
                      assert.deepStrictEqual(args, data)
                      return Effect.succeed(text)
                    }
                  })
                  assertClean(String(performed), "what is recorded of an effect")
                  return yield* Effects.perform({ name: "fail", args: text, run: () => Effect.fail(new Error(text)) })
                }
                const { put } = yield* Artefacts.Artefacts
                return Result.partial(text, [{ part: "rest", reason: text.slice(0, 400) }], {
                  artefacts: { text: yield* put(text), json: yield* Artefacts.putJson(data) },
                  evidence: [{ requirement: "r", command: text.slice(0, 900), output: text }],
                  findings: [{ severity: "low", statement: text.slice(0, 400) }]
                })
              }),
            { secrets: names, artefacts: ["text", "json"] }
          )
        ],
        ["leaks", "fails", "dies", "asks", "logs", "performs"].map((id) => task(id)),
        { concurrency: 1 }
      )

    const program = Effect.gen(function* () {
      const { layer, print, printed, printSpans } = ear()
      const built = leaking()
      yield* Effect.gen(function* () {
        print(yield* Effect.withSpan(Run.start(built, { id: "r1", input: "go", onEvent: print }), "around"))
        const events = yield* history("r1")
        print([events, Audit.rows(events), yield* Run.outcome("r1")])
      }).pipe(Effect.provide(layer))
      assert.isTrue(printSpans().some((name) => name === "[redacted:api-token]"))
      return printed
    })

    it.effect("R-404 D106 is nowhere: not in events, results, notices, logs and spans", () =>
      Effect.gen(function* () {
        const printed = yield* program
        printed.forEach((text) => assertClean(text, text.slice(0, 300)))
        const whole = printed.join("\n")
        for (const name of names) assert.include(whole, `[redacted:${name}]`)
        for (const said of ["annotated", "EffectIntended", "ReviewOpened", "in the span"]) assert.include(whole, said)
      }).pipe(memory, Effect.provide([Artefacts.layerMemory(), Secrets.layerMemory(canaries)]))
    )

    // Real time: a process of its own reads the file.
    it.live("R-404 D106 is in no byte of a journal and no line of the command", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const bytes = () =>
          readdirSync(dirname(filename))
            .map((name) => readFileSync(join(dirname(filename), name), "latin1"))
            .join("\n")
        const open = yield* Effect.gen(function* () {
          yield* program
          return bytes()
        }).pipe(
          Effect.provide([JournalSqlite.layerSqlite({ filename }), ArtefactsSqlite.layerSqlite({ filename })]),
          Effect.provide(Secrets.layerMemory(canaries))
        )
        const written = open + bytes()
        assertClean(written, "the file")
        assert.include(written, "[redacted:api-token]")
        const { code, out } = yield* espalier(filename, ["audit", "r1"])
        assert.strictEqual(code, 0)
        assertClean(out.join("\n"), "the output")
        assert.include(out.join("\n"), "[redacted:api-token]")
      })
    )
  })
})
