/**
 * A change of a program that is made under a contract, by agents with few rights each, and accepted at one revision.
 *
 * ```sh
 * npm run example -- examples/password-reset/main.ts
 * npm run example -- examples/password-reset/main.ts --out /tmp/reset --ask   # the contract waits for a person
 * ```
 *
 * A scratch repository, synthetic accounts, test mail; no key and no network. See `--help`.
 *
 * Watch for: the defect `expired_token_accepted`, which the first code has and the tests find; what is sent back, which is its
 * evidence and nothing else; the two lines at the end, which are about two things.
 *
 * @since 0.1.0
 */
import { parseArgs } from "node:util"

import { Effect, FileSystem, Layer, Path } from "effect"

import { args, main } from "../shared/program.ts"
import { conduct, id, stored, surroundings } from "./conduct.ts"
import * as Report from "./report.ts"
import { scripted } from "./scripts.ts"
import { story } from "./story.ts"
import { Workspace } from "./Workspace.ts"

const help = `A reset of passwords: contract, code, tests, reviews of security, one final revision.

  --out DIR             keeps journal, repository and report there; a run that waits there is gone on with
                        (default: a temporary folder, which is removed)
  --ask                 leaves the contract to a person
  --approve-deployment  lets the scripted person approve the deployment, too
  --stubborn            the coder never mends the defect: after two retries a person is asked
  --help                prints this

A person decides with "espalier approve ${id}/review/N --as NAME" in DIR; start this again with --out DIR then.
Exit codes: 0 completed, 10 it waits for a person, 2 anything else that a run can end as, 3 it could not run.
`

const parse = () =>
  parseArgs({
    options: {
      help: { type: "boolean", default: false },
      ask: { type: "boolean", default: false },
      stubborn: { type: "boolean", default: false },
      "approve-deployment": { type: "boolean", default: false },
      out: { type: "string" }
    }
  }).values

const codes: { readonly [status: string]: number } = { completed: 0, waiting: 10 }

const program = Effect.gen(function* () {
  const given = yield* args(parse)
  if (given.help) {
    process.stdout.write(help)
    return 0
  }
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = path.resolve(given.out ?? (yield* files.makeTempDirectoryScoped({ prefix: "password-reset-" })))
  return yield* Effect.gen(function* () {
    const { outcome, events } = yield* conduct({
      cast: yield* scripted({ stubborn: given.stubborn }),
      person: { contract: !given.ask, deployment: given["approve-deployment"] },
      onEvent: (event) => story(event).forEach((line) => console.log(line)),
      onSaid: (line) => console.log(line)
    })
    const { base, changed, commits, head } = yield* Workspace
    const revision = yield* head
    const report = Report.make({
      outcome,
      events,
      base,
      head: revision,
      commits: yield* commits(revision),
      changed: yield* changed(revision)
    })
    yield* files.writeFileString(path.join(folder, "report.md"), Report.markdown(report))
    yield* files.writeFileString(path.join(folder, "report.json"), `${JSON.stringify(report, null, 2)}\n`)
    console.log(`\n${Report.markdown(report)}`)
    for (const { note, review } of outcome.reviews) console.log(`${review} waits for a person: ${note}`)
    console.log(`development_acceptance: ${report.development_acceptance}`)
    console.log(`deployment_authorisation: ${report.deployment_authorisation}`)
    if (given.out !== undefined) console.log(`The report and everything else is in ${folder}`)
    return codes[outcome.status] ?? 2
  }).pipe(Effect.provide(Layer.merge(stored(folder), surroundings(folder))))
})

process.exitCode = await main("password-reset", Effect.scoped(program))
