/** The workloads of durable runs, the same for every contender. */
import type { Contender, Workload } from "../util.ts"
import { at, mustBe, now, summary } from "../util.ts"
import { count } from "./counting.ts"
import { type Durable, makeTexts, type Place, type Store } from "./engine.ts"
import { killAndResume } from "./killed.ts"
import { bytesAt, withPlace } from "./places.ts"

type Figures = Record<string, number>

const small = 1_024
const large = 102_400

/** The events of espalier in a step of a run: routed, dispatched, reported, ended. */
const eventsOfStep = 4

const atMost = (count: number, most: number | undefined): number => Math.min(count, most ?? count)

const millis = async (work: () => Promise<unknown>): Promise<number> => {
  const t0 = now()
  await work()
  return now() - t0
}

/** A contender under the name of its module. */
export const durable = (name: string, { limits, open }: Durable): Contender => {
  /** Uses an open contender, and closes it. */
  const withEngine = async <A>(
    place: Place,
    use: (engine: Awaited<ReturnType<typeof open>>) => Promise<A>,
    work: (step: string) => string = makeTexts(small)
  ): Promise<A> => {
    const engine = await open(place, work)
    try {
      return await use(engine)
    } finally {
      await engine.close()
    }
  }

  /** Bytes that each of `n` pieces of work leaves. */
  const bytesOfEach = async (
    place: Place,
    n: number,
    work: (engine: Awaited<ReturnType<typeof open>>) => Promise<void>,
    answer?: (step: string) => string
  ): Promise<number> => {
    await withEngine(place, async () => {})
    const empty = await bytesAt(place)
    await withEngine(place, work, answer)
    return ((await bytesAt(place)) - empty) / n
  }

  /** Tasks one after the other. */
  const tasks = (store: Store, n: number): Promise<Figures> =>
    withPlace(store, async (place) => {
      let task = 0
      const disk = await bytesOfEach(place, n, async (engine) => {
        task =
          (await millis(async () => {
            for (let i = 0; i < n; i++) await engine.task(`run-${i}`)
          })) / n
      })
      return { task, disk }
    })

  const fans = (store: Store, n: number): Promise<number> =>
    withPlace(store, (place) =>
      withEngine(place, async (engine) => {
        const times: Array<number> = []
        for (let i = 0; i < n; i++) times.push(await millis(() => engine.fan(`fan-${i}`)))
        return summary(times).median
      })
    )

  const atOnce = (store: Store, n: number): Promise<number> =>
    withPlace(store, (place) =>
      withEngine(place, async (engine) => {
        const task = (await engine.crowd?.(n)) ?? engine.task
        const all = Array.from({ length: n }, (_, i) => `run-${i}`)
        return (await millis(() => Promise.all(all.map((run) => task(run))))) / n
      })
    )

  const counts = (store: Store): Promise<Figures> =>
    withPlace(store, async (place) => {
      const n = 5
      const counter = await count(place)
      try {
        return await withEngine(counter.place, async (engine) => {
          await engine.task("run-first")
          const before = counter.counts()
          for (let i = 0; i < n; i++) await engine.task(`run-${i}`)
          const after = counter.counts()
          const statements = (after.statements - before.statements) / n
          // A driver that nobody watches has none.
          return { ...(statements === 0 ? {} : { statements }), commits: (after.commits - before.commits) / n }
        })
      } finally {
        await counter.close()
      }
    })

  const killed = (store: Store): Promise<Figures> =>
    withPlace(store, async (place) => {
      const resumed = await killAndResume({ contender: name, place, bytes: small, stop: "write" })
      // What had been reported is not done again, what was under way is.
      mustBe("what was done after the kill", JSON.stringify(resumed.done), JSON.stringify({ write: 1, check: 1 }))
      const { import: load, open, resume } = resumed
      return { import: load, open, resume, "open-resume": open + resume, "resume-total": load + open + resume }
    })

  const long = (store: Store, events: number): Promise<number> =>
    withPlace(store, async (place) => {
      const n = events / eventsOfStep
      const stop = `s${n - 1}`
      const { done, open, resume } = await killAndResume({ contender: name, place, steps: n, bytes: small, stop })
      mustBe("what was done after the kill", JSON.stringify(done), JSON.stringify({ [stop]: 1 }))
      return open + resume
    })

  const w6 =
    (store: Store): Workload =>
    async (scale, warming) => {
      const one = await tasks(store, at(300, scale, 3))
      const all = await atOnce(store, atMost(at(1_000, scale, 10), limits.atOnce))
      const figures: Figures = {
        ...one,
        "fan-out": await fans(store, at(30, scale, 2)),
        "at-once": all,
        "at-once-of-one": all / one["task"]!
      }
      if (warming) return figures
      Object.assign(figures, await counts(store), await killed(store))
      if (limits.longest === undefined) figures["resume-10000"] = await long(store, at(10_000, scale, 100))
      return figures
    }

  /** Runs of so many steps: microseconds of a step, those of the last tenth over the first, bytes of a step. */
  const chain = (
    store: Store,
    scale: number,
    steps: number,
    bytes: number
  ): Promise<Readonly<Record<"step" | "growth" | "disk", number>>> =>
    withPlace(store, async (place) => {
      const texts = makeTexts(bytes)
      const n = at(steps, scale, 10)
      // Short runs are too short to be measured alone.
      const runs = Math.max(1, Math.round((200 * Math.min(1, scale)) / n))
      let begun: Array<number> = []
      const whole: Array<number> = []
      const growth: Array<number> = []
      const disk = await bytesOfEach(
        place,
        n * runs,
        async (engine) => {
          await engine.prepare?.(n)
          for (let run = 0; run < runs; run++) {
            begun = []
            whole.push(await millis(() => engine.chain(`run-${run}`, n)))
            mustBe("the steps", begun.push(now()), n + 1)
            const tenth = Math.max(1, Math.floor(n / 10))
            growth.push((begun[n]! - begun[n - tenth]!) / (begun[tenth]! - begun[0]!))
          }
        },
        () => {
          begun.push(now())
          return texts()
        }
      )
      return { step: (summary(whole).median * 1_000) / n, growth: summary(growth).median, disk }
    })

  const w7 =
    (store: Store): Workload =>
    async (scale, warming) => {
      const figures: Figures = {}
      for (const n of [10, 100, 1_000, 2_500]) {
        if (n > (limits.longest ?? n)) continue
        const { disk, growth, step } = await chain(store, scale, n, small)
        figures[`step-${n}`] = step
        if (n >= 1_000) Object.assign(figures, { [`growth-${n}`]: growth, [`disk-${n}`]: disk })
      }
      for (const n of [100, 1_000]) {
        if (warming || n > (limits.longestLarge ?? n)) continue
        const { disk, growth, step } = await chain(store, scale, n, large)
        Object.assign(figures, { [`large-${n}`]: step, [`large-growth-${n}`]: growth, [`large-disk-${n}`]: disk })
      }
      return figures
    }

  return Object.fromEntries(
    limits.stores.flatMap((store) => [
      [`W6/${store}`, w6(store)],
      [`W7/${store}`, w7(store)]
    ])
  )
}
