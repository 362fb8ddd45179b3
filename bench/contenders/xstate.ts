/**
 * xstate 5: state machines as actors. A send is a synchronous call, and there are no supervisors: the restart is a parent
 * written by hand. Stopping a parent costs more per child the more it has, so W1 is cut at 2,000.
 */
import type { Contender } from "../util.ts"
import { at, heap, now, timed } from "../util.ts"

interface Actor {
  start(): Actor
  stop(): Actor
  send(event: object): void
  subscribe(observer: { readonly error?: () => void; readonly complete?: () => void }): void
}
/** What is used of the package, which is installed beside the benchmarks only. */
interface XState {
  createActor(logic: unknown): Actor
  fromTransition(transition: (state: never, event: never) => unknown, initial: unknown): unknown
  setup(options: object): { createMachine(machine: object): unknown }
  assign(make: (args: { readonly spawn: (logic: unknown) => unknown }) => object): unknown
}

const { assign, createActor, fromTransition, setup }: XState = await import("xstate" as string)

const startStop = async (n: number) => {
  const base = await heap()
  const child = fromTransition((state: number) => state + 1, 0)
  const parent = setup({}).createMachine({
    context: {},
    entry: assign(({ spawn }) => ({ children: Array.from({ length: n }, () => spawn(child)) }))
  })
  const t0 = now()
  const root = createActor(parent).start()
  const t1 = now()
  const filled = await heap()
  const t2 = now()
  root.stop()
  const t3 = now()
  return { start: ((t1 - t0) * 1000) / n, stop: ((t3 - t2) * 1000) / n, heap: (filled - base) / n }
}

const tells = async (n: number, senders: number) => {
  let done = (): void => {}
  const drained = new Promise<void>((resolve) => (done = resolve))
  const counter = createActor(
    fromTransition((state: number) => {
      if (state + 1 === n) done()
      return state + 1
    }, 0)
  ).start()
  const event = { type: "add" }
  const sender = async (): Promise<void> => {
    for (let i = 0; i < n / senders; i++) counter.send(event)
  }
  const t0 = now()
  for (let k = 0; k < senders; k++) void sender()
  await drained
  return ((now() - t0) * 1e6) / n
}

const asks = async (n: number, askers: number) => {
  const server = createActor(
    fromTransition((state: number, event: { readonly reply: (value: number) => void }) => {
      event.reply(state)
      return state + 1
    }, 0)
  ).start()
  const ask = (): Promise<number> => new Promise((reply) => server.send({ type: "ask", reply }))
  const asker = async (): Promise<void> => {
    for (let i = 0; i < n / askers; i++) await ask()
  }
  const t0 = now()
  await Promise.all(Array.from({ length: askers }, asker))
  return ((now() - t0) * 1000) / n
}

const restarts = async (n: number, warmUp: number, size: number) => {
  const logic = fromTransition(() => {
    throw "boom"
  }, 0)
  let children: Array<Actor> = []
  let ready = (): void => {}
  const begin = (): void => {
    children = Array.from({ length: size }, () => {
      const child = createActor(logic)
      child.subscribe({ error: restart })
      return child.start()
    })
    ready()
  }
  const restart = (): void => {
    for (const child of children.toReversed()) child.stop()
    begin()
  }
  begin()
  return timed(n, warmUp, (i) => {
    const restarted = new Promise<void>((resolve) => (ready = resolve))
    children[i % size]!.send({ type: "crash" })
    return restarted
  })
}

export const contender: Contender = {
  W1: (scale) => startStop(Math.min(2_000, at(100_000, scale))),
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
  })
}
