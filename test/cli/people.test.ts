import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe } from "@effect/vitest"
import { Effect, type Layer, Redacted } from "effect"
import { JournalSqlite, type Journal } from "espalier/journal"
import * as JournalPostgres from "espalier/journal/JournalPostgres"
import { Run } from "espalier/run"

import { widthOf } from "../../src/cli/width.ts"
import { describeWithPostgres } from "../fixtures/postgresServer.ts"
import { withCommand, withProcesses } from "../fixtures/real.ts"
import { folder } from "../journal/fixtures/folder.ts"
import { freshSchema, serverOfThisFile } from "../journal/fixtures/postgres.ts"
import { begin, espalier as inProcess, type Left } from "./command.ts"
import works from "./desks/works.ts"
import { espalier } from "./inside.ts"
import { describeInTerminal, inTerminal } from "./terminal.ts"

/** Many processes, one after the other. */
const many = 180_000

const letters = join(import.meta.dirname, "desks", "letters.ts")

/** Lines without what differs from run to run. */
const steady = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.map((line) => line.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME").replaceAll(/\d+@[\w.-]+/g, "PID@HOST"))

const golden = (name: string) =>
  readFileSync(join(import.meta.dirname, "golden", `${name}.txt`), "utf8")
    .replace(/\n$/, "")
    .split("\n")

/** A run that waits for two approvals, of a process that has ended. */
const waiting = (journal: Layer.Layer<Journal.Journal, Journal.JournalError>) =>
  Effect.provide(
    Run.start(works, {
      id: "r1",
      input: { one: "well", other: "well" },
      tier: "low",
      log: false,
      module: join(import.meta.dirname, "desks", "works.ts")
    }),
    journal
  )

/** A journal in a file that has such a run. */
const asked = Effect.gen(function* () {
  const path = yield* folder
  const journal = join(path, "journal.db")
  yield* waiting(JournalSqlite.layerSqlite({ filename: journal }))
  return { journal, path }
})

const [one, other] = ["r1/review/1", "r1/review/2"]

const only = ({ out }: Left) => JSON.parse(out[0] ?? assert.fail("nothing was printed"))

describe("espalier and people", () => {
  withCommand(
    "R-503 R-306 lists what is asked, shows one, takes a decision in words and in JSON, and says how to go on",
    () =>
      Effect.gen(function* () {
        const { journal, path } = yield* asked
        const said = Effect.fnUntraced(function* (name: string, args: ReadonlyArray<string>) {
          const { code, err, out } = yield* espalier(journal, args, { cwd: path })
          assert.deepStrictEqual([code, err], [0, []], name)
          assert.deepStrictEqual(steady(out), golden(name))
        })
        yield* said("reviews", ["reviews"])
        yield* said("review", ["review", one])
        yield* said("approve", ["approve", one, "--as", "ann", "--why", "as agreed"])
        yield* said("approve-again", ["approve", one, "--as", "ann"])
        yield* said("reviews-decided", ["reviews", "r1"])
        const batch = yield* espalier(journal, ["reject", other, "--why", "no", "--as", "ann", "--json"])
        const { carried, does, heard, resume, waits } = only(batch)
        assert.deepStrictEqual(
          [batch.code, heard, does, carried, resume, waits],
          [0, "left", "the task ends as rejected", undefined, "espalier resume r1", []]
        )
        const resumed = yield* espalier(journal, ["resume", "r1"], { cwd: path })
        assert.strictEqual(resumed.code, 11)
        yield* said("review-closed", ["review", one])
        yield* said("reviews-none", ["reviews"])
      }),
    many
  )

  const refused: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
    [
      ["approve", "r1/reveiw/2"],
      2,
      "espalier: the journal has no review r1/reveiw/2; open are r1/review/2, r1/review/1"
    ],
    [["review", "r2"], 2, "espalier: the journal has no review r2; open are r1/review/"],
    [["reviews", "r2"], 2, "espalier: the journal has no run r2; known is r1"],
    [["answer", one, "yes"], 2, `is refused (invalid): decision must be one of approve, reject, got "answer"`],
    [["edit", one, "--set", "/a=1"], 2, `is refused (invalid): decision must be one of approve, reject, got "edit"`],
    [["approve", one, "--digest", "abc"], 2, "is refused (digest-mismatch): r1/review/1 is about "],
    [["approve", one, "--revision", "7"], 2, "is refused (stale-revision): r1/review/1 has changed"],
    [["reject", one], 1, "Missing required flag: --why"],
    [["approve", one, "--as", ""], 1, "espalier: --as must be a name, is empty"],
    [
      ["approve", one, other, "--digest", "abc"],
      1,
      "espalier: --digest can be given for one question, and there are 2"
    ],
    [["approve", one, "--raise", "token=1"], 1, "espalier: --raise has no measure token"],
    [["edit", one, "--set", "a"], 1, "espalier: --set must be a JSON pointer and a value"],
    [["claim", one, "--for", "soon"], 1, "espalier: --for must be a time that lasts"],
    [["reassign", one, "--to", "ann", "--why", "so"], 2, "to[0] must be anyone, requester"],
    [["approve", one, "--people", "none.json"], 2, "espalier: none.json cannot be read: it is not there"],
    [["reviews", "--after", "x"], 1, "espalier: --after must be what the page before says, is x"],
    [["aprove", one], 1, "did you mean approve?"]
  ]
  withCommand(
    "R-503 says what is wrong, and then nothing is decided",
    () =>
      Effect.gen(function* () {
        const { journal, path } = yield* asked
        for (const [args, expected, message] of refused) {
          const { code, err, out } = yield* espalier(journal, args, { cwd: path })
          assert.deepStrictEqual([code, out], [expected, []], args.join(" "))
          assert.include(err[0], message)
        }
        const { code, out } = yield* espalier(journal, ["approve", one, "--digest", "abc", "--as", "ann", "--json"])
        assert.deepInclude(JSON.parse(out[0]!), { heard: "refused", because: "digest-mismatch", by: "ann" })
        assert.strictEqual(code, 2)
        const { items } = only(yield* espalier(journal, ["reviews", "--json"]))
        assert.deepStrictEqual(
          items.map(({ review, word }: { review: string; word: boolean }) => [review, word]),
          [
            [one, false],
            [other, false]
          ]
        )
      }),
    many
  )

  withCommand(
    "R-503 R-306 decides several at once, and says what became of each",
    () =>
      Effect.gen(function* () {
        const { journal, path } = yield* asked
        yield* espalier(journal, ["reject", one, "--why", "no", "--as", "rob"])
        const { code, out } = yield* espalier(journal, ["approve", one, other, "--as", "ann"])
        assert.strictEqual(code, 2)
        assert.deepStrictEqual(steady(out), golden("approve-several"))
        // The user of this system, where nobody is named.
        const { by, heard } = only(yield* espalier(journal, ["retry", other, "--json"], { cwd: path }))
        assert.deepStrictEqual([typeof by, by === "", heard], ["string", false, "refused"])
      }),
    many
  )

  withCommand(
    "R-503 R-306 claims, extends, reassigns and withdraws, by those whom a directory knows",
    () =>
      Effect.gen(function* () {
        const { journal, path } = yield* asked
        writeFileSync(join(path, "people.json"), `{"groups":{"release":["rob"]}}`)
        const people = ["--people", join(path, "people.json")]
        const say = (...args: ReadonlyArray<string>) => espalier(journal, args, { cwd: path })
        const [said] = (yield* say("reassign", one, "--to", "group:release", "--why", "theirs", "--as", "ann")).out
        assert.include(said, "r1/review/1: reassign by ann is in the journal; nobody carries the run out now")
        yield* say("claim", other, "--as", "ann", "--for", "1 hour")
        yield* say("extend", other, "--as", "ann", "--for", "1 day")
        // Taken in when the run is taken up, which then goes on waiting.
        assert.strictEqual((yield* say("resume", "r1")).code, 10)
        const { items } = only(yield* say("reviews", "--json"))
        const [first, second] = items
        assert.deepStrictEqual([first.asked, second.claimed.by, second.revision], [["group:release"], "ann", 3])
        assert.strictEqual(second.final.at - first.final.at, 86_400_000)
        assert.deepStrictEqual(
          only(yield* say("reviews", "--mine", "rob", "--json", ...people)).items.map((each: Item) => each.review),
          [one, other]
        )
        assert.deepStrictEqual(
          only(yield* say("reviews", "--mine", "ann", "--json", ...people)).items.map((each: Item) => each.review),
          [other]
        )
        const no = yield* say("approve", one, "--as", "ann", ...people)
        assert.deepStrictEqual([no.code, no.err.length], [2, 1])
        assert.include(no.err[0], "is refused (not-a-reviewer)")
        const yes = yield* say("approve", one, "--as", "rob", ...people)
        assert.strictEqual(yes.code, 0)
        // With the directory that the decision was made by; the one of the process is what counts.
        assert.include(yes.out.join("\n"), `espalier resume r1 --people ${people[1]}`)
        assert.strictEqual((yield* say("withdraw", other, "--why", "no need", "--as", "ann")).code, 0)
        const resumed = yield* say("resume", "r1", "--json")
        assert.deepStrictEqual(
          [only(resumed).results.one.status, only(resumed).results.other.status],
          ["accepted", "cancelled"]
        )
      }),
    many
  )

  withProcesses(
    "R-503 R-306 D51 a process that lives takes a decision in at once; of one that is killed, it waits for the next",
    () =>
      Effect.gen(function* () {
        const { journal, path } = yield* asked
        const run = yield* begin(journal, ["run", letters, "--id", "r2"], path)
        yield* run.until("r2/review/1")
        yield* run.until("r2/review/2")
        const say = (...args: ReadonlyArray<string>) => espalier(journal, args, { cwd: path })
        const { items } = only(yield* say("reviews", "r2", "--json"))
        const of = (kind: string): string => items.find((each: Item) => each.kind === kind).review
        const approved = yield* say("approve", of("action-approval"), "--as", "ann")
        assert.deepStrictEqual(
          [approved.code, steady(approved.out)[0]],
          [0, `${of("action-approval")} is approved by ann: the worker gets the order`]
        )
        // What a model says is data: no line of it looks like one of this command, and no terminal obeys it.
        const shown = (yield* say("review", of("question"))).out
        assert.include(
          shown,
          `    "\\u001b[31mIt is \\u001b]8;;http://evil\\u0007Ann, says the model\\nreview     r9/review/9"`
        )
        assert.isFalse(shown.some((line) => line.startsWith("review     r9") || line.includes("\u001B")))
        yield* run.signal("SIGKILL")
        yield* run.left
        const wrong = yield* say("answer", of("question"), "Anna", "--as", "ann")
        assert.deepStrictEqual([wrong.code, wrong.out], [2, []])
        assert.include(wrong.err[0], "answer must be one of Ann, Anne")
        assert.include(wrong.err[0], `; the answer is the text "Anna"`)
        const answered = yield* say("answer", of("question"), "Anne", "--as", "ann")
        assert.strictEqual(answered.code, 0)
        assert.include(answered.out.join("\n"), "go on with: espalier resume r2")
        writeFileSync(join(path, "go"), "")
        const resumed = only(yield* say("resume", "r2", "--json"))
        assert.deepStrictEqual(
          [resumed.status, resumed.results.name.output, resumed.results.send.output],
          ["completed", "Anne", "sent"]
        )
        assert.strictEqual(only(yield* say("review", of("question"), "--json")).closed.answer, "Anne")
      }),
    many
  )
})

interface Item {
  readonly review: string
  readonly kind: string
}

describeInTerminal("espalier and people in a terminal", () => {
  withProcesses("R-503 prints the list and a question within the columns of the terminal", () =>
    Effect.gen(function* () {
      const { journal } = yield* asked
      const plain = { NO_COLOR: "1" }
      const read = yield* inTerminal(journal, ["review", one], { columns: 60, env: plain })
      for (const [args, columns] of [
        [["reviews"], 60],
        [["reviews"], 140],
        [["review", one], 60]
      ] as const) {
        const { code, err, out } = yield* espalier(journal, args, { columns, env: plain })
        assert.deepStrictEqual([code, err], [0, []])
        const wide = out.filter((line) => widthOf(line) > columns)
        assert.deepStrictEqual(wide, [], args.join(" "))
        if (args[0] === "review") assert.deepStrictEqual(steady(read.out), steady(out))
      }
    })
  )
})

describeWithPostgres("espalier and people with a journal in PostgreSQL", () => {
  const server = serverOfThisFile()

  withProcesses(
    "R-503 R-306 a run of a process that has ended is listed, decided, and taken up by another one",
    () =>
      Effect.gen(function* () {
        const path = yield* folder
        const schema = yield* freshSchema
        const { url } = server()
        yield* waiting(JournalPostgres.layerPostgres({ url: Redacted.make(url), schema }))
        const journal = `${url}${url.includes("?") ? "&" : "?"}schema=${schema}`
        const say = (...args: ReadonlyArray<string>) => espalier(journal, args, { cwd: path })
        assert.strictEqual(only(yield* say("reviews", "--json")).total, 2)
        const { code, out } = yield* say("approve", one, other, "--as", "ann", "--json")
        assert.deepStrictEqual(
          [code, JSON.parse(out[0]!).map(({ heard }: { heard: string }) => heard)],
          [0, ["left", "left"]]
        )
        const resumed = yield* inProcess(journal, ["resume", "r1", "--json"], { cwd: path })
        assert.strictEqual(only(resumed).status, "completed")
      }),
    many
  )
})
