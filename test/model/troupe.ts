/** A living tree that behaves as its plan says, and the books that are kept of it. */
import { Cause, Context, Deferred, Effect, Exit, type Fiber, Schedule, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Child, Failure, Supervisor, Tree } from "espalier"

import { Machine } from "./machine.ts"
import { type Case, type End, isSignificant, type LeafSpec, type Spec, type Step } from "./plan.ts"
import type { SupervisorSpec, Work } from "./plan.ts"
import { lineOf, sceneOf, Story } from "./story.ts"

/** One life of one child, from its first acquisition on. */
export interface Life {
  readonly path: string
  readonly number: number
  /** resources that are held, in order of acquisition */
  readonly held: Array<string>
  acquired: number
  /** resources that were released, in order */
  readonly released: Array<string>
  readonly end: Deferred.Deferred<unknown, unknown>
  /** its run has begun */
  up: boolean
}

/** Whether it has given back all that it took. */
export const isOver = (life: Life): boolean => life.released.length === life.acquired

const Messages = [
  Rpc.make("Work", {
    payload: { how: Schema.String, after: Schema.Number },
    error: Schema.String
  })
] as const

type Ref = Actor.Ref<(typeof Messages)[number]>

const failureOf = (kind: Failure.Kind | "unmarked"): unknown =>
  kind === "unmarked" ? "unmarked" : new Failure.Failure({ kind, reason: "as planned" })

const endOf = (how: End): Effect.Effect<unknown, unknown> => {
  switch (how) {
    case "done":
      return Effect.void
    case "shutdown":
      return Effect.fail(new Failure.Shutdown({}))
    case "dies":
      return Effect.die("as planned")
    case "interrupts":
      return Effect.interrupt
    default:
      return Effect.fail(failureOf(how))
  }
}

export class Troupe {
  readonly machine = new Machine()
  readonly events: Array<Tree.Event> = []
  readonly story = new Story()
  readonly lives: Array<Life> = []
  /** the answers to requests, in order of the requests */
  readonly replies: Array<string> = []
  readonly asks: Array<Fiber.Fiber<unknown, unknown>> = []
  /** things that must not be, found on the way */
  readonly complaints: Array<string> = []
  tree: Tree.Tree["Service"] | undefined
  private readonly refs = new Map<string, Ref>()
  private readonly specs = new Map<string, SupervisorSpec>()
  private readonly last = new Map<string, Life>()
  /** what hangs waits for this */
  private readonly release = Deferred.makeUnsafe<void>()
  private readonly holder: Fiber.Fiber<unknown, unknown>

  constructor(plan: Case) {
    const root = this.supervisor({ ...plan.root, significant: false }, "root")
    const start = Effect.map(
      Supervisor.start(root as Supervisor.Supervisor<never, unknown, never>, {
        log: false,
        onEvent: (event) => {
          this.events.push(event)
          if (event._tag !== "Warning") this.story.tell(sceneOf(event.path, event._tag), lineOf(event))
        }
      }),
      (context) => (this.tree = Context.get(context as Context.Context<Tree.Tree>, Tree.Tree))
    )
    this.holder = this.machine.fork(Effect.scoped(Effect.andThen(start, Effect.never)))
  }

  // --------------------------------------------------------------------------------------------------------- the cast

  /** `declared`: the references of its actor are among the services of its supervisor's children. */
  private make(spec: Spec, path: string, declared: boolean): Child.Any {
    const parent = this.specs.get(path.slice(0, path.lastIndexOf("/")))
    if (isSignificant(spec, parent) !== spec.significant) {
      return this.make({ ...spec, significant: !spec.significant }, path, declared)
    }
    return spec.kind === "supervisor" ? this.supervisor(spec, path) : this.leaf(spec, path, declared)
  }

  private policies(spec: Spec): Child.Options<unknown> {
    return {
      restart: spec.restart,
      significant: spec.significant,
      shutdown: spec.shutdown,
      initTimeout: spec.initTimeout,
      backoff: spec.backoff && Schedule.spaced(spec.backoff.delay).pipe(Schedule.upTo({ times: spec.backoff.times }))
    }
  }

  private supervisor(spec: SupervisorSpec, path: string): Supervisor.Supervisor<unknown, unknown, unknown> {
    this.specs.set(path, spec)
    return Supervisor.make(spec.id, {
      ...this.policies(spec),
      strategy: spec.strategy,
      autoShutdown: spec.autoShutdown,
      intensity: spec.intensity,
      children: spec.children.map((child) => this.make(child, `${path}/${child.id}`, true))
    })
  }

  private leaf(spec: LeafSpec, path: string, declared: boolean): Child.Any {
    const { directive } = spec
    const options: Child.Options<unknown> = {
      ...this.policies(spec),
      ...(directive === undefined ? {} : { onFailure: () => directive })
    }
    if (spec.kind === "worker") {
      return Child.make(
        spec.id,
        Effect.map(this.init(spec, path), (life) => {
          if (life === undefined) return Child.ignore
          life.up = true
          const run = Deferred.await(life.end)
          return spec.deaf ? Effect.uninterruptible(run) : run
        }),
        options
      )
    }
    class Player extends Actor.Service<Player>()(path, Messages) {}
    const build = Effect.gen({ self: this }, function* () {
      const self = Context.getOrUndefined(yield* Effect.context<never>(), Player as never) as Ref | undefined
      if (declared && self !== undefined) this.refs.set(path, self)
      yield* this.init(spec, path)
      return Player.handlers({ Work: (work) => this.handle(work as Work) })
    })
    return Player.child(build, { ...options, id: spec.id, mailbox: { onRestart: spec.onRestart } })
  }

  private init(spec: LeafSpec, path: string): Effect.Effect<Life | undefined, unknown, never> {
    return Effect.gen({ self: this }, function* () {
      const before = this.last.get(path)
      if (before !== undefined && !isOver(before) && this.leaksOf(path) === 0) {
        this.complaints.push(`${path} begins life ${before.number + 1} before life ${before.number} is over`)
      }
      const life: Life = {
        path,
        number: (before?.number ?? -1) + 1,
        held: [],
        acquired: 0,
        released: [],
        end: Deferred.makeUnsafe(),
        up: false
      }
      this.last.set(path, life)
      this.lives.push(life)
      this.tree ??= Context.getOrUndefined(yield* Effect.context<never>(), Tree.Tree as never) as never
      const finalizer = spec.finalizers[life.number % spec.finalizers.length]!
      yield* this.resource(
        life,
        "first",
        (finalizer.after === Number.POSITIVE_INFINITY
          ? Deferred.await(this.release)
          : Effect.sleep(finalizer.after)
        ).pipe(Effect.andThen(finalizer.how === "dies" ? Effect.die("a finalizer, as planned") : Effect.void))
      )
      const init = spec.inits[life.number % spec.inits.length]!
      switch (init.how) {
        case "hangs":
          return yield* Effect.never
        case "deaf":
          yield* Effect.uninterruptible(Effect.sleep(init.after))
          break
        default:
          yield* Effect.sleep(init.after)
      }
      switch (init.how) {
        case "fails":
          return yield* Effect.fail(failureOf(spec.initError))
        case "dies":
          return yield* Effect.die("an init, as planned")
        case "interrupts":
          return yield* Effect.interrupt
        case "ignores":
          return undefined
      }
      yield* this.resource(life, "second", Effect.void)
      return life
    }) as Effect.Effect<Life | undefined, unknown, never>
  }

  private resource(life: Life, name: string, slow: Effect.Effect<unknown>): Effect.Effect<void> {
    return Effect.acquireRelease(
      Effect.sync(() => {
        life.held.push(name)
        life.acquired += 1
      }),
      () =>
        Effect.suspend(() => {
          if (life.held.at(-1) !== name) {
            this.complaints.push(`${life.path} #${life.number} releases ${name} while it holds ${life.held.join()}`)
          }
          // It is given back before what may hang or die: what counts here is that it is, once and in turn.
          life.held.pop()
          return Effect.ensuring(
            slow,
            Effect.sync(() => life.released.push(name))
          )
        })
    ) as Effect.Effect<void>
  }

  private handle(work: Work): void | Effect.Effect<void, string> {
    if (work.how === "replies" && work.after === 0) return undefined
    const wait = Effect.sleep(work.after)
    switch (work.how) {
      case "replies":
        return wait
      case "fails":
        return Effect.andThen(wait, Effect.fail("as planned"))
      case "dies":
        return Effect.andThen(wait, Effect.die("a handler, as planned"))
      case "interrupts":
        return Effect.andThen(wait, Effect.interrupt)
      case "deaf":
        return Effect.uninterruptible(wait)
    }
  }

  /** The lives that were abandoned and have not ended. */
  get leaks(): number {
    return this.leaksOf(undefined)
  }

  private leaksOf(path: string | undefined): number {
    let sum = 0
    for (const { _tag, path: of } of this.events) {
      if (_tag !== "Leaked" && _tag !== "LeakEnded") continue
      if (path === undefined || of.join("/") === path) sum += _tag === "Leaked" ? 1 : -1
    }
    return sum
  }

  // -------------------------------------------------------------------------------------------------------- the plot

  /** Does one step; what follows from it follows when the machine settles. */
  do(step: Step): void {
    switch (step.do) {
      case "wait":
        return this.machine.advanceTo(this.machine.now + step.millis)
      case "end": {
        const life = this.last.get(step.path)
        if (life?.up) Deferred.doneUnsafe(life.end, endOf(step.how))
        return
      }
      case "tell":
      case "ask": {
        const ref = this.refs.get(step.path)
        if (ref === undefined) return
        const { work } = step
        if (step.do === "tell") this.machine.fork(ref.tell.Work(work))
        else this.asks.push(this.machine.fork(ref.Work(work)))
        return
      }
      case "stop":
        return this.request(step.path, (handle) => handle.stopChild(step.id))
      case "restart":
        return this.request(step.path, (handle) => handle.restartChild(step.id))
      case "remove":
        return this.request(step.path, (handle) => handle.removeChild(step.id))
      case "add": {
        const path = `${step.path}/${step.child.id}`
        const child = this.make(step.child, path, false) as Child.Child<never, unknown, never>
        return this.request(step.path, (handle) =>
          Effect.map(handle.startChild(child), ({ context }) => {
            const ref = (context as Context.Context<never>).mapUnsafe.get(path) as Ref | undefined
            if (ref !== undefined) this.refs.set(path, ref)
          })
        )
      }
      case "interrupt-starter":
        return this.close()
    }
  }

  private request(
    path: string,
    of: (handle: Tree.Handle) => Effect.Effect<unknown, Tree.ChildRefused | Supervisor.StartFailure<unknown>>
  ): void {
    if (this.tree === undefined) return
    const at = this.replies.push("waits") - 1
    this.machine.fork(Effect.flatMap(this.tree.find(path.split("/")), of)).addObserver((exit) => {
      this.replies[at] = Exit.isSuccess(exit) ? "done" : refusalOf(exit.cause)
    })
  }

  /** Closes the scope in which the tree lives. */
  close(): void {
    this.holder.interruptUnsafe()
  }

  /** Lets everything end that hung. */
  letGo(): void {
    Deferred.doneUnsafe(this.release, Effect.void)
    for (const life of this.lives) Deferred.doneUnsafe(life.end, Effect.void)
  }

  /** How the scope's fiber ended. */
  get closed(): boolean {
    return this.holder.pollUnsafe() !== undefined
  }
}

const refusalOf = (cause: Cause.Cause<Tree.ChildRefused | Supervisor.StartFailure<unknown>>): string => {
  const error = cause.reasons.find(Cause.isFailReason)?.error
  if (error === undefined) return Cause.pretty(cause)
  return error._tag === "ChildRefused" ? error.reason : "start failed"
}
