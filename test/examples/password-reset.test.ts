import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { Models, Sandbox, ScriptedModel } from "espalier/agent"
import { Artefacts, Journal } from "espalier/journal"
import { Contract, Desk, type Result, Run, type RunEvent } from "espalier/run"

import { type Check, evidence, leaks, type Record } from "../../examples/password-reset/checks.ts"
import { conduct, id, stored, surroundings } from "../../examples/password-reset/conduct.ts"
import { doneWhen, lacking, limits, numbers, secured, tested } from "../../examples/password-reset/contract.ts"
import { reconcile, rule } from "../../examples/password-reset/control.ts"
import { desk } from "../../examples/password-reset/desk.ts"
import * as Report from "../../examples/password-reset/report.ts"
import type { Cast } from "../../examples/password-reset/roles.ts"
import { scripted } from "../../examples/password-reset/scripts.ts"
import { inside, scopes } from "../../examples/password-reset/tools.ts"
import { withProcesses } from "../fixtures/real.ts"
import { killed } from "../run/outside.ts"
import { program, tagged } from "./patterns.ts"

const folders: Array<string> = []

const folder = () => {
  const made = mkdtempSync(join(tmpdir(), "espalier-reset-"))
  folders.push(made)
  return made
}

afterAll(() => folders.forEach((made) => rmSync(made, { recursive: true, force: true })))

const git = (root: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", args, { cwd: join(root, "worktree"), encoding: "utf8" }).trim()

/** The program, once, as a reader starts it; the tests below look at what is there then. */
const told = Effect.runSync(
  Effect.cached(
    Effect.gen(function* () {
      const root = folder()
      const ended = yield* program("password-reset", ["--out", root])
      const report = JSON.parse(readFileSync(join(root, "report.json"), "utf8")) as Report.Report
      const events = yield* Effect.provide(
        Stream.runCollect(Run.events(id)),
        Layer.provide(stored(root), NodeServices.layer)
      )
      return { ...ended, root, report, events }
    })
  )
)

const reports = (events: ReadonlyArray<RunEvent.RunEvent>, task: string) =>
  tagged(events, "Reported").filter((event) => event.task === task)

/** What failed in a report, by requirement. */
const failed = (event: RunEvent.Of<"Reported"> | undefined) =>
  event?.result.evidence.filter(({ exitStatus }) => exitStatus !== 0).map(({ requirement }) => requirement)

describe("the reset of passwords", () => {
  it.effect("holds as a desk; that nothing is set aside for orders is known", () =>
    Effect.map(scripted({ stubborn: false }), (cast) => {
      const rules = new Set(Desk.check(desk(cast)).map(({ rule, severity }) => `${severity} ${rule}`))
      assert.deepStrictEqual([...rules], ["warning no-estimate"])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  withProcesses("R-803 is accepted, and not deployed: two lines, and the exit code of a run that waits", () =>
    Effect.gen(function* () {
      const { code, report, root, stderr, stdout } = yield* told
      assert.strictEqual(code, 10, stderr)
      assert.match(stdout, /^development_acceptance: approved\ndeployment_authorisation: pending human approval$/m)
      assert.strictEqual(report.status, "waiting")
      assert.strictEqual(git(root, "rev-parse", "main"), report.base)
      assert.strictEqual(readFileSync(join(root, "report.md"), "utf8"), Report.markdown(report))
    })
  )

  withProcesses("R-803 a person approves a contract with a version and a digest, which the journal has", () =>
    Effect.gen(function* () {
      const { events, report, root } = yield* told
      const [made] = reports(events, "contract")
      const approved = made?.result.output as { readonly digest: string; readonly contract: Contract.Contract }
      const { definitionOfDone } = approved.contract
      assert.strictEqual(Contract.digest(approved.contract), approved.digest)
      assert.deepStrictEqual(approved.contract.limits, { deadlineMillis: 900_000, tokens: 12_000, toolCalls: 20 })
      assert.strictEqual(definitionOfDone.length, Object.keys({ ...tested, ...secured }).length)
      const [decision] = tagged(events, "ReviewDecided")
      assert.deepInclude(decision, { review: "password-reset/review/1", by: "bob", decision: "approve" })
      // Nothing is written before somebody has approved it.
      const approvedAt = events.findIndex(({ _tag }) => _tag === "ReviewDecided")
      const writtenAt = events.findIndex((event) => event._tag === "EffectIntended" && event.task === "branch")
      assert.isTrue(approvedAt >= 0 && approvedAt < writtenAt)
      const [contract] = report.contracts
      assert.deepInclude(contract, { version: 1, digest: approved.digest, approved: "bob (password-reset/review/1)" })
      assert.include(git(root, "show", `${report.revision}:contracts/password-reset.json`), approved.digest)
    })
  )

  withProcesses("R-803 code is written on a branch of its own, each file by the role whose it is", () =>
    Effect.gen(function* () {
      const { report, root } = yield* told
      assert.deepStrictEqual(
        report.commits.map(({ by }) => by),
        ["control.clerk", "testing.author", "coding.coder", "coding.coder"]
      )
      assert.strictEqual(git(root, "rev-parse", "--abbrev-ref", "HEAD"), "password-reset")
      const files = { "control.clerk": "contracts/", "testing.author": "test/", "coding.coder": "src/" }
      for (const { by, revision } of report.commits) {
        const changed = git(root, "show", "--name-only", "--format=", revision).split("\n")
        assert.isTrue(changed.every((path) => path.startsWith(files[by as keyof typeof files])))
      }
    })
  )

  withProcesses("R-803 the tests are really run, each at a commit, and find the defect that the first code has", () =>
    Effect.gen(function* () {
      const { events, report, root } = yield* told
      const [first] = reports(events, "development/test")
      assert.deepStrictEqual(
        first?.result.evidence.map(({ requirement }) => requirement).toSorted(),
        Object.keys(tested).toSorted()
      )
      assert.deepStrictEqual(failed(first), ["expired"])
      const wrong = first?.result.evidence.find(({ requirement }) => requirement === "expired")
      assert.deepInclude(wrong, { command: "node test/expired.test.js", exitStatus: 1 })
      assert.include(wrong?.output, "an expired key was accepted")
      assert.strictEqual(wrong?.revision, report.commits[2]?.revision)
      // Whoever runs it by hand sees the same.
      git(
        root,
        "-c",
        "advice.detachedHead=false",
        "worktree",
        "add",
        "-q",
        "--detach",
        "../first",
        String(wrong?.revision)
      )
      const byHand = () =>
        execFileSync(process.execPath, ["test/expired.test.js"], { cwd: join(root, "first"), stdio: "pipe" })
      assert.throws(byHand)
    })
  )

  withProcesses("R-803 goes back to the coder with its evidence alone, and is mended in one commit", () =>
    Effect.gen(function* () {
      const { events, report, root } = yield* told
      const routed = events.findIndex((event) => event._tag === "Dispatched" && event.task === "development/fix")
      assert.isAbove(routed, 0)
      const [ruling] = reports(events, "development/judge")
      const output = ruling?.result.output as { readonly failing: ReadonlyArray<Result.Evidence> } | undefined
      assert.deepStrictEqual(
        output?.failing.map(({ requirement }) => requirement),
        ["expired"]
      )
      assert.deepStrictEqual(
        report.retries.map(({ round, sent }) => [round, sent.map(({ requirement }) => requirement)]),
        [[1, ["expired"]]]
      )
      const [, , defect, mended] = report.commits
      const diff = git(root, "diff", "--numstat", String(defect?.revision), String(mended?.revision))
      assert.strictEqual(diff, "1\t1\tsrc/reset.js")
    })
  )

  withProcesses("R-803 is tested anew where it failed, then as a whole, and its security is reviewed twice", () =>
    Effect.gen(function* () {
      const { events, report } = yield* told
      assert.deepStrictEqual(
        report.test_records
          .map(({ dispatch, failed, run }) => [dispatch.split("/").slice(1, -1).join("/"), run, failed])
          .toSorted(),
        [
          ["audit", 4, []],
          ["development/retest", 1, []],
          ["development/review", 4, []],
          ["development/test", 11, ["expired"]],
          ["regression", 11, []]
        ]
      )
      const at = (task: string) => events.findIndex((event) => event._tag === "Reported" && event.task === task)
      const order = ["development/test", "development/fix", "development/retest", "regression"].map(at)
      assert.deepStrictEqual(
        order,
        order.toSorted((one, other) => one - other)
      )
      assert.isTrue(at("development/review") < at("development/fix") && at("development/retest") < at("audit"))
    })
  )

  withProcesses("R-803 everything holds at one revision, the last of the branch", () =>
    Effect.gen(function* () {
      const { events, report, root } = yield* told
      assert.strictEqual(report.revision, git(root, "rev-parse", "password-reset"))
      assert.isTrue(report.reconciliation.every(({ holds, revision }) => holds && revision === report.revision))
      assert.isTrue(report.requirements.every(({ holds }) => holds))
      const last = [...reports(events, "regression"), ...reports(events, "audit"), ...reports(events, "acceptance")]
      const revisions = new Set(last.flatMap(({ result }) => result.evidence.map(({ revision }) => revision)))
      assert.deepStrictEqual([...revisions], [report.revision])
    })
  )

  withProcesses("R-803 each order keeps to the limits of the contract", () =>
    Effect.gen(function* () {
      const { events } = yield* told
      const used = new Map<string, { tokens: number; calls: number }>()
      for (const { dispatch: subject, usage } of tagged(events, "Spent")) {
        const { calls, tokens } = used.get(subject) ?? { calls: 0, tokens: 0 }
        used.set(subject, { tokens: tokens + (usage.tokens ?? 0), calls: calls + (usage.toolCalls ?? 0) })
      }
      assert.isAbove(used.size, 6)
      for (const { calls, tokens } of used.values()) {
        assert.isAtMost(tokens, limits.tokens)
        assert.isAtMost(calls, limits.toolCalls)
      }
    })
  )

  withProcesses("R-803 no token of the tests stands in journal, records or report", () =>
    Effect.gen(function* () {
      const { root } = yield* told
      const journal = readFileSync(join(root, ".espalier/journal.db"), "latin1")
      assert.notMatch(journal, /key=[\w-]{22}\b/)
      assert.isFalse(existsSync(join(root, "worktree/outbox.jsonl")))
    })
  )

  withProcesses("R-803 is deployed once a person lets it", () =>
    Effect.gen(function* () {
      const { report, root } = yield* told
      const cast = yield* scripted({ stubborn: false })
      const { outcome } = yield* Effect.provide(
        conduct({ cast, person: { contract: true, deployment: true } }),
        Layer.merge(stored(root), surroundings(root))
      )
      assert.deepStrictEqual([outcome.status, outcome.stopReason, outcome.missing], ["completed", "accepted", []])
      assert.strictEqual(git(root, "rev-parse", "main"), report.revision)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  withProcesses("says what is wrong with its arguments", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* program("password-reset", ["--deploy"])
      assert.strictEqual(code, 3)
      assert.match(stderr, /^password-reset: Unknown option '--deploy'/)
    })
  )
})

/** A machine on which everything passes but what is named. */
const machine = (wrong: (code: string | undefined) => boolean) =>
  Sandbox.layerMemory((request) =>
    Effect.succeed(
      request._tag === "Code" && request.entry === "test/expired.test.js" && wrong(request.files?.["src/reset.js"])
        ? { exitCode: 1, stdout: "an expired key was accepted" }
        : {}
    )
  )

const isDefective = (code = "") => code.includes("1_000 <=")

const memory = Layer.merge(Journal.layerMemory, Artefacts.layerMemory())

/** A run in memory, with a scratch repository that is real. */
const carried = (
  root: string,
  change: (cast: Cast) => Partial<Cast> = () => ({}),
  options: { readonly stubborn?: boolean } = {}
) =>
  Effect.gen(function* () {
    const cast = yield* scripted({ stubborn: options.stubborn ?? false })
    return yield* conduct({ cast: { ...cast, ...change(cast) }, person: { contract: true, deployment: false } })
  }).pipe(Effect.provide(surroundings(root, machine(isDefective))))

const inMemory = <A, E>(self: Effect.Effect<A, E, Journal.Journal | Artefacts.Artefacts | NodeServices.NodeServices>) =>
  self.pipe(Effect.provide(memory), Effect.provide(NodeServices.layer))

/** A model that does this in its first turns, and then what another one does. */
const first = (
  turns: ReadonlyArray<ReadonlyArray<readonly [string, unknown]>>,
  then: () => ReadonlyArray<readonly [string, unknown]>
) =>
  Models.make([
    {
      provide: ScriptedModel.fromFunction((_, turn) =>
        ScriptedModel.tools(
          (turns[turn - 1] ?? then()).map(([name, params]) => ({ name, params })),
          { usage: { inputTokens: 900, outputTokens: 100 } }
        )
      ).model
    }
  ])

describe("a coder who never mends it", () => {
  withProcesses("R-803 is asked again twice, then a person is", () =>
    Effect.gen(function* () {
      const root = folder()
      const { events, outcome } = yield* carried(root, undefined, { stubborn: true })
      assert.strictEqual(outcome.status, "waiting")
      const fixes = tagged(events, "Dispatched").filter(({ task }) => task.startsWith("development/fix"))
      assert.deepStrictEqual(
        fixes.map(({ task }) => task),
        ["development/fix", "development/fix#2"]
      )
      const [review] = outcome.reviews
      assert.deepInclude(review, { task: "development/escalate", kind: "question" })
      assert.include(review?.note, "asked again 2 times, and expired still does not hold")
      const report = Report.make({ outcome, events, base: "", head: "", commits: [], changed: [] })
      assert.deepStrictEqual(
        [
          report.development_acceptance,
          report.deployment_authorisation,
          report.retries.length,
          report.escalations.length
        ],
        ["open", "not asked for", 2, 1]
      )
    }).pipe(inMemory)
  )
})

describe("a process that dies", () => {
  withProcesses("R-803 between a commit and its record makes no second one when it goes on", () =>
    Effect.gen(function* () {
      const root = folder()
      const settled = ({ data, type }: Journal.Event) =>
        type === "EffectSettled" &&
        JSON.stringify(data).includes("revision") &&
        existsSync(join(root, "worktree/src/reset.js"))
      yield* killed(carried(root), settled, "before")
      const before = git(root, "rev-list", "--count", "base..password-reset")
      assert.strictEqual(before, "3")
      const { outcome } = yield* carried(root)
      assert.deepStrictEqual(
        outcome.reviews.map(({ task }) => task),
        ["deployment"]
      )
      assert.strictEqual(git(root, "rev-list", "--count", "base..password-reset"), "4")
    }).pipe(inMemory)
  )
})

describe("the roles", () => {
  const places: ReadonlyArray<readonly [string, ReadonlyArray<string>, boolean]> = [
    ["src/reset.js", ["src"], true],
    ["src/deep/er/reset.js", ["src"], true],
    ["src", ["."], true],
    ["test/expired.test.js", ["src"], false],
    ["srcs/reset.js", ["src"], false],
    ["src/../test/expired.test.js", ["src"], false],
    ["/etc/passwd", ["."], false],
    ["../outside.js", ["."], false],
    [".git", ["."], false],
    ["src/.git/hooks/pre-commit", ["src"], false],
    ["src\\..\\test", ["src"], false],
    ["src/*", ["src"], false],
    ["src/reset.js", [], false]
  ]
  it.each(places)("%s below %j: %j", (path, roots, expected) => {
    assert.strictEqual(inside(path, roots), expected)
  })

  it("R-803 have what they need: nobody who reviews or runs tests can write", () => {
    assert.deepStrictEqual(Object.fromEntries(Object.entries(scopes).map(([role, { names }]) => [role, names])), {
      requirements: [],
      coding: ["read_file", "list_files", "write_file", "git_commit"],
      authoring: ["read_file", "list_files", "write_file", "git_commit"],
      testing: ["read_file", "list_files", "run_tests"],
      security: ["read_file", "list_files", "read_diff", "run_probes"]
    })
  })

  withProcesses("R-803 are held to their folders, and to what they have done, whatever their models say", () =>
    Effect.gen(function* () {
      const root = folder()
      const easy = { content: "// nothing is wrong here\n" }
      const deliver = (output: unknown): ReadonlyArray<readonly [string, unknown]> => [
        ["deliver", { output, confidence: 1 }]
      ]
      const done = deliver({ summary: "All is well" })
      const { events, outcome } = yield* carried(root, () => ({
        // Two refusals: the third one would end the order.
        coding: first(
          [
            [
              ["write_file", { path: "test/expired.test.js", ...easy }],
              ["write_file", { path: "../repository/src/login.js", ...easy }]
            ],
            [
              ["write_file", { path: "src/reset.js", content: "// mended\n" }],
              ["git_commit", { message: "Reset" }]
            ]
          ],
          () => done
        ),
        security: first([[["write_file", { path: "src/reset.js", ...easy }]], [["run_probes", {}]]], () =>
          deliver({ summary: "All is well", findings: [] })
        ),
        // Says that all is well, and has run nothing.
        testing: first([], () => done)
      }))
      assert.include(git(root, "show", "password-reset:test/expired.test.js"), "an expired key was accepted")
      assert.strictEqual(git(root, "show", "password-reset:src/reset.js"), "// mended")
      const notes = tagged(events, "Noticed")
        .map(({ note }) => note)
        .join("\n")
      assert.include(notes, `it called "write_file", which is not in its scope`)
      assert.strictEqual(
        tagged(events, "EffectIntended").filter(
          ({ name, task }) => name === "write_file" && task === "development/code"
        ).length,
        1
      )
      const lies = reports(events, "development/test")
      assert.isAbove(lies.length, 0)
      for (const { outcome, result } of lies) {
        assert.strictEqual(outcome, "rejected-contract")
        assert.include(result.error?.reason, "nothing was run: call run_tests")
      }
      assert.strictEqual(outcome.results["acceptance"]?.status, "open")
    }).pipe(inMemory)
  )
})

const check = (requirement: string, exitStatus = 0, leaked = 0): Check => ({
  requirement,
  command: `node test/${requirement}.test.js`,
  exitStatus,
  output: "",
  leaked
})

const record = (checks: ReadonlyArray<Check>, revision = "abc"): Record => ({ revision, environment: "node", checks })

describe("what is decided by code", () => {
  const high = [{ severity: "high" as const, statement: "A session outlives the reset" }]
  const rulings: ReadonlyArray<readonly [string, Parameters<typeof rule>[0], string, ReadonlyArray<string>]> = [
    ["everything holds", { round: 0, records: [record([check("valid")])], findings: [] }, "holds", []],
    [
      "a test fails",
      { round: 0, records: [record([check("valid"), check("expired", 1)])], findings: [] },
      "fix",
      ["expired"]
    ],
    [
      "a test fails after one retry",
      { round: 1, records: [record([check("expired", 1)])], findings: [] },
      "fix",
      ["expired"]
    ],
    [
      "a test fails after two retries",
      { round: 2, records: [record([check("expired", 1)])], findings: [] },
      "exhausted",
      ["expired"]
    ],
    ["a token is printed", { round: 0, records: [record([check("valid", 0, 1)])], findings: [] }, "fix", ["leakage"]],
    [
      "a review finds something serious",
      { round: 0, records: [record([check("valid")])], findings: high },
      "fix",
      ["review"]
    ],
    [
      "a review finds a trifle",
      { round: 0, records: [record([check("valid")])], findings: [{ severity: "low", statement: "x" }] },
      "holds",
      []
    ]
  ]
  it.each(rulings)("R-803 where %s", (_, given, verdict, failing) => {
    const ruling = rule(given)
    assert.deepStrictEqual([ruling.verdict, ruling.failing.map(({ requirement }) => requirement)], [verdict, failing])
    assert.strictEqual(ruling.round, given.round + (verdict === "fix" ? 1 : 0))
  })

  const contract = Effect.runSync(
    Contract.make({ task: "reset", objective: "Reset", definitionOfDone: doneWhen({ ...tested, ...secured }) })
  )
  const approved = { version: 1, digest: Contract.digest(contract), contract, risks: [] }
  const fine = {
    revision: "abc",
    approved,
    committed: `${JSON.stringify(approved, null, 2)}\n`,
    clean: true,
    changed: ["src/reset.js", "test/valid.test.js", "contracts/password-reset.json"],
    tests: record(Object.keys(tested).map((name) => check(name))),
    security: record(Object.keys(secured).map((name) => check(name))),
    findings: []
  }
  const drifts: ReadonlyArray<readonly [string, Partial<Parameters<typeof reconcile>[0]>, ReadonlyArray<string>]> = [
    ["nothing is wrong", {}, []],
    ["another contract is on the branch", { committed: "{}" }, ["contract"]],
    ["no contract is on the branch", { committed: undefined }, ["contract"]],
    ["something is not committed", { clean: false }, ["worktree"]],
    ["a file outside was changed", { changed: ["package.json"] }, ["changed files"]],
    ["a review found something serious", { findings: high }, ["review of security"]],
    [
      "the tests were run at an earlier revision",
      { tests: { ...fine.tests, revision: "aaa" } },
      Object.keys(tested).map((name) => `regression: ${name}`)
    ],
    ["a test was not run", { tests: record(fine.tests.checks.slice(1)) }, ["regression: valid"]],
    [
      "a token was printed by a probe",
      { security: record([...fine.security.checks.slice(1), check("leakage", 0, 2)]) },
      ["audit: leakage"]
    ]
  ]
  it.each(drifts)("R-803 reconciles with one revision: %s", (_, change, wrong) => {
    const { development_acceptance, points } = reconcile({ ...fine, ...change })
    assert.deepStrictEqual(
      points.filter(({ holds }) => !holds).map(({ subject }) => subject),
      wrong
    )
    assert.strictEqual(development_acceptance, wrong.length === 0 ? "approved" : "refused")
  })

  const draft = {
    version: 1,
    objective: "Reset",
    constraints: [],
    requirements: Object.entries({ ...tested, ...secured }).map(([id, statement]) => ({ id, statement })),
    numbers,
    limits,
    risks: []
  }
  const drafts: ReadonlyArray<readonly [string, unknown, ReadonlyArray<string>]> = [
    ["is whole", draft, []],
    ["is none", { objective: "Reset" }, ["it is no draft of a contract"]],
    [
      "lacks a requirement",
      { ...draft, requirements: draft.requirements.slice(1) },
      ["the requirement valid is missing"]
    ],
    [
      "has one that nothing shows",
      { ...draft, requirements: [...draft.requirements, { id: "fast", statement: "It is fast" }] },
      ["nothing shows the requirement fast"]
    ],
    ["has short tokens", { ...draft, numbers: { ...numbers, tokenBits: 64 } }, ["a token must have 128 bits or more"]],
    [
      "has long lives",
      { ...draft, numbers: { ...numbers, expiryMinutes: 60 } },
      ["a token must expire after 15 minutes"]
    ],
    [
      "has many requests",
      { ...draft, numbers: { ...numbers, requestsPerHour: 50 } },
      ["an account must have 5 requests in an hour"]
    ],
    ["has other limits", { ...draft, limits: { ...limits, tokens: 1e6 } }, ["limits.tokens must be 12000"]]
  ]
  it.each(drafts)("R-803 a draft that %s", (_, draft, expected) => {
    assert.deepStrictEqual(lacking(draft), expected)
  })

  it("R-803 finds the tokens that were mailed in what was printed", () => {
    const outbox = `{"text":"https://shop.example.test/reset?key=AAAA"}\n{"text":"https://shop.example.test/reset?key=BBBB"}\n`
    assert.strictEqual(leaks(outbox, `{"event":"reset","of":"BBBB"}`), 1)
    assert.strictEqual(leaks(outbox, "nothing"), 0)
    assert.deepStrictEqual(
      evidence(record([check("valid", 0, 1)])).map(({ exitStatus, requirement }) => [requirement, exitStatus]),
      [
        ["valid", 0],
        ["leakage", 1]
      ]
    )
  })
})
