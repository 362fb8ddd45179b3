/**
 * What is decided by code, and never by a model: which contract it is, whether the work goes back, whether everything holds at
 * one revision, and what a deployment does.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import { Failure } from "espalier"
import { Artefacts } from "espalier/journal"
import { Acceptance, Contract, Effects, Result, Review, Worker } from "espalier/run"

import { evidence, failing, Record } from "./checks.ts"
import { Approved, doneWhen, Draft, lacking, retries, secured, tested } from "./contract.ts"
import { Reviewed } from "./roles.ts"
import { inside } from "./tools.ts"
import { Workspace } from "./Workspace.ts"

/** Where the contract is on the branch. */
const file = "contracts/password-reset.json"

/** A draft as a contract, complete. */
const contractOf = ({ constraints, limits, numbers, objective, requirements, version }: Draft) =>
  Contract.make({
    task: "password-reset",
    version,
    objective,
    constraints: [...constraints, ...Object.entries(numbers).map(([name, value]) => `${name}: ${value}`)],
    definitionOfDone: requirements,
    permissions: { read: ["."], write: ["src", "test", "contracts"] },
    limits
  })

/** Makes the contract of a draft: with a version and a digest, for a person to approve. */
const registrar = Worker.make("registrar", {
  description: "Makes a contract of a draft",
  input: Schema.Struct({ draft: Draft }),
  output: Approved,
  handle: ({ input: { draft } }) =>
    Effect.gen(function* () {
      const said = lacking(draft)
      if (said.length > 0) return yield* Failure.malformed(said.join("; "))
      const contract = yield* Effect.mapError(contractOf(draft), ({ message }) => message).pipe(
        Effect.catch(Failure.malformed)
      )
      return { version: contract.version, digest: Contract.digest(contract), contract, risks: draft.risks }
    })
})

/** Puts the approved contract onto the branch, so that each revision says what it was made for. */
const clerk = Worker.make("clerk", {
  description: "Commits the approved contract",
  tools: [{ name: "commit_contract", idempotent: true }],
  permissions: ["write"],
  input: Schema.Struct({ approved: Approved }),
  output: Schema.Struct({ revision: Schema.String }),
  handle: ({ input: { approved } }) =>
    Effects.perform({
      name: "commit_contract",
      args: { version: approved.version, digest: approved.digest },
      run: (key) =>
        Effect.gen(function* () {
          const { commit, write } = yield* Workspace
          yield* write(file, `${JSON.stringify(approved, null, 2)}\n`)
          const message = `Contract ${approved.version}, ${approved.digest}`
          return { revision: yield* commit({ by: "control.clerk", folder: "contracts", key, message }) }
        })
    })
})

/** @since 0.1.0 */
export interface Ruling extends Schema.Schema.Type<typeof Ruling> {}

/**
 * What becomes of the work.
 *
 * **Details**
 *
 * - `round`: how often the coder was asked again, this time included. `failing`: the evidence that goes back, and nothing else.
 *
 * @category models
 * @since 0.1.0
 */
export const Ruling = Schema.Struct({
  verdict: Schema.Literals(["holds", "fix", "exhausted"]),
  revision: Schema.String,
  round: Schema.Int,
  failing: Schema.Array(Result.Evidence)
})

/**
 * Decides: everything holds, or its failing evidence goes back to the coder, or a person is asked.
 *
 * @category decisions
 * @since 0.1.0
 */
export const rule = (of: {
  readonly round: number
  readonly records: ReadonlyArray<Record>
  readonly findings: (typeof Reviewed.Type)["findings"]
}): Ruling => {
  const { findings, records, round } = of
  const revision = records.at(-1)?.revision ?? ""
  const serious = findings
    .filter(({ severity }) => severity === "high")
    .map(({ statement }): Result.Evidence => ({
      requirement: "review",
      command: "review of security",
      revision,
      output: statement
    }))
  const wrong = [...records.flatMap(failing), ...serious]
  if (wrong.length === 0) return { verdict: "holds", revision, round, failing: [] }
  return round < retries
    ? { verdict: "fix", revision, round: round + 1, failing: wrong }
    : { verdict: "exhausted", revision, round, failing: wrong }
}

/** The records of tasks, out of the store; one that is not what its hash says is not taken. */
const recordsOf = (artefacts: Worker.Order["artefacts"], tasks: ReadonlyArray<string>) =>
  Effect.forEach(
    tasks.flatMap((task) => {
      const reference = artefacts[task]?.["record"]
      return reference === undefined ? [] : [reference]
    }),
    (reference) => Artefacts.getJson(reference, Record)
  )

/** Looks at what was run since the coder was here last. */
const judge = Worker.make("judge", {
  description: "Decides whether the work goes back",
  input: Schema.Struct({
    round: Schema.Int,
    look: Schema.Array(Schema.String),
    findings: Schema.Array(Reviewed.fields.findings.value)
  }),
  output: Ruling,
  handle: ({ artefacts, input: { findings, look, round } }) =>
    Effect.gen(function* () {
      const records = yield* recordsOf(artefacts, look)
      if (records.length < look.length) return yield* Failure.capability(`there are no records of ${look.join(", ")}`)
      return rule({ round, records, findings })
    })
})

/** Asks a person what becomes of work that the coder could not mend. */
const escalation = Worker.make("escalation", {
  description: "Asks a person about work that was not mended",
  input: Schema.Struct({ ruling: Ruling }),
  output: Schema.Struct({ again: Schema.Boolean, by: Schema.String }),
  handle: ({ input: { ruling } }) =>
    Effect.gen(function* () {
      const { failing, revision, round } = ruling
      const names = [...new Set(failing.map(({ requirement }) => requirement))].join(", ")
      const reply = yield* Review.ask({
        name: "not-mended",
        question: `The coder was asked again ${round} times, and ${names} still does not hold. Once more?`,
        about: { revision, failing: failing.map((each) => ({ ...each })) },
        choices: ["once more"],
        schema: Schema.Literal("once more")
      })
      if (reply._tag === "Answered") return { again: true, by: reply.by }
      return yield* Failure.exhausted(`${names} was not mended in ${round} retries, and nobody wants another one`)
    })
})

/** @since 0.1.0 */
export interface Reconciled extends Schema.Schema.Type<typeof Reconciled> {}

/**
 * Everything against one revision.
 *
 * **Details**
 *
 * - `points`: what was looked at, against which revision, and what was found.
 *
 * @category models
 * @since 0.1.0
 */
export const Reconciled = Schema.Struct({
  development_acceptance: Schema.Literals(["approved", "refused"]),
  revision: Schema.String,
  contract: Schema.Struct({ version: Schema.Int, digest: Schema.String }),
  points: Schema.Array(
    Schema.Struct({ subject: Schema.String, revision: Schema.String, holds: Schema.Boolean, note: Schema.String })
  )
})

/**
 * Reconciles a change with one final revision.
 *
 * **Details**
 *
 * - `approved`: what people have approved. `committed`: the text of the contract on the branch, at that revision.
 * - `clean`: whether the worktree is what the revision says. `changed`: the files of the change.
 * - `tests`, `security`: what was run last. `findings`: of the last review.
 *
 * @category decisions
 * @since 0.1.0
 */
export const reconcile = (of: {
  readonly revision: string
  readonly approved: Approved
  readonly committed: string | undefined
  readonly clean: boolean
  readonly changed: ReadonlyArray<string>
  readonly tests: Record
  readonly security: Record
  readonly findings: (typeof Reviewed.Type)["findings"]
}): Reconciled => {
  const { approved, changed, clean, committed, findings, revision, security, tests } = of
  const { digest, version } = approved
  const { findings: points } = Acceptance.final(
    [
      { task: "regression", definitionOfDone: doneWhen(tested), evidence: evidence(tests) },
      { task: "audit", definitionOfDone: doneWhen(secured), evidence: evidence(security) }
    ],
    { revision }
  )
  const stray = changed.filter((path) => !inside(path, ["src", "test", "contracts"]))
  const serious = findings.filter(({ severity }) => severity === "high")
  const all = [
    {
      subject: "contract",
      revision,
      holds: committed === `${JSON.stringify(approved, null, 2)}\n`,
      note: `version ${version}, digest ${digest}`
    },
    { subject: "worktree", revision, holds: clean, note: clean ? "as committed" : "something is not committed" },
    {
      subject: "changed files",
      revision,
      holds: stray.length === 0,
      note: stray.length === 0 ? `${changed.length}, each inside of its role` : `outside: ${stray.join(", ")}`
    },
    {
      subject: "review of security",
      revision: security.revision,
      holds: security.revision === revision && serious.length === 0,
      note: serious.map(({ statement }) => statement).join("; ") || "nothing serious was found"
    },
    ...points.map(({ checkedAgainst = "", reason, requirement, state, task }) => ({
      subject: `${task}: ${requirement}`,
      revision: checkedAgainst,
      holds: state === "met",
      note: reason
    }))
  ]
  return {
    development_acceptance: all.every(({ holds }) => holds) ? "approved" : "refused",
    revision,
    contract: { version, digest },
    points: all
  }
}

/** Accepts the development, or says what keeps it from that. */
const acceptance = Worker.make("acceptance", {
  description: "Holds everything against one revision",
  input: Schema.Struct({ approved: Approved, reviewed: Reviewed }),
  output: Reconciled,
  handle: ({ artefacts, input: { approved, reviewed } }) =>
    Effect.gen(function* () {
      const { changed, clean, head, snapshot } = yield* Workspace
      const revision = yield* head
      const [tests, security] = yield* recordsOf(artefacts, ["regression", "audit"])
      if (tests === undefined || security === undefined) return yield* Failure.capability("there are no records")
      const reconciled = reconcile({
        revision,
        approved,
        committed: (yield* snapshot(revision))[file],
        clean: yield* clean,
        changed: (yield* changed(revision)).map(({ path }) => path),
        tests,
        security,
        findings: reviewed.findings
      })
      const own = reconciled.points.slice(0, 3).map(({ holds, note, subject }): Result.Evidence => ({
        requirement: subject.replace(" ", "-"),
        command:
          { contract: `git show HEAD:${file}`, worktree: "git status --porcelain" }[subject] ??
          "git diff --name-status base",
        revision,
        exitStatus: holds ? 0 : 1,
        output: note
      }))
      return Result.completed(reconciled, { evidence: own })
    })
})

/**
 * What the acceptance itself shows.
 *
 * @category models
 * @since 0.1.0
 */
export const reconciled = {
  contract: "The branch has the contract that was approved",
  worktree: "Everything is committed",
  "changed-files": "Each change lies inside of its role"
} as const

/** Moves `main` to the revision that was accepted. A person lets it. */
const deployer = Worker.make("deployer", {
  description: "Deploys an accepted revision",
  risk: "high",
  irreversible: true,
  tools: [{ name: "deploy", idempotent: true, risk: "high", irreversible: true }],
  input: Schema.Struct({ accepted: Reconciled }),
  output: Schema.Struct({ deployed: Schema.String }),
  handle: ({ input: { accepted } }) =>
    Effects.perform({
      name: "deploy",
      args: { revision: accepted.revision },
      run: () =>
        Effect.gen(function* () {
          if (accepted.development_acceptance !== "approved") return yield* Failure.denied("it was not accepted")
          const { merge } = yield* Workspace
          return { deployed: yield* merge(accepted.revision) }
        })
    })
})

/**
 * The workers that are code.
 *
 * @category workers
 * @since 0.1.0
 */
export const control = { registrar, clerk, judge, escalation, acceptance, deployer }
