/**
 * The main job as a process: what it prints, what it writes, how it ends, and how it goes on after a kill.
 *
 * Real time throughout: each test starts the program as a user would and waits for its output, never for a delay.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"

import { bundled } from "../../fixtures/bundled.ts"
import { withProcesses } from "../../fixtures/real.ts"

const project = fileURLToPath(new URL("../../..", import.meta.url))
const main = join(project, "examples/release-desk/main.ts")

/** A folder for one test, gone afterwards, with a small repository in it. */
const workplace = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "release-desk-"))
    const repository = join(folder, "repository")
    mkdirSync(join(repository, "src"), { recursive: true })
    writeFileSync(join(repository, "README.md"), "# Small\n\n## Usage\n\nSee [the guide](docs/guide.md).\n")
    writeFileSync(
      join(repository, "package.json"),
      JSON.stringify({ name: "small", version: "1.0.0", license: "MIT", dependencies: { unheard: "*" } })
    )
    writeFileSync(join(repository, "src/index.ts"), "// TODO: say more\nexport const small = 1\n")
    return { folder, repository }
  }),
  ({ folder }) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

type Until = (stdout: string, child: ChildProcess) => void

/** Starts the program as it lies there; `until` is called with everything printed so far. */
const startAsIs = (cwd: string, args: ReadonlyArray<string>, until?: Until, file = main) =>
  Effect.callback<Ended>((resume) => {
    const child = spawn(process.execPath, ["--conditions=@espalier/source", file, ...args], { cwd })
    let stdout = ""
    let stderr = ""
    child.stdout.on("data", (chunk) => {
      stdout += String(chunk)
      until?.(stdout, child)
    })
    child.stderr.on("data", (chunk) => (stderr += String(chunk)))
    child.on("close", (code, signal) => resume(Effect.succeed({ code, signal, stdout, stderr })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** Starts the program in one piece, which takes a fifth of the time. */
const start = (cwd: string, args: ReadonlyArray<string>, until?: Until) =>
  Effect.flatMap(
    Effect.promise(() => bundled(main)),
    (file) => startAsIs(cwd, args, until, file)
  )

const json = (file: string) => JSON.parse(readFileSync(file, "utf8"))

interface Row {
  readonly task: string
  readonly outcome: string
  readonly attempts: number
}

const audit = (file: string): ReadonlyArray<Row> =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))

const runOf = (stdout: string): string => /^run (\S+)$/m.exec(stdout)?.[1] ?? ""

const accepted = (stdout: string): number => stdout.match(/^\S+: accepted/gm)?.length ?? 0

describe("the release desk", () => {
  withProcesses("R-801 audits a repository and writes its report, in three files", () =>
    Effect.gen(function* () {
      const { folder, repository } = yield* workplace
      const ended = yield* startAsIs(folder, [repository, "--fail-on", "never"])
      assert.strictEqual(ended.code, 0, ended.stderr)
      assert.match(ended.stdout, /^run \S+\n/)
      const out = join(folder, ".espalier", runOf(ended.stdout))
      const report = json(join(out, "report.json"))
      assert.deepStrictEqual(Object.keys(report), ["run", "status", "findings", "missing"])
      assert.strictEqual(report.status, "completed")
      assert.deepStrictEqual(report.missing, [])
      const rules = report.findings.map((finding: { worker: string; rule: string; file: string; line: number }) => [
        finding.worker,
        finding.rule,
        finding.file,
        finding.line
      ])
      assert.deepInclude(rules, ["docs.links", "dead-link", "README.md", 5])
      assert.deepInclude(rules, ["code.markers", "todo", "src/index.ts", 1])
      assert.match(readFileSync(join(out, "report.md"), "utf8"), /README\.md:5/)
      const rows = audit(join(out, "audit.jsonl"))
      assert.strictEqual(rows.length, 10)
      assert.isTrue(rows.every(({ outcome }) => outcome === "accepted"))
    })
  )

  withProcesses("ends with 1 when a finding is as bad as --fail-on says, and prints nothing but JSON with --json", () =>
    Effect.gen(function* () {
      const { folder, repository } = yield* workplace
      const ended = yield* start(folder, [repository, "--fail-on", "info", "--json", "--out", "here"])
      assert.strictEqual(ended.code, 1, ended.stderr)
      assert.deepStrictEqual(JSON.parse(ended.stdout), json(join(folder, "here/report.json")))
    })
  )

  withProcesses("R-801 R-206 ends with a partial report that names what is missing when a worker cannot", () =>
    Effect.gen(function* () {
      const { folder, repository } = yield* workplace
      const ended = yield* start(folder, [repository, "--fault", "docs.links=capability", "--out", "out"])
      assert.strictEqual(ended.code, 2, ended.stderr)
      const report = json(join(folder, "out/report.json"))
      assert.strictEqual(report.status, "partial")
      assert.deepStrictEqual(
        report.missing.map(({ worker }: { worker: string }) => worker),
        ["docs.links"]
      )
      assert.isTrue(report.findings.some(({ worker }: { worker: string }) => worker === "docs.readme"))
      assert.match(readFileSync(join(folder, "out/report.md"), "utf8"), /docs\.links/)
    })
  )

  withProcesses("R-108 R-801 a domain that crashes for good leaves the other domains whole", () =>
    Effect.gen(function* () {
      const { folder, repository } = yield* workplace
      const ended = yield* start(folder, [repository, "--fault", "code=crash", "--out", "out"])
      assert.strictEqual(ended.code, 2, ended.stderr)
      assert.match(ended.stdout, /tree release-desk\/code\/\S+: restarting/)
      assert.notMatch(ended.stdout, /tree release-desk\/(docs|dependencies)/)
      const rows = audit(join(folder, "out/audit.jsonl"))
      const others = rows.filter(({ task }) => !task.startsWith("code."))
      assert.strictEqual(others.length, 7)
      assert.isTrue(others.every(({ attempts, outcome }) => outcome === "accepted" && attempts === 1))
      assert.deepStrictEqual(
        json(join(folder, "out/report.json"))
          .missing.map(({ worker }: { worker: string }) => worker)
          .toSorted(),
        ["code.complexity", "code.markers", "code.size"]
      )
    })
  )

  withProcesses("a crash is restarted in the tree and the job completes", () =>
    Effect.gen(function* () {
      const { folder, repository } = yield* workplace
      const ended = yield* start(folder, [repository, "--fault", "code.complexity=crash@1", "--fail-on", "never"])
      assert.strictEqual(ended.code, 0, ended.stderr)
      assert.match(ended.stdout, /tree release-desk\/code\/complexity: restarting/)
      assert.notMatch(ended.stderr, /\n {4}at /)
    })
  )

  withProcesses.each(["transient@1", "malformed@1"])("goes on after the fault %s", (fault) =>
    Effect.gen(function* () {
      const { folder, repository } = yield* workplace
      const ended = yield* start(folder, [repository, "--fault", `docs.readme=${fault}`, "--fail-on", "never"])
      assert.strictEqual(ended.code, 0, ended.stderr + ended.stdout)
    })
  )

  withProcesses.each(["oversized", "denied", "exhausted"])(
    "is partial after the fault %s, which no retry helps",
    (fault) =>
      Effect.gen(function* () {
        const { folder, repository } = yield* workplace
        const ended = yield* start(folder, [repository, "--fault", `docs.readme=${fault}`])
        assert.strictEqual(ended.code, 2, ended.stderr + ended.stdout)
      })
  )

  withProcesses("R-302 goes on after a kill -9, each finished task done once", () =>
    Effect.gen(function* () {
      const { folder, repository } = yield* workplace
      const killed = yield* start(folder, [repository, "--fault", "docs.links=hang"], (stdout, child) => {
        if (accepted(stdout) === 9) child.kill("SIGKILL")
      })
      assert.strictEqual(killed.signal, "SIGKILL")
      const run = runOf(killed.stdout)
      const resumed = yield* start(folder, ["--resume", run, "--fail-on", "never"])
      assert.strictEqual(resumed.code, 0, resumed.stderr)
      assert.match(resumed.stdout, new RegExp(`^run ${run}\n`))
      assert.strictEqual(accepted(resumed.stdout), 1)
      const rows = audit(join(folder, ".espalier", run, "audit.jsonl"))
      assert.strictEqual(rows.length, 10)
      assert.strictEqual(new Set(rows.map(({ task }) => task)).size, 10)
      assert.isTrue(rows.every(({ outcome }) => outcome === "accepted"))
      const again = yield* start(folder, ["--resume", run, "--fail-on", "never"])
      assert.strictEqual(again.code, 0, again.stderr)
      assert.deepStrictEqual(audit(join(folder, ".espalier", run, "audit.jsonl")), rows)
    })
  )

  withProcesses("an interrupted job ends with 130 and can be taken up", () =>
    Effect.gen(function* () {
      const { folder, repository } = yield* workplace
      const stopped = yield* start(folder, [repository, "--fault", "code.size=hang"], (stdout, child) => {
        if (accepted(stdout) === 9) child.kill("SIGINT")
      })
      assert.strictEqual(stopped.code, 130, stopped.stderr)
      const resumed = yield* start(folder, ["--resume", runOf(stopped.stdout), "--fail-on", "never"])
      assert.strictEqual(resumed.code, 0, resumed.stderr)
    })
  )

  withProcesses.each([
    ["a path that does not exist", ["nowhere"], /nowhere/],
    ["a file instead of a folder", ["repository/README.md"], /README\.md/],
    ["an unknown option", ["--frobnicate"], /--frobnicate/],
    ["an unknown worker", ["repository", "--fault", "code.nobody=crash"], /code\.nobody/],
    ["an unknown kind of fault", ["repository", "--fault", "code.size=sadness"], /sadness/],
    ["an unknown run", ["--resume", "20260101-000000-000000"], /20260101-000000-000000/]
  ] as const)("says in one line why it cannot run: %s", ([, args, expected]) =>
    Effect.gen(function* () {
      const { folder } = yield* workplace
      const ended = yield* start(folder, args)
      assert.strictEqual(ended.code, 3, ended.stdout)
      assert.match(ended.stderr, expected)
      assert.strictEqual(ended.stderr.trim().split("\n").length, 1, ended.stderr)
    })
  )

  withProcesses("a journal that is none is a reason not to run", () =>
    Effect.gen(function* () {
      const { folder, repository } = yield* workplace
      mkdirSync(join(folder, ".espalier"))
      writeFileSync(join(folder, ".espalier/journal.db"), "this is no database, it is a text that is long enough")
      const ended = yield* start(folder, [repository])
      assert.strictEqual(ended.code, 3, ended.stdout)
      assert.match(ended.stderr, /journal\.db/)
      assert.strictEqual(ended.stderr.trim().split("\n").length, 1, ended.stderr)
    })
  )

  withProcesses("hostile repositories become findings: links in a circle, a broken lockfile, a binary README", () =>
    Effect.gen(function* () {
      const { folder, repository } = yield* workplace
      symlinkSync(".", join(repository, "loop"))
      symlinkSync("b", join(repository, "a"))
      symlinkSync("a", join(repository, "b"))
      writeFileSync(join(repository, "package-lock.json"), "{ this is not JSON")
      writeFileSync(join(repository, "BINARY.md"), Buffer.from([0, 1, 2, 3, 255, 254, 0, 0]))
      const ended = yield* start(folder, [repository, "--fail-on", "never", "--out", "out"])
      assert.strictEqual(ended.code, 0, ended.stderr)
      const files = json(join(folder, "out/report.json")).findings.map(({ file }: { file: string }) => file)
      assert.include(files, "package-lock.json")
      assert.include(files, "BINARY.md")
    })
  )

  withProcesses("an empty folder is audited too", () =>
    Effect.gen(function* () {
      const { folder } = yield* workplace
      mkdirSync(join(folder, "empty"))
      const ended = yield* start(folder, ["empty", "--fail-on", "never"])
      assert.strictEqual(ended.code, 0, ended.stderr)
    })
  )
})
