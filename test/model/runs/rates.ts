/** How often runs of unreliable workers succeed, and what is left of them when one worker is down for good. */
import { Cause, Effect, Schema } from "effect"
import { Journal } from "espalier/journal"
import { Desk, Domain, type Outcome, Plan, Run } from "espalier/run"
import { Fake, Outage } from "espalier/testing"

import { Machine } from "../machine.ts"
import { drive } from "./drive.ts"
import { fate } from "./fate.ts"

const kinds = ["transient", "malformed", "defect"] as const

const deadlineMillis = 600_000

const Output = Schema.Record(Schema.String, Schema.String)

interface Ended {
  readonly outcome: Outcome.Outcome
  readonly called: number
  readonly wrong: string | undefined
}

/** One run of a random plan over four workers in two domains; `down` is the name of the one that never answers well. */
const runOf = (seed: number, failing: number, down?: string | undefined): Ended => {
  const { below, next, pick } = fate(seed, "rates", failing, down ?? "")
  const names = ["one", "two", "three", "four"]
  const outage =
    down === undefined ? Outage.none : Outage.make([{ what: down, kind: pick(["transient", "defect", "silence"]) }])
  const alone = down !== undefined && next() < 0.5
  const fakes = names.map((name) =>
    Fake.worker(name, {
      capabilities: alone && name === down ? [] : ["work"],
      output: Schema.String,
      otherwise: "x",
      size: 2,
      failures: { rate: failing, seed, kind: pick(kinds) },
      latency: { from: 0, to: "5 seconds", seed },
      outage
    })
  )
  const tasks = Array.from({ length: 2 + below(6) }, (_, index) => ({
    id: `t${index}`,
    worker: index === 0 ? "a.one" : pick(["a.one", "a.two", "b.three", "b.four"]),
    capability: "work",
    objective: `Do t${index}`,
    needs: Array.from({ length: index }, (_, earlier) => `t${earlier}`).filter(() => next() < 0.2)
  }))
  // One task that nothing keeps from being done.
  const free = { id: "free", worker: "b.four", capability: "work", objective: "Do something else" }
  const desk = Desk.make("desk", {
    version: "1",
    input: Schema.Null,
    output: Output,
    domains: [Domain.make("a", { workers: fakes.slice(0, 2) }), Domain.make("b", { workers: fakes.slice(2) })],
    coordinator: Plan.make(
      [...tasks, free].map(({ capability, worker, ...task }) =>
        alone && worker === `a.${down}` ? { ...task, worker } : { ...task, worker, capability }
      )
    ),
    limits: { deadlineMillis }
  })
  const machine = new Machine()
  const exit = drive(
    machine,
    Effect.provide(Run.start(desk, { id: "r1", input: null, log: false }), Journal.layerMemory)
  )
  if (typeof exit === "string") throw new Error(`seed ${seed}: ${exit}`)
  if (exit._tag === "Failure") throw new Error(`seed ${seed}: ${Cause.pretty(exit.cause)}`)
  const outcome = exit.value
  const late = (outcome.endedAt ?? Infinity) - deadlineMillis
  const running = Effect.runSync(Effect.forEach(fakes, (fake) => fake.running)).reduce((sum, each) => sum + each, 0)
  const called = Effect.runSync(fakes[0]!.calls).length
  const wrong =
    late > 6_000
      ? `it outlives its deadline by ${late} ms`
      : running > 0
        ? `${running} calls run on`
        : machine.fibers > 0
          ? `${machine.fibers} fibers are left`
          : undefined
  return { outcome, called, wrong }
}

const fits = Schema.is(Output)

/** What is wrong with the run of a seed whose workers are all well. */
const healthy = (seed: number): string | undefined => {
  const { outcome, wrong } = runOf(seed, 0)
  const { degraded, output, results, status } = outcome
  if (wrong !== undefined) return wrong
  if (status !== "completed" || degraded) return `healthy workers end as ${status}`
  if (!fits(output)) return `the answer is not what the desk puts out: ${JSON.stringify(output)}`
  const lacks = Object.keys(results).find((task) => output[task] === undefined)
  return lacks === undefined ? undefined : `the answer lacks ${lacks}`
}

/** What is wrong with the run of a seed one of whose workers is down for good. */
const crippled = (seed: number): string | undefined => {
  const { called, outcome, wrong } = runOf(seed, 0.05, "one")
  const { degraded, missing, status } = outcome
  if (wrong !== undefined) return wrong
  if (called === 0) return "the worker that is down was not asked"
  if (status === "partial") return missing.length > 0 ? undefined : "it is partial and names nothing as missing"
  return status === "completed" && degraded ? undefined : `it ends as ${status}${degraded ? ", degraded" : ""}`
}

/** What came of so many runs of each sort. `succeeded`: of those whose every fifth call fails. */
export interface Rates {
  readonly runs: number
  readonly succeeded: number
  readonly wrong: ReadonlyArray<string>
}

export const rates = (from: number, runs: number): Rates => {
  let succeeded = 0
  const wrong: Array<string> = []
  const note = (seed: number, what: string, is: string | undefined) => {
    if (is !== undefined) wrong.push(`seed ${seed} (${what}): ${is}`)
  }
  for (let seed = from; seed < from + runs; seed++) {
    const flaky = runOf(seed, 0.2)
    if (flaky.outcome.status === "completed") succeeded += 1
    note(seed, "every fifth call fails", flaky.wrong)
    note(seed, "all are well", healthy(seed))
    note(seed, "one is down for good", crippled(seed))
  }
  if (succeeded < runs * 0.95) wrong.push(`only ${succeeded} of ${runs} runs succeed when every fifth call fails`)
  return { runs, succeeded, wrong }
}

export const showRate = ({ runs, succeeded }: Rates): string =>
  `success rate ${((100 * succeeded) / runs).toFixed(1)} % of ${runs} runs whose every fifth call fails`
