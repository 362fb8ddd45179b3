import { assert } from "@effect/vitest"
import { Effect, Exit, Cause, type Schema } from "effect"
import { Failure } from "espalier"
import type { Coordinator, RunEvent, RunState } from "espalier/run"

import type { dice } from "./simulate.ts"

/** How a task comes out. Default: accepted with confidence 1. */
export type Came = Partial<Omit<Coordinator.Seen, "id" | "template">>

/** What the world around a coordinator does. */
export interface World {
  /** How a task comes out, by its name and how many tasks of that name there were before. */
  readonly came?: (name: string, before: number, task: RunEvent.PlannedTask) => Came
  /** What people say, one after the other. */
  readonly people?: ReadonlyArray<Pick<RunState.Answer, "decision"> & { readonly answer?: Schema.Json }>
  readonly workers?: ReadonlyArray<Coordinator.Candidate>
  /** The order in which open tasks end. Default: that in which they were added. */
  readonly order?: ReturnType<typeof dice>
}

export const candidate = (name: string, capabilities: ReadonlyArray<string> = ["work"]): Coordinator.Candidate => ({
  name,
  description: `The worker ${name}`,
  capabilities,
  available: true
})

export const view = (fields: Partial<Coordinator.View> = {}): Coordinator.View => ({
  run: "r1",
  group: "",
  tasks: [],
  open: 0,
  answers: [],
  said: [],
  ...fields
})

export const seen = (id: string, fields: Partial<Coordinator.Seen> = {}): Coordinator.Seen => ({
  id,
  template: id.split("#")[0] ?? id,
  status: "accepted",
  confidence: 1,
  reason: `${id} came out`,
  ...fields
})

export const question = (fields: Partial<Coordinator.Question<never>> = {}): Coordinator.Question<never> => ({
  run: "r1",
  consult: "r1/consult/1",
  purpose: "route",
  // What the group began with is of no matter to those who choose here.
  input: undefined as never,
  workers: [],
  tasks: [],
  left: {},
  ...fields
})

/** What happened: every move but waiting, the last view, and the planned tasks in the order in which they were added. */
export interface Played {
  readonly moves: ReadonlyArray<Coordinator.Next>
  readonly end: Coordinator.Next
  readonly view: Coordinator.View
  readonly planned: ReadonlyArray<RunEvent.PlannedTask>
  readonly questions: ReadonlyArray<Coordinator.Question<never>>
}

const reasonOf = (error: unknown): Schema.Json => ({
  kind: Failure.kindOf(error) ?? "defect",
  reason: error instanceof Error ? error.message : String(error)
})

/**
 * Plays a coordinator to its end, as a run does. Each move is taken a second time by a coordinator that was made anew, from
 * a view that has been through JSON: that is a resumed run.
 */
export const play = <R>(
  make: () => Coordinator.Coordinator<never, R>,
  world: World = {}
): Effect.Effect<Played, never, R> =>
  Effect.gen(function* () {
    const coordinator = make()
    const { came = () => ({}), order, people = [], workers = [] } = world
    const planned: Array<RunEvent.PlannedTask> = []
    const tasks: Array<Coordinator.Seen> = []
    const moves: Array<Coordinator.Next> = []
    const questions: Array<Coordinator.Question<never>> = []
    const open: Array<RunEvent.PlannedTask> = []
    const said: Array<RunState.Answer> = []
    const answers: Array<Schema.Json> = []
    let consult: RunState.Consult | undefined
    let consulted = 0
    const now = (): Coordinator.View =>
      view({ tasks, open: open.length, answers, said, ...(consult === undefined ? {} : { consult }) })
    const add = (more: ReadonlyArray<RunEvent.PlannedTask>) => {
      for (const task of more) {
        assert.isFalse(
          planned.some(({ id }) => id === task.id),
          `${task.id} is planned once`
        )
        for (const need of task.needs) {
          assert.isTrue(
            [...planned, ...more].some(({ id }) => id === need),
            `${need}, which ${task.id} needs, is planned`
          )
        }
        assert.strictEqual(new Set(task.needs).size, task.needs.length, `${task.id} needs each task once`)
      }
      for (const task of more) {
        planned.push(task)
        open.push(task)
        tasks.push(seen(task.id, { template: task.template ?? task.id, status: "ready", reason: "" }))
      }
    }
    add(coordinator.initial)
    for (let round = 0; round < 1000; round++) {
      const next = coordinator.next(now())
      assert.deepStrictEqual(
        make().next(JSON.parse(JSON.stringify(now())) as Coordinator.View),
        next,
        "a resumed run moves so too"
      )
      if (next._tag !== "Wait") moves.push(next)
      switch (next._tag) {
        case "Add": {
          assert.isAbove(next.tasks.length, 0, "tasks are added")
          add(next.tasks)
          break
        }
        case "Consult": {
          assert.notStrictEqual(consult?.status, "open")
          consulted += 1
          const id = `r1/consult/${consulted}`
          const failures: number = consult?.status === "failed" ? consult.failures : 0
          const refused = consult?.error
          const asked = question({
            consult: id,
            purpose: next.purpose,
            workers,
            tasks: [...tasks],
            ...(refused === undefined ? {} : { refused })
          })
          questions.push(asked)
          assert.isDefined(coordinator.decide, "what asks for choices can take them")
          const exit = yield* Effect.exit(coordinator.decide!(asked))
          if (Exit.isSuccess(exit)) {
            const answer = JSON.parse(JSON.stringify(exit.value.answer)) as Schema.Json
            answers.push(answer)
            consult = { id, purpose: next.purpose, status: "answered", failures: 0, answer }
          } else {
            const error = reasonOf(Cause.squash(exit.cause)) as RunState.Consult["error"] & {}
            consult = { id, purpose: next.purpose, status: "failed", failures: failures + 1, error }
          }
          break
        }
        case "Review": {
          const person = people[said.length]
          if (person === undefined) return { moves, end: next, view: now(), planned, questions }
          said.push({
            review: `r1/review/${said.length + 1}`,
            kind: "routing",
            reason: next.reason,
            by: "ann",
            tries: 0,
            note: "as I see it",
            ...person
          })
          break
        }
        case "Stop":
        case "Done":
          return { moves, end: next, view: now(), planned, questions }
        case "Wait": {
          if (open.length === 0) return { moves, end: next, view: now(), planned, questions }
          const [task] = open.splice(order === undefined ? 0 : order.below(open.length), 1)
          const at = tasks.findIndex(({ id }) => id === task!.id)
          const name = tasks[at]!.template
          const before = tasks.slice(0, at).filter(({ template }) => template === name).length
          tasks[at] = { ...seen(task!.id, { template: name }), ...came(name, before, task!) }
        }
      }
    }
    return yield* Effect.die(new Error("the coordinator comes to no end"))
  })

/** The ids of the tasks in the order in which they were added. */
export const ids = ({ planned }: Played): ReadonlyArray<string> => planned.map(({ id }) => id)

/** How it ended, in short. */
export const ended = ({ end }: Played): string => (end._tag === "Stop" ? `Stop ${end.reason}` : end._tag)

/** One task's part in a result. */
export const part = (id: string, output?: Schema.Json, fields: Partial<Coordinator.Part> = {}): Coordinator.Part => ({
  id,
  template: id.split("#")[0] ?? id,
  status: output === undefined ? "failed" : "accepted",
  reason: "",
  usage: {},
  ...(output === undefined
    ? {}
    : { result: { status: "completed", output, confidence: 1, evidence: [], usage: {}, missing: [] } }),
  ...fields
})
