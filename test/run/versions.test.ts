import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Journal } from "espalier/journal"
import { Desk, Domain, Host, type Outcome, Office, Plan, Result, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { history, memory, short } from "./desks.ts"
import { begin } from "./living.ts"

const Text = Schema.Struct({ text: Schema.String })

/** What of a desk one deployment has otherwise than the other. */
interface Code {
  readonly version?: string
  readonly input?: Schema.Codec<object, object>
  readonly output?: Schema.Codec<Schema.Json, Schema.Json>
  readonly tasks?: ReadonlyArray<Plan.Task<object>>
  readonly answers?: (task: string, asked: boolean) => Schema.Json
  readonly size?: number
  readonly estimate?: Result.Usage
  readonly policy?: Desk.Desk["policy"]
}

const tasks: ReadonlyArray<Plan.Task<object>> = [
  { id: "a", worker: "d.one", objective: "Do a" },
  { id: "b", worker: "d.one", objective: "Do b", needs: ["a"] },
  { id: "c", worker: "d.one", objective: "Do c", needs: ["b"] }
]

/** How its run comes to wait: a person is asked about `b`, or the process is stopped while `b` is under way. */
type Way = "asked" | "stopped"

/** A deployment: a desk, and what its workers were called for. */
const deployed = (code: Code = {}, way: Way = "asked") => {
  const { answers = (task) => task } = code
  let again = way === "asked"
  const one = Fake.worker("one", {
    size: code.size ?? 2,
    estimate: code.estimate ?? {},
    output: code.output ?? Schema.Json,
    answers: ({ answers: said, task }) => {
      if (task !== "b") return answers(task, false)
      if (!again) {
        again = true
        return Fake.never
      }
      return way === "asked" && said.length === 0 ? Result.ambiguous("Which one?") : answers(task, said.length > 0)
    }
  })
  const desk = Desk.make("desk", {
    version: code.version ?? "1",
    input: code.input ?? (Text as Schema.Codec<object, object>),
    domains: [Domain.make("d", { workers: [one] })],
    coordinator: Plan.make(code.tasks ?? tasks),
    ...(code.policy === undefined ? {} : { policy: code.policy })
  })
  return { desk, calls: Effect.map(one.calls, (calls) => calls.map(({ dispatch }) => dispatch)) }
}

const r1 = { id: "r1", input: { text: "go" }, log: false } as const
const resume = (desk: Desk.Desk<object, never>) => Run.resume(desk, "r1", { log: false })
const answer = { review: "r1/review/1", decision: "answer", answer: "this one", by: "ada" } as const

/** Begins the run with version 1, up to where it is to go on with whatever is deployed then. */
const begun = Effect.fnUntraced(function* (first: ReturnType<typeof deployed>, way: Way) {
  const run = yield* begin(Run.start(first.desk, r1))
  yield* run.interrupt
  if (way === "asked") yield* Run.decide(answer)
})

/** Another journal than that of the test. */
const elsewhere = Effect.provide(Layer.fresh(Journal.layerMemory))

const listed = Effect.flatMap(Journal.Journal, (journal) =>
  Effect.map(journal.runs(), (runs) => runs.map(({ reason, run, status }) => [run, status, reason]))
)

const said = ({ dispatches, results, status }: Outcome.Outcome) => ({
  status,
  dispatches: dispatches.map(({ dispatch, outcome }) => [dispatch, outcome]),
  results: Object.values(results).map(({ output, status, task }) => [task, status, output])
})

const struct = (fields: Schema.Struct.Fields) => Schema.Struct(fields) as unknown as Schema.Codec<object, object>

const others: ReadonlyArray<readonly [string, Code]> = [
  ["the same data under another version", { version: "2" }],
  ["a task that is not there any more", { tasks: tasks.slice(0, 2) }],
  ["one more task", { tasks: [...tasks, { id: "d", worker: "d.one", objective: "Do d" }] }],
  [
    "a task that needs another one",
    { tasks: tasks.map((task) => (task.id === "c" ? { ...task, needs: ["a"] } : task)) }
  ],
  ["another objective", { tasks: tasks.map((task) => ({ ...task, objective: `${task.objective}, well` })) }],
  ["an input with a field of another name", { input: struct({ words: Schema.String }) }],
  ["an input with one more field", { input: struct({ text: Schema.String, language: Schema.String }) }],
  [
    "an input with one more field that may be left out",
    { input: struct({ text: Schema.String, language: Schema.optionalKey(Schema.String) }) }
  ],
  ["an output of another form", { output: Schema.String as unknown as Schema.Codec<Schema.Json, Schema.Json> }]
]

const ways: ReadonlyArray<Way> = ["asked", "stopped"]
const table = others.flatMap(([what, code]) => ways.map((way) => [what, way, code] as const))

const same: ReadonlyArray<readonly [string, Code]> = [
  ["a handler that does something else", { answers: (task) => `${task}, now in another way` }],
  ["how it is run", { size: 7, estimate: { tokens: 3 } }]
]

describe("A run that is taken up by other code than it began with", () => {
  it.effect.each(table)("D61 is left suspended for %s, when it was %s, and goes on with its own", ([, way, code]) =>
    Effect.gen(function* () {
      const first = deployed({}, way)
      yield* begun(first, way)
      const before = yield* history("r1")
      const second = deployed(code, way)
      const error = yield* Effect.flip(resume(second.desk))
      assert.instanceOf(error, Run.VersionMismatch)
      assert.match(error.began, /^desk 1 \([\da-f]{12}\)$/)
      assert.match(error.current, new RegExp(`^desk ${code.version ?? "1"} \\([\\da-f]{12}\\)$`))
      // Nothing of the one is in a run of the other: it is only put down, once.
      const after = yield* history("r1")
      assert.deepStrictEqual(short(after.slice(before.length)), [
        ...(way === "stopped" ? ["RunResumed"] : []),
        "RunSuspended version-mismatch"
      ])
      assert.deepStrictEqual(yield* listed, [["r1", "suspended", "version-mismatch"]])
      assert.strictEqual((yield* Effect.flip(resume(second.desk)))._tag, "VersionMismatch")
      assert.deepStrictEqual([yield* history("r1"), yield* second.calls], [after, []])
      // The version that it began with is there again.
      const outcome = yield* resume(first.desk)
      const whole = deployed({}, way)
      const straight = yield* Effect.andThen(begun(whole, way), resume(whole.desk)).pipe(elsewhere)
      assert.deepStrictEqual(said(outcome), said(straight))
      assert.deepStrictEqual(yield* first.calls, yield* whole.calls)
    }).pipe(memory)
  )

  it.effect.each(same)("D61 goes on where only %s has changed: that is not what a run goes by", ([, code]) =>
    Effect.gen(function* () {
      yield* begun(deployed(), "asked")
      const second = deployed(code)
      const outcome = yield* resume(second.desk)
      assert.strictEqual(outcome.status, "completed")
      const answered = code.answers?.("c", false) ?? "c"
      assert.deepStrictEqual([outcome.results["a"]?.output, outcome.results["c"]?.output], ["a", answered])
      assert.deepStrictEqual(yield* second.calls, ["r1/b/2", "r1/c/1"])
    }).pipe(memory)
  )

  it.effect("D61 is only looked at while it waits for a person, and put down with the decision", () =>
    Effect.gen(function* () {
      const first = deployed()
      yield* Run.start(first.desk, r1)
      const before = yield* history("r1")
      const second = deployed({ version: "2" })
      assert.strictEqual((yield* resume(second.desk)).status, "waiting")
      assert.deepStrictEqual(yield* history("r1"), before)
      yield* Run.decide(answer)
      assert.strictEqual((yield* Effect.flip(resume(second.desk)))._tag, "VersionMismatch")
      assert.strictEqual((yield* resume(first.desk)).status, "completed")
    }).pipe(memory)
  )

  it.effect("D61 goes on at a host of its own version, when one is there again and is told to", () =>
    Effect.gen(function* () {
      const first = deployed()
      yield* begun(first, "asked")
      const second = deployed({ version: "2" })
      const taken = Effect.fnUntraced(function* (desk: Desk.Desk<object, never>, asked: boolean) {
        const office = yield* Office.open(desk, { log: false })
        return (yield* Host.pass(office, { asked })).map(({ result, run }) => `${run} ${result}`)
      }, Effect.scoped)
      assert.deepStrictEqual(yield* taken(second.desk, false), ["r1 mismatched"])
      const put = yield* history("r1")
      assert.deepStrictEqual(yield* taken(second.desk, false), [])
      assert.deepStrictEqual(yield* taken(second.desk, true), ["r1 mismatched"])
      assert.deepStrictEqual([yield* history("r1"), yield* second.calls], [put, []])
      assert.deepStrictEqual(yield* taken(first.desk, false), [])
      assert.deepStrictEqual(yield* taken(first.desk, true), ["r1 finished"])
      assert.strictEqual((yield* Run.outcome("r1")).status, "completed")
    }).pipe(memory)
  )
})
