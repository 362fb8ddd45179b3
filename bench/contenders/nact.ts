/**
 * nact 7: actors with a mailbox in JavaScript. A crash resets the state in place; a stopped parent leaves its children
 * to whoever holds their references, so they are stopped one by one.
 */
import type { Contender } from "../util.ts"
import { at, fanOut, heap, mustBe, now, timed } from "../util.ts"

interface Reference {
  readonly name: string
}
interface SupervisionContext {
  readonly reset: symbol
  readonly resetAll: symbol
}
interface Options {
  readonly initialState?: unknown
  readonly initialStateFunc?: () => unknown
  readonly afterStop?: () => void
  readonly onCrash?: (message: unknown, error: unknown, context: SupervisionContext) => symbol
}
/** What is used of the package, which is installed beside the benchmarks only. */
interface Nact {
  start(): Reference
  stop(reference: Reference): void
  spawn(parent: Reference, handle: (state: never, message: never) => unknown, name: string, options: Options): Reference
  dispatch(to: Reference, message: unknown): void
  query(to: Reference, message: (replyTo: Reference) => unknown, timeoutMillis: number): Promise<unknown>
}

const loaded: { readonly default: Nact } = await import("nact" as string)
const nact = loaded.default

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const startStop = async (n: number) => {
  const system = nact.start()
  const base = await heap()
  let stopped = 0
  let allStopped = (): void => {}
  const down = new Promise<void>((resolve) => (allStopped = resolve))
  const options: Options = {
    initialState: 0,
    afterStop: () => {
      stopped += 1
      if (stopped === n) allStopped()
    }
  }
  const t0 = now()
  const children: Array<Reference> = []
  for (let i = 0; i < n; i++) children.push(nact.spawn(system, (state: number) => state + 1, `child-${i}`, options))
  const t1 = now()
  const filled = await heap()
  const t2 = now()
  for (const child of children) nact.stop(child)
  await down
  const t3 = now()
  return { start: ((t1 - t0) * 1000) / n, stop: ((t3 - t2) * 1000) / n, heap: (filled - base) / n }
}

const tells = async (n: number, senders: number) => {
  const system = nact.start()
  let done = (): void => {}
  const drained = new Promise<void>((resolve) => (done = resolve))
  const counter = nact.spawn(
    system,
    (state: number) => {
      if (state + 1 === n) done()
      return state + 1
    },
    "counter",
    { initialState: 0 }
  )
  const t0 = now()
  const sender = async (): Promise<void> => {
    for (let i = 0; i < n / senders; i++) nact.dispatch(counter, 1)
  }
  for (let k = 0; k < senders; k++) void sender()
  await drained
  const nanos = ((now() - t0) * 1e6) / n
  nact.stop(system)
  return nanos
}

const asks = async (n: number, askers: number) => {
  const system = nact.start()
  const server = nact.spawn(
    system,
    (state: number, message: { readonly replyTo: Reference }) => {
      nact.dispatch(message.replyTo, state)
      return state + 1
    },
    "server",
    { initialState: 0 }
  )
  const ask = (): Promise<unknown> => nact.query(server, (replyTo) => ({ replyTo }), 5_000)
  const asker = async (): Promise<void> => {
    for (let i = 0; i < n / askers; i++) await ask()
  }
  const t0 = now()
  await Promise.all(Array.from({ length: askers }, asker))
  const micros = ((now() - t0) * 1000) / n
  nact.stop(system)
  return micros
}

const restarts = async (n: number, warmUp: number, size: number) => {
  const system = nact.start()
  let left = size
  let ready = (): void => {}
  const parent = nact.spawn(system, (state: number) => state, "parent", { initialState: 0 })
  const options: Options = {
    initialStateFunc: () => {
      left -= 1
      if (left === 0) ready()
      return 0
    },
    onCrash: (_message, _error, context) => (size === 1 ? context.reset : context.resetAll)
  }
  const crash = (): never => {
    throw "boom"
  }
  const children = Array.from({ length: size }, (_, i) => nact.spawn(parent, crash, `child-${i}`, options))
  await nextTurn()
  return timed(n, warmUp, (i) => {
    const restarted = new Promise<void>((resolve) => (ready = resolve))
    left = size
    nact.dispatch(children[i % size]!, "crash")
    return restarted
  })
}

interface Step {
  readonly text: string
  readonly replyTo: Reference
}
const order = (to: Reference, text: string): Promise<unknown> => nact.query(to, (replyTo) => ({ text, replyTo }), 5_000)

const stepper = (system: Reference, does: string): Reference =>
  nact.spawn(
    system,
    (state: number, { replyTo, text }: Step) => {
      nact.dispatch(replyTo, `${text} ${does}`)
      return state + 1
    },
    does,
    { initialState: 0 }
  )

const chain = async (n: number) => {
  const system = nact.start()
  const steps = ["researched", "written", "checked"].map((does) => stepper(system, does))
  const supervisor = nact.spawn(
    system,
    async (state: number, { replyTo, text }: Step) => {
      let done = text
      for (const step of steps) done = (await order(step, done)) as string
      nact.dispatch(replyTo, done)
      return state + 1
    },
    "supervisor",
    { initialState: 0 }
  )
  const t0 = now()
  let last: unknown
  for (let i = 0; i < n; i++) last = await order(supervisor, "task")
  const micros = ((now() - t0) * 1000) / (n * 3)
  mustBe("the last verdict", last, "task researched written checked")
  nact.stop(system)
  return micros
}

const fan = async (n: number) => {
  const system = nact.start()
  const workers = Array.from({ length: fanOut.inFlight }, (_, i) => stepper(system, `worker-${i}`))
  const supervisor = nact.spawn(
    system,
    async (state: number, { replyTo }: Step) => {
      let next = 0
      let done = 0
      const slot = async (): Promise<void> => {
        while (next < fanOut.tasks) {
          await order(workers[next++ % workers.length]!, "task")
          done += 1
        }
      }
      await Promise.all(Array.from({ length: fanOut.inFlight }, slot))
      nact.dispatch(replyTo, done)
      return state + 1
    },
    "supervisor",
    { initialState: 0 }
  )
  const t0 = now()
  for (let i = 0; i < n; i++) mustBe("the results", await order(supervisor, "run"), fanOut.tasks)
  const micros = ((now() - t0) * 1000) / (n * fanOut.tasks)
  nact.stop(system)
  return micros
}

export const contender: Contender = {
  W1: (scale) => startStop(at(100_000, scale)),
  W2: async (scale) => ({
    "tell-plain": await tells(at(1_000_000, scale), 1),
    "fan-in-plain": await tells(at(1_000_000, scale), 100)
  }),
  W3: async (scale) => ({
    ask: await asks(at(50_000, scale), 1),
    "ask-100": await asks(at(100_000, scale), 100)
  }),
  W4: async (scale) => ({
    restart: await restarts(at(5_000, scale), at(20_000, scale), 1),
    "all-100": await restarts(at(200, scale), at(1_000, scale), 100)
  }),
  W5: async (scale) => ({
    dispatch: await chain(at(5_000, scale)),
    "fan-out": await fan(at(200, scale, 2))
  })
}
