/**
 * What the compiler must say about actors. Nothing here runs: `tsc` is the test, and an expected error that does not
 * come is an error.
 */
import { type Cause, Deferred, Effect, type Layer, type Queue, Schema, Stream } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Child, type Failure, Supervisor, type Tree } from "espalier"
import { test } from "vitest"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : ["types differ", A, B]): void => {}
/** The type of a value that is never made. */
declare const of: <A>() => A

class Full extends Schema.TaggedError<Full>()("Full", { total: Schema.Finite }) {}
class Database extends Actor.Service<Database>()("Database", [
  Rpc.make("Get", { payload: { key: Schema.String }, success: Schema.String, error: Full }),
  Rpc.make("Clear", {})
]) {}
class Cache extends Actor.Service<Cache>()("Cache", [Rpc.make("Read", { success: Schema.String })]) {}
interface Disk {
  readonly disk: unique symbol
}
declare const disk: Effect.Effect<string, never, Disk>
declare const boot: Effect.Effect<void, "no disk">

class Log extends Actor.Service<Log>()("Log", [
  Rpc.make("Follow", { payload: { from: Schema.Finite }, success: Schema.String, error: Full, stream: true }),
  Rpc.make("Count", { success: Schema.Finite })
]) {}

declare const lines: Stream.Stream<string, Full, Disk>

declare const more: Effect.Effect<Stream.Stream<string, never, Net>, never, Disk>

declare const end: Queue.Dequeue<string, Full | Cause.Done>

interface Net {
  readonly net: unique symbol
}

test("R-109 R-113 the calls of an actor are typed by its protocol, and what it provides, needs and fails with is inferred", () => {
  // What an actor provides, how its start fails and what it needs are inferred from its init and its handlers.
  const database = Database.child(
    Effect.gen(function* () {
      yield* boot
      return Database.handlers({
        Get: ({ key }) => (key === "" ? Effect.fail(new Full({ total: 1 })) : disk),
        Clear: () => undefined
      })
    })
  )
  same<typeof database, Child.Child<Database, "no disk", Disk>>()

  const cache = Cache.child(
    Effect.map(Database, (ref) =>
      Cache.handlers({
        Read: () => Actor.orCrash(ref.Get({ key: "a" })).pipe(Effect.catchTag("Full", () => Effect.succeed("")))
      })
    )
  )
  same<typeof cache, Child.Child<Cache, never, Database>>()

  // Siblings meet each other's needs, also through nested supervisors; what is missing stays.
  const root = Supervisor.make("root", {
    children: [Supervisor.make("inner", { children: [database] }), cache]
  })
  same<typeof root, Supervisor.Supervisor<Database | Cache, "no disk", Disk>>()
  const alone = Supervisor.make("alone", { children: [cache] })
  same<typeof alone, Supervisor.Supervisor<Cache, never, Database>>()
  const layer = () => Supervisor.layer(root)
  same<ReturnType<typeof layer>, Layer.Layer<Database | Cache | Tree.Tree, Supervisor.StartFailure<"no disk">, Disk>>()

  // A hidden child provides nothing and needs what it needed.
  const hidden = Child.hide(database)
  same<typeof hidden, Child.Child<never, "no disk", Disk>>()
  const copies = Supervisor.make("copies", { children: [cache, Child.hide(database)] })
  same<typeof copies, Supervisor.Supervisor<Cache, "no disk", Disk | Database>>()

  // A reference's calls are typed by the protocol.
  const ref = () => of<Database["Service"]>()
  same<ReturnType<ReturnType<typeof ref>["Get"]>, Effect.Effect<string, Full | Actor.ActorFailure>>()
  same<ReturnType<ReturnType<typeof ref>["Clear"]>, Effect.Effect<void, Actor.ActorFailure>>()
  same<ReturnType<ReturnType<typeof ref>["tell"]["Get"]>, Effect.Effect<void>>()
  same<ReturnType<ReturnType<typeof ref>["tellUnsafe"]["Get"]>, boolean>()
  const crashing = () => Actor.orCrash(ref().Get({ key: "a" }))
  same<ReturnType<typeof crashing>, Effect.Effect<string, Full>>()
  const timed = () => Actor.withTimeout("1 second")(ref().Get({ key: "a" }))
  same<ReturnType<typeof timed>, Effect.Effect<string, Full | Actor.ActorFailure>>()

  // An rpc that answers with a stream is asked for a stream, and its handler's needs are the actor's.
  const log = () => of<Log["Service"]>()
  same<ReturnType<ReturnType<typeof log>["Follow"]>, Stream.Stream<string, Full | Actor.ActorFailure>>()
  same<ReturnType<ReturnType<typeof log>["Count"]>, Effect.Effect<number, Actor.ActorFailure>>()
  same<keyof ReturnType<typeof log>["tell"], "Count">()
  same<keyof ReturnType<typeof log>["tellUnsafe"], "Count">()
  const logs = {
    stream: Log.child(Effect.succeed(Log.handlers({ Follow: () => lines, Count: () => 1 }))),
    effect: Log.child(Effect.succeed(Log.handlers({ Follow: () => more, Count: () => 1 }))),
    queue: Log.child(Effect.succeed(Log.handlers({ Follow: () => Effect.succeed(end), Count: () => 1 })))
  }
  same<typeof logs.stream, Child.Child<Log, never, Disk>>()
  same<typeof logs.effect, Child.Child<Log, never, Disk | Net>>()
  same<typeof logs.queue, Child.Child<Log, never, never>>()

  // An answer may come later, be the last one, or wait in a stash, which only an init can ask for.
  const patient = Database.child(
    Effect.gen(function* () {
      const stash = yield* Actor.stash()
      return Database.handlers({
        Get: ({ key }) =>
          key === "" ? Deferred.makeUnsafe<string, Full>() : Effect.orDie(Effect.andThen(disk, stash.add)),
        Clear: () => Effect.sync(() => Actor.stopWith())
      })
    })
  )
  same<typeof patient, Child.Child<Database, never, Disk>>()
  same<ReturnType<typeof Actor.stash>, Effect.Effect<Actor.Stash, never, Actor.Init>>()
  same<Actor.Stash["add"], Effect.Effect<Actor.Stashed, Actor.StashFull>>()
  // So are timers, which send what can be told.
  type LogTimers = Actor.Timers<(typeof Log)["protocol"][number]>
  same<typeof Log.timers, Effect.Effect<LogTimers, never, Actor.Init>>()
  same<keyof ReturnType<LogTimers["after"]>, "Count">()
  same<ReturnType<ReturnType<LogTimers["every"]>["Count"]>, Effect.Effect<void>>()
  const ticking = Log.child(
    Effect.map(Log.timers, (timers) =>
      Log.handlers({ Follow: () => Stream.empty, Count: () => (timers.cancel("a"), 1) })
    )
  )
  same<typeof ticking, Child.Child<Log, never, never>>()

  void ((): void => {
    // @ts-expect-error a stream of the wrong elements
    Log.handlers({ Follow: () => Stream.make(1), Count: () => 1 })
    // @ts-expect-error a stream that fails outside its protocol
    Log.handlers({ Follow: () => Stream.fail("oops"), Count: () => 1 })
    // @ts-expect-error an array is no stream
    Log.handlers({ Follow: () => ["a"], Count: () => 1 })
    // @ts-expect-error a stream cannot be told
    void log().tell.Follow({ from: 0 })
    // @ts-expect-error a wrong payload of a stream
    void log().Follow({ from: "0" })
    // @ts-expect-error the deferred answer is of the wrong type
    Cache.handlers({ Read: () => Deferred.makeUnsafe<number>() })
    // @ts-expect-error the deferred answer fails outside its protocol
    Cache.handlers({ Read: () => Deferred.makeUnsafe<string, Full>() })
    // @ts-expect-error the last answer is of the wrong type
    Cache.handlers({ Read: () => Actor.stopWith(1) })
    // @ts-expect-error a stash that is full is not in the protocol
    Cache.child(Effect.map(Actor.stash(), (stash) => Cache.handlers({ Read: () => stash.add })))
    const handling = Cache.child(Effect.succeed(Cache.handlers({ Read: () => Effect.as(Actor.stash(), "") })))
    // @ts-expect-error a handler cannot ask for a stash
    Effect.runFork(Supervisor.run(Supervisor.make("root", { children: [handling] })))

    // @ts-expect-error a handler is missing
    Database.handlers({ Clear: () => undefined })
    // @ts-expect-error a handler is missing, inline
    Database.child(Effect.succeed({ Clear: () => undefined }))
    // @ts-expect-error a handler answers with the wrong type
    Cache.handlers({ Read: () => 1 })
    // @ts-expect-error a handler fails outside its protocol
    Cache.handlers({ Read: () => Effect.fail("oops") })
    // @ts-expect-error a handler returns a promise
    Cache.handlers({ Read: () => Promise.resolve("") })
    // @ts-expect-error a lost neighbour is not in the protocol: Actor.orCrash
    Cache.handlers({ Read: () => ref().Get({ key: "" }) })
    // @ts-expect-error handlers are made by an Effect, for every incarnation anew
    Cache.child(Cache.handlers({ Read: () => "" }))
    // @ts-expect-error no such rpc
    void ref().Set({ key: "a" })
    // @ts-expect-error no such rpc to tell
    void ref().tell.Set({ key: "a" })
    // @ts-expect-error a wrong payload
    void ref().Get({ key: 1 })
    // @ts-expect-error a missing payload
    void ref().Get()
    // @ts-expect-error an unknown policy
    Cache.child(Effect.succeed(Cache.handlers({ Read: () => "" })), { mailbox: { whenFull: "drop" } })
    // @ts-expect-error an unknown way to stop
    Cache.child(Effect.succeed(Cache.handlers({ Read: () => "" })), { stop: "later" })
    Database.child(
      Effect.andThen(boot, Effect.succeed(Database.handlers({ Get: () => "", Clear: () => undefined }))),
      // @ts-expect-error an unknown directive
      { onFailure: (error) => (error === "no disk" ? "ignore" : "stop") }
    )
    // @ts-expect-error the disk is missing
    Effect.runFork(Supervisor.run(root))
    const nobody = Effect.provide(Cache, Supervisor.layer(Supervisor.make("root", { children: [Child.hide(cache)] })))
    // @ts-expect-error a hidden actor is not there for the tree's users
    Effect.runSync(nobody)
  })

  /** Failures of actors carry their kind. */
  void ((failure: Actor.ActorFailure): Failure.Marked => failure)
})
