/** Runs of a desk that is open, on a journal: contracts, schemas, audit and recovery as they are. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"

import * as ArtefactsSqlite from "../../../src/journal/ArtefactsSqlite.ts"
import * as Journal from "../../../src/journal/Journal.ts"
import * as JournalSqlite from "../../../src/journal/JournalSqlite.ts"
import * as Desk from "../../../src/run/Desk.ts"
import * as Domain from "../../../src/run/Domain.ts"
import * as Office from "../../../src/run/Office.ts"
import type * as Outcome from "../../../src/run/Outcome.ts"
import * as Plan from "../../../src/run/Plan.ts"
import * as Run from "../../../src/run/Run.ts"
import * as Worker from "../../../src/run/Worker.ts"
import type { Limits, Open, Place, Work } from "../../durable/engine.ts"
import { fanOut, mustBe } from "../../util.ts"

const Input = Schema.Struct({ step: Schema.String, text: Schema.String })
type Input = typeof Input.Type

const worker = (name: string, work: Work, size: number) =>
  Worker.make(name, {
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
  Desk.make(name, {
    version: "1",
    input: Input,
    domains: [
      Domain.make("desk", {
        workers: [...new Set(tasks.map((task) => task.worker!.slice("desk.".length)))].map((name) =>
          worker(name, work, size)
        )
      })
    ],
    coordinator: Plan.make<Input>(tasks, { concurrency })
  })

const taskDesk = (work: Work) => {
  const step = (id: string, objective: string, before?: string): Plan.Task<Input> => ({
    id,
    worker: `desk.${id}`,
    objective,
    ...(before === undefined ? {} : { needs: [before] }),
    input: (accepted, { text }) => ({ step: id, text: before === undefined ? text : accepted[before] })
  })
  return deskOf("task", work, 1_000, [
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

const layerOf = ({ store, where: filename }: Place) => {
  if (store === "postgres") throw new Error("espalier has no journal in PostgreSQL yet")
  const options = { filename, synchronous: store }
  return Layer.merge(JournalSqlite.layerSqlite(options), ArtefactsSqlite.layerSqlite(options))
}

export const limits: Limits = { stores: ["full", "normal"] }

export const open: Open = async (place, work) => {
  const scope = await Effect.runPromise(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(layerOf(place), scope))
  const run = <A, E>(effect: Effect.Effect<A, E, Layer.Success<ReturnType<typeof layerOf>> | Scope.Scope>) =>
    Effect.runPromise(effect.pipe(Effect.provideContext(context), Effect.provideService(Scope.Scope, scope)))
  const openDesk = (desk: Desk.Desk<Input, never>) => run(Office.open(desk, { log: false }))
  const taskOffice = await openDesk(taskDesk(work))
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
    done(await run(Run.startIn(office, { id, input: { step: "", text: "task" } })), steps)

  return {
    task: (id) => start(taskOffice, id, 3),
    fan: async (id) => start(await officeOf("fan", () => fanDesk(work)), id, fanOut.tasks),
    prepare: async (n) => void (await chainOffice(n)),
    chain: async (id, n) => start(await chainOffice(n), id, n),
    resume: async (n) => {
      const office = n === undefined ? taskOffice : await chainOffice(n)
      const unfinished = await run(Effect.flatMap(Journal.Journal, ({ runs }) => runs({ status: "running" })))
      for (const { run: id } of unfinished) done(await run(Run.resumeIn(office, id)), n ?? 3)
    },
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
