/**
 * The workers of a desk as a tree: each member of a worker's pool is an actor that does one job at a time.
 *
 * A typed failure of a job is an answer and ends nothing; a defect ends the incarnation, and the domain's supervisor
 * starts the next one. A job can be cancelled: its work is interrupted, the member goes on.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Rpc from "effect/rpc/Rpc"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"

import * as Actor from "../../Actor.ts"
import type * as Child from "../../Child.ts"
import { ActorMount } from "../../internal/actorMount.ts"
import { Ask } from "../../internal/envelope.ts"
import { placeOf } from "../../internal/place.ts"
import * as Supervisor from "../../Supervisor.ts"
import * as Tree from "../../Tree.ts"
import * as Desk from "../Desk.ts"
import { Handed } from "./observing.ts"
import { Pool } from "./pool.ts"

/** How a job ended, and whether it has begun at all. */
export class Job {
  readonly work: Effect.Effect<unknown, unknown, unknown>
  /** What the work is given: the services of the member that does it, the span of whoever waits for it, and what observers do. */
  context: Context.Context<never> = Context.empty()
  begun = false
  cancelled = false
  exit: Exit.Exit<unknown, unknown> | undefined
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  /** Done when the work is over, for whoever has to wait for that. */
  ended: Deferred.Deferred<void> | undefined
  /** Called when the work is over after it was left behind. */
  late: (() => void) | undefined

  constructor(work: Effect.Effect<unknown, unknown, unknown>) {
    this.work = work
  }

  end(exit: Exit.Exit<unknown, unknown> | undefined): void {
    this.exit = exit
    if (this.ended !== undefined) Deferred.doneUnsafe(this.ended, Exit.void)
    this.late?.()
  }

  /** Waits until the work is over. */
  over(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.exit !== undefined) return Effect.void
      this.ended ??= Deferred.makeUnsafe()
      return Deferred.await(this.ended)
    })
  }
}

const protocol = [Rpc.make("Dispatch", { payload: Schema.Unknown, success: Schema.Unknown })] as const

type Protocol = (typeof protocol)[number]

/** One member of a worker's pool. */
export interface Member {
  readonly id: string
  readonly mount: ActorMount
}

/** A worker's pool. */
export interface Post {
  readonly seat: Desk.Seat
  readonly free: Pool<Member>
}

/** The staff of an open desk. */
export interface Staff {
  readonly root: string
  readonly tree: Tree.Tree["Service"]
  readonly posts: ReadonlyMap<string, Post>
  /** Runs a function soon, on a clean stack, and lets others have their turn now and then. */
  readonly soon: (f: () => void) => void
}

/**
 * Hands a job to a member and waits until it was done; the exit of the work is with the job then. Fails with
 * `AskTimeout` when that takes longer than the time-out, which nothing in the context of the caller can change.
 */
export const give = (
  { mount }: Member,
  job: Job,
  timeout: Duration.Duration
): Effect.Effect<unknown, Actor.ActorFailure> =>
  Effect.callback((resume) => {
    const fiber = Fiber.getCurrent()
    const span = fiber?.cache.span
    const handed = fiber?.getRef(Handed)
    const { context } = mount
    const known = span === undefined ? context : Context.add(context, Tracer.ParentSpan, span)
    job.context = handed === undefined ? known : Context.merge(known, handed)
    const envelope = new Ask(mount, "Dispatch", job, undefined, resume as Ask["resume"] & {})
    mount.ask(envelope, Duration.toMillis(timeout))
    return Effect.sync(() => envelope.cancel())
  })

/**
 * Does a job in a fiber of its own, so that it can be cancelled without ending the member. Work that is never suspended
 * needs no other fiber. Answers with the job when the work has an exit; a defect, and an interruption that nobody asked
 * for, are the member's own end.
 */
const work = (job: Job): Job | Effect.Effect<Job> => {
  if (job.cancelled) {
    job.exit = Exit.void
    return job
  }
  job.begun = true
  // What the work needs is in the context of the tree that its member belongs to.
  const fiber = Effect.runForkWith(job.context as Context.Context<unknown>)(job.work)
  job.fiber = fiber
  const exit = fiber.pollUnsafe()
  if (exit === undefined) return suspended(job, fiber)
  job.end(exit)
  const crash = crashOf(job, exit)
  return crash === undefined ? job : Effect.failCause(crash)
}

/** What of the end of its work ends the member too. */
const crashOf = (job: Job, exit: Exit.Exit<unknown, unknown>): Cause.Cause<never> | undefined =>
  Exit.isSuccess(exit) || job.cancelled || exit.cause.reasons.every(Cause.isFailReason)
    ? undefined
    : (exit.cause as Cause.Cause<never>)

const suspended = (job: Job, fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<Job> =>
  Effect.uninterruptibleMask((restore) => {
    // The work may have led to its own cancellation before it was first suspended.
    if (job.cancelled) fiber.interruptUnsafe()
    return restore(Fiber.await(fiber)).pipe(
      Effect.onInterrupt(() => Fiber.interrupt(fiber)),
      Effect.onExit(() => Effect.sync(() => job.end(fiber.pollUnsafe()))),
      Effect.flatMap((exit) => {
        const crash = crashOf(job, exit)
        return crash === undefined ? Effect.succeed(job) : Effect.failCause(crash)
      })
    )
  })

const memberIds = ({ worker }: Desk.Seat): ReadonlyArray<string> =>
  worker.size === 1 ? [worker.name] : Array.from({ length: worker.size }, (_, index) => `${worker.name}#${index + 1}`)

/** Starts the tree of a desk in the current scope. */
export const start = <R>(
  desk: Desk.Desk<never, R>,
  options: Supervisor.RunOptions | undefined
): Effect.Effect<Staff, Supervisor.StartFailure<never>, R | Scope.Scope> => {
  const members: Array<{
    readonly seat: Desk.Seat
    readonly id: string
    readonly service: Context.Key<never, Actor.Ref<Protocol>>
  }> = []
  const children = new Map<string, Array<Child.Child<never, never, R>>>()
  for (const seat of Desk.seats(desk)) {
    const siblings = children.get(seat.domain) ?? []
    children.set(seat.domain, siblings)
    for (const id of memberIds(seat)) {
      const service = Actor.Service<never>()(`espalier/run/member/${seat.domain}.${id}`, protocol)
      const handlers = service.handlers({ Dispatch: (job) => work(job as Job) })
      siblings.push(service.child(Effect.succeed(handlers), { id }))
      members.push({ seat, id, service })
    }
  }
  const root = Supervisor.make(desk.name, {
    children: desk.domains.map((domain) =>
      Supervisor.make(domain.name, {
        children: children.get(domain.name) ?? [],
        strategy: domain.strategy,
        intensity: domain.intensity,
        // A domain that gives up stays down, and the root is not asked.
        restart: "on-failure"
      })
    )
  })
  return Effect.gen(function* () {
    const context = yield* Supervisor.start(root, options)
    const posts = new Map<string, Post>()
    let soon: Staff["soon"] = queueMicrotask
    for (const { id, seat, service } of members) {
      let post = posts.get(seat.name)
      if (post === undefined) {
        post = { seat, free: new Pool(seat.worker.queue) }
        posts.set(seat.name, post)
      }
      const mount = placeOf(Context.getUnsafe(context as Context.Context<never>, service))
      if (!(mount instanceof ActorMount)) continue
      post.free.put({ id, mount })
      soon = (f) => mount.soon(f)
    }
    return { root: desk.name, tree: Context.get(context, Tree.Tree), posts, soon }
  })
}

/** Whether the domain of a worker is down for good, so that there is no point in waiting for it. */
export const isDown = (staff: Staff, { seat }: Post): Effect.Effect<boolean> =>
  staff.tree.snapshot.pipe(
    Effect.map(({ children, state }) => {
      const domain = children.find(({ id }) => id === seat.domain)
      const gone = (state: Tree.NodeState | undefined): boolean =>
        state === undefined || state === "stopped" || state === "failed" || state === "gave-up"
      return gone(state) || gone(domain?.state)
    })
  )

/**
 * Starts the domain of a worker again where it is down, for a probe. One that does not start stays down, and answers for
 * itself.
 */
export const revive = (staff: Staff, post: Post): Effect.Effect<void> =>
  Effect.flatMap(isDown(staff, post), (down) =>
    down
      ? staff.tree.find([staff.root]).pipe(
          Effect.flatMap((root) => root.restartChild(post.seat.domain)),
          Effect.ignore
        )
      : Effect.void
  )

/** How long cancelled work has for its finalizers, before the member is replaced under it. */
export const grace = "5 seconds"

const stopped = Effect.succeed(true)

/**
 * Cancels a job and waits until its work is over. Work that does not stop in its grace time is left behind: the member is
 * stopped and started again, the tree reports what leaked, and the answer is `false`.
 */
export const cancel = (staff: Staff, { seat }: Post, member: Member, job: Job): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    job.cancelled = true
    if (!job.begun || job.exit !== undefined) return stopped
    job.fiber?.interruptUnsafe()
    // What can stop at once has, and its member has heard of it already.
    return job.over().pipe(
      Effect.timeoutOption(grace),
      Effect.flatMap((ended) => {
        if (ended._tag === "Some") return stopped
        return staff.tree.find([staff.root, seat.domain]).pipe(
          Effect.flatMap((domain) => Effect.andThen(domain.stopChild(member.id), domain.restartChild(member.id))),
          // A member that cannot be replaced now is down with its domain, which answers for itself.
          Effect.ignore,
          Effect.as(false)
        )
      })
    )
  })
