/**
 * The `Tree` service over a running tree: requests become messages, answers come back through callbacks.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"

import type * as Child from "../Child.ts"
import type * as Tree from "../Tree.ts"
import { ChildRefused, StartFailure } from "./errors.ts"
import * as Feed from "./feed.ts"
import type { Event } from "./model.ts"
import type { Mount, Trouble } from "./mount.ts"
import { placed } from "./place.ts"
import type { Node, Runtime } from "./runtime.ts"
import { CurrentLife, CurrentNode } from "./runtime.ts"
import { Supervising } from "./supervising.ts"
import { SupervisorMount } from "./supervisorMount.ts"
import type * as core from "./transition.ts"

export const events = (runtime: Runtime, root: () => Mount): Stream.Stream<Event> =>
  Feed.make(
    (feed) =>
      Effect.gen(function* () {
        const unsubscribe = runtime.observe((event) => feed.offer(event))
        yield* Effect.addFinalizer(() => Effect.sync(unsubscribe))
        const end = Effect.sync(() => feed.end())
        yield* Effect.forkScoped(Effect.andThen(Effect.exit(Deferred.await(runtime.ended)), end))
      }),
    (count) => ({ _tag: "Missed", path: root().path, at: runtime.clock.currentTimeMillisUnsafe(), count })
  )

/** Sends a request and waits for its answer. */
const ask = (
  supervisor: Supervising,
  child: string,
  message: (reply: core.Reply<Trouble>) => core.Message<Mount, Trouble>
): Effect.Effect<void, ChildRefused | StartFailure<never>> =>
  Effect.withFiber((fiber) => {
    if (waitsForCaller(supervisor, fiber.getRef(CurrentNode))) {
      return Effect.fail(refusal(supervisor, child, "called-from-init"))
    }
    return Effect.callback<void, ChildRefused | StartFailure<never>>((resume) => {
      supervisor.post(
        message((answer) => {
          switch (answer._tag) {
            case "Done":
              return resume(Effect.void)
            case "Refused":
              return resume(Effect.fail(refusal(supervisor, child, answer.reason)))
            case "Failed": {
              const { path, cause } = answer.failure
              return resume(Effect.fail(new StartFailure<never>({ path, cause: cause as Cause.Cause<never> })))
            }
          }
        })
      )
    })
  })

/** Whether the caller is an init that the supervisor, or one above the caller up to it, is waiting for. */
const waitsForCaller = (supervisor: Supervising, caller: Node | undefined): boolean => {
  if (supervisor.concurrent) return false
  let node = caller as Mount | undefined
  while (node !== undefined) {
    if (node.parent === supervisor) return node.state === "starting"
    node = node.parent as Mount | undefined
  }
  return false
}

const refusal = (supervisor: Mount, child: string, reason: ChildRefused["reason"]): ChildRefused =>
  new ChildRefused({ supervisor: supervisor.path, child, reason })

export const handle = (node: Mount): Tree.Handle => {
  const onSupervisor = <A, E>(
    child: string,
    request: (supervisor: Supervising) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | ChildRefused> =>
    node instanceof Supervising ? request(node) : Effect.fail(refusal(node, child, "not-a-supervisor"))

  const handle: Tree.Handle = {
    path: node.path,
    snapshot: Effect.sync(() => node.snapshot()),
    startChild: <P, E, R>(child: Child.Child<P, E, R>) =>
      Effect.contextWith((given: Context.Context<R>) =>
        onSupervisor(child.id, (supervisor) =>
          Effect.suspend(() => {
            if (!(supervisor instanceof SupervisorMount)) {
              return Effect.fail(refusal(supervisor, child.id, "dynamic-supervisor"))
            }
            if (child.policy.significant && supervisor.policy.autoShutdown === "never") {
              return Effect.fail(refusal(supervisor, child.id, "no-auto-shutdown"))
            }
            // It sees what the supervisor's children see, and what its caller brings along.
            const context = Context.merge(
              Context.omit(Scope.Scope, Tracer.ParentSpan, CurrentNode, CurrentLife)(given as Context.Context<never>),
              supervisor.context
            ) as Context.Context<never>
            const mount = child.mount(supervisor.runtime, supervisor, context)
            const started: Tree.StartedChild<P> = {
              id: child.id,
              path: mount.path,
              context: Context.makeUnsafe<P>(new Map(child.provides.length === 0 ? [] : mount.refs))
            }
            return Effect.as(
              ask(supervisor, child.id, (reply) => ({ _tag: "StartChild", child: mount, reply })) as Effect.Effect<
                void,
                ChildRefused | StartFailure<E>
              >,
              started
            )
          })
        )
      ),
    stopChild: (id) =>
      onSupervisor(
        id,
        (supervisor) =>
          ask(supervisor, id, (reply) => ({ _tag: "StopChild", id, reply })) as Effect.Effect<void, ChildRefused>
      ),
    restartChild: (id) =>
      onSupervisor(id, (supervisor) => ask(supervisor, id, (reply) => ({ _tag: "RestartChild", id, reply }))),
    removeChild: (id) =>
      onSupervisor(
        id,
        (supervisor) =>
          ask(supervisor, id, (reply) => ({ _tag: "RemoveChild", id, reply })) as Effect.Effect<void, ChildRefused>
      )
  }
  return placed(handle, node)
}

/** The node of a path, or the refusal that names the first id that is missing. */
const lookUp = (root: SupervisorMount, path: ReadonlyArray<string>): Effect.Effect<Mount, ChildRefused> => {
  const [first, ...rest] = path
  if (first !== root.id) {
    return Effect.fail(new ChildRefused({ supervisor: [], child: first ?? "", reason: "not-found" }))
  }
  let node: Mount = root
  for (const id of rest) {
    if (!(node instanceof Supervising)) return Effect.fail(refusal(node, id, "not-a-supervisor"))
    const child: Mount | undefined = node.childOf(id)
    if (child === undefined) return Effect.fail(refusal(node, id, "not-found"))
    node = child
  }
  return Effect.succeed(node)
}

export const service = (runtime: Runtime, root: () => SupervisorMount): Tree.Tree["Service"] => ({
  events: events(runtime, root),
  snapshot: Effect.sync(() => root().snapshot()),
  find: (path) =>
    Effect.map(
      Effect.suspend(() => lookUp(root(), path)),
      handle
    ),
  ended: Deferred.await(runtime.ended),
  stop: Effect.suspend(() => {
    const mount = root()
    // A start that was interrupted before it began has nothing to stop.
    if (mount.incarnation === 0) runtime.finish(Exit.void)
    else mount.halt()
    return Effect.exit(Deferred.await(runtime.ended))
  }).pipe(Effect.andThen(Effect.sync(() => ({ leaked: [...runtime.leaks.values()] }))))
})
