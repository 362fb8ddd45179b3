import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Child, Supervisor, Tasks, type Tree } from "espalier"

import { CurrentLink } from "../src/internal/taskHandle.ts"
import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"
import { Bench, collecting, Jobs, open } from "./fixtures/workshop.ts"

const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const stopped = new Tasks.TasksStopped({ tasks: ["root", "Jobs"] })

describe("Tasks.Service", () => {
  it.effect("gives siblings a handle, and snapshots a count", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const bench = new Bench()
      const user = Child.make(
        "user",
        Effect.gen(function* () {
          const jobs = yield* Jobs
          assert.strictEqual(yield* jobs.run(Effect.succeed("in the init")), "in the init")
          yield* jobs.asyncNoLink(bench.work("a"))
          return Effect.never
        })
      )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [Jobs.child(), user] }))
      const node = nodeOf(yield* tree.snapshot, "Jobs")
      assert.deepStrictEqual([node.kind, node.state, node.tasks, node.children], ["tasks", "running", 1, []])
    })
  )

  it.effect("fails an elder sibling's init at once, for its supervisor has not started", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const early = Child.make(
        "early",
        Effect.gen(function* () {
          const error = yield* Effect.flip((yield* Jobs).run(Effect.void))
          stage.log.push(error.message)
          return Effect.never
        })
      )
      yield* stage.start(Supervisor.make("root", { children: [early, Jobs.child()] }))
      assert.deepStrictEqual(stage.log, ["root/Jobs does not run"])
    })
  )

  it.effect("ends its tasks with a group restart, and the handle serves the next incarnation", () =>
    Effect.gen(function* () {
      const bench = new Bench()
      const crash = Deferred.makeUnsafe<void>()
      let crashes = 1
      const dieOnce = Effect.suspend(() => (crashes-- > 0 ? Effect.die("bug") : Effect.never))
      const sibling = Child.effect("sibling", Effect.andThen(Deferred.await(crash), dieOnce))
      const { jobs, stage, running } = yield* open({}, [sibling], "one-for-all")
      const waiting = yield* fork(Effect.flip(jobs.run(bench.work("a"))))
      Deferred.doneUnsafe(crash, Effect.void)
      assert.deepStrictEqual(yield* Fiber.join(waiting), stopped)
      yield* until("it runs again", () => stage.of("Started", "Jobs").length === 2)
      assert.deepStrictEqual([bench.log, yield* running], [["begin a", "cancel a", "end a"], 0])
      assert.strictEqual(yield* jobs.run(Effect.succeed("again")), "again")
    })
  )

  it.effect("is abandoned with its tasks when those above lose their patience, and nobody waits for them", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const bench = new Bench()
      const inner = Supervisor.make("inner", {
        shutdown: "100 millis",
        children: [Jobs.child({ shutdown: "Infinity" })]
      })
      const { tree, context } = yield* stage.start(Supervisor.make("root", { children: [inner] }))
      const jobs = Context.get(context, Jobs)
      const linked = yield* fork(
        Effect.flip(Tasks.linked(Effect.andThen(jobs.async(bench.stubborn("a", "1 minute")), Effect.never)))
      )
      yield* jobs.asyncNoLink(bench.stubborn("b", "2 minutes"))
      const stream = yield* fork(Effect.flip(Stream.runDrain(jobs.stream([1], () => bench.stubborn("c", "1 second")))))
      yield* until("all run", () => bench.active === 3)
      const report = yield* stage.stop(tree, "100 millis")
      assert.deepStrictEqual(report.leaked, [["root", "inner", "Jobs"]])
      const lost = new Tasks.TasksStopped({ tasks: ["root", "inner", "Jobs"] })
      assert.deepStrictEqual([yield* Fiber.join(linked), yield* Fiber.join(stream)], [lost, lost])
      assert.strictEqual(bench.active, 3)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([bench.active, stage.of("LeakEnded").length], [1, 0])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(
        stage.of("LeakEnded").map(({ path }) => path),
        [["root", "inner", "Jobs"]]
      )
    })
  )

  it.effect("ends its tasks when a supervisor above gives up", () =>
    Effect.gen(function* () {
      const bench = new Bench()
      const crash = Deferred.makeUnsafe<void>()
      const sibling = Child.effect("sibling", Effect.andThen(Deferred.await(crash), Effect.die("bug")), {
        onFailure: () => "escalate"
      })
      const stage = new Stage()
      const { tree, context } = yield* stage.start(
        Supervisor.make("root", { intensity: { restarts: 0, within: "1 second" }, children: [Jobs.child(), sibling] })
      )
      const jobs = Context.get(context, Jobs)
      const waiting = yield* fork(Effect.flip(jobs.run(bench.work("a"))))
      Deferred.doneUnsafe(crash, Effect.void)
      assert.deepStrictEqual(yield* Fiber.join(waiting), stopped)
      assert.strictEqual((yield* Effect.exit(tree.ended))._tag, "Failure")
      assert.deepStrictEqual([bench.active, yield* Effect.flip(jobs.run(Effect.void))], [0, stopped])
    })
  )
})

describe("Tasks.linked", () => {
  it.effect("goes no step further when a task crashes as it is started", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const bench = new Bench()
      const body = Effect.gen(function* () {
        yield* jobs.async(Effect.fail("at once"))
        bench.log.push("further")
        yield* jobs.async(bench.work("a"))
      })
      assert.strictEqual(yield* Effect.flip(Tasks.linked(body)), "at once")
      assert.deepStrictEqual(bench.log, [])
    })
  )

  it.effect("reports the first failure, and waits for the finalizers of all", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const slowly = Effect.ensuring(
        Effect.sleep("1 hour"),
        Effect.andThen(Effect.sleep("1 second"), Effect.die("too late"))
      )
      const caller = yield* fork(
        Effect.exit(
          Tasks.linked(
            Effect.gen(function* () {
              yield* jobs.async(bench.watch("slow", slowly))
              yield* jobs.async(bench.work("a"))
              yield* jobs.async(bench.work("b"))
              yield* Effect.never
            })
          )
        )
      )
      bench.end("b", Effect.fail("first"))
      bench.end("a", Effect.fail("second"))
      yield* quiet
      assert.deepStrictEqual([caller.pollUnsafe(), yield* running], [undefined, 1])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(caller), Exit.fail("first"))
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("cancels the other tasks while the caller still cleans up", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const bench = new Bench()
      const body = Effect.gen(function* () {
        yield* jobs.async(bench.work("a"))
        yield* jobs.async(bench.work("b"))
        yield* bench.stubborn("caller", "1 second")
      })
      const caller = yield* fork(Effect.flip(Tasks.linked(body)))
      bench.takeLog()
      bench.end("b", Effect.fail("boom"))
      assert.deepStrictEqual(bench.takeLog(), ["end b", "cancel a", "end a"])
      assert.strictEqual(caller.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(caller), "boom")
    })
  )

  it.effect("nests: a task belongs to the nearest caller, and a failure goes up by the usual way", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const value = yield* Effect.gen(function* () {
        yield* jobs.async(bench.work("outer"))
        const inner = Tasks.linked(Effect.andThen(jobs.async(Effect.fail("inner")), Effect.never))
        const caught = yield* Effect.flip(inner)
        return [caught, yield* running]
      }).pipe(Tasks.linked)
      assert.deepStrictEqual(value, ["inner", 1])
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("starts nothing for a fiber that outlived it", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const bench = new Bench()
      const go = Deferred.makeUnsafe<void>()
      const late = yield* Tasks.linked(
        Effect.forkDetach(Effect.andThen(Deferred.await(go), jobs.async(bench.work("late"))))
      )
      Deferred.doneUnsafe(go, Effect.void)
      const exit = yield* Fiber.await(late)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.deepStrictEqual(bench.log, [])
    })
  )

  it.effect("leaves no task behind that ends its caller as it begins", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const done = Deferred.makeUnsafe<void>()
      const task = Effect.andThen(Deferred.succeed(done, undefined), bench.work("a"))
      yield* Tasks.linked(
        Effect.gen(function* () {
          yield* Effect.forkDetach(jobs.async(task))
          yield* Deferred.await(done)
        })
      )
      yield* until("it is cancelled", () => bench.log.includes("end a"))
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("keeps no trace of tasks that have ended", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const sum = yield* Effect.gen(function* () {
        let sum = 0
        for (let i = 0; i < 20_000; i++) sum += yield* (yield* jobs.async(Effect.succeed(1))).await
        return sum
      }).pipe(Tasks.linked)
      assert.deepStrictEqual([sum, yield* running], [20_000, 0])
    })
  )
})

describe("Tasks.Ref", () => {
  it.effect("run stops its task when the caller is interrupted in the tick of the answer, and answers once", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const caller = yield* fork(jobs.run(bench.work("a")))
      bench.end("a")
      yield* Fiber.interrupt(caller)
      yield* quiet
      assert.deepStrictEqual([bench.active, yield* running], [0, 0])
    })
  )

  it.effect("run nests as deep as callers do", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const nested = (depth: number): Effect.Effect<number, Tasks.Refused | Tasks.TaskCancelled> =>
        depth === 0 ? Effect.succeed(0) : Effect.map(jobs.run(Effect.suspend(() => nested(depth - 1))), (n) => n + 1)
      assert.strictEqual(yield* nested(3_000), 3_000)
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("a task may stop the tree it runs in", () =>
    Effect.gen(function* () {
      const { jobs, tree } = yield* open()
      assert.deepStrictEqual(yield* Effect.flip(jobs.run(tree.stop)), stopped)
      assert.deepStrictEqual(yield* tree.stop, { leaked: [] })
    })
  )

  it.effect("interrupting somebody who waits for a task leaves the task and the others alone", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const task = yield* jobs.asyncNoLink(bench.work("a"))
      const one = yield* fork(task.await)
      const other = yield* fork(task.await)
      yield* Fiber.interrupt(one)
      assert.strictEqual(yield* running, 1)
      bench.end("a")
      assert.strictEqual(yield* Fiber.join(other), "a")
    })
  )

  it.effect("a wait that is over leaves nothing in the task, nor a task in its link", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const bench = new Bench()
      const left = (holder: unknown, name: string): number => (holder as Record<string, Set<unknown>>)[name]!.size
      yield* Effect.gen(function* () {
        const link = yield* CurrentLink
        const task = yield* jobs.async(bench.work("a"))
        const { job } = task as unknown as { readonly job: unknown }
        const [results, overs] = [left(job, "onResults"), left(job, "onOvers")]
        for (let i = 0; i < 10; i++) {
          const waiting = yield* fork(Effect.all([task.yieldFor("1 second"), Effect.flip(task.awaitFor("1 second"))]))
          yield* TestClock.adjust("2 seconds")
          yield* Fiber.join(waiting)
          yield* Fiber.interrupt(yield* fork(task.exit))
        }
        assert.deepStrictEqual([left(job, "onResults"), left(job, "onOvers")], [results, overs])
        bench.end("a")
        yield* jobs.async(Effect.succeed(1))
        yield* (yield* jobs.async(bench.work("b"))).shutdown
        yield* (yield* jobs.async(bench.work("c"))).ignore
        bench.end("c")
        yield* quiet
        assert.deepStrictEqual([left(job, "onResults"), left(job, "onOvers")], [0, 0])
        assert.deepStrictEqual([left(link, "jobs"), left(link, "silent")], [0, 0])
      }).pipe(Tasks.linked) as Effect.Effect<void, unknown>
    })
  )

  it.effect("a clean-up that fails makes the end of a stopped task its own, and the tree hears of it", () =>
    Effect.gen(function* () {
      const { jobs, stage } = yield* open()
      const task = yield* jobs.asyncNoLink(Effect.ensuring(Effect.never, Effect.die("clean-up")))
      const exit = Option.getOrThrow(yield* task.shutdown)
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) === "clean-up")
      const [event] = stage.of("Exited", "task-1")
      assert.deepStrictEqual([event?.ordered, event?.reason._tag], [true, "Shutdown"])
    })
  )

  it.effect("shutdown can be asked by several at once, and abandons at once where it must not wait", () =>
    Effect.gen(function* () {
      const { jobs, stage } = yield* open()
      const bench = new Bench()
      const task = yield* jobs.asyncNoLink(bench.stubborn("a", "1 second"))
      const both = yield* fork(Effect.all([task.shutdown, task.shutdown], { concurrency: 2 }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(both), [Option.none(), Option.none()])
      for (const shutdown of [0, "abandon"] as const) {
        const stubborn = yield* jobs.asyncNoLink(bench.stubborn("b", "1 second"), { shutdown })
        const exit = Option.getOrThrow(yield* stubborn.shutdown)
        assert.isTrue(Exit.isFailure(exit) && (Cause.squash(exit.cause) as Tasks.TaskCancelled).leaked)
      }
      assert.strictEqual(stage.of("Leaked").length, 2)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(stage.of("LeakEnded").length, 2)
    })
  )
})

describe("Tasks.Ref.stream", () => {
  it.effect("goes through a hundred thousand elements that are done at once", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      let sum = 0
      const items = Array.from({ length: 100_000 }, () => 1)
      const stream = jobs.stream(items, (i) => Effect.succeed(i))
      yield* Stream.runForEach(stream, (i) => Effect.sync(() => (sum += i)))
      assert.strictEqual(sum, 100_000)
    })
  )

  it.effect("finishes what was begun before it fails with its input", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const got: Array<number> = []
      const input = Stream.concat(Stream.fromArray([20, 10]), Stream.fail("no more"))
      const work = (millis: number) => Effect.as(Effect.sleep(millis), millis)
      const failed = yield* fork(Effect.flip(collecting(jobs.stream(input, work), got)))
      yield* TestClock.adjust("10 millis")
      assert.strictEqual(failed.pollUnsafe(), undefined)
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual([yield* Fiber.join(failed), got, yield* running], ["no more", [20, 10], 0])
    })
  )

  it.effect("does not wait for a slow input to give what is ready", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const got: Array<number> = []
      const input = Stream.concat(Stream.fromArray([1, 2]), Stream.never)
      const all = yield* fork(collecting(jobs.stream(input, Effect.succeed), got))
      yield* until("both are there", () => got.length === 2)
      yield* Fiber.interrupt(all)
    })
  )

  it.effect("an empty input is an empty stream, and a function that throws is a crashed element", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      assert.deepStrictEqual(yield* Stream.runCollect(jobs.stream([], Effect.succeed)), [])
      const throws = (): Effect.Effect<void> => {
        throw new Error("in f")
      }
      const [first] = yield* Stream.runCollect(jobs.stream([1], throws, { link: false }))
      assert.isTrue(first?._tag === "Failed" && (Cause.squash(first.cause) as Error).message === "in f")
    })
  )

  it.effect("a late task keeps its slot until it has stopped", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const bench = new Bench()
      const got: Array<unknown> = []
      const work = (i: number) => (i === 1 ? bench.stubborn("1", "100 millis") : bench.watch("2", Effect.succeed("2")))
      const options = { concurrency: 1, timeout: "10 millis", onTimeout: "value" } as const
      const all = yield* fork(collecting(jobs.stream([1, 2], work, options), got))
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual([got.length, bench.begun], [1, 1])
      yield* TestClock.adjust("90 millis")
      yield* Fiber.join(all)
      assert.deepStrictEqual([got.length, bench.begun, bench.peak], [2, 2, 1])
    })
  )

  it.effect("cancels a late task, whose slot is free then", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const bench = new Bench()
      const work = (i: number) => bench.watch(String(i), i === 3 ? Effect.void : Effect.never)
      const options = { concurrency: 1, timeout: "10 millis", onTimeout: "value" } as const
      const all = yield* fork(Stream.runCollect(jobs.stream([1, 2, 3], work, options)))
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(bench.takeLog(), ["begin 1", "cancel 1", "end 1", "begin 2"])
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(
        (yield* Fiber.join(all)).map((one) => one._tag),
        ["TimedOut", "TimedOut", "Ok"]
      )
    })
  )

  it.effect("cancels its tasks as it fails, however busy its consumer is, who still gets what was ready", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const got: Array<unknown> = []
      let pulled = 0
      function* names() {
        for (const name of "abcdefghijklmnopqrstuvwxyz") {
          pulled += 1
          yield name
        }
      }
      const options = { ordered: false, concurrency: 4 }
      const stream = jobs.stream(names(), (name) => bench.work(name), options)
      const busy = Stream.runForEach(stream, (one) => Effect.as(Effect.sleep("1 minute"), got.push(one)))
      const failing = yield* fork(Effect.flip(busy))
      yield* until("all run", () => bench.active === 4)
      bench.end("a")
      bench.end("b")
      yield* until("six were begun", () => bench.begun === 6)
      bench.end("c", Effect.fail("boom"))
      yield* quiet
      // One more was taken from the input, and waited for a slot.
      assert.deepStrictEqual([bench.active, yield* running, bench.begun, pulled], [0, 0, 6, 7])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(failing.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([yield* Fiber.join(failing), got], ["boom", ["a", "b"]])
    })
  )

  it.effect("leaves no task behind that ends its consumer as it begins", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const cut = Deferred.makeUnsafe<void>()
      const work = () => Effect.andThen(Deferred.succeed(cut, undefined), bench.stubborn("a", "1 second"))
      const consumer = yield* fork(
        Effect.raceFirst(Deferred.await(cut), Stream.runDrain(jobs.stream([1, 2], work, { concurrency: 1 })))
      )
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual([consumer.pollUnsafe(), yield* running], [undefined, 1])
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(consumer)
      assert.deepStrictEqual([bench.begun, yield* running], [1, 0])
    })
  )

  it.effect("tells its own supervisor's end from that of another, which is an element's failure like any other", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const elsewhere = new Tasks.TasksStopped({ tasks: ["another", "Jobs"] })
      const all = yield* Stream.runCollect(jobs.stream([1], () => Effect.fail(elsewhere), { link: false }))
      assert.deepStrictEqual(all, [{ _tag: "Failed", cause: Cause.fail(elsewhere), index: 0, input: undefined }])
    })
  )

  it.effect("can be run again, and twice at the same time, within the places that there are", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open({ maxChildren: 4 })
      const bench = new Bench()
      const stream = jobs.stream([1, 2, 3, 4], (i) => bench.watch("a", Effect.as(Effect.yieldNow, i)), {
        concurrency: 2
      })
      const both = yield* Effect.all([Stream.runCollect(stream), Stream.runCollect(stream)], { concurrency: 2 })
      assert.deepStrictEqual(both, [
        [1, 2, 3, 4],
        [1, 2, 3, 4]
      ])
      assert.isTrue(bench.peak <= 4)
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("needs what its function needs, of the one who runs it", () =>
    Effect.gen(function* () {
      const Name = Context.Service<"Name", string>("test/Name")
      const { context } = yield* open()
      const program = Stream.unwrap(
        Effect.map(Jobs, (jobs) => jobs.stream([1, 2], (i) => Effect.map(Name, (name) => `${name} ${i}`)))
      )
      const all = yield* Stream.runCollect(program).pipe(
        Effect.provideService(Name, "Ada"),
        Effect.provideContext(context as Context.Context<Jobs | Tree.Tree>)
      )
      assert.deepStrictEqual(all, ["Ada 1", "Ada 2"])
    })
  )
})
