/** One process of a run that is cut off, or that takes it up: see `killed.ts`. */
import type { Durable } from "./engine.ts"
import { makeTexts } from "./engine.ts"
import type { Job } from "./killed.ts"

const job: Job = JSON.parse(process.argv[2] ?? "")
const text = makeTexts(job.bytes)
const done: Record<string, number> = {}
const say = (message: object): void => void process.send?.(message)

const t0 = performance.now()
const { open }: Durable = await import(`../contenders/durable/${job.contender}.ts`)
const t1 = performance.now()
const engine = await open(job.place, (step) => {
  if (step === job.stop) {
    // Whoever listens stays.
    process.on("message", () => {})
    say({ inside: step })
    return new Promise<string>(() => {})
  }
  done[step] = (done[step] ?? 0) + 1
  return text()
})
if (job.stop === undefined) {
  const t2 = performance.now()
  await engine.resume(job.steps)
  const t3 = performance.now()
  say({ import: t1 - t0, open: t2 - t1, resume: t3 - t2, done })
} else if (job.steps === undefined) await engine.task("run-killed")
else {
  await engine.prepare?.(job.steps)
  await engine.chain("run-killed", job.steps)
}
