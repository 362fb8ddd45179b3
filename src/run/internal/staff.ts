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
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Rpc from "effect/rpc/Rpc"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import * as Actor from "../../Actor.ts"
import type * as Child from "../../Child.ts"
import * as Supervisor from "../../Supervisor.ts"
import * as Tree from "../../Tree.ts"
import * as Desk from "../Desk.ts"

/** How a job ended, and whether it has begun at all. */
export class Job {
  readonly work: Effect.Effect<unknown, unknown, unknown>
  begun = false
  cancelled = false
  exit: Exit.Exit<unknown, unknown> | undefined
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  readonly ended = Deferred.makeUnsafe<void>()

  constructor(work: Effect.Effect<unknown, unknown, unknown>) {
    this.work = work
  }
}

const protocol = [
  Rpc.make("Dispatch", { payload: Schema.Unknown, success: Schema.Unknown }).annotate(Actor.Timeout, "Infinity")
] as const

type Protocol = (typeof protocol)[number]

/** One member of a worker's pool. */
export interface Member {
  readonly id: string
  readonly ref: Actor.Ref<Protocol>
}

/** A worker's pool. */
export interface Post {
  readonly seat: Desk.Seat
  readonly free: Queue.Queue<Member>
}

/** The staff of an open desk. */
export interface Staff {
  readonly root: string
  readonly tree: Tree.Tree["Service"]
  readonly posts: ReadonlyMap<string, Post>
}

/**
 * Does a job in a fiber of its own, so that it can be cancelled without ending the member. Succeeds with the exit of the
 * work; a defect, and an interruption that nobody asked for, are the member's own end.
 */
const work = (job: Job): Effect.Effect<Exit.Exit<unknown, unknown>, never, unknown> =>
  Effect.uninterruptibleMask((restore) => {
    if (job.cancelled) return Effect.succeed(Exit.void)
    job.begun = true
    return Effect.forkChild(restore(job.work), { startImmediately: true }).pipe(
      Effect.flatMap((fiber) => {
        job.fiber = fiber
        // The work may have led to its own cancellation before it was first suspended.
        if (job.cancelled) fiber.interruptUnsafe()
        return restore(Fiber.await(fiber)).pipe(
          Effect.onInterrupt(() => Fiber.interrupt(fiber)),
          Effect.onExit(() =>
            Effect.sync(() => {
              job.exit = fiber.pollUnsafe()
              Deferred.doneUnsafe(job.ended, Exit.void)
            })
          )
        )
      }),
      Effect.flatMap((exit) => {
        if (Exit.isSuccess(exit) || job.cancelled || exit.cause.reasons.every(Cause.isFailReason)) {
          return Effect.succeed(exit)
        }
        return Effect.failCause(exit.cause as Cause.Cause<never>)
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
      // The work of a job needs R, which the tree is given; the job's type says less.
      const handlers = service.handlers({ Dispatch: (job) => work(job as Job) as Effect.Effect<unknown, never, R> })
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
    for (const { id, seat, service } of members) {
      let post = posts.get(seat.name)
      if (post === undefined) {
        post = { seat, free: yield* Queue.unbounded<Member>() }
        posts.set(seat.name, post)
      }
      const ref = Context.getUnsafe(context as Context.Context<never>, service)
      Queue.offerUnsafe(post.free, { id, ref })
    }
    return { root: desk.name, tree: Context.get(context, Tree.Tree), posts }
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

/** How long cancelled work has for its finalizers, before the member is replaced under it. */
const grace = "5 seconds"

/**
 * Cancels a job and waits until its work is over. Work that does not stop in its grace time is left behind: the member is
 * stopped and started again, and the tree reports what leaked.
 */
export const cancel = (staff: Staff, { seat }: Post, member: Member, job: Job): Effect.Effect<void> =>
  Effect.suspend(() => {
    job.cancelled = true
    if (!job.begun || job.exit !== undefined) return Effect.void
    job.fiber?.interruptUnsafe()
    return Deferred.await(job.ended).pipe(
      Effect.timeoutOption(grace),
      Effect.flatMap((ended) => {
        if (ended._tag === "Some") return Effect.void
        return staff.tree.find([staff.root, seat.domain]).pipe(
          Effect.flatMap((domain) => Effect.andThen(domain.stopChild(member.id), domain.restartChild(member.id))),
          // A member that cannot be replaced now is down with its domain, which answers for itself.
          Effect.ignore
        )
      })
    )
  })
