/**
 * The models of this example, without a key: each follows from what it is asked, so a process that begins anew goes on.
 *
 * What they write is real: the code and the tests are files of this folder, and the first code has the defect
 * `expired_token_accepted`, which nothing but the tests finds. A stubborn coder never mends it.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, Path } from "effect"
import { ContextWindow, Models, ScriptedModel } from "espalier/agent"

import { limits, numbers, secured, tested } from "./contract.ts"
import type { Cast } from "./roles.ts"

/** The line that matters, and what stands in its place at first: milliseconds are taken for seconds. */
const right = "if (entry.expires <= clock()) {"
const wrong = "if (entry.expires * 1_000 <= clock()) {"

type Calls = ReadonlyArray<readonly [name: string, params: unknown]>

/** A turn that has used about as many tokens as a model would have. */
const turn = ({ prompt, tools }: ScriptedModel.Request, calls: Calls): ScriptedModel.Step =>
  ScriptedModel.tools(
    calls.map(([name, params]) => ({ name, params })),
    {
      usage: {
        inputTokens: ContextWindow.estimate({ prompt, tools }),
        outputTokens: Math.ceil(JSON.stringify(calls).length / 4)
      }
    }
  )

/** The inputs of the order, as the prompt has them. */
const inputsOf = ({ prompt }: ScriptedModel.Request): Readonly<Record<string, unknown>> => {
  const user = prompt.content.find(({ role }) => role === "user")
  const part = user?.role === "user" ? user.content[0] : undefined
  const text = part?.type === "text" ? part.text : "{}"
  const order = JSON.parse(text.slice(text.indexOf("{"))) as { readonly inputs?: Readonly<Record<string, unknown>> }
  return order.inputs ?? {}
}

const delivers = (output: unknown): Calls => [["deliver", { output, confidence: 0.9 }]]

const made = (name: string, decide: (request: ScriptedModel.Request, turn: number) => Calls) =>
  Models.make([
    {
      provide: ScriptedModel.fromFunction((request, number) => turn(request, decide(request, number)), { model: name })
        .model
    }
  ])

const draft = {
  version: 1,
  objective: "Customers who forgot their password set a new one with a link that is mailed to them",
  constraints: [
    "src/reset.js exports makeReset({ accounts, clock, log, mailer, sessions }) with request(email), redeem(token, password) and kept()",
    "request answers with { message }, the same for every address; redeem answers with { ok } and a reason",
    "The mail has a link that ends in ?key=TOKEN; mail goes to the test outbox only",
    "Only a SHA-256 of a token is kept; no token stands in a log",
    "The clock is handed in; nothing reads the time of the machine"
  ],
  requirements: Object.entries({ ...tested, ...secured }).map(([id, statement]) => ({ id, statement })),
  numbers,
  limits,
  risks: [
    "Tokens and counts are kept in memory: a restart of the shop forgets them",
    "How long an answer takes is not the same for an unknown account"
  ]
}

/** The texts that the models write, by path. */
const texts = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* path.fromFileUrl(new URL("written", import.meta.url))
  const read = (name: string) => files.readFileString(path.join(folder, name))
  const names = (yield* files.readDirectory(path.join(folder, "test"))).toSorted()
  const tests = yield* Effect.forEach(names, (name) =>
    Effect.map(read(`test/${name}`), (content) => ({ path: `test/${name}`, content }))
  )
  return { code: yield* read("reset.js"), tests }
})

/**
 * The models. `stubborn`: whether the coder never mends what failed.
 *
 * @category models
 * @since 0.1.0
 */
export const scripted = (options: { readonly stubborn: boolean }) =>
  Effect.map(texts, ({ code, tests }): Cast => {
    const defective = code.replace(right, wrong)
    const mended = (request: ScriptedModel.Request): string => {
      if (!options.stubborn) return code
      const [first] = inputsOf(request)["failing"] as ReadonlyArray<{ readonly revision: string }>
      return `${defective}\n// Looked at after ${first?.revision.slice(0, 7)}: it seems fine.\n`
    }
    return {
      requirements: made("scripted-requirements", () => delivers(draft)),
      coding: made("scripted-coding", (request, number) => {
        const again = inputsOf(request)["failing"] !== undefined
        if (number === 1) {
          const read = again ? ["src/reset.js"] : ["src/accounts.js", "src/mailer.js", "src/sessions.js"]
          return read.map((path) => ["read_file", { path }])
        }
        if (number === 2) {
          const content = again ? mended(request) : defective
          const message = again ? "Mend what the failing evidence shows" : "Reset of passwords that were forgotten"
          return [
            ["write_file", { path: "src/reset.js", content }],
            ["git_commit", { message }]
          ]
        }
        return delivers({ summary: again ? "A token expires after 15 minutes" : "The reset is written" })
      }),
      authoring: made("scripted-authoring", (_, number) =>
        number === 1
          ? [
              ...tests.map((file): Calls[number] => ["write_file", file]),
              ["git_commit", { message: "Tests of the reset of passwords" }]
            ]
          : delivers({ summary: `${tests.length} files of tests are written` })
      ),
      testing: made("scripted-testing", (request, number) =>
        number === 1
          ? [["run_tests", { only: inputsOf(request)["only"] }]]
          : delivers({ summary: "The tests were run; the record says how they ended" })
      ),
      security: made("scripted-security", (_, number) => {
        if (number === 1) return [["read_diff", {}]]
        if (number === 2) return [["run_probes", {}]]
        const statement = "Requests for unknown accounts are counted in memory until their hour is over"
        return delivers({
          summary: "The change was read, the probes were run",
          findings: [{ severity: "low", statement }]
        })
      })
    }
  })
