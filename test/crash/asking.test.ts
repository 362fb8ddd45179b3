import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"

import { withProcesses } from "../fixtures/real.ts"
import { check, decisions } from "./check.ts"
import { closing, crashTest, folder } from "./harness.ts"
import { live } from "./life.ts"
import { look, makeWorld, nextLife, outcomes, type World } from "./world.ts"

/** A process of its own that decides all that is asked, and ends; what it has heard, line by line. */
const decider = ({ runs, store }: World, by: string, more: ReadonlyArray<string> = []) =>
  Effect.callback<ReadonlyArray<string>>((resume) => {
    const script = fileURLToPath(new URL("decider.ts", import.meta.url))
    const args = ["--conditions=@espalier/source", script, JSON.stringify({ store, runs, by }), ...more]
    const child = execFile(process.execPath, args, (error, out, err) =>
      resume(
        error === null ? Effect.succeed(out.split("\n").filter((line) => line !== "")) : Effect.die(new Error(err))
      )
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** A life that nobody but other processes says something to. */
const alone = (world: World, cache: string, told: Parameters<typeof nextLife>[1] = {}) =>
  Effect.suspend(() => live(nextLife(world, told), { cache }))

describe("R-306 a process that is killed while people are asked", () => {
  withProcesses(
    "D73 D82 asks nothing twice, loses no answer, and does once what was approved",
    () =>
      Effect.gen(function* () {
        const report = yield* crashTest({ points: 3, seed: 7, asking: true })
        assert.deepStrictEqual(report.found, [])
        assert.strictEqual(closing(report), "3 kills: 0 lost, 0 repeated, 0 hung")
      }),
    300_000
  )

  withProcesses(
    "D74 is not needed for an answer: others list and decide while nobody lives, and the next one goes on",
    () =>
      Effect.gen(function* () {
        const [parent, cache] = [yield* folder, yield* folder]
        const world = makeWorld(parent, "dead", {}, ["a"], true)
        const point = { _tag: "boundary", name: "after append Parked", nth: 2 } as const
        assert.deepStrictEqual(yield* alone(world, cache, { point }), { _tag: "killed" })
        // Five processes at once decide all that is open.
        const all = yield* Effect.forEach([1, 2, 3, 4, 5], (n) => decider(world, `p${n}`), { concurrency: "unbounded" })
        const told = all.flat().map((line) => JSON.parse(line) as { review: string; by: string; told: string })
        const reviews = new Set(told.map(({ review }) => review))
        assert.isAtLeast(reviews.size, 3)
        for (const review of reviews) {
          const of = told.filter((each) => each.review === review)
          assert.lengthOf(
            of.filter((each) => each.told === "Left"),
            1,
            review
          )
          assert.isTrue(
            of.every((each) => each.told === "Left" || each.told === "already-decided"),
            review
          )
        }
        for (const each of told) world.decisions.push(each)
        // What is asked from here on is answered by one that lives beside the next one, until that is over.
        const beside = Effect.andThen(decider(world, "q", ["stay"]), Effect.never)
        const ending = yield* Effect.raceFirst(alone(world, cache), beside)
        assert.deepStrictEqual(ending, { _tag: "over" })
        const seen = yield* look(world)
        assert.deepStrictEqual([...check(seen), ...decisions(seen)], [])
        const [outcome] = yield* outcomes(world)
        assert.strictEqual(outcome?.status, "completed")
        const sent = seen.lines.filter((line) => line._tag === "Done" && line.task === "send")
        assert.lengthOf(sent, 1)
      }),
    120_000
  )
})
