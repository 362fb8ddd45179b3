/** Runs of a desk that is open, on a journal: contracts, schemas, audit and recovery as they are. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"

import type * as ArtefactsSqlite from "../../../src/journal/ArtefactsSqlite.ts"
import type * as Journal from "../../../src/journal/Journal.ts"
import type * as JournalPostgres from "../../../src/journal/JournalPostgres.ts"
import type * as JournalSqlite from "../../../src/journal/JournalSqlite.ts"
import type * as Desk from "../../../src/run/Desk.ts"
import type * as Domain from "../../../src/run/Domain.ts"
import type * as Office from "../../../src/run/Office.ts"
import type * as Outcome from "../../../src/run/Outcome.ts"
import type * as Plan from "../../../src/run/Plan.ts"
import type * as Run from "../../../src/run/Run.ts"
import type * as Worker from "../../../src/run/Worker.ts"
import type { Limits, Open, Place, Work } from "../../durable/engine.ts"
import { fanOut, mustBe } from "../../util.ts"

/** A module of the library, as it is published when it has been built for the benchmarks. */
const load = <A>(path: string): Promise<A> =>
  import(
    process.env["ESPALIER_BENCH_BUILT"] === "1" ? `../../node_modules/.espalier/${path}.js` : `../../../src/${path}.ts`
  )

const library = {
  ArtefactsSqlite: await load<typeof ArtefactsSqlite>("journal/ArtefactsSqlite"),
  Journal: await load<typeof Journal>("journal/Journal"),
  JournalSqlite: await load<typeof JournalSqlite>("journal/JournalSqlite"),
  Desk: await load<typeof Desk>("run/Desk"),
  Domain: await load<typeof Domain>("run/Domain"),
  Office: await load<typeof Office>("run/Office"),
  Plan: await load<typeof Plan>("run/Plan"),
  Run: await load<typeof Run>("run/Run"),
  Worker: await load<typeof Worker>("run/Worker")
}

const Input = Schema.Struct({ step: Schema.String, text: Schema.String })
type Input = typeof Input.Type

const worker = (name: string, work: Work, size: number) =>
  library.Worker.make(name, {
    description: `Answers to ${name} with a text`,
    input: Input,
    output: Schema.String,
    size,
    handle: ({ input }) => {
      const answer = work(input.step)
      return typeof answer === "string" ? Effect.succeed(answer) : Effect.promise(() => answer)
    }
  })

const deskOf = (name: string, work: Work, size: number, tasks: ReadonlyArray<Plan.Task<Input>>, concurrency = 1) =>
  library.Desk.make(name, {
    version: "1",
    input: Input,
    domains: [
      library.Domain.make("desk", {
        workers: [...new Set(tasks.map((task) => task.worker!.slice("desk.".length)))].map((name) =>
          worker(name, work, size)
        )
      })
    ],
    coordinator: library.Plan.make<Input>(tasks, { concurrency })
  })

/** `size`: how many of each worker there are. */
const taskDesk = (name: string, work: Work, size: number) => {
  const step = (id: string, objective: string, before?: string): Plan.Task<Input> => ({
    id,
    worker: `desk.${id}`,
    objective,
    ...(before === undefined ? {} : { needs: [before] }),
    input: (accepted, { text }) => ({ step: id, text: before === undefined ? text : accepted[before] })
  })
  return deskOf(name, work, size, [
    step("research", "Research it"),
    step("write", "Write it", "research"),
    step("check", "Check it", "write")
  ])
}

const fanDesk = (work: Work) =>
  deskOf(
    "fan",
    work,
    fanOut.inFlight,
    Array.from({ length: fanOut.tasks }, (_, i) => ({
      id: `t${i}`,
      worker: "desk.work",
      objective: "Do it",
      // What is the same order twice is done once.
      input: (_, { text }) => ({ step: `t${i}`, text })
    })),
    fanOut.inFlight
  )

const chainDesk = (work: Work, n: number) =>
  deskOf(
    `chain-${n}`,
    work,
    1,
    Array.from({ length: n }, (_, i) => ({
      id: `s${i}`,
      worker: "desk.work",
      objective: "Do it",
      ...(i === 0 ? {} : { needs: [`s${i - 1}`] }),
      input: (_, { text }) => ({ step: `s${i}`, text })
    }))
  )

/** The journal, and artefacts beside it where there is such a store. */
const layerOf = async ({ store, where }: Place): Promise<Layer.Layer<Journal.Journal, unknown>> => {
  if (store === "postgres") {
    const { layerPostgres } = await load<typeof JournalPostgres>("journal/JournalPostgres")
    return layerPostgres({ url: Redacted.make(where) })
  }
  const options = { filename: where, synchronous: store }
  return Layer.merge(library.JournalSqlite.layerSqlite(options), library.ArtefactsSqlite.layerSqlite(options))
}

export const limits: Limits = { stores: ["full", "normal", "postgres"] }

export const open: Open = async (place, work) => {
  const scope = await Effect.runPromise(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(await layerOf(place), scope))
  const run = <A, E>(effect: Effect.Effect<A, E, Journal.Journal | Scope.Scope>) =>
    Effect.runPromise(effect.pipe(Effect.provideContext(context), Effect.provideService(Scope.Scope, scope)))
  const openDesk = (desk: Desk.Desk<Input, never>) => run(library.Office.open(desk, { log: false }))
  const taskOffice = await openDesk(taskDesk("task", work, 1))
  /** The desks that not every use needs. */
  const offices = new Map<string, Office.Office<Input>>()
  const officeOf = async (name: string, make: () => Desk.Desk<Input, never>): Promise<Office.Office<Input>> => {
    const known = offices.get(name) ?? (await openDesk(make()))
    offices.set(name, known)
    return known
  }
  const chainOffice = (n: number) => officeOf(`chain-${n}`, () => chainDesk(work, n))

  const done = (outcome: Outcome.Outcome, steps: number): void => {
    mustBe("the status", outcome.status, "completed")
    mustBe("the results", outcome.dispatches.length, steps)
  }
  const start = async (office: Office.Office<Input>, id: string, steps: number): Promise<void> =>
    done(await run(library.Run.startIn(office, { id, input: { step: "", text: "task" } })), steps)

  return {
    task: (id) => start(taskOffice, id, 3),
    crowd: async (n) => {
      const office = await officeOf("crowd", () => taskDesk("crowd", work, n))
      return (id) => start(office, id, 3)
    },
    fan: async (id) => start(await officeOf("fan", () => fanDesk(work)), id, fanOut.tasks),
    prepare: async (n) => void (await chainOffice(n)),
    chain: async (id, n) => start(await chainOffice(n), id, n),
    resume: async (n) => {
      const office = n === undefined ? taskOffice : await chainOffice(n)
      const unfinished = await run(Effect.flatMap(library.Journal.Journal, ({ runs }) => runs({ status: "running" })))
      for (const { run: id } of unfinished) done(await run(library.Run.resumeIn(office, id)), n ?? 3)
    },
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
