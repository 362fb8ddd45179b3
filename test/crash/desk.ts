/**
 * The desk that is killed: several domains, a plan with a fan-out, a passing failure, a task with tasks of its own, and an
 * output that is too large for the journal.
 */
import { Context, Effect, Schema } from "effect"
import { Failure } from "espalier"
import { Desk, Domain, Pipeline, Plan, Worker } from "espalier/run"

/** What workers do outside. */
export class Outside extends Context.Service<
  Outside,
  {
    /** Told when a worker was given an order; nothing comes of it. */
    readonly begun: (order: Pick<Worker.Order, "run" | "task" | "dispatch">) => Effect.Effect<void>
  }
>()("espalier/test/crash/Outside") {}

/** Long enough for the work of several workers to overlap. */
const working = Effect.sleep("12 millis")

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

type Order = Worker.Order<{ readonly from: ReadonlyArray<number> }>
type Work<A> = Effect.Effect<A, Failure.Failure, Outside>

const sum = ({ input: { from } }: Order): number => from.reduce((total, each) => total + each, 0)

const add = seen("add", Schema.Int, 2, (order) => Effect.as(working, sum(order)))

const square = seen("square", Schema.Int, 3, (order) =>
  Effect.gen(function* () {
    yield* working
    // One of the six is unlucky at its first try.
    if (order.task === "item-3" && order.attempt === 1) return yield* Failure.transient("too busy just now")
    return sum(order) ** 2
  })
)

/** Well beyond what the journal takes into an event. */
export const largeBytes = 80_000

const print = seen("print", Schema.String, 1, (order) => Effect.as(working, `${sum(order)}:${"x".repeat(largeBytes)}`))

const check = seen("check", Schema.Int, 1, (order) => Effect.as(working, sum(order) % 97))

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
