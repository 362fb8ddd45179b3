/** Secrets that go into a run anywhere come out of it nowhere. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted, Schema } from "effect"
import { Failure, Redaction } from "espalier"
import { Artefacts, ArtefactsSqlite, JournalSqlite } from "espalier/journal"
import { Audit, Desk, Domain, Plan, Result, Run, type RunEvent, Worker } from "espalier/run"

import { freshPath } from "../journal/fixtures/folder.ts"
import { history, memory } from "./desks.ts"
import { of } from "./guards.ts"

const places = new Set<string>()

/** A secret by its name, which tells where it was put in. */
const canary = (place: string) => {
  places.add(`canary-${place}-5ecret`)
  return `canary-${place}-5ecret`
}

/** A secret by its form. */
const token = (place: string) => {
  places.add(`Canary${place}`)
  return `ghp_${`Canary${place}`.padEnd(36, "0")}`
}

const canaries = /canary-[a-z]+-5ecret|Canary/

const Input = Schema.Struct({
  text: Schema.String,
  headers: Schema.Record(Schema.String, Schema.String),
  marked: Redaction.secret(Schema.String)
})

const input = {
  text: `see https://ada:${canary("url")}@example.org/?access_token=${token("query")}`,
  headers: { Authorization: `Bearer ${token("header")}`, accept: "text/html" },
  marked: canary("marked")
}

class Refused extends Error {
  readonly config = { password: canary("field") }
}

const options = { description: "", input: Schema.Unknown }

const worker = <A>(
  name: string,
  output: Schema.Codec<A, unknown>,
  handle: (order: Worker.Order<unknown>) => Effect.Effect<A | Result.Result<A>, unknown, Artefacts.Artefacts>,
  more: { readonly artefacts?: ReadonlyArray<string> } = {}
) => Worker.make(name, { ...options, ...more, description: `Does ${name}`, output, handle })

const Output = Schema.Struct({
  note: Schema.String,
  apiKey: Schema.String,
  list: Schema.Array(Schema.Struct({ pin: Redaction.secret(Schema.Int) })),
  marked: Schema.Redacted(Schema.String)
})

const deskOf = (handed: Array<unknown>) =>
  Desk.make("canaries", {
    version: "1",
    input: Input,
    domains: [
      Domain.make("d", {
        workers: [
          worker("output", Output, ({ input }) => {
            handed.push(input)
            return Effect.succeed({
              note: `logged in with password=${canary("note")}`,
              apiKey: canary("key"),
              list: [{ pin: 4711 }],
              marked: Redacted.make(canary("redacted"))
            })
          }),
          worker("reader", Schema.Unknown, ({ accepted, input }) => {
            handed.push(accepted, input)
            return Effect.succeed("read")
          }),
          worker("error", Schema.String, () =>
            Effect.fail(Failure.capability(`${"x".repeat(470)} refused ${token("reason")}`))
          ),
          worker("defect", Schema.String, () => Effect.die(new Refused(`cannot use ${token("defect")}`))),
          worker("evidence", Schema.String, () =>
            Effect.succeed(
              Result.completed("done", {
                evidence: [
                  {
                    requirement: "r",
                    command: `curl -H 'Authorization: Bearer ${token("command")}'`,
                    output: `${" ".repeat(2005)}${token("cut")} and more ${"y".repeat(9000)} ${token("tail")}`
                  }
                ],
                findings: [{ severity: "low", statement: `leaks ${token("finding")}` }]
              })
            )
          ),
          worker(
            "artefact",
            Schema.String,
            () =>
              Effect.gen(function* () {
                const { put } = yield* Artefacts.Artefacts
                const text = yield* put(`DB_PASSWORD=${canary("artefact")}\nuser=ada\n`)
                const json = yield* Artefacts.putJson({ session: { clientSecret: canary("json") } })
                return Result.completed("kept", { artefacts: { text, json } })
              }),
            { artefacts: ["text", "json"] }
          ),
          worker("question", Schema.String, ({ answers }) => {
            handed.push(answers)
            return Effect.succeed(
              answers.length > 0
                ? "answered"
                : Result.partial("half", [{ part: "all", reason: `no ${token("missing")}` }], {
                    ambiguity: `is it ${token("question")}?`
                  })
            )
          })
        ]
      })
    ],
    coordinator: Plan.make(
      [
        { id: "output", worker: "d.output", objective: "Put out", input: (_, input) => input },
        {
          id: "reader",
          worker: "d.reader",
          objective: "Read",
          needs: ["output"],
          input: ({ output }) => ({ output })
        },
        ...["error", "defect", "evidence", "artefact", "question"].map((id) => ({
          id,
          worker: `d.${id}`,
          objective: `Do ${id}`
        }))
      ] as ReadonlyArray<Plan.Task<typeof Input.Type>>,
      { concurrency: 3 }
    )
  })

/** Everything that a file of a journal, its write-ahead log and its index hold. */
const bytesOf = (filename: string): string =>
  readdirSync(dirname(filename))
    .map((name) => readFileSync(join(dirname(filename), name), "latin1"))
    .join("\n")

/** A program as people write them: it runs the desk, answers, prints everything that there is to print, and ends. */
const program = Effect.fnUntraced(function* (rules: Redaction.Redaction) {
  const filename = yield* freshPath
  const logged: Array<string> = []
  const printed: Array<string> = []
  const handed: Array<unknown> = []
  const desk = deskOf(handed)
  const print = (value: unknown) =>
    void printed.push(inspect(value, { depth: 20, maxStringLength: null }), JSON.stringify(value) ?? "")
  const logger = Logger.make((entry) => {
    logged.push(Logger.formatLogFmt.log(entry), Logger.formatJson.log(entry), inspect(entry.message, { depth: 9 }))
  })
  const open = yield* Effect.gen(function* () {
    let heard = 0
    const onEvent = (event: RunEvent.RunEvent) => {
      print(event)
      if (++heard === 20) throw new Refused(`no ${token("listener")}`)
    }
    print(yield* Run.start(desk, { id: "r1", input, onEvent }))
    for (const { kind, review } of yield* of("ReviewOpened")) {
      yield* Run.decide({
        review,
        by: "ann",
        note: `because of ${token("saying")}`,
        ...(kind === "question"
          ? { decision: "answer", answer: { password: canary("answer") } }
          : { decision: "reject" })
      })
    }
    print(yield* Run.resume(desk, "r1"))
    const events = yield* history("r1")
    print([events, Audit.rows(events), yield* Run.outcome("r1")])
    const wrong = { ...input, text: 5 as never, marked: 6 as never, headers: token("wrong") as never }
    print((yield* Effect.flip(Run.start(desk, { id: "r2", input: wrong }))).message)
    // What stands is in the write-ahead log as long as the journal is open.
    return bytesOf(filename)
  }).pipe(
    Effect.provide(
      Layer.mergeAll(
        JournalSqlite.layerSqlite({ filename }),
        ArtefactsSqlite.layerSqlite({ filename }),
        Logger.layer([logger]),
        Layer.succeed(Redaction.Redaction, rules)
      )
    )
  )
  const written = open + bytesOf(filename)
  return { written, logged: logged.join("\n"), printed: printed.join("\n"), handed: JSON.stringify(handed) }
})

describe("redaction in a run", () => {
  it.effect("R-305 what is secret is nowhere: not in the file, the log, what is printed, and what is handed on", () =>
    Effect.gen(function* () {
      const { handed, logged, printed, written } = yield* program(Redaction.defaults)
      for (const text of [written, logged, printed, handed]) assert.notMatch(text, canaries)
      assert.include(logged, "onEvent of r1 threw")
      assert.include(printed, "headers")
      assert.include(handed, `"list":[{"pin":"[redacted:secret]"}],"marked":"[redacted:secret]"`)
      assert.include(handed, `"headers":{"Authorization":"[redacted:authorization]","accept":"text/html"}`)
      assert.include(handed, `"answer":{"password":"[redacted:password]"}`)
      for (const rule of [
        "url-credentials",
        "token",
        "password",
        "secret",
        "api-key",
        "github-token",
        "authorization"
      ]) {
        assert.include(written, `[redacted:${rule}]`)
      }
    })
  )

  it.effect("R-305 without the rules all of it is there, but what a schema marks", () =>
    Effect.gen(function* () {
      const { logged, printed, written } = yield* program(Redaction.none)
      const marked = [canary("marked"), canary("redacted")]
      const elsewhere = [canary("field"), "Canarylistener", "Canarywrong"]
      for (const place of places) {
        if (marked.includes(place)) assert.notInclude(written + logged + printed, place)
        else if (elsewhere.includes(place)) assert.notInclude(written, place)
        else assert.include(written, place)
      }
      assert.include(logged, canary("field"))
      assert.include(logged, "Canarylistener")
    })
  )

  it.effect("R-305 an input that cannot be read without its secret is refused by the name of its field", () =>
    Effect.gen(function* () {
      const strict = Desk.make("strict", {
        version: "1",
        input: Schema.Struct({ login: Schema.Struct({ pin: Redaction.secret(Schema.Int) }) }),
        domains: [Domain.make("d", { workers: [worker("one", Schema.String, () => Effect.succeed("done"))] })],
        coordinator: Plan.make([{ id: "one", worker: "d.one", objective: "Do it" }])
      })
      const error = yield* Effect.flip(Run.start(strict, { id: "r1", input: { login: { pin: 4711 } } }))
      assert(error._tag === "InputInvalid")
      assert.strictEqual(error.message, 'INPUT_INVALID: strict: login.pin must be a number, got "[redacted:secret]"')
    }).pipe(memory, Effect.provide(Artefacts.layerMemory()))
  )
})
