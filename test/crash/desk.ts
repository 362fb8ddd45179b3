/**
 * The desk that is killed: several domains, a plan with a fan-out, a passing failure, a task with tasks of its own, an output
 * that is too large for the journal, and things that are done outside.
 *
 * | effect | done by | when nobody knows whether it has happened |
 * |---|---|---|
 * | `book` | some items, the second step of the audit | a person is asked |
 * | `mark` | other items, the print | it is done again under the same key, which whoever is called knows |
 * | `publish` | the report | it is asked for outside |
 */
import { Context, Effect, type Option, Schema } from "effect"
import { Failure } from "espalier"
import { Desk, Domain, Effects, Pipeline, Plan, Worker } from "espalier/run"

/** What is outside. */
export class Outside extends Context.Service<
  Outside,
  {
    /** Told when a worker was given an order; nothing comes of it. */
    readonly begun: (order: Pick<Worker.Order, "run" | "task" | "dispatch">) => Effect.Effect<void>
    /** Does something under a key; with `once`, not again under the same one. Answers with a receipt. */
    readonly act: (act: {
      readonly name: string
      readonly key: string
      readonly order: Pick<Worker.Order, "run" | "task">
      readonly once: boolean
    }) => Effect.Effect<string>
    /** The receipt of what has happened under a key. */
    readonly find: (key: string) => Effect.Effect<Option.Option<string>>
  }
>()("espalier/test/crash/Outside") {}

/** Long enough for the work of several workers to overlap. Real time: a kill has to fall into it. */
const working = Effect.sleep("12 millis")

type Order = Worker.Order<{ readonly from: ReadonlyArray<number> }>
type Work<A> = Effect.Effect<A, Failure.Failure | Effects.EffectError, Outside | Effects.Effects>

/** A worker that is seen when it is given an order. */
const seen = <A>(name: string, output: Schema.Codec<A, Schema.Json>, size: number, work: (order: Order) => Work<A>) =>
  Worker.make(name, {
    description: `The worker ${name}`,
    input: Schema.Struct({ from: Schema.Array(Schema.Int) }),
    output,
    size,
    handle: (order) =>
      Effect.gen(function* () {
        yield* (yield* Outside).begun(order)
        return yield* work(order)
      })
  })

/** Does something outside, in one of the three ways. Answers with the length of the receipt. */
const act = (name: "book" | "mark" | "publish", order: Order) =>
  Effect.gen(function* () {
    const outside = yield* Outside
    const receipt = yield* Effects.perform({
      name,
      args: { task: order.task, from: order.input.from },
      run: (key) => outside.act({ name, key, order, once: name === "mark" }),
      idempotent: name === "mark",
      ...(name === "publish" ? { probe: outside.find } : {})
    })
    return receipt.length
  })

const sum = ({ input: { from } }: Order): number => from.reduce((total, each) => total + each, 0)

const add = seen("add", Schema.Int, 2, (order) => Effect.as(working, sum(order)))

const books = ["item-1", "item-3", "weigh"]
const marks = ["item-2", "item-5"]

const square = seen("square", Schema.Int, 3, (order) =>
  Effect.gen(function* () {
    yield* working
    const task = order.task.split("/").at(-1) ?? ""
    const receipt = books.includes(task)
      ? yield* act("book", order)
      : marks.includes(task)
        ? yield* act("mark", order)
        : 0
    // One of the six is unlucky at its first try, after it has done something.
    if (task === "item-3" && order.attempt === 1) return yield* Failure.transient("too busy just now")
    return sum(order) ** 2 + receipt
  })
)

/** Well beyond what the journal takes into an event. */
const largeBytes = 80_000

const print = seen("print", Schema.String, 1, (order) =>
  Effect.gen(function* () {
    const receipt = yield* act("mark", order)
    yield* working
    return `${sum(order) + receipt}:${"x".repeat(largeBytes)}`
  })
)

const check = seen("check", Schema.Int, 1, (order) =>
  Effect.gen(function* () {
    yield* working
    const receipt = order.task === "report" ? yield* act("publish", order) : 0
    return (sum(order) + receipt) % 97
  })
)

const numbers = (accepted: Readonly<Record<string, Schema.Json>>): ReadonlyArray<number> =>
  Object.values(accepted).map((each) => (typeof each === "string" ? each.length : Number(each)))

const items = [1, 2, 3, 4, 5, 6].map((n) => `item-${n}`)

/** Adds, squares, and adds again: a task that is carried out by three. */
const audit = Pipeline.make<{ readonly from: ReadonlyArray<number> }>([
  { id: "collect", worker: "count.add", objective: "Collect", input: (_, { from }) => ({ from }) },
  { id: "weigh", worker: "count.square", objective: "Weigh", input: (accepted) => ({ from: numbers(accepted) }) },
  { id: "judge", worker: "press.check", objective: "Judge", input: (accepted) => ({ from: numbers(accepted) }) }
])

/** Its runs begin with a number. */
export const desk = Desk.make("crash", {
  version: "1",
  input: Schema.Int,
  domains: [Domain.make("count", { workers: [add, square] }), Domain.make("press", { workers: [print, check] })],
  coordinator: Plan.make<number, never>([
    { id: "outline", worker: "count.add", objective: "Outline", input: (_, seed) => ({ from: [seed, 1] }) },
    ...items.map((id, index): Plan.Task<number> => ({
      id,
      worker: "count.square",
      objective: `Do ${id}`,
      needs: ["outline"],
      input: (accepted) => ({ from: [...numbers(accepted), index] })
    })),
    {
      id: "audit",
      by: audit,
      objective: "Audit",
      needs: ["outline"],
      input: (accepted) => ({ from: numbers(accepted) })
    },
    {
      id: "print",
      worker: "press.print",
      objective: "Print",
      needs: items.slice(0, 3),
      input: (accepted) => ({ from: numbers(accepted) })
    },
    {
      id: "report",
      worker: "press.check",
      objective: "Report",
      needs: [...items, "audit", "print"],
      input: (accepted) => ({ from: numbers(accepted) })
    }
  ]),
  policy: { waitsMillis: [20] }
})
