import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { CostModel, Models, ScriptedModel, ToolScope } from "espalier/agent"
import type { Journal } from "espalier/journal"
import { Delegation } from "espalier/observe"
import { Dependency, Plan, Result, Review, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { widthOf } from "../../src/cli/width.ts"
import { calls, delivers, deskWith, Mail, search } from "../agent/agents.ts"
import { withCommand } from "../fixtures/real.ts"
import { freshPath, withJournal } from "../journal/fixtures/folder.ts"
import { nodes } from "../observe/trees.ts"
import { elapse, task, worker } from "../run/desks.ts"
import { deskOf, options, resume } from "../run/living.ts"
import { killed } from "../run/outside.ts"
import { copied } from "../run/released.ts"
import { espalier } from "./inside.ts"

const golden = (name: string, out: ReadonlyArray<string>) => {
  const file = join(import.meta.dirname, "golden", `${name}.txt`)
  const text = `${out.join("\n").replaceAll("\u001B", "ESC")}\n`
  if (process.env["UPDATE_TRACE"] === "1") writeFileSync(file, text)
  assert.strictEqual(text, readFileSync(file, "utf8"))
}

// oxlint-disable-next-line no-control-regex -- it is what is looked for.
const bare = (text: string): string => text.replaceAll(/\u001B\[(?:[12]|22|3[1-69])m/g, "")

const prices = CostModel.layer({ currency: "USD", prices: { "b/two": { input: 1, output: 5 } } })

/** What is done with a journal in a file, in the time of the test; the file. */
const journalWith = <E>(use: Effect.Effect<unknown, E, Journal.Journal | Layer.Success<typeof services>>) =>
  Effect.gen(function* () {
    const filename = yield* freshPath
    yield* withJournal(filename, { synchronous: "normal" })(Effect.provide(use, services))
    return filename
  })

const services = Layer.mergeAll(Dependency.layer(), prices)

const tools = ToolScope.make([
  search(),
  ToolScope.tool(Mail, { idempotent: true, handle: () => Effect.delay(Effect.succeed("sent"), "2 seconds") })
]) as never

const usage = { inputTokens: 1_000, outputTokens: 200 }
const says = (name: string, params: unknown) => ScriptedModel.tools([{ name, params }], { usage })

/** An agent whose first model has no quota, which searches, sends a mail and delivers. */
const agentRun = elapse(
  Effect.suspend(() => {
    const first = ScriptedModel.make(
      Array.from({ length: 3 }, () => ScriptedModel.fault("quota")),
      { provider: "a", model: "one" }
    )
    const second = ScriptedModel.make(
      [
        ScriptedModel.slow("1500 millis", says("search", { query: "ship" })),
        ScriptedModel.slow("1 second", says("mail", { to: "y" })),
        ScriptedModel.slow("500 millis", says("deliver", { output: { answer: "Fram" }, confidence: 0.9 }))
      ],
      { provider: "b", model: "two" }
    )
    return Run.start(deskWith(Models.make([{ provide: first.model }, { provide: second.model }]), { tools }), options)
  }),
  "5 minutes"
)

/** An agent whose process dies while it sends a mail, and another one that goes on five minutes later. */
const crashedRun = Effect.gen(function* () {
  const built = () =>
    deskWith(
      ScriptedModel.fromFunction(({ prompt }) =>
        prompt.content.length > 3 ? delivers("Fram") : calls(["mail", { to: "y" }])
      ),
      { tools }
    )
  const sent = (event: Journal.Event) => event.type === "EffectSettled" && JSON.stringify(event.data).includes("sent")
  yield* elapse(killed(Run.start(built(), options), sent, "before"), "5 minutes")
  yield* elapse(resume(built()), "5 minutes")
})

/** A worker that works for a second, asks a person, and works for another one: on the test clock, which `elapse` turns. */
const askedRun = Effect.gen(function* () {
  const asks = worker("one", () =>
    Effect.gen(function* () {
      // No real time: `elapse` turns the clock that this sleeps by.
      yield* Effect.sleep("1 second")
      const { _tag: said } = yield* Review.ask({ name: "which", question: "Which one?" })
      // No real time, as above.
      yield* Effect.sleep("1 second")
      return said
    })
  )
  const built = deskOf([asks as never], Plan.make<string>([task("a")]))
  yield* elapse(Run.start(built, options), "1 day")
  yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: "x", by: "ann" })
  yield* elapse(resume(built), "10 minutes")
})

/** Text that a terminal obeys. */
const attack = "\u001B]0;owned\u0007\u001B[2J\u009B31m\r\n\u202Eneddih\u2028"

/** A worker that fails and a model that is called so. */
const hostileRun = Effect.gen(function* () {
  const model = ScriptedModel.make([says("give_up", { reason: `It ${attack} is not here`, because: "not-able" })], {
    provider: "a",
    model: `evil${attack}name`
  })
  yield* elapse(Run.start(deskWith(model), options), "5 minutes")
})

const printed = (filename: string, ...args: ReadonlyArray<string>) =>
  Effect.map(espalier(filename, ["trace", ...args]), ({ code, err, out }) => {
    assert.deepStrictEqual([code, err], [0, []])
    return out
  })

describe("espalier trace", () => {
  withCommand("R-501 R-503 prints a run that waited for a person, as a tree over its time", () =>
    Effect.gen(function* () {
      golden("trace", yield* printed(yield* copied, "stumbled"))
    })
  )

  it.effect("R-501 R-503 prints models and tools of an agent with tokens and cost, and what was recovered", () =>
    Effect.gen(function* () {
      golden("trace-agent", yield* printed(yield* journalWith(agentRun), "r1"))
    })
  )

  it.effect("R-501 R-503 prints what was lost by a crash, and where it goes on", () =>
    Effect.gen(function* () {
      golden("trace-crashed", yield* printed(yield* journalWith(crashedRun), "r1"))
    })
  )

  it.effect("R-501 R-503 the bars leave out a day in which a person was waited for, and say so", () =>
    Effect.gen(function* () {
      golden("trace-asked", yield* printed(yield* journalWith(askedRun), "r1"))
    })
  )

  it.effect.each([30, 40, 60, 80, 120, 200])("R-501 R-503 fits into %d columns", (columns) =>
    Effect.gen(function* () {
      const { code, out } = yield* espalier(yield* journalWith(agentRun), ["trace", "r1"], {
        columns,
        env: { TERM: "xterm-256color" }
      })
      assert.strictEqual(code, 0)
      for (const line of out) assert.isAtMost(widthOf(bare(line)), columns, bare(line))
      golden(`terminal-trace-${columns}`, out)
    })
  )

  it.effect("R-501 R-503 a bar lies where and as long as its node was, in the time in which somebody worked", () =>
    Effect.gen(function* () {
      const out = yield* printed(yield* journalWith(agentRun), "r1")
      const bar = (label: string) => {
        const line = out.find((each) => each.includes(label)) ?? ""
        return [line.indexOf("█"), line.lastIndexOf("█") + 1]
      }
      const [from = 0, to = 0] = bar("run r1")
      // The whole is 5 s in 32 columns; the tool begins at half of it and takes 2 s.
      assert.strictEqual(to - from, 32)
      const [began = 0, ended = 0] = bar("tool mail")
      assert.deepStrictEqual([began - from, ended - from], [16, 29])
    })
  )

  it.effect("R-501 R-503 shows so many levels, or only branches in which something went wrong", () =>
    Effect.gen(function* () {
      const filename = yield* journalWith(agentRun)
      const tree = yield* withJournal(filename)(Delegation.ofRun("r1"))
      const all = nodes(tree!).length
      const flat = yield* printed(filename, "r1", "--depth", "0")
      assert.match(flat[1] ?? "", new RegExp(`^run r1 \\+${all - 1} `))
      assert.strictEqual(flat[2], "")
      const errors = yield* printed(filename, "r1", "--errors")
      const shown = errors.slice(1, errors.indexOf(""))
      assert.strictEqual(shown.length, 7 + 3)
      assert.isTrue(shown.slice(-3).every((line) => line.includes("chat one")))
      assert.isFalse(shown.some((line) => line.includes("tool")))
      const good = yield* printed(yield* copied, "waiting", "--errors")
      assert.deepStrictEqual(good.slice(-2), ["", "no errors"])
      assert.match(good[1] ?? "", /^run waiting /)
    })
  )

  it.effect("R-501 R-503 prints the tree as JSON, and as much of it as is asked for", () =>
    Effect.gen(function* () {
      const filename = yield* journalWith(agentRun)
      const [line = ""] = yield* printed(filename, "r1", "--json")
      const read = Schema.decodeUnknownSync(Delegation.Node)(JSON.parse(line))
      assert.deepStrictEqual(read, yield* withJournal(filename)(Delegation.ofRun("r1")))
      const [less = ""] = yield* printed(filename, "r1", "--json", "--depth", "1")
      assert.deepStrictEqual(
        JSON.parse(less),
        JSON.parse(JSON.stringify({ ...read, children: read.children.map((each) => ({ ...each, children: [] })) }))
      )
    })
  )

  withCommand("R-501 R-503 says which runs there are where one is not there, and what a depth may be", () =>
    Effect.gen(function* () {
      const journal = yield* copied
      const missing = yield* espalier(journal, ["trace", "stumbeld"])
      assert.deepStrictEqual([missing.code, missing.out], [2, []])
      assert.include(missing.err.join("\n"), "the journal has no run stumbeld; known are")
      assert.include(missing.err.join("\n"), "stumbled")
      const wrong = yield* espalier(journal, ["trace", "stumbled", "--depth", "-1"])
      assert.strictEqual(wrong.code, 1)
      assert.include(wrong.err.join("\n"), "must be >= 0, is -1")
      assert.strictEqual((yield* espalier(journal, ["trace"])).code, 1)
    })
  )

  it.effect("R-501 R-503 nothing that a model or a worker says is obeyed by the terminal", () =>
    Effect.gen(function* () {
      const filename = yield* journalWith(hostileRun)
      for (const columns of [undefined, 40, 100]) {
        for (const args of [[], ["--json"]]) {
          const place = columns === undefined ? {} : { columns, env: { TERM: "xterm-256color" } }
          const { code, out } = yield* espalier(filename, ["trace", "r1", ...args], place)
          assert.strictEqual(code, 0)
          const text = bare(out.join("\n"))
          assert.match(text, /neddih/)
          // A program that reads JSON gets what was said.
          if (args.length > 0 && columns === undefined) continue
          // oxlint-disable-next-line no-control-regex -- it is what is looked for.
          assert.notMatch(text, /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E\u2028]/)
        }
      }
      const out = yield* printed(filename, "r1")
      // A name stays in its line.
      assert.isTrue(out.some((line) => /chat evil ]0;owned \[2J 31m neddih name +ok/.test(line)))
      assert.include(out.join("\n"), "first error  capability: It ]0;owned [2J 31m neddih is not here")
    })
  )

  it.effect("R-501 R-503 prints a run with 2,000 orders, a line for each and for each attempt", () =>
    Effect.gen(function* () {
      const count = 2_000
      const filename = yield* journalWith(
        Effect.suspend(() => {
          const echo = Fake.worker("one", {
            size: 50,
            answers: ({ task }) => (task === "t1234" ? (Result.failed("capability", "not me") as never) : task)
          })
          const tasks = Array.from({ length: count }, (_, index) => task(`t${index}`))
          return elapse(Run.start(deskOf([echo], Plan.make<string>(tasks, { concurrency: 50 })), options), "1 minute")
        })
      )
      const out = yield* printed(filename, "r1")
      const drawn = out.slice(0, out.indexOf(""))
      assert.strictEqual(drawn.filter((line) => line.includes("delegate d.one")).length, count)
      assert.strictEqual(drawn.filter((line) => line.includes("agent d.one")).length, count)
      assert.match(out.find((line) => line.startsWith("first error")) ?? "", /capability: not me$/)
      assert.include(out.find((line) => line.startsWith("in  ")) ?? "", "delegate d.one (t1234)")
      const errors = yield* printed(filename, "r1", "--errors")
      assert.isBelow(errors.length, 20)
    })
  )
})
