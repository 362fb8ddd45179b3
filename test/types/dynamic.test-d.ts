/**
 * What the compiler must say about dynamic and partitioned supervisors. Nothing here runs: the compiler is the test, and an expected error
 * that does not come is an error.
 */
import { type Context, Effect, type Layer, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Child, Supervisor, type Tree } from "espalier"
import { test } from "vitest"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : ["types differ", A, B]): void => {}
/** The type of a value that is never made. */
declare const of: <A>() => A

class Session extends Actor.Service<Session>()("Session", [Rpc.make("Greet", { success: Schema.String })]) {}
class Log extends Actor.Service<Log>()("Log", [Rpc.make("Write", { payload: { line: Schema.String } })]) {}
interface Disk {
  readonly disk: unique symbol
}
declare const openDisk: Effect.Effect<void, "no disk", Disk>

class Sessions extends Supervisor.DynamicService<Sessions, { readonly user: string }, Session, "no disk">()(
  "Sessions"
) {}

class Jobs extends Supervisor.DynamicService<Jobs>()("Jobs") {}

class Shards extends Supervisor.PartitionedService<Shards, Session>()("Shards") {}

test("R-113 what dynamic and partitioned trees provide, need and fail with is inferred", () => {
  // Arguments, reference and start failure are those of the declaration.
  same<Sessions["Service"], Supervisor.Dynamic<{ readonly user: string }, Session, "no disk">>()
  const started = Effect.flatMap(Sessions, (sessions) => sessions.start({ user: "ada" }))
  same<
    typeof started,
    Effect.Effect<Supervisor.DynamicChild<Session>, Supervisor.StartFailure<"no disk"> | Tree.ChildRefused, Sessions>
  >()
  same<Supervisor.DynamicChild<Session>["ref"], Session["Service"]>()
  same<Supervisor.DynamicChild<Session>["context"], Context.Context<Session>>()
  same<Supervisor.DynamicChild<never>["ref"], undefined>()
  same<Supervisor.DynamicChild<Session | Log>["ref"], undefined>()

  // The template's needs are the supervisor's; its children meet their own, and may ask for the supervisor itself.
  const sessions = Sessions.child(({ user }) =>
    Session.child(
      Effect.gen(function* () {
        yield* openDisk
        const log = yield* Log
        const self = yield* Session
        return Session.handlers({
          Greet: () =>
            Effect.gen(function* () {
              yield* log.tell.Write({ line: user })
              const twin = yield* Effect.orDie((yield* Sessions).start({ user }))
              return twin.ref === self ? "" : user
            })
        })
      })
    )
  )
  same<typeof sessions, Child.Child<Sessions, never, Disk | Log | Sessions>>()
  const log = Log.child(Effect.succeed({ Write: () => undefined }))
  const layer = Supervisor.layer(Supervisor.make("root", { children: [log, sessions] }))
  same<typeof layer, Layer.Layer<Log | Sessions | Tree.Tree, Supervisor.StartFailure<never>, Disk>>()

  // Nothing need be declared where there is nothing.
  same<typeof jobs, Child.Child<Jobs, never, never>>()
  const jobs = Jobs.child(() => Child.effect("job", Effect.void), { maxChildren: 3, restart: "on-failure" })
  same<
    ReturnType<Jobs["Service"]["start"]>,
    Effect.Effect<Supervisor.DynamicChild<never>, Supervisor.StartFailure<never> | Tree.ChildRefused>
  >()
  void of<Jobs["Service"]>().start()

  // A child of unknown needs keeps them.
  const loose = Jobs.child(() => of<Child.Child<never, never, unknown>>())
  same<Child.Requires<typeof loose>, unknown>()

  // @ts-expect-error the arguments are those of the declaration
  void of<Sessions["Service"]>().start({ user: 1 })
  // @ts-expect-error the arguments are not optional
  void of<Sessions["Service"]>().start()
  // @ts-expect-error the template's child provides what is declared
  Sessions.child(() => Child.effect("worker", Effect.never))
  // @ts-expect-error and nothing else
  Sessions.child(() => of<Child.Child<Session | Log, never, never>>())
  // @ts-expect-error nor something else instead
  Sessions.child(() => of<Child.Child<Log, never, never>>())
  // @ts-expect-error its start fails as declared
  Jobs.child(() => Child.make("job", Effect.as(openDisk, Effect.void)))
  // @ts-expect-error the template takes the arguments
  Sessions.child(of<(args: { readonly user: number }) => Child.Child<Session, never, never>>())
  // @ts-expect-error a dynamic supervisor has no strategy
  Jobs.child(() => Child.effect("job", Effect.void), { strategy: "one-for-one" })
  // @ts-expect-error nor an auto-shutdown
  Jobs.child(() => Child.effect("job", Effect.void), { autoShutdown: "never" })
  // @ts-expect-error its maximum is a number or unbounded
  Jobs.child(() => Child.effect("job", Effect.void), { maxChildren: "many" })

  same<Shards["Service"], Supervisor.Partitioned<Session>>()
  same<ReturnType<Shards["Service"]["at"]>, Session["Service"]>()

  // Partitions start with the tree, so their start failures and needs are the tree's.
  const shards = Shards.child(
    (index) => {
      same<typeof index, number>()
      return Session.child(
        Effect.gen(function* () {
          yield* openDisk
          yield* Session
          return Session.handlers({ Greet: () => String(index) })
        })
      )
    },
    { partitions: 4 }
  )
  same<typeof shards, Child.Child<Shards, "no disk", Disk>>()

  // @ts-expect-error the number of partitions is not optional
  Shards.child(() => of<Child.Child<Session, never, never>>(), {})
  // @ts-expect-error a partition provides what is declared
  Shards.child(() => Child.effect("worker", Effect.never), { partitions: 4 })
  // @ts-expect-error the strategy of a partitioned supervisor is not a choice
  Shards.child(() => of<Child.Child<Session, never, never>>(), { partitions: 4, strategy: "one-for-all" })
})
