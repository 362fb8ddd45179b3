/**
 * `npm run simulate -- tree --seeds N [--from SEED]`: random trees against the model, as many as there is time for.
 * `npm run simulate -- runs --seeds N [--from SEED]`: random runs, by decisions alone and in a living office.
 */
import { parseArgs } from "node:util"

const usage = "usage: npm run simulate -- tree|runs --seeds N [--from SEED]"

const refuse = (what: string): never => {
  console.error(`${what}\n${usage}`)
  process.exit(2)
}

interface Simulation {
  readonly trial: (seed: number) => string | undefined
  /** What is looked at once all seeds are tried; what is wrong there. */
  readonly closing?: ((from: number, seeds: number) => ReadonlyArray<string>) | undefined
}

const simulations: { readonly [what: string]: () => Promise<Simulation> } = {
  tree: () => import("./trial.ts"),
  runs: () => import("./runs/main.ts")
}

const read = (): { readonly what: () => Promise<Simulation>; readonly seeds: number; readonly from: number } => {
  const whole = (name: string, text: string, least: number): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least) {
      refuse(`--${name} must be a whole number >= ${least}, got ${text}`)
    }
    return value
  }
  const options = { seeds: { type: "string" }, from: { type: "string" } } as const
  const parse = () => {
    try {
      return parseArgs({ options, allowPositionals: true })
    } catch (error) {
      return refuse(error instanceof Error ? error.message : String(error))
    }
  }
  const { positionals, values } = parse()
  const [what] = positionals
  if (what === undefined) return refuse("what to simulate is missing")
  const simulation = Object.hasOwn(simulations, what) ? simulations[what] : undefined
  if (simulation === undefined) return refuse(`there is no simulation of ${what}, only of tree and runs`)
  if (positionals.length > 1) return refuse(`one simulation at a time, got ${positionals.join(" ")}`)
  if (values.seeds === undefined) return refuse("--seeds is missing")
  return { what: simulation, seeds: whole("seeds", values.seeds, 1), from: whole("from", values.from ?? "0", 0) }
}

const { from, seeds, what } = read()
const { closing, trial } = await what()
const told = Math.max(1_000, Math.ceil(seeds / 10))
let failures = 0
for (let i = 0; i < seeds; i++) {
  const wrong = trial(from + i)
  if (wrong !== undefined) {
    failures += 1
    console.log(wrong)
  }
  if ((i + 1) % told === 0 && i + 1 < seeds) console.log(`${i + 1} of ${seeds}`)
}
failures += closing?.(from, seeds).length ?? 0
console.log(`${seeds} seeds, ${failures} failures`)
process.exitCode = failures === 0 ? 0 : 1
