/**
 * The tools of the roles, and what keeps each of them inside of its folder.
 *
 * | role | reads | writes | beside that |
 * |---|---|---|---|
 * | requirements | nothing | nothing | |
 * | coding | the worktree | `src` | commits `src` |
 * | testing, who writes tests | the worktree | `test` | commits `test` |
 * | testing, who runs them | the worktree | nothing | runs tests |
 * | security | the worktree | nothing | sees the change, runs probes |
 *
 * A path is looked at twice: by the gate of the tool, which knows the folder of its role, and by the permissions of the
 * contract under which the order was given.
 *
 * @since 0.1.0
 */
import { Effect, Result, Schema } from "effect"
import { Tool } from "effect/ai"
import { Failure } from "espalier"
import { ToolScope } from "espalier/agent"
import { Contract, ContractPolicy, type ToolGate, type Worker } from "espalier/run"

import { keep, runProbes, runTests, Told } from "./checks.ts"
import { Workspace } from "./Workspace.ts"

const path = Schema.NonEmptyString.annotate({ description: "A path below the worktree, such as src/login.js" })

const ReadFile = Tool.make("read_file", {
  description: "Reads a file of the worktree",
  parameters: Schema.Struct({ path }),
  success: Schema.String
}).annotate(Tool.Readonly, true)

const ListFiles = Tool.make("list_files", {
  description: "Lists the files of the worktree",
  parameters: Schema.Struct({}),
  success: Schema.Array(Schema.String)
}).annotate(Tool.Readonly, true)

const WriteFile = Tool.make("write_file", {
  description: "Writes a file of the worktree, whole",
  parameters: Schema.Struct({ path, content: Schema.String.check(Schema.isMaxLength(50_000)) }),
  success: Schema.Struct({ written: Schema.String, characters: Schema.Int })
}).annotate(Tool.Idempotent, true)

const GitCommit = Tool.make("git_commit", {
  description: "Commits what you have written",
  parameters: Schema.Struct({ message: Schema.NonEmptyString.check(Schema.isMaxLength(200)) }),
  success: Schema.Struct({ revision: Schema.String })
}).annotate(Tool.Idempotent, true)

const RunTests = Tool.make("run_tests", {
  description: "Runs the tests of these names against the newest revision, and all of them where none is named",
  parameters: Schema.Struct({ only: Schema.Array(Schema.String) }),
  success: Told
}).annotate(Tool.Idempotent, true)

const ReadDiff = Tool.make("read_diff", {
  description: "Shows what the branch has changed below src",
  parameters: Schema.Struct({}),
  success: Schema.String
}).annotate(Tool.Readonly, true)

const RunProbes = Tool.make("run_probes", {
  description: "Runs the probes of security against the newest revision",
  parameters: Schema.Struct({}),
  success: Told
}).annotate(Tool.Idempotent, true)

/**
 * Whether a path lies in one of some folders: no wildcard, no way up, nothing of git's own.
 *
 * @category checking
 * @since 0.1.0
 */
export const inside = (path: string, folders: ReadonlyArray<string>): boolean => {
  if (folders.length === 0 || /[*?\\]/.test(path) || path.split("/").some((part) => part.startsWith(".git")))
    return false
  const asked = Contract.parse({ task: "path", objective: "Look at a path", permissions: { path: [path] } })
  const policy = ContractPolicy.make({ areas: { path: ContractPolicy.paths(folders) } })
  return Result.isSuccess(asked) && Result.isSuccess(ContractPolicy.check(asked.success, policy))
}

/** What the contract of an order grants. */
const granted = ({ contract }: Worker.Order, area: "read" | "write", path: string) =>
  inside(path, contract.permissions[area] ?? [])
    ? Effect.void
    : Failure.denied(`the contract of ${contract.task} does not let it ${area} ${path}`)

const denyOutside =
  (folders: ReadonlyArray<string>) =>
  ({ path }: { readonly path: string }): ToolGate.Verdict =>
    inside(path, folders)
      ? "allow"
      : { decision: "deny", rule: "outside-of-role", reason: `this role has ${folders.join(", ")}, and not ${path}` }

const reading = [
  ToolScope.tool(ReadFile, {
    gate: denyOutside(["."]),
    handle: ({ path }, { order }) =>
      Effect.gen(function* () {
        yield* granted(order, "read", path)
        const { list, read } = yield* Workspace
        // What is no file of the worktree, such as a link out of it, is not read.
        if (!(yield* list).includes(path)) return yield* Failure.capability(`there is no file ${path}`)
        return yield* read(path)
      })
  }),
  ToolScope.tool(ListFiles, {
    handle: (_, { order }) =>
      Effect.gen(function* () {
        yield* granted(order, "read", "src")
        const { list } = yield* Workspace
        return yield* list
      })
  })
]

/** Writes below one folder, and commits what is there. `by`: as whom. */
const writing = (by: string, folder: string) => [
  ToolScope.tool(WriteFile, {
    risk: "low",
    gate: denyOutside([folder]),
    handle: ({ content, path }, { order }) =>
      Effect.gen(function* () {
        yield* granted(order, "write", path)
        // What was taken out of it is not there any more: it would be other code than what was meant.
        if (content.includes("[redacted:")) return yield* Failure.malformed(`${path} holds what looks like a secret`)
        const { write } = yield* Workspace
        yield* write(path, content)
        return { written: path, characters: content.length }
      })
  }),
  ToolScope.tool(GitCommit, {
    handle: ({ message }, { key, order }) =>
      Effect.gen(function* () {
        yield* granted(order, "write", folder)
        const { commit } = yield* Workspace
        return { revision: yield* commit({ by, folder, key, message }) }
      })
  })
]

/**
 * What each role may call.
 *
 * @category scopes
 * @since 0.1.0
 */
export const scopes = {
  requirements: ToolScope.empty,
  coding: ToolScope.make([...reading, ...writing("coding.coder", "src")]),
  authoring: ToolScope.make([...reading, ...writing("testing.author", "test")]),
  testing: ToolScope.make([
    ...reading,
    ToolScope.tool(RunTests, { timeout: "2 minutes", handle: ({ only }) => keep(runTests(only)) })
  ]),
  security: ToolScope.make([
    ...reading,
    ToolScope.tool(ReadDiff, {
      handle: () => Effect.flatMap(Workspace, ({ diff, head }) => Effect.flatMap(head, diff))
    }),
    ToolScope.tool(RunProbes, { timeout: "2 minutes", handle: () => keep(runProbes) })
  ])
} as const

/**
 * What the contracts of each role grant.
 *
 * @category scopes
 * @since 0.1.0
 */
export const permissions = {
  coding: { read: ["."], write: ["src"] },
  authoring: { read: ["."], write: ["test"] },
  testing: { read: ["."] },
  security: { read: ["."] },
  control: { write: ["contracts"] }
} as const
