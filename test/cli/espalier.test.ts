import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Journal } from "espalier/journal"
import { Run } from "espalier/run"

import { withCommand } from "../fixtures/real.ts"
import { connection, withJournal } from "../journal/fixtures/folder.ts"
import { copied } from "../run/released.ts"
import { espalier } from "./inside.ts"

/** What is told of a journal that is as it was left. */
const told = (args: ReadonlyArray<string>, options?: { readonly env?: Record<string, string> }) =>
  Effect.flatMap(copied, (journal) => espalier(journal, args, options))

const golden = (name: string) =>
  readFileSync(join(import.meta.dirname, "golden", `${name}.txt`), "utf8")
    .replace(/\n$/, "")
    .split("\n")

/** Many processes, one after the other. */
const many = 180_000

describe("espalier", () => {
  const shown: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["runs", ["runs"]],
    ["show", ["show", "stumbled"]],
    ["show-waiting", ["show", "waiting"]],
    ["audit", ["audit", "stumbled"]],
    ["audit-all", ["audit"]],
    ["audit-lines", ["audit", "--outcome", "open", "--lines"]],
    ["audit-trail", ["audit", "stumbled", "--trail"]],
    ["verify", ["verify"]],
    ["size", ["size"]],
    ["help", ["--help"]]
  ]
  withCommand.each(shown)("R-304 R-309 prints what is in the journal: %s", ([name, args]) =>
    Effect.gen(function* () {
      const journal = yield* copied
      // An older release did not list open reviews.
      if (name === "verify") yield* espalier(journal, ["rebuild"])
      const { code, err, out } = yield* espalier(journal, args)
      assert.deepStrictEqual([code, err], [0, []])
      assert.deepStrictEqual(out, golden(name))
    })
  )

  withCommand(
    "R-304 prints JSON where it is asked to, and one document of it",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        for (const args of [
          ["runs", "--status", "completed", "--limit", "2"],
          ["show", "waiting"],
          ["audit", "stumbled"],
          ["audit", "stumbled", "--trail"],
          ["verify", "large"],
          ["state", "finished", "--at", "2"],
          ["size", "large"],
          ["rebuild", "--dry-run"]
        ]) {
          const { code, out } = yield* espalier(journal, [...args, "--json"])
          assert.deepStrictEqual([code, out.length], [0, 1], args.join(" "))
          assert.strictEqual(typeof JSON.parse(out[0]!), "object")
        }
        const listed = JSON.parse((yield* espalier(journal, ["runs", "--json", "--desk", "gazette"])).out[0]!)
        assert.strictEqual(listed.length, 6)
        const { out } = yield* espalier(journal, ["state", "finished", "--at", "2", "--json"])
        assert.deepInclude(JSON.parse(out[0]!), { run: "finished", version: 2, status: "running" })
      }),
    many
  )

  const refused: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
    [
      ["show", "fnished"],
      2,
      "espalier: the journal has no run fnished; known are finished, large, stumbled, waiting, cut-off and 1 more"
    ],
    [["audit", "nobody", "--trail"], 2, "the journal has no run nobody"],
    [["state", "finished", "--at", "14"], 2, "espalier: the run finished has no event 14; its last one is 13"],
    [["export", "nobody"], 2, "the journal has no run nobody"],
    [["verify", "nobody"], 2, "the journal has no run nobody"],
    [["verify", "--head", "a"], 1, "espalier: --head is of one run: name it"],
    [["verify", "large", "--head", "a"], 1, "espalier: --head must be VERSION:HASH or HASH"],
    [["audit", "--since", "yesterday"], 1, "espalier: --since must be a time such as 2026-11-30T08:00:00Z"],
    [["audit", "--trail"], 1, "espalier: --trail is of one run: name it"],
    [["audit", "large", "--trail", "--worker", "a"], 1, "espalier: --trail tells every step"],
    [["audit", "--outcome", "well"], 1, "well"],
    [["runs", "--limit", "-1"], 1, "must be >= 0, is -1"],
    [["runs", "--schema", "a"], 1, "espalier: --schema is of a journal in PostgreSQL"],
    [["runs", "--journal", "mysql://ada:pw@db/x"], 1, "espalier: a journal must be a file, or postgres://"],
    [
      ["runs", "--journal", "postgres://db/x?schema="],
      1,
      "espalier: ?schema= of the journal's URL must name one schema"
    ],
    [["show"], 1, "Missing required argument"],
    [["frobnicate"], 1, `Unknown subcommand "frobnicate"`],
    [["shwo", "finished", "--task", "a"], 1, `Unknown subcommand "shwo" for "espalier"; did you mean show?`],
    [
      ["runs", "--staus", "completed"],
      1,
      "Unrecognized flag: --staus in command espalier runs; did you mean --status?"
    ],
    [["audit", "--jornal", "a"], 1, "did you mean --journal?"],
    [["import", "/nowhere"], 2, "espalier: /nowhere cannot be read: it is not there"],
    [
      ["runs", "--journal", "/nowhere/journal.db"],
      2,
      "espalier: there is no journal at /nowhere/journal.db; name one with"
    ]
  ]
  withCommand.each(refused)("R-304 says what is wrong: %j", ([args, expected, message]) =>
    Effect.gen(function* () {
      const { code, err, out } = yield* told(args)
      assert.strictEqual(code, expected)
      assert.include(err.join("\n"), message)
      assert.deepStrictEqual(out, [])
      assert.isAtMost(err.length, expected === 2 ? 1 : 2)
    })
  )

  withCommand("R-304 never makes a journal where there is none to look at", () =>
    Effect.gen(function* () {
      const journal = join(dirname(yield* copied), "other.db")
      const { code } = yield* espalier(journal, ["runs"])
      assert.strictEqual(code, 2)
      assert.isFalse(existsSync(journal))
    })
  )

  withCommand(
    "R-304 finds a changed event, and a cut end against the head that was kept",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        yield* espalier(journal, ["rebuild"])
        const [line = ""] = (yield* espalier(journal, ["verify", "large"])).out
        const head = line.split(/ {2,}/)[2]!
        assert.strictEqual((yield* espalier(journal, ["verify", "large", "--head", head])).code, 0)
        const database = yield* connection(journal)
        database.exec("DELETE FROM events WHERE run = 'large' AND version > 9")
        database.exec(`UPDATE events SET data = replace(data, '"', ' "') WHERE run = 'stumbled' AND version = 4`)
        const listed = yield* espalier(journal, ["verify", "large"])
        assert.deepStrictEqual(
          [listed.code, listed.out[0]],
          [3, "differs  large  the lists differ: it is listed as completed, its events say running"]
        )
        assert.include(listed.err[0], "the end of the run was cut off: compare with a head that you kept")
        const cut = yield* espalier(journal, ["verify", "large", "--head", head])
        assert.strictEqual(cut.code, 3)
        assert.include(cut.out[0], `the run "large" was cut off: it ends with version 9`)
        database.exec("UPDATE runs SET status = 'running', reason = NULL WHERE run = 'large'")
        const all = yield* espalier(journal, ["verify"])
        assert.strictEqual(all.code, 3)
        assert.include(all.out[3], `damaged  stumbled  the run "stumbled" was changed at version 4`)
        assert.strictEqual(all.out.at(-1), "6 runs checked, 1 damaged")
      }),
    many
  )

  withCommand(
    "R-304 carries a run into another journal, whole, once, and with its artefacts",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        const folder = dirname(journal)
        const file = join(folder, "large.jsonl")
        assert.deepStrictEqual(yield* espalier(journal, ["export", "large", "--artefacts", "--out", file]), {
          code: 0,
          out: [],
          err: []
        })
        const again = yield* espalier(journal, ["export", "large", "--out", file])
        assert.deepStrictEqual(
          [again.code, again.err],
          [2, [`espalier: ${file} cannot be written: it is there already`]]
        )
        assert.deepStrictEqual(
          readdirSync(folder).filter((name) => name.endsWith(".part")),
          []
        )
        const other = join(folder, "other.db")
        const imported = yield* espalier(other, ["import", file])
        assert.strictEqual(imported.code, 0, imported.err.join("\n"))
        assert.match(imported.out[0]!, /^large: imported, 13 events, head 13:[0-9a-f]{64}$/)
        assert.strictEqual(imported.out[1], "1 artefact")
        const show = yield* espalier(journal, ["show", "large"])
        assert.deepStrictEqual(yield* espalier(other, ["show", "large"]), show)
        const twice = yield* espalier(other, ["import", "-"], { input: readFileSync(file, "utf8") })
        assert.include(twice.out[0], "large: there already")
        const damaged = readFileSync(file, "utf8").replace("press.writer", "press.waiter")
        writeFileSync(join(folder, "damaged.jsonl"), damaged)
        const third = join(folder, "third.db")
        const refusal = yield* espalier(third, ["import", join(folder, "damaged.jsonl")])
        assert.deepStrictEqual([refusal.code, refusal.out], [3, []])
        assert.match(refusal.err[0]!, /^espalier: line \d+, hash: must be [0-9a-f]{64}, is [0-9a-f]{64}/)
        assert.deepStrictEqual((yield* espalier(third, ["runs"])).out, ["no runs"])
      }),
    many
  )

  withCommand(
    "R-308 rebuilds the lists of a journal that has lost them",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        // An older release said less in its lists.
        yield* espalier(journal, ["rebuild"])
        const before = yield* espalier(journal, ["runs"])
        const database = yield* connection(journal)
        database.exec("DELETE FROM runs")
        assert.deepStrictEqual((yield* espalier(journal, ["runs"])).out, ["no runs"])
        const { code, out } = yield* espalier(journal, ["rebuild"])
        assert.deepStrictEqual([code, out.at(-1)], [0, "6 runs rebuilt"])
        assert.deepStrictEqual(yield* espalier(journal, ["runs"]), before)
      }),
    many
  )

  withCommand(
    "R-304 finds an artefact that is gone, and one that was altered, and names run and hash",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        const database = yield* connection(journal)
        const rows = database.prepare("SELECT data FROM events WHERE run = 'large'").all()
        const hash = /artefact:(sha256:[0-9a-f]{64})/.exec(JSON.stringify(rows))![1]!
        assert.strictEqual((yield* espalier(journal, ["verify", "large"])).code, 0)
        yield* espalier(journal, ["runs"])
        database.exec("UPDATE artefacts SET bytes = zeroblob(length(bytes))")
        const altered = yield* espalier(journal, ["verify", "large"])
        assert.deepStrictEqual(
          [altered.code, altered.out],
          [3, [`damaged  large  event 4 refers to the artefact ${hash}, which was altered`, "1 run checked, 1 damaged"]]
        )
        database.exec("DELETE FROM artefacts")
        const gone = yield* espalier(journal, ["verify", "--json"])
        assert.strictEqual(gone.code, 3)
        assert.deepStrictEqual(
          JSON.parse(gone.out[0]!).map(({ broken, run }: { broken: unknown; run: string }) => [run, broken])[2],
          ["large", [{ hash, version: 4, problem: "missing" }]]
        )
      }),
    many
  )

  withCommand(
    "R-304 says which artefacts an export leaves out, and what an import lacks",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        const { code, err, out } = yield* espalier(journal, ["export", "large"])
        assert.deepStrictEqual(
          [code, err],
          [0, ["espalier: the run refers to 1 artefact that the export does not hold: --artefacts puts them in"]]
        )
        const other = join(dirname(journal), "other.db")
        const imported = yield* espalier(other, ["import", "-"], { input: `${out.join("\n")}\n` })
        assert.deepStrictEqual(
          [imported.code, imported.err],
          [0, ["espalier: the run refers to 1 artefact that the store does not have: export it with --artefacts"]]
        )
        const none = yield* espalier(journal, ["export", "finished"])
        assert.deepStrictEqual([none.code, none.err], [0, []])
      }),
    many
  )

  withCommand(
    "R-308 says what differs, and leaves a finished run finished whose end is not there, unless told otherwise",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        yield* espalier(journal, ["rebuild"])
        const database = yield* connection(journal)
        database.exec("DELETE FROM events WHERE run = 'large' AND version > 9")
        database.exec("UPDATE runs SET status = 'failed' WHERE run = 'finished'")
        const status = () => database.prepare("SELECT status FROM runs WHERE run = 'large'").get()
        const { code, out } = yield* espalier(journal, ["rebuild"])
        assert.strictEqual(code, 3)
        assert.deepStrictEqual(
          [out[0], out[2]],
          ["rebuilt  finished  it is listed as failed, its events say completed", "1 run rebuilt, 1 left as it is"]
        )
        assert.match(out[1]!, /^kept {5}large {2}it is listed as completed, its events say running: its end may have/)
        assert.deepInclude(status(), { status: "completed" })
        assert.strictEqual((yield* espalier(journal, ["rebuild", "--force"])).code, 0)
        assert.deepInclude(status(), { status: "running" })
      }),
    many
  )

  withCommand(
    "R-309 shows who carries a run out, and a decision that is not taken in yet",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        const show = (run: string) => Effect.map(espalier(journal, ["show", run]), ({ out }) => out)
        assert.include(yield* show("cut-off"), "carried  nobody carries it out")
        const decision = { review: "waiting/review/1", decision: "approve", by: "ada", note: "Go on" } as const
        yield* withJournal(journal)(Run.decide(decision))
        assert.include(yield* show("waiting"), "           decided: approve by ada: Go on (not taken in yet)")
        yield* withJournal(journal)(
          Effect.gen(function* () {
            const { own } = yield* Journal.Journal
            const { name } = yield* own
            assert.include((yield* show("cut-off"))[2], `carried  by ${name}, last sign of life`)
          })
        )
        assert.include(yield* show("cut-off"), "carried  nobody carries it out")
      }),
    many
  )

  withCommand(
    "R-304 a day lasts until its end, and a name that nobody has is told",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        const audit = (...args: ReadonlyArray<string>) => espalier(journal, ["audit", ...args])
        const whole = yield* audit()
        assert.deepStrictEqual((yield* audit("--until", "2026-11-30")).out, whole.out)
        assert.deepStrictEqual((yield* audit("--until", "2026-11-29")).out, ["no dispatches"])
        const { code, err, out } = yield* audit("--worker", "press.writr")
        assert.deepStrictEqual([code, out], [0, ["no dispatches"]])
        assert.deepStrictEqual(err, [
          "espalier: no dispatches: there is no worker press.writr; known are press.writer, press.printer"
        ])
        const late = yield* audit("--worker", "press.writer", "--since", "2027-01-01")
        assert.deepStrictEqual([late.out, late.err], [["no dispatches"], []])
      }),
    many
  )

  withCommand(
    "R-304 what is wrong is JSON where JSON is asked for",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        const wrong = yield* espalier(journal, ["runs", "--limit", "-1", "--json"])
        assert.deepStrictEqual([wrong.code, wrong.out, wrong.err.length], [1, [], 1])
        assert.deepInclude(JSON.parse(wrong.err[0]!), { code: 1, hint: "see espalier runs --help" })
        const gone = yield* espalier(journal, ["show", "fnished", "--json"])
        assert.include(JSON.parse(gone.err[0]!).error, "the journal has no run fnished; known are finished")
        const warned = yield* espalier(journal, ["audit", "--json", "--task", "a"])
        assert.deepStrictEqual(warned.out, ["[]"])
        assert.include(JSON.parse(warned.err[0]!).warning, "there is no task a; known are")
      }),
    many
  )

  withCommand("R-304 D62 goes on past a run that cannot be read, and says so with its exit code", () =>
    Effect.gen(function* () {
      const journal = yield* copied
      const database = yield* connection(journal)
      database.exec("UPDATE events SET data = '{}' WHERE run = 'large' AND version = 4")
      const { code, err, out } = yield* espalier(journal, ["audit", "--task", "write", "--lines"])
      assert.deepStrictEqual([code, out.length, err.length], [3, 6, 1])
      assert.include(err[0], "the run large cannot be trusted from version 4 on")
    })
  )
})
