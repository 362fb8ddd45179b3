/**
 * What the compiler must say about tasks. Nothing here runs: the compiler is the test, and an expected error
 * that does not come is an error.
 */
import { Effect, type Exit, type Option, Stream } from "effect"
import { Child, Supervisor, Tasks } from "espalier"
import { test } from "vitest"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : ["types differ", A, B]): void => {}
/** The type of a value that is never made. */
declare const of: <A>() => A

class Jobs extends Tasks.Service<Jobs>()("Jobs") {}
interface Disk {
  readonly disk: unique symbol
}
declare const read: Effect.Effect<string, "unreadable", Disk>
declare const count: (input: number) => Effect.Effect<string, "odd", Disk>

declare const numbers: Stream.Stream<number, "no more", Disk>

test("R-113 what tasks give, need and fail with is inferred", () => {
  // A task supervisor provides its handle, and neither fails to start nor needs anything.
  const child = () => Jobs.child({ maxChildren: 100, shutdown: "5 seconds" })
  same<ReturnType<typeof child>, Child.Child<Jobs, never, never>>()
  const root = () => Supervisor.make("root", { children: [Jobs.child(), Child.effect("user", Effect.asVoid(Jobs))] })
  same<ReturnType<typeof root>, Supervisor.Supervisor<Jobs, never, never>>()

  const jobs = () => of<Jobs["Service"]>()

  // What a task's effect gives, fails with and needs is the caller's.
  const ran = () => jobs().run(read)
  same<
    ReturnType<typeof ran>,
    Effect.Effect<string, "unreadable" | Tasks.TasksStopped | Tasks.TasksFull | Tasks.TaskCancelled, Disk>
  >()
  const unlinked = () => jobs().asyncNoLink(read)
  same<
    ReturnType<typeof unlinked>,
    Effect.Effect<Tasks.Task<string, "unreadable">, Tasks.TasksStopped | Tasks.TasksFull, Disk>
  >()
  type Task = Tasks.Task<string, "unreadable">
  same<Task["await"], Effect.Effect<string, "unreadable" | Tasks.Lost>>()
  same<Task["exit"], Effect.Effect<Exit.Exit<string, "unreadable" | Tasks.Lost>>>()
  same<ReturnType<Task["awaitFor"]>, Effect.Effect<string, "unreadable" | Tasks.Lost | Tasks.TaskTimeout>>()
  same<Task["shutdown"], Effect.Effect<Option.Option<Exit.Exit<string, "unreadable" | Tasks.Lost>>>>()

  // A linked task asks for a caller who can be told, and the caller fails with what it may be told.
  const body = () =>
    Effect.gen(function* () {
      const ref = yield* Jobs
      yield* ref.async(read)
      yield* ref.async(Effect.fail("no paper" as const))
      return 1
    })
  const linked = () => Tasks.linked(body())
  same<
    ReturnType<typeof linked>,
    Effect.Effect<number, "unreadable" | "no paper" | Tasks.Lost | Tasks.Refused, Jobs | Disk>
  >()
  const plain = () => Tasks.linked(read)
  same<ReturnType<typeof plain>, Effect.Effect<string, "unreadable", Disk>>()

  // The elements and the failures of a stream follow its options.
  const simple = () => jobs().stream([1, 2], count)
  same<ReturnType<typeof simple>, Stream.Stream<string, "odd" | Tasks.Refused | Tasks.TaskCancelled, Disk>>()
  const timed = () => jobs().stream([1, 2], count, { timeout: "1 second", concurrency: 4 })
  same<
    ReturnType<typeof timed>,
    Stream.Stream<string, "odd" | Tasks.Refused | Tasks.TaskCancelled | Tasks.TaskTimeout, Disk>
  >()
  const timedValues = () => jobs().stream([1, 2], count, { timeout: "1 second", onTimeout: "value" })
  same<
    ReturnType<typeof timedValues>,
    Stream.Stream<Tasks.Ok<string> | Tasks.TimedOut, "odd" | Tasks.Refused | Tasks.TaskCancelled, Disk>
  >()
  const values = () => jobs().stream([1, 2], count, { link: false, zipInput: true })
  same<ReturnType<typeof values>, Stream.Stream<Tasks.Ok<string> | Tasks.Failed<"odd", number>, Tasks.Refused, Disk>>()
  const allValues = () => jobs().stream(new Set([1]), count, { link: false, timeout: 5, onTimeout: "value" })
  same<
    ReturnType<typeof allValues>,
    Stream.Stream<Tasks.Ok<string> | Tasks.Failed<"odd"> | Tasks.TimedOut, Tasks.Refused, Disk>
  >()

  // The input of a stream may be a stream, with failures and needs of its own, and written in place.
  const chained = () =>
    jobs().stream(Stream.concat(numbers, Stream.fail("end" as const)), (input) => Effect.succeed(input))
  same<
    ReturnType<typeof chained>,
    Stream.Stream<number, "no more" | "end" | Tasks.Refused | Tasks.TaskCancelled, Disk>
  >()

  void ((): void => {
    // @ts-expect-error a linked task without a caller that can be told
    Effect.runFork(jobs().async(Effect.succeed(1)))
    // @ts-expect-error the disk is missing
    Effect.runFork(jobs().run(read))
    // @ts-expect-error the input gives numbers
    jobs().stream([1], (input: string) => Effect.succeed(input))
    // @ts-expect-error no such option
    jobs().stream([1], count, { concurrency: 2, max: 3 })
    // @ts-expect-error no such way to treat a time-out
    jobs().stream([1], count, { onTimeout: "kill" })
    // @ts-expect-error not a duration
    jobs().stream([1], count, { timeout: "soon" })
    // @ts-expect-error tasks are effects
    jobs().run(1)
    // @ts-expect-error a task is never restarted, and its supervisor never ends by itself
    Jobs.child({ restart: "never" })
  })
})
