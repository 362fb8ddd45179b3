import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Exit, type Fiber, Schedule, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Child, Supervisor, Tree } from "espalier"

import { Machine } from "./machine.ts"

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

/** Bytes in use that nothing can free. */
const heap = (): number => {
  // A collection may leave to the next one what had a finalizer of its own.
  for (let i = 0; i < 3; i++) collect()
  return process.memoryUsage().heapUsed
}

const Restarts = 10_000
const BytesPerRestart = 100

class Counter extends Actor.Service<Counter>()("Counter", [
  Rpc.make("Add", { success: Schema.Number }),
  Rpc.make("Crash")
]) {}

/** A tree whose restarts are driven by hand, on a machine that counts fibers and timers. */
class Orchard {
  readonly machine = new Machine()
  /** resources that were acquired and not released */
  held = 0
  restarts = 0
  private readonly ends = new Map<string, Deferred.Deferred<never>>()
  private holder: Fiber.Fiber<unknown, unknown> | undefined
  private context: Context.Context<Counter | Tree.Tree> | undefined

  private readonly resource = Effect.acquireRelease(
    Effect.sync(() => (this.held += 1)),
    () => Effect.sync(() => (this.held -= 1))
  )

  /** A child that starts and cleans up in no time, or in 10 milliseconds each. */
  worker(id: string, options?: Child.Options<never> & { readonly slow?: boolean }): Child.Child<never, never, never> {
    const slow = options?.slow ? Effect.sleep("10 millis") : Effect.void
    const { ends, resource } = this
    return Child.make(
      id,
      Effect.gen(function* () {
        yield* Effect.addFinalizer(() => slow)
        yield* slow
        yield* resource
        const end = yield* Deferred.make<never>()
        ends.set(id, end)
        return Deferred.await(end)
      }),
      options
    )
  }

  get actor(): Child.Child<Counter, never, never> {
    return Counter.child(
      Effect.map(this.resource, () => {
        let total = 0
        return Counter.handlers({ Add: () => (total += 1), Crash: () => Effect.die("as planned") })
      })
    )
  }

  start<P>(root: Supervisor.Supervisor<P, never, never>): void {
    const start = Supervisor.start(root, {
      log: false,
      onEvent: ({ _tag }) => {
        if (_tag === "Restarting") this.restarts += 1
      }
    })
    this.holder = this.machine.fork(
      Effect.scoped(
        Effect.flatMap(start, (context) => {
          this.context = context as Context.Context<Counter | Tree.Tree>
          return Effect.never
        })
      )
    )
    this.machine.settle()
  }

  /** Ends the current life of a worker, and waits as long as its restart does. */
  crash(id: string, millis = 0): void {
    Deferred.doneUnsafe(this.ends.get(id)!, Effect.die("as planned"))
    this.machine.advanceTo(this.machine.now + millis)
  }

  /** Crashes the actor by an ask, whose caller must hear of it. */
  crashActor(): void {
    const asked = this.machine.fork(Context.get(this.context!, Counter).Crash())
    this.machine.settle()
    assert(Exit.isFailure(asked.pollUnsafe()!))
    const added = this.machine.fork(Context.get(this.context!, Counter).Add())
    this.machine.settle()
    assert.deepStrictEqual(added.pollUnsafe(), Exit.succeed(1))
  }

  stop(): void {
    this.holder!.interruptUnsafe()
    this.machine.advanceTo(this.machine.now + 20)
    assert(this.holder!.pollUnsafe() !== undefined)
  }
}

const plenty = { restarts: 1_000_000, within: "1 hour" } as const

/** What restarts leave behind, and then what the tree does. */
const nothing = {
  restarts: Restarts,
  heap: "flat",
  resources: 0,
  fibers: 0,
  timers: 0,
  afterwards: { resources: 0, fibers: 0, timers: 0 }
}

/** Restarts 10,000 times what was warmed up, and looks at what more there is than before. */
const leftBy = (orchard: Orchard, restart: (i: number) => void): typeof nothing => {
  const { machine } = orchard
  for (let i = 0; i < 2_000; i++) restart(i)
  const [restarts, held, fibers, timers] = [orchard.restarts, orchard.held, machine.fibers, machine.pending]
  const before = heap()
  for (let i = 0; i < Restarts; i++) restart(i)
  const bytes = (heap() - before) / Restarts
  const left = {
    restarts: orchard.restarts - restarts,
    heap: bytes < BytesPerRestart ? "flat" : `${bytes} bytes more for each restart`,
    resources: orchard.held - held,
    fibers: machine.fibers - fibers,
    timers: machine.pending - timers
  }
  orchard.stop()
  return { ...left, afterwards: { resources: orchard.held, fibers: machine.fibers, timers: machine.pending } }
}

describe("ten thousand restarts", () => {
  it("R-107 of one child that is an effect leave nothing behind", () => {
    const orchard = new Orchard()
    orchard.start(Supervisor.make("root", { intensity: plenty, children: [orchard.worker("a"), orchard.worker("b")] }))
    assert.deepStrictEqual(
      leftBy(orchard, () => orchard.crash("a")),
      nothing
    )
  })

  it("R-107 R-105 after a delay leave nothing behind, nor do their timers", () => {
    const orchard = new Orchard()
    const backoff = Schedule.exponential("100 millis").pipe(Schedule.jittered)
    const short = Schedule.modifyDelay(backoff, ({ duration }) =>
      Effect.succeed(Duration.min(duration, Duration.seconds(1)))
    )
    orchard.start(Supervisor.make("root", { intensity: plenty, children: [orchard.worker("a", { backoff: short })] }))
    assert.deepStrictEqual(
      leftBy(orchard, () => orchard.crash("a", 1_000)),
      nothing
    )
  })

  it("R-107 of a child that is slow to start and to clean up leave nothing behind, nor do its time-outs", () => {
    const orchard = new Orchard()
    orchard.start(Supervisor.make("root", { intensity: plenty, children: [orchard.worker("a", { slow: true })] }))
    orchard.machine.advanceTo(10)
    assert.deepStrictEqual(
      leftBy(orchard, () => orchard.crash("a", 20)),
      nothing
    )
  })

  it.each(["one-for-all", "rest-for-one"] as const)("R-107 of a group, %s, leave nothing behind", (strategy) => {
    const orchard = new Orchard()
    const ids = ["a", "b", "c", "d"]
    orchard.start(
      Supervisor.make("root", { strategy, intensity: plenty, children: ids.map((id) => orchard.worker(id)) })
    )
    assert.deepStrictEqual(
      leftBy(orchard, () => orchard.crash("b")),
      nothing
    )
  })

  it("R-107 of a supervisor and what is below it leave nothing behind", () => {
    const orchard = new Orchard()
    const inner = Supervisor.make("inner", {
      intensity: { restarts: 0, within: "1 hour" },
      children: [orchard.worker("a"), orchard.actor, orchard.worker("b")]
    })
    orchard.start(Supervisor.make("root", { intensity: plenty, children: [inner] }))
    assert.deepStrictEqual(
      leftBy(orchard, () => orchard.crash("b")),
      nothing
    )
  })

  it("R-107 R-109 of an actor leave nothing behind, and every caller is answered", () => {
    const orchard = new Orchard()
    orchard.start(Supervisor.make("root", { intensity: plenty, children: [orchard.actor] }))
    assert.deepStrictEqual(
      leftBy(orchard, () => orchard.crashActor()),
      nothing
    )
  })

  it("R-107 of an actor in a group leave nothing behind", () => {
    const orchard = new Orchard()
    orchard.start(
      Supervisor.make("root", {
        strategy: "one-for-all",
        intensity: plenty,
        children: [orchard.worker("a"), orchard.actor]
      })
    )
    assert.deepStrictEqual(
      leftBy(orchard, (i) => (i % 2 === 0 ? orchard.crashActor() : orchard.crash("a"))),
      nothing
    )
  })
})

describe("ten thousand children", () => {
  it("C-096 R-107 added and removed again leave nothing behind", () => {
    const orchard = new Orchard()
    let tree: Tree.Tree["Service"] | undefined
    const root = Supervisor.make("root", {
      intensity: plenty,
      children: [
        Child.effect(
          "keeper",
          Effect.andThen(
            Effect.map(Tree.Tree, (found) => void (tree = found)),
            Effect.never
          )
        )
      ]
    })
    orchard.start(root as Supervisor.Supervisor<never, never, never>)
    const { machine } = orchard
    const comeAndGo = Effect.gen(function* () {
      const handle = yield* tree!.find(["root"])
      yield* handle.startChild(orchard.worker("guest"))
      yield* handle.stopChild("guest")
      yield* handle.removeChild("guest")
    })
    const once = (): void => {
      const visit = machine.fork(comeAndGo)
      machine.settle()
      assert(Exit.isSuccess(visit.pollUnsafe()!))
    }
    for (let i = 0; i < 2_000; i++) once()
    const fibers = machine.fibers
    const before = heap()
    for (let i = 0; i < Restarts; i++) once()
    assert.isBelow((heap() - before) / Restarts, BytesPerRestart)
    assert.strictEqual(machine.fibers, fibers)
    assert.strictEqual(orchard.held, 0)
    orchard.stop()
    assert.strictEqual(machine.fibers, 0)
  })
})
