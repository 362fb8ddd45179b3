/**
 * A scratch repository of git, and the worktree in which a change is made on a branch of its own.
 *
 * `main` is never touched while the work goes on; only a deployment moves it.
 *
 * **Details**
 *
 * - A commit carries the key of the effect that made it. So a process that begins anew finds the commit that the one before
 *   has made, and makes no second one.
 * - {@link Workspace.snapshot} reads files out of a commit, not out of a folder: what is run is what the revision has.
 *
 * @since 0.1.0
 */
import { Context, Effect, FileSystem, Layer, Path, Schema, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { Failure } from "espalier"

/**
 * Git, or a file, could not do what was asked of it.
 *
 * @category errors
 * @since 0.1.0
 */
export class WorkspaceFailed extends Schema.TaggedError<WorkspaceFailed>()("WorkspaceFailed", {
  what: Schema.String,
  reason: Schema.String
}) {
  readonly [Failure.kind] = "capability"

  override get message(): string {
    return `${this.what}: ${this.reason}`
  }
}

/**
 * The branch of the change.
 *
 * @category models
 * @since 0.1.0
 */
export const branch = "password-reset"

/**
 * A commit of the branch.
 *
 * @category models
 * @since 0.1.0
 */
export interface Commit {
  readonly revision: string
  readonly by: string
  readonly message: string
}

/**
 * A file that the branch has changed. `how`: a letter, as git has it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Changed {
  readonly how: string
  readonly path: string
}

type Doing<A> = Effect.Effect<A, WorkspaceFailed>

/**
 * The service.
 *
 * **Details**
 *
 * - `base`: the revision that the branch begins at. `head`: its newest one. `main`: that of `main`.
 * - `read`, `write`, `list`: files of the worktree, by paths that somebody has checked before.
 * - `commit`: what was changed below `folder`, once under a key.
 * - `snapshot`: the files of a revision. `changed`, `commits`, `diff`: from the base to a revision.
 * - `clean`: whether the worktree is what its newest revision says.
 * - `merge`: moves `main` to a revision of the branch.
 *
 * @category services
 * @since 0.1.0
 */
export class Workspace extends Context.Service<
  Workspace,
  {
    readonly base: string
    readonly head: Doing<string>
    readonly main: Doing<string>
    readonly clean: Doing<boolean>
    readonly list: Doing<ReadonlyArray<string>>
    readonly read: (path: string) => Doing<string>
    readonly write: (path: string, content: string) => Doing<void>
    readonly commit: (of: {
      readonly by: string
      readonly folder: string
      readonly key: string
      readonly message: string
    }) => Doing<string>
    readonly snapshot: (revision: string) => Doing<Readonly<Record<string, string>>>
    readonly changed: (revision: string) => Doing<ReadonlyArray<Changed>>
    readonly commits: (revision: string) => Doing<ReadonlyArray<Commit>>
    readonly diff: (revision: string) => Doing<string>
    readonly merge: (revision: string) => Doing<string>
  }
>()("examples/password-reset/Workspace") {}

const failed =
  (what: string) =>
  (error: { readonly message: string }): WorkspaceFailed =>
    new WorkspaceFailed({ what, reason: error.message })

/** Nothing but what is said here: no settings, no hooks and no questions of whoever's machine this is. */
const plain = ["-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"]

const author = (by: string) => ["-c", `user.name=${by}`, "-c", `user.email=${by.replace(".", "-")}@example.test`]

const lines = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

const make = (root: string) =>
  Effect.gen(function* () {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const repository = path.join(root, "repository")
    const worktree = path.join(root, "worktree")
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: root,
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_TERMINAL_PROMPT: "0",
      LC_ALL: "C"
    }

    /** What git prints; fails with what it says when it does not end well. */
    const git = (folder: string, args: ReadonlyArray<string>): Doing<string> =>
      Effect.scoped(
        Effect.gen(function* () {
          const command = ChildProcess.make("git", [...plain, ...args], { cwd: folder, env, stdin: "ignore" })
          const child = yield* spawner.spawn(command)
          const [out, err] = yield* Effect.all(
            [Stream.mkString(Stream.decodeText(child.stdout)), Stream.mkString(Stream.decodeText(child.stderr))],
            { concurrency: 2 }
          )
          return { code: Number(yield* child.exitCode), err, out }
        })
      ).pipe(
        Effect.mapError(failed("git")),
        Effect.flatMap(({ code, err, out }) =>
          code === 0
            ? Effect.succeed(out)
            : Effect.fail(new WorkspaceFailed({ what: `git ${args[0]}`, reason: (err || out).trim().slice(0, 500) }))
        )
      )
    const revisionOf = (name: string) => Effect.map(git(repository, ["rev-parse", name]), (text) => text.trim())

    /** A scratch repository with the project, and the worktree on its branch. */
    const begin = Effect.gen(function* () {
      const project = yield* path.fromFileUrl(new URL("project", import.meta.url))
      yield* files.makeDirectory(root, { recursive: true })
      yield* files.copy(project, repository)
      yield* git(repository, ["init", "-q", "-b", "main"])
      yield* git(repository, ["add", "-A"])
      yield* git(repository, [...author("shop"), "commit", "-q", "-m", "A shop with accounts, sessions and mail"])
      yield* git(repository, ["tag", "base"])
      yield* git(repository, ["worktree", "add", "-q", "-b", branch, worktree])
    }).pipe(Effect.mapError(failed("the scratch repository")))
    if (!(yield* Effect.orDie(files.exists(worktree)))) yield* begin

    const snapshots = new Map<string, Readonly<Record<string, string>>>()
    const below = (name: string) => path.join(worktree, ...name.split("/"))
    return Workspace.of({
      base: yield* revisionOf("base"),
      head: revisionOf(branch),
      main: revisionOf("main"),
      clean: Effect.map(git(worktree, ["status", "--porcelain"]), (text) => text === ""),
      list: Effect.map(git(worktree, ["ls-files", "--cached", "--others", "--exclude-standard"]), lines),
      read: (name) => Effect.mapError(files.readFileString(below(name)), failed(name)),
      write: (name, content) =>
        files
          .makeDirectory(path.dirname(below(name)), { recursive: true })
          .pipe(Effect.andThen(files.writeFileString(below(name), content)), Effect.mapError(failed(name))),
      commit: ({ by, folder, key, message }) =>
        Effect.gen(function* () {
          const known = yield* git(worktree, ["log", "--format=%H", "--fixed-strings", `--grep=Effect: ${key}`])
          const [earlier] = lines(known)
          if (earlier !== undefined) return earlier
          yield* git(worktree, ["add", "-A", "--", folder])
          const trailer = `Effect: ${key}`
          yield* git(worktree, [...author(by), "commit", "-q", "-m", message, "-m", trailer, "--", folder])
          return yield* revisionOf(branch)
        }),
      snapshot: (revision) =>
        Effect.gen(function* () {
          const known = snapshots.get(revision)
          if (known !== undefined) return known
          const names = lines(yield* git(repository, ["ls-tree", "-r", "--name-only", revision]))
          const texts = yield* Effect.forEach(names, (name) => git(repository, ["show", `${revision}:${name}`]), {
            concurrency: 4
          })
          const read = Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ""]))
          snapshots.set(revision, read)
          return read
        }),
      changed: (revision) =>
        Effect.map(git(repository, ["diff", "--name-status", "--no-renames", "base", revision]), (text) =>
          lines(text).map((line) => ({ how: line.slice(0, 1), path: line.slice(2) }))
        ),
      commits: (revision) =>
        Effect.map(git(repository, ["log", "--reverse", "--format=%H%x09%an%x09%s", `base..${revision}`]), (text) =>
          lines(text).map((line) => {
            const [revision = "", by = "", ...message] = line.split("\t")
            return { revision, by, message: message.join(" ") }
          })
        ),
      diff: (revision) => git(repository, ["diff", "base", revision, "--", "src"]),
      merge: (revision) => Effect.andThen(git(repository, ["merge", "-q", "--ff-only", revision]), revisionOf("main"))
    })
  })

/**
 * The workspace below a folder. What is there already is gone on with.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (root: string) => Layer.effect(Workspace, make(root))
