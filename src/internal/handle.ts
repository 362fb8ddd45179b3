/**
 * The `Tree` service over a running tree: requests become messages, answers come back through callbacks.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"

import type * as Child from "../Child.ts"
import type * as Tree from "../Tree.ts"
import { ask, holdsUp, refusal, withAsker } from "./ask.ts"
import { ChildRefused, type StartFailure } from "./errors.ts"
import * as Feed from "./feed.ts"
import type { ChildInfo, Event } from "./model.ts"
import type { Mount } from "./mount.ts"
import { placed } from "./place.ts"
import type { Runtime } from "./runtime.ts"
import { CurrentLife, CurrentNode } from "./runtime.ts"
import { Supervising } from "./supervising.ts"
import { SupervisorMount } from "./supervisorMount.ts"

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

export const handle = (node: Mount): Tree.Handle => {
  const onSupervisor = <A, E>(
    child: string,
    request: (supervisor: Supervising) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | ChildRefused> =>
    node instanceof Supervising ? request(node) : Effect.fail(refusal(node, child, "not-a-supervisor"))

  /** Reads what a running supervisor knows, without waiting for anything. */
  const read = <A>(child: string, f: (supervisor: Supervising) => A | ChildRefused): Effect.Effect<A, ChildRefused> =>
    onSupervisor(child, (supervisor) =>
      Effect.suspend(() => {
        if (!supervisor.alive) return Effect.fail(refusal(supervisor, child, "not-running"))
        const answer = f(supervisor)
        return answer instanceof ChildRefused ? Effect.fail(answer) : Effect.succeed(answer)
      })
    )

  /** Mounts a spec that came at run time, unless a static supervisor cannot have it. */
  const withMount = <P, E, R, A, E2>(
    child: Child.Child<P, E, R>,
    use: (mount: Mount, supervisor: SupervisorMount) => Effect.Effect<A, E2>
  ): Effect.Effect<A, E2 | ChildRefused, R> =>
    Effect.contextWith((given: Context.Context<R>) =>
      onSupervisor(child.id, (supervisor) =>
        Effect.suspend((): Effect.Effect<A, E2 | ChildRefused> => {
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
          return use(child.mount(supervisor.runtime, supervisor, context), supervisor)
        })
      )
    )

  const handle: Tree.Handle = {
    path: node.path,
    get context() {
      return Context.makeUnsafe<never>(new Map(node.refs))
    },
    snapshot: Effect.sync(() => node.snapshot()),
    children: read("", (supervisor) => supervisor.children.map(infoOf)),
    counts: read("", (supervisor) => supervisor.counts),
    specOf: (id) => read(id, (supervisor) => supervisor.childOf(id)?.followed ?? refusal(supervisor, id, "not-found")),
    startChild: <P, E, R>(child: Child.Child<P, E, R>) =>
      withMount(child, (mount, supervisor) => {
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
      }),
    replaceChild: (child) =>
      withMount(child, (mount, supervisor) => {
        const replace = (old: Mount, atOnce: boolean): ReturnType<Mount["refusesSpecOf"]> => {
          const reason = old.refusesSpecOf(mount)
          if (reason === undefined) old.replaceBy(mount, atOnce)
          return reason
        }
        return ask(supervisor, child.id, (reply) => ({
          _tag: "ReplaceChild",
          id: child.id,
          replace,
          reply
        })) as Effect.Effect<void, ChildRefused>
      }),
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
  return placed(handle, node, "Handle")
}

const infoOf = ({ id, incarnation, kind, path, restart, state }: Mount): ChildInfo => ({
  id,
  path,
  kind,
  state,
  restart,
  incarnation
})

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
  stop: withAsker((asker) => {
    const mount = root()
    // A start that was interrupted before it began has nothing to stop.
    if (mount.incarnation === 0) runtime.finish(Exit.void)
    // Not inside a decision: whoever asks may run in the middle of one, as an observer of events does.
    else mount.runtime.post(() => mount.stopRoot())
    // Code of the tree that cannot be interrupted would wait for its own end.
    if (asker !== undefined && asker.life.mount.runtime === runtime && holdsUp(asker)) return Effect.void
    return Effect.exit(Deferred.await(runtime.ended))
  }).pipe(Effect.andThen(Effect.sync(() => ({ leaked: [...runtime.leaks.values()] }))))
})
