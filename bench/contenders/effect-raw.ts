/**
 * The reference line: a hand-written minimal actor on public Effect primitives, fork + Queue + Deferred, one message per
 * take, no supervision.
 */
import { Deferred, Effect, Fiber, Queue } from "effect"

import { medianOf } from "../effects.ts"
import type { Contender } from "../util.ts"
import { at, fanOut, heap, mustBe, now } from "../util.ts"

type Handle<S, M> = (state: S, message: M) => S | Effect.Effect<S, string>

const loop = <S, M>(queue: Queue.Queue<M>, init: S, handle: Handle<S, M>): Effect.Effect<void, string> => {
  let state = init
  const body = Effect.flatMap(Queue.take(queue), (message) => {
    const result = handle(state, message)
    if (Effect.isEffect(result)) {
      return Effect.map(result as Effect.Effect<S, string>, (next) => {
        state = next
      })
    }
    state = result
    return Effect.void
  })
  return Effect.whileLoop({ while: () => true, body: () => body, step: () => {} })
}

const spawn = <S, M>(init: S, handle: Handle<S, M>) =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<M>()
    yield* Effect.forkChild(loop(queue, init, handle))
    return queue
  })

const startStop = (n: number) =>
  Effect.gen(function* () {
    const base = yield* Effect.promise(heap)
    let ready = 0
    let stopped = 0
    const allReady = yield* Deferred.make<void>()
    const t0 = now()
    const child = Effect.gen(function* () {
      const queue = yield* Queue.unbounded<number>()
      ready += 1
      if (ready === n) yield* Deferred.succeed(allReady, void 0)
      return yield* loop(queue, 0, (s: number) => s + 1)
    }).pipe(Effect.onExit(() => Effect.sync(() => (stopped += 1))))
    const supervisor = yield* Effect.forkChild(
      Effect.gen(function* () {
        for (let i = 0; i < n; i++) yield* Effect.forkChild(child)
        return yield* Effect.never
      })
    )
    yield* Deferred.await(allReady)
    const t1 = now()
    const loaded = yield* Effect.promise(heap)
    const t2 = now()
    yield* Fiber.interrupt(supervisor)
    const t3 = now()
    if (stopped !== n) return yield* Effect.die(`only ${stopped} of ${n} stopped`)
    return { start: ((t1 - t0) * 1000) / n, stop: ((t3 - t2) * 1000) / n, heap: (loaded - base) / n }
  })

const tells = (n: number, senders: number) =>
  Effect.gen(function* () {
    const done = yield* Deferred.make<void>()
    const queue = yield* spawn<number, number>(0, (s) =>
      s + 1 === n ? Effect.as(Deferred.succeed(done, void 0), s + 1) : s + 1
    )
    const t0 = now()
    const sender = Effect.suspend(() => {
      let i = 0
      const offer = Queue.offer(queue, 1)
      return Effect.whileLoop({ while: () => i < n / senders, body: () => offer, step: () => void (i += 1) })
    })
    for (let k = 0; k < senders; k++) yield* Effect.forkChild(sender)
    yield* Deferred.await(done)
    return ((now() - t0) * 1e6) / n
  })

const server = spawn(0, (s: number, reply: Deferred.Deferred<number>) => Effect.as(Deferred.succeed(reply, s), s + 1))

const ask = (queue: Queue.Queue<Deferred.Deferred<number>>) =>
  Effect.gen(function* () {
    const reply = yield* Deferred.make<number>()
    yield* Queue.offer(queue, reply)
    return yield* Deferred.await(reply)
  })

const asks = (n: number, askers: number) =>
  Effect.gen(function* () {
    const queue = yield* server
    const one = ask(queue)
    const t0 = now()
    const asker = Effect.gen(function* () {
      for (let i = 0; i < n / askers; i++) yield* one
    })
    const fibers = []
    for (let k = 0; k < askers; k++) fibers.push(yield* Effect.forkChild(asker))
    yield* Fiber.joinAll(fibers)
    return ((now() - t0) * 1000) / n
  })

const asksTimed = (times: Float64Array) =>
  Effect.gen(function* () {
    const one = ask(yield* server)
    return yield* medianOf(one, times)
  })

const crashing = (s: number, message: string): number | Effect.Effect<number, string> =>
  message === "crash" ? Effect.fail("boom") : s + 1

const restarts = (n: number, warmUp: number) =>
  Effect.gen(function* () {
    let queue: Queue.Queue<string> | undefined
    let ready = yield* Deferred.make<void>()
    const child = Effect.gen(function* () {
      queue = yield* Queue.unbounded<string>()
      yield* Deferred.succeed(ready, void 0)
      return yield* loop(queue, 0, crashing)
    })
    const supervisor = yield* Effect.forkChild(
      Effect.gen(function* () {
        while (true) yield* Fiber.await(yield* Effect.forkChild(child))
      })
    )
    yield* Deferred.await(ready)
    let t0 = now()
    for (let i = 0; i < warmUp + n; i++) {
      if (i === warmUp) t0 = now()
      ready = yield* Deferred.make<void>()
      yield* Queue.offer(queue!, "crash")
      yield* Deferred.await(ready)
    }
    const micros = ((now() - t0) * 1000) / n
    yield* Fiber.interrupt(supervisor)
    return micros
  })

const groupRestarts = (n: number, warmUp: number, size: number) =>
  Effect.gen(function* () {
    let queues: Array<Queue.Queue<string>> = []
    let left = size
    let ready = yield* Deferred.make<void>()
    const supervisor = yield* Effect.forkChild(
      Effect.gen(function* () {
        while (true) {
          const down = yield* Deferred.make<void>()
          const fibers = []
          queues = []
          for (let i = 0; i < size; i++) {
            const child = Effect.gen(function* () {
              const queue = yield* Queue.unbounded<string>()
              queues.push(queue)
              left -= 1
              if (left === 0) yield* Deferred.succeed(ready, void 0)
              return yield* loop(queue, 0, crashing)
            }).pipe(Effect.onExit(() => Deferred.succeed(down, void 0)))
            fibers.push(yield* Effect.forkChild(child))
          }
          yield* Deferred.await(down)
          yield* Fiber.interruptAll(fibers)
        }
      })
    )
    yield* Deferred.await(ready)
    let t0 = now()
    for (let i = 0; i < warmUp + n; i++) {
      if (i === warmUp) t0 = now()
      ready = yield* Deferred.make<void>()
      left = size
      yield* Queue.offer(queues[i % size]!, "crash")
      yield* Deferred.await(ready)
    }
    const micros = ((now() - t0) * 1000) / n
    yield* Fiber.interrupt(supervisor)
    return micros
  })

interface Step {
  readonly text: string
  readonly reply: Deferred.Deferred<string>
}
const stepper = (does: string) =>
  spawn<number, Step>(0, (s, { reply, text }) => Effect.as(Deferred.succeed(reply, `${text} ${does}`), s + 1))

/** Asks an actor for a text. */
const order = (queue: Queue.Queue<Step>, text: string) =>
  Effect.gen(function* () {
    const reply = yield* Deferred.make<string>()
    yield* Queue.offer(queue, { text, reply })
    return yield* Deferred.await(reply)
  })

/** A client asks a supervisor, which asks a worker for each step: three actors in a chain. */
const chain = (n: number) =>
  Effect.gen(function* () {
    const research = yield* stepper("researched")
    const write = yield* stepper("written")
    const check = yield* stepper("checked")
    const supervisor = yield* spawn<number, Step>(0, (s, { reply, text }) =>
      Effect.gen(function* () {
        const notes = yield* order(research, text)
        const draft = yield* order(write, notes)
        const verdict = yield* order(check, draft)
        yield* Deferred.succeed(reply, verdict)
        return s + 1
      })
    )
    const t0 = now()
    let last = ""
    for (let i = 0; i < n; i++) last = yield* order(supervisor, "task")
    const micros = ((now() - t0) * 1000) / (n * 3)
    mustBe("the last verdict", last, "task researched written checked")
    return micros
  })

const fan = (n: number) =>
  Effect.gen(function* () {
    const workers = yield* Effect.forEach(Array.from({ length: fanOut.inFlight }), () => stepper("done"))
    const tasks = Array.from({ length: fanOut.tasks }, (_, i) => i)
    const supervisor = yield* spawn<number, Step>(0, (s, { reply }) =>
      Effect.gen(function* () {
        const results = yield* Effect.forEach(tasks, (i) => order(workers[i % workers.length]!, "task"), {
          concurrency: fanOut.inFlight
        })
        yield* Deferred.succeed(reply, String(results.length))
        return s + 1
      })
    )
    const t0 = now()
    for (let i = 0; i < n; i++) mustBe("the results", yield* order(supervisor, "run"), String(fanOut.tasks))
    return ((now() - t0) * 1000) / (n * fanOut.tasks)
  })

const run = Effect.runPromise

export const contender: Contender = {
  W1: (scale) => run(startStop(at(100_000, scale))),
  W2: async (scale) => {
    const one = await run(tells(at(1_000_000, scale), 1))
    const many = await run(tells(at(1_000_000, scale), 100))
    return { "tell-plain": one, "tell-effect": one, "fan-in-plain": many, "fan-in-effect": many }
  },
  W3: async (scale) => {
    const times = new Float64Array(at(50_000, scale))
    const p50 = await run(asksTimed(times))
    const one = await run(asks(at(50_000, scale), 1))
    const many = await run(asks(at(100_000, scale), 100))
    return { ask: one, "ask-p50": p50, "ask-effect": one, "ask-100": many, "ask-100-effect": many }
  },
  W4: async (scale) => {
    const restart = await run(restarts(at(5_000, scale), at(20_000, scale)))
    return {
      restart,
      "restart-among-1000": restart,
      "restart-depth-50": restart,
      "all-100": await run(groupRestarts(at(200, scale), at(1_000, scale), 100))
    }
  },
  W5: async (scale) => {
    const dispatch = await run(chain(at(5_000, scale)))
    // It has no spans: what they cost is measured by what work costs without.
    return { dispatch, "dispatch-spans": dispatch, "fan-out": await run(fan(at(200, scale, 2))) }
  }
}
