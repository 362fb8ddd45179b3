/**
 * `npm run crash-test -- --points N --store sqlite|postgres [--asking] [--seed S] [--only K]`: kills a program at N points, and ends with what
 * was lost, repeated and hung.
 */
import { parseArgs } from "node:util"

import { Effect } from "effect"

import { startServer } from "../fixtures/postgres.ts"
import { closing, crashTest } from "./harness.ts"

const usage = "usage: npm run crash-test -- --points N --store sqlite|postgres [--asking] [--seed S] [--only K]"

const refuse = (what: string): never => {
  console.error(`${what}\n${usage}`)
  process.exit(2)
}

const whole = (name: string, text: string, least: number): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least) {
    refuse(`--${name} must be a whole number >= ${least}, got ${text}`)
  }
  return value
}

const read = () => {
  const options = {
    points: { type: "string" },
    store: { type: "string" },
    seed: { type: "string" },
    only: { type: "string" },
    asking: { type: "boolean" }
  } as const
  const parse = () => {
    try {
      return parseArgs({ options }).values
    } catch (error) {
      return refuse(error instanceof Error ? error.message : String(error))
    }
  }
  const { asking = false, only, points, seed, store } = parse()
  if (points === undefined) return refuse("--points is missing")
  if (store !== "sqlite" && store !== "postgres") return refuse(`--store must be sqlite or postgres, got ${store}`)
  const count = whole("points", points, 1)
  const one = only === undefined ? undefined : whole("only", only, 1)
  if (one !== undefined && one > count) refuse(`--only must be one of the ${count} points, got ${one}`)
  return { points: count, seed: whole("seed", seed ?? "1", 0), store, only: one, asking }
}

const { asking, only, points, seed, store } = read()
const report = await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const server = store === "postgres" ? yield* startServer() : undefined
      return yield* crashTest({ points, seed, only, server, asking, told: (line) => console.log(line) })
    })
  )
)
for (const kill of new Set(report.found.flatMap(({ kill }) => (kill === 0 ? [] : [kill])))) {
  console.log(
    `again: npm run crash-test -- --store ${store}${asking ? " --asking" : ""} --points ${points} --seed ${seed} --only ${kill}`
  )
}
console.log(`${report.answered} effects were left to people, who looked`)
console.log(closing(report))
process.exitCode = report.found.length === 0 ? 0 : 1
