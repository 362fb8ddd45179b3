/** The same workloads on this library, with supervision, time-outs, tracing and shutdown order as they are. */
import { Context, Effect, Fiber, Schema } from "effect"
import { Rpc } from "effect/rpc"

import { Actor, Child, Supervisor } from "../../src/index.ts"
import { medianOf } from "../effects.ts"
import type { Contender } from "../util.ts"
import { at, heap, now } from "../util.ts"
import { runs } from "./espalier-runs.ts"

class Counter extends Actor.Service<Counter>()("Counter", [
  Rpc.make("Add", { payload: Schema.Number, success: Schema.Number }),
  Rpc.make("Crash")
]) {}

const quiet = { log: false }
const unlimited = { restarts: 1_000_000_000, within: "1 hour" } as const

const counter = (onTotal: (total: number) => void, effects: boolean, id = "counter") =>
  Counter.child(
    Effect.sync(() => {
      let total = 0
      const add = (by: number): number => {
        total += by
        onTotal(total)
        return total
      }
      return Counter.handlers({
        Add: effects ? (by) => Effect.sync(() => add(by)) : add,
        Crash: () => Effect.die("boom")
      })
    }),
    { id }
  )

const inTree = <A, E>(
  child: Child.Child<Counter, never, never>,
  program: Effect.Effect<A, E, Counter>
): Effect.Effect<A, E | Supervisor.StartFailure<never>> =>
  Effect.provide(program, Supervisor.layer(Supervisor.make("root", { children: [child], intensity: unlimited }), quiet))

const startStop = (n: number) =>
  Effect.gen(function* () {
    const base = yield* Effect.promise(heap)
    let ready = 0
    const build = Effect.sync(() => {
      ready += 1
      let total = 0
      return Counter.handlers({ Add: (by) => (total += by), Crash: () => Effect.die("boom") })
    })
    const t0 = now()
    const children = Array.from({ length: n }, (_, i) => Child.hide(Counter.child(build, { id: `counter-${i}` })))
    let t1 = 0
    let t2 = 0
    let loaded = 0
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* Supervisor.start(Supervisor.make("root", { children }), quiet)
        t1 = now()
        loaded = yield* Effect.promise(heap)
        t2 = now()
      })
    )
    const t3 = now()
    if (ready !== n) return yield* Effect.die(`only ${ready} of ${n} were ready`)
    return { start: ((t1 - t0) * 1000) / n, stop: ((t3 - t2) * 1000) / n, heap: (loaded - base) / n }
  })

const tells = (n: number, senders: number, effects: boolean) => {
  let done: () => void = () => {}
  const drained = new Promise<void>((resolve) => (done = resolve))
  const child = counter((total) => {
    if (total === n) done()
  }, effects)
  return inTree(
    child,
    Effect.gen(function* () {
      const ref = yield* Counter
      const t0 = now()
      const sender = Effect.suspend(() => {
        let i = 0
        const tell = effects ? ref.tell.Add(1) : Effect.sync(() => ref.tellUnsafe.Add(1))
        return Effect.whileLoop<unknown, never, never>({
          while: () => i < n / senders,
          body: () => tell,
          step: () => void (i += 1)
        })
      })
      for (let k = 0; k < senders; k++) yield* Effect.forkChild(sender)
      yield* Effect.promise(() => drained)
      return ((now() - t0) * 1e6) / n
    })
  )
}

const asks = (n: number, askers: number, effects: boolean) =>
  inTree(
    counter(() => {}, effects),
    Effect.gen(function* () {
      const ref = yield* Counter
      const one = ref.Add(1)
      const t0 = now()
      const asker = Effect.gen(function* () {
        for (let i = 0; i < n / askers; i++) yield* one
      })
      const fibers = []
      for (let k = 0; k < askers; k++) fibers.push(yield* Effect.forkChild(asker))
      yield* Fiber.joinAll(fibers)
      return ((now() - t0) * 1000) / n
    })
  )

const asksTimed = (times: Float64Array) =>
  inTree(
    counter(() => {}, false),
    Effect.flatMap(Counter, (ref) => medianOf(ref.Add(1), times))
  )

interface Setting {
  /** children that crash in turn */
  readonly size: number
  readonly strategy: Supervisor.Strategy
  /** children beside them that never do */
  readonly siblings?: number
  /** supervisors above theirs */
  readonly depth?: number
}

const restarts = (n: number, warmUp: number, { size, strategy, siblings = 0, depth = 0 }: Setting) =>
  Effect.gen(function* () {
    let left = size
    let ready: () => void = () => {}
    const services = Array.from({ length: size }, (_, i) =>
      Actor.Service<Counter>()(`Counter-${i}`, [Rpc.make("Crash")])
    )
    const children = services.map((service) =>
      service.child(
        Effect.sync(() => {
          left -= 1
          if (left === 0) ready()
          return service.handlers({ Crash: () => Effect.die("boom") })
        })
      )
    )
    const others = Array.from({ length: siblings }, (_, i) => Child.hide(counter(() => {}, false, `sibling-${i}`)))
    let root = Supervisor.make("root", { children: [...children, ...others], strategy, intensity: unlimited })
    for (let i = 0; i < depth; i++) root = Supervisor.make(`above-${i}`, { children: [root] })
    const context = yield* Supervisor.start(root, quiet)
    const refs = services.map((service) => Context.get(context, service))
    const cycle = (i: number) =>
      Effect.callback<void>((resume) => {
        left = strategy === "one-for-all" ? size : 1
        ready = () => resume(Effect.void)
        refs[i % size]!.tellUnsafe.Crash()
      })
    let t0 = now()
    for (let i = 0; i < warmUp + n; i++) {
      if (i === warmUp) t0 = now()
      yield* cycle(i)
    }
    return ((now() - t0) * 1000) / n
  }).pipe(Effect.scoped)

const run = Effect.runPromise

export const contender: Contender = {
  W1: (scale) => run(startStop(at(100_000, scale))),
  W2: async (scale) => ({
    "tell-plain": await run(tells(at(1_000_000, scale), 1, false)),
    "tell-effect": await run(tells(at(1_000_000, scale), 1, true)),
    "fan-in-plain": await run(tells(at(1_000_000, scale), 100, false)),
    "fan-in-effect": await run(tells(at(1_000_000, scale), 100, true))
  }),
  W3: async (scale) => ({
    "ask-p50": await run(asksTimed(new Float64Array(at(50_000, scale)))),
    ask: await run(asks(at(50_000, scale), 1, false)),
    "ask-effect": await run(asks(at(50_000, scale), 1, true)),
    "ask-100": await run(asks(at(100_000, scale), 100, false)),
    "ask-100-effect": await run(asks(at(100_000, scale), 100, true))
  }),
  W4: async (scale) => ({
    restart: await run(restarts(at(5_000, scale), at(20_000, scale), { size: 1, strategy: "one-for-one" })),
    "restart-among-1000": await run(
      restarts(at(5_000, scale), at(20_000, scale), { size: 1, strategy: "one-for-one", siblings: 1_000 })
    ),
    "restart-depth-50": await run(
      restarts(at(5_000, scale), at(20_000, scale), { size: 1, strategy: "one-for-one", depth: 50 })
    ),
    "all-100": await run(restarts(at(200, scale), at(1_000, scale), { size: 100, strategy: "one-for-all" }))
  }),
  W5: runs
}
