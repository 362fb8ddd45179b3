import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Duration, Effect, Exit, Fiber, Option, Stream, type Tracer } from "effect"
import { TestClock } from "effect/testing"
import { Supervisor, Tasks } from "espalier"

import { quiet, until } from "../fixtures/stage.ts"
import { Bench, collecting, Jobs, open } from "../fixtures/workshop.ts"

const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const errorOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined

describe("M: linked tasks", () => {
  it.effect("C-129 a task lives under its supervisor, sees its caller's services, and its value is awaited", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const Name = Context.Service<"Name", string>("test/Name")
      const bench = new Bench()
      const value = yield* Effect.gen(function* () {
        const task = yield* jobs.async(Effect.andThen(bench.work("a"), Name))
        assert.strictEqual(yield* running, 1)
        assert.deepStrictEqual(task.path, ["root", "Jobs", "task-1"])
        bench.end("a")
        return yield* task.await
      }).pipe(Tasks.linked, Effect.provideService(Name, "Ada"))
      assert.strictEqual(value, "Ada")
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect.each<readonly [string, Effect.Effect<never, string>, unknown]>([
    ["fails", Effect.fail("boom"), "boom"],
    ["dies", Effect.die("bug"), "bug"],
    [
      "interrupts itself",
      Effect.interrupt,
      new Tasks.TaskCancelled({ tasks: ["root", "Jobs"], task: "task-1", leaked: false })
    ]
  ])("C-129 a linked task that %s ends its caller with that cause, wherever the caller is", ([, crash, error]) =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const go = Deferred.makeUnsafe<void>()
      const caller = yield* fork(
        bench
          .watch(
            "caller",
            Effect.gen(function* () {
              yield* jobs.async(Effect.andThen(Deferred.await(go), crash))
              yield* jobs.async(bench.work("other"))
              return yield* Effect.never
            })
          )
          .pipe(Tasks.linked, Effect.exit)
      )
      assert.strictEqual(yield* running, 2)
      Deferred.doneUnsafe(go, Effect.void)
      const exit = yield* Fiber.join(caller)
      assert.deepStrictEqual(errorOf(exit), error)
      assert.deepStrictEqual(bench.takeLog(), [
        "begin caller",
        "begin other",
        "cancel caller",
        "end caller",
        "cancel other",
        "end other"
      ])
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("C-129 a caller that dies, fails or is interrupted takes its tasks along, and is gone after them", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      for (const end of [Effect.void, Effect.fail("done"), Effect.die("bug"), Effect.interrupt]) {
        const bench = new Bench()
        const started = Effect.all([jobs.async(bench.work("a")), jobs.async(bench.work("b"))])
        const exit = yield* Effect.exit(Tasks.linked(Effect.andThen(started, end)))
        assert.strictEqual(exit._tag, end === Effect.void ? "Success" : "Failure")
        assert.deepStrictEqual(bench.takeLog(), ["begin a", "begin b", "cancel a", "end a", "cancel b", "end b"])
        assert.strictEqual(yield* running, 0)
      }
    })
  )

  it.effect("C-129 run is both at once: its failure is the task's, its interruption stops the task", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      assert.strictEqual(yield* jobs.run(Effect.succeed(1)), 1)
      assert.strictEqual(yield* Effect.flip(jobs.run(Effect.fail("boom"))), "boom")
      assert.strictEqual(errorOf(yield* Effect.exit(jobs.run(Effect.die("bug")))), "bug")
      const caller = yield* fork(jobs.run(bench.work("a")))
      assert.strictEqual(yield* running, 1)
      yield* Fiber.interrupt(caller)
      assert.deepStrictEqual(bench.takeLog(), ["begin a", "cancel a", "end a"])
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("C-129 a task's spans hang below the span of its caller", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const parent = yield* jobs.run(Effect.currentParentSpan).pipe(Effect.withSpan("caller"))
      assert.strictEqual((parent as Tracer.Span).name, "caller")
    })
  )
})

describe("M: unlinked tasks", () => {
  it.effect("C-130 a crash leaves the caller alive and is delivered as an exit", () =>
    Effect.gen(function* () {
      const { jobs, running, stage } = yield* open()
      const go = Deferred.makeUnsafe<void>()
      const failing = yield* jobs.asyncNoLink(Effect.andThen(Deferred.await(go), Effect.fail("boom")))
      const dying = yield* jobs.asyncNoLink(Effect.andThen(Deferred.await(go), Effect.die("bug")))
      Deferred.doneUnsafe(go, Effect.void)
      assert.deepStrictEqual(yield* failing.exit, Exit.fail("boom"))
      assert.deepStrictEqual(errorOf(yield* dying.exit), "bug")
      // A typed failure is an answer; a bug is also known to the tree.
      assert.deepStrictEqual(
        stage.of("Exited").map(({ path, reason }) => [path.join("/"), reason._tag]),
        [["root/Jobs/task-2", "Error"]]
      )
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("C-130 a result is one value: asked twice it is the same, asked by nobody it leaves nothing", () =>
    Effect.gen(function* () {
      const { jobs, stage, running } = yield* open()
      const task = yield* jobs.asyncNoLink(Effect.fail("boom"))
      assert.deepStrictEqual([yield* task.exit, yield* task.exit], [Exit.fail("boom"), Exit.fail("boom")])
      assert.strictEqual(yield* Effect.flip(task.await), "boom")
      stage.takeLog()
      yield* jobs.asyncNoLink(Effect.succeed("nobody asks"))
      yield* quiet
      assert.deepStrictEqual([stage.events.length, yield* running], [0, 0])
    })
  )

  it.effect("C-130 a task that nobody is linked to outlives its caller", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const caller = yield* fork(Tasks.linked(Effect.andThen(jobs.asyncNoLink(bench.work("a")), Effect.never)))
      yield* Fiber.interrupt(caller)
      assert.strictEqual(yield* running, 1)
    })
  )
})

describe("M: waiting and stopping", () => {
  it.effect("C-131 a wait that times out is an error, the task runs on, and its value is there later", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const task = yield* jobs.asyncNoLink(bench.work("a"))
      const waiting = yield* fork(Effect.flip(task.awaitFor("50 millis")))
      yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual(
        yield* Fiber.join(waiting),
        new Tasks.TaskTimeout({ tasks: ["root", "Jobs"], task: "task-1", afterMillis: 50, index: undefined })
      )
      assert.deepStrictEqual([yield* running, bench.log], [1, ["begin a"]])
      bench.end("a")
      assert.strictEqual(yield* task.awaitFor(0), "a")
      assert.strictEqual(yield* task.awaitFor("Infinity"), "a")
    })
  )

  it.effect("C-132 shutdown gives an earlier value or failure, nothing for a task that it stopped", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const done = yield* jobs.asyncNoLink(Effect.succeed(1))
      const failed = yield* jobs.asyncNoLink(Effect.fail("boom"))
      const stopped = yield* jobs.asyncNoLink(bench.work("a"))
      assert.deepStrictEqual(yield* done.shutdown, Option.some(Exit.succeed(1)))
      assert.deepStrictEqual(yield* failed.shutdown, Option.some(Exit.fail("boom")))
      assert.deepStrictEqual(yield* stopped.shutdown, Option.none())
      assert.deepStrictEqual(bench.log, ["begin a", "cancel a", "end a"])
      assert.deepStrictEqual(yield* stopped.shutdown, Option.none())
      assert.instanceOf(yield* Effect.flip(stopped.await), Tasks.TaskCancelled)
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("C-132 a task that overruns its grace time is abandoned, and told apart", () =>
    Effect.gen(function* () {
      const { jobs, running, stage, tree } = yield* open({ shutdown: "1 second" })
      const bench = new Bench()
      const task = yield* jobs.asyncNoLink(bench.stubborn("a", "1 minute"))
      const stopping = yield* fork(task.shutdown)
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual([stopping.pollUnsafe(), yield* running], [undefined, 1])
      yield* TestClock.adjust("1 millis")
      const leaked = new Tasks.TaskCancelled({ tasks: ["root", "Jobs"], task: "task-1", leaked: true })
      assert.deepStrictEqual(yield* Fiber.join(stopping), Option.some(Exit.fail(leaked)))
      assert.deepStrictEqual([yield* running, stage.steps.slice(-1)], [0, ["Leaked task-1"]])
      assert.strictEqual((yield* tree.snapshot).children[0]!.leaked, 1)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(stage.steps.slice(-1), ["LeakEnded task-1"])
      assert.strictEqual((yield* tree.snapshot).children[0]!.leaked, 0)
      assert.deepStrictEqual(yield* task.exit, Exit.fail(leaked))
    })
  )

  it.effect("C-132 yieldFor is nothing while there is nothing, as often as it is asked", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const bench = new Bench()
      const task = yield* jobs.asyncNoLink(bench.work("a"))
      for (let i = 0; i < 3; i++) {
        const asking = yield* fork(task.yieldFor("10 millis"))
        yield* TestClock.adjust("10 millis")
        assert.deepStrictEqual(yield* Fiber.join(asking), Option.none())
      }
      bench.end("a", Effect.fail("boom"))
      assert.deepStrictEqual(yield* task.yieldFor(0), Option.some(Exit.fail("boom")))
      assert.deepStrictEqual(yield* task.yieldFor("Infinity"), Option.some(Exit.fail("boom")))
    })
  )

  it.effect("C-132 a caller does not hear of a task that it shut down or ignored", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const value = yield* Effect.gen(function* () {
        const stopped = yield* jobs.async(bench.work("stopped"))
        const ignored = yield* jobs.async(bench.work("ignored"))
        const outliving = yield* jobs.async(bench.work("outliving"))
        assert.deepStrictEqual(yield* stopped.shutdown, Option.none())
        assert.deepStrictEqual(yield* ignored.ignore, Option.none())
        assert.deepStrictEqual(yield* outliving.ignore, Option.none())
        bench.end("ignored", Effect.die("bug"))
        yield* quiet
        assert.strictEqual((yield* ignored.ignore)._tag, "Some")
        return "alive"
      }).pipe(Tasks.linked)
      assert.deepStrictEqual([value, yield* running], ["alive", 1])
    })
  )
})

describe("M: streams", () => {
  it.effect("C-133 no more tasks run at one time than the stream may have, ten unless it says so", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      for (const [options, most] of [
        [undefined, 10],
        [{ concurrency: 1 }, 1],
        [{ concurrency: 3 }, 3]
      ] as const) {
        const bench = new Bench()
        const items = Array.from({ length: 40 }, (_, i) => i)
        const work = (i: number) => bench.watch(String(i), Effect.as(Effect.sleep(`${1 + ((i * 7) % 5)} millis`), i))
        const all = yield* fork(Stream.runCollect(jobs.stream(items, work, options)))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(all), items)
        assert.strictEqual(bench.peak, most)
      }
    })
  )

  it.effect("C-133 the output is in the order of the input even when the first is the slowest", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const work = (millis: number) => Effect.as(Effect.sleep(millis), millis)
      const all = yield* fork(Stream.runCollect(jobs.stream([100, 1, 50, 20], work, { concurrency: 2 })))
      yield* TestClock.adjust("100 millis")
      assert.deepStrictEqual(yield* Fiber.join(all), [100, 1, 50, 20])
    })
  )

  it.effect("C-133 a finished later task frees its slot while its result waits, up to the bound", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const got: Array<unknown> = []
      const work = (i: number) => (i === 0 ? bench.work("slow") : bench.watch(String(i), Effect.succeed(i)))
      const options = { concurrency: 2, ahead: 6 }
      const all = yield* fork(collecting(jobs.stream([0, 1, 2, 3, 4, 5, 6, 7], work, options), got))
      yield* until("the bound is reached", () => bench.begun === 6)
      yield* quiet
      assert.deepStrictEqual([bench.begun, got, yield* running], [6, [], 1])
      bench.end("slow", Effect.succeed(0))
      yield* Fiber.join(all)
      assert.deepStrictEqual(got, [0, 1, 2, 3, 4, 5, 6, 7])
    })
  )

  it.effect(
    "C-134 without order results come as they are finished, and are kept no longer than until they are taken",
    () =>
      Effect.gen(function* () {
        const { jobs } = yield* open()
        const got: Array<number> = []
        const work = (millis: number) => Effect.as(Effect.sleep(millis), millis)
        const all = yield* fork(
          collecting(jobs.stream([100, 1, 50, 20], work, { concurrency: 4, ordered: false }), got)
        )
        yield* TestClock.adjust("30 millis")
        assert.deepStrictEqual(got, [1, 20])
        yield* TestClock.adjust("70 millis")
        yield* Fiber.join(all)
        assert.deepStrictEqual(got, [1, 20, 50, 100])
      })
  )

  it.effect("C-135 a time-out fails the consumer, and every task is cancelled by then", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const got: Array<unknown> = []
      const work = (i: number) => bench.watch(String(i), i === 1 ? Effect.succeed(i) : Effect.never)
      const stream = jobs.stream([1, 2, 3, 4], work, { concurrency: 3, timeout: "50 millis" })
      const all = yield* fork(Effect.flip(collecting(stream, got)))
      yield* TestClock.adjust("49 millis")
      assert.strictEqual(all.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(
        yield* Fiber.join(all),
        new Tasks.TaskTimeout({ tasks: ["root", "Jobs"], task: "task-2", afterMillis: 50, index: 1 })
      )
      assert.deepStrictEqual([got, bench.active, bench.begun, yield* running], [[1], 0, 4, 0])
    })
  )

  it.effect("C-136 a time-out can be a value in its place, with its element", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const work = (millis: number) => Effect.as(Effect.sleep(millis), millis)
      const options = { concurrency: 4, timeout: "50 millis", onTimeout: "value" } as const
      const read = (zipInput: boolean) =>
        Effect.gen(function* () {
          const all = yield* fork(Stream.runCollect(jobs.stream([100, 1, 100, 1], work, { ...options, zipInput })))
          yield* TestClock.adjust("50 millis")
          return yield* Fiber.join(all)
        })
      const ok = { _tag: "Ok", value: 1 } as const
      const late = (index: number, input?: number) => ({ _tag: "TimedOut", afterMillis: 50, index, input }) as const
      assert.deepStrictEqual(yield* read(false), [late(0), ok, late(2), ok])
      assert.deepStrictEqual(yield* read(true), [late(0, 100), ok, late(2, 100), ok])
      assert.strictEqual(yield* running, 0)
    })
  )

  it.effect("C-136 a time-out can be infinite", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const work = (days: number) => Effect.as(Effect.sleep(Duration.days(days)), "done")
      const all = yield* fork(Stream.runCollect(jobs.stream([30], work, { timeout: "Infinity" })))
      yield* TestClock.adjust("30 days")
      assert.deepStrictEqual(yield* Fiber.join(all), ["done"])
    })
  )

  it.effect(
    "C-137 a consumer that takes one of four has cancelled the others and closed the input before it goes on",
    () =>
      Effect.gen(function* () {
        const { jobs, running } = yield* open()
        for (const link of [true, false]) {
          const bench = new Bench()
          const input = Stream.fromArray([1, 2, 3, 4]).pipe(
            Stream.rechunk(1),
            Stream.ensuring(Effect.sync(() => bench.log.push("input closed")))
          )
          const work = (i: number) => bench.watch(String(i), i === 1 ? Effect.yieldNow : Effect.never)
          const one = yield* Stream.runCollect(Stream.take(jobs.stream(input, work, { concurrency: 3, link }), 1))
          assert.deepStrictEqual([one.length, bench.begun, bench.active, yield* running], [1, 3, 0, 0])
          assert.strictEqual(bench.log.at(-1), "input closed")
          const log = bench.takeLog()
          assert.isTrue(log.includes("cancel 2") && log.includes("cancel 3"))
          yield* quiet
          assert.deepStrictEqual(bench.log, [])
        }
      })
  )

  it.effect("C-137 a consumer that stops waits for the clean-up of the others, all at the same time", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const work = (i: number) => (i === 1 ? Effect.sleep("1 millis") : bench.stubborn(String(i), "1 second"))
      const stream = jobs.stream([1, 2, 3, 4, 5], work, { concurrency: 3 })
      const one = yield* fork(Stream.runDrain(Stream.take(stream, 1)))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual([one.pollUnsafe(), bench.begun, yield* running], [undefined, 2, 2])
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(one)
      assert.deepStrictEqual([bench.active, yield* running], [0, 0])
    })
  )

  it.effect("C-137 a consumer that is interrupted leaves nothing either, and a generator hears of it", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      function* endless() {
        try {
          for (let i = 0; ; i++) yield i
        } finally {
          bench.log.push("generator closed")
        }
      }
      const consumer = yield* fork(Stream.runDrain(jobs.stream(endless(), () => bench.watch("a", Effect.never))))
      yield* until("ten run", () => bench.active === 10)
      yield* Fiber.interrupt(consumer)
      assert.deepStrictEqual([bench.active, yield* running, bench.log.at(-1)], [0, 0, "generator closed"])
    })
  )

  it.effect("C-138 an element that crashes fails the consumer, or is a value in its place", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const work = (i: number) => (i === 2 ? Effect.fail("boom") : Effect.succeed(i))
      const got: Array<number> = []
      assert.strictEqual(yield* Effect.flip(collecting(jobs.stream([1, 2, 3], work), got)), "boom")
      assert.deepStrictEqual([got, yield* running], [[1], 0])
      assert.deepStrictEqual(yield* Stream.runCollect(jobs.stream([1, 2, 3], work, { link: false, zipInput: true })), [
        { _tag: "Ok", value: 1 },
        { _tag: "Failed", cause: Cause.fail("boom"), index: 1, input: 2 },
        { _tag: "Ok", value: 3 }
      ])
    })
  )

  it.effect("C-138 a crash fails the consumer while an earlier element still runs, and cancels that", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const bench = new Bench()
      const all = yield* fork(Effect.exit(Stream.runCollect(jobs.stream(["slow", "bad"], (name) => bench.work(name)))))
      yield* until("both run", () => bench.active === 2)
      bench.end("bad", Effect.die("bug"))
      assert.strictEqual(errorOf(yield* Fiber.join(all)), "bug")
      assert.deepStrictEqual([bench.log.includes("cancel slow"), yield* running], [true, 0])
    })
  )
})

describe("M: limits and ends", () => {
  it.effect("C-139 a full supervisor refuses in words, also in the middle of a stream, whose tasks are cancelled", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open({ maxChildren: 2 })
      const bench = new Bench()
      const full = new Tasks.TasksFull({ tasks: ["root", "Jobs"], maxChildren: 2 })
      assert.strictEqual(full.message, "root/Jobs is full: 2 tasks run")
      const work = (i: number) => bench.watch(String(i), Effect.never)
      const failed = yield* Effect.flip(Stream.runDrain(jobs.stream([1, 2, 3, 4], work)))
      assert.deepStrictEqual(failed, full)
      assert.deepStrictEqual(bench.takeLog(), ["begin 1", "begin 2", "cancel 1", "end 1", "cancel 2", "end 2"])
      assert.strictEqual(yield* running, 0)
      yield* jobs.asyncNoLink(work(5))
      yield* jobs.asyncNoLink(work(6))
      assert.deepStrictEqual(yield* Effect.flip(jobs.run(work(7))), full)
      assert.deepStrictEqual(yield* Effect.flip(jobs.asyncNoLink(work(7))), full)
      assert.deepStrictEqual(yield* Effect.flip(Tasks.linked(jobs.async(work(7)))), full)
      assert.strictEqual(yield* running, 2)
    })
  )

  it.effect("C-139 a crashed task is not started again, and frees its place", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open({ maxChildren: 1 })
      const bench = new Bench()
      for (let i = 1; i <= 5; i++) {
        yield* Effect.exit(jobs.run(bench.watch("a", Effect.die("bug"))))
        assert.deepStrictEqual([bench.begun, yield* running], [i, 0])
      }
    })
  )

  it.effect("C-139 each task may have its own grace time, and a stop gives it to all at once", () =>
    Effect.gen(function* () {
      const { jobs, stage, tree } = yield* open({ shutdown: "500 millis" })
      const bench = new Bench()
      yield* jobs.asyncNoLink(bench.stubborn("quick", "300 millis"))
      yield* jobs.asyncNoLink(bench.stubborn("short", "1 minute"), { shutdown: "100 millis" })
      yield* jobs.asyncNoLink(bench.stubborn("long", "2 seconds"), { shutdown: "Infinity" })
      yield* jobs.asyncNoLink(bench.stubborn("default", "1 minute"))
      yield* jobs.asyncNoLink(bench.stubborn("none", "1 minute"), { shutdown: 0 })
      const stopping = yield* fork(tree.stop)
      yield* until("it is asked to stop", () => stage.of("Stopping", "Jobs").length === 1)
      const leaked = () => stage.of("Leaked").map(({ path }) => path.at(-1))
      assert.deepStrictEqual(leaked(), ["task-5"])
      yield* TestClock.adjust("100 millis")
      assert.deepStrictEqual(leaked(), ["task-5", "task-2"])
      yield* TestClock.adjust("400 millis")
      assert.deepStrictEqual(leaked(), ["task-5", "task-2", "task-4"])
      yield* TestClock.adjust("1499 millis")
      assert.strictEqual(stopping.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 millis")
      const report = yield* Fiber.join(stopping)
      assert.deepStrictEqual(
        report.leaked.map((path) => path.at(-1)),
        ["task-5", "task-2", "task-4"]
      )
    })
  )

  it.effect("C-139 a supervisor that stops fails everybody who waits at once, and everybody who comes", () =>
    Effect.gen(function* () {
      const { jobs, tree } = yield* open({ shutdown: "1 minute" })
      const bench = new Bench()
      const stopped = new Tasks.TasksStopped({ tasks: ["root", "Jobs"] })
      const task = yield* jobs.asyncNoLink(bench.stubborn("a", "10 seconds"))
      const waiting = yield* Effect.forEach(
        [
          task.await,
          jobs.run(bench.stubborn("b", "10 seconds")),
          Tasks.linked(Effect.andThen(jobs.async(bench.watch("c", Effect.never)), Effect.never)),
          Stream.runDrain(jobs.stream([1], () => bench.watch("d", Effect.never), { link: false }))
        ],
        (effect) => fork(Effect.flip(effect as Effect.Effect<unknown, unknown>))
      )
      yield* until("all run", () => bench.active === 4)
      const stopping = yield* fork(tree.stop)
      for (const waiter of waiting) assert.deepStrictEqual(yield* Fiber.join(waiter), stopped)
      assert.strictEqual(stopping.pollUnsafe(), undefined)
      assert.deepStrictEqual(yield* Effect.flip(jobs.run(Effect.succeed(1))), stopped)
      assert.deepStrictEqual(yield* Effect.flip(Stream.runDrain(jobs.stream([1], () => Effect.void))), stopped)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([(yield* Fiber.join(stopping)).leaked, bench.active], [[], 0])
      assert.deepStrictEqual(yield* Effect.flip(Tasks.linked(jobs.async(Effect.succeed(1)))), stopped)
      assert.deepStrictEqual(yield* Effect.flip(jobs.asyncNoLink(Effect.succeed(1))), stopped)
      assert.deepStrictEqual(yield* Effect.flip(task.await), stopped)
    })
  )

  it.effect("C-139 a handle stays valid over a restart of its supervisor, whose tasks do not come back", () =>
    Effect.gen(function* () {
      const bench = new Bench()
      const { jobs, tree, running } = yield* open()
      yield* jobs.asyncNoLink(bench.work("old"))
      const root = yield* tree.find(["root"])
      yield* root.stopChild("Jobs")
      assert.deepStrictEqual(bench.takeLog(), ["begin old", "cancel old", "end old"])
      assert.instanceOf(yield* Effect.flip(jobs.run(Effect.void)), Tasks.TasksStopped)
      yield* root.restartChild("Jobs")
      assert.strictEqual(yield* running, 0)
      assert.strictEqual(yield* jobs.run(Effect.succeed("new")), "new")
      assert.deepStrictEqual(bench.takeLog(), [])
    })
  )

  it.effect("C-139 options out of range are refused by name", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const refused = (f: () => unknown): string => {
        try {
          f()
          return "accepted"
        } catch (error) {
          return error instanceof RangeError ? error.message : String(error)
        }
      }
      const stream = (options: object) => refused(() => jobs.stream([1], () => Effect.void, options))
      assert.deepStrictEqual(
        [
          refused(() => Jobs.child({ maxChildren: 0 })),
          refused(() => Jobs.child({ maxChildren: 1.5 })),
          refused(() => Jobs.child({ shutdown: Number.NaN })),
          refused(() => Jobs.child({ id: "" })),
          refused(() => jobs.run(Effect.void, { shutdown: "soon" as never })),
          stream({ concurrency: 0 }),
          stream({ concurrency: 4, ahead: 3 }),
          stream({ timeout: Number.NaN }),
          stream({ onTimeout: "kill" }),
          stream({ ordered: "yes" }),
          refused(() => Jobs.child({ maxChildren: "unbounded", shutdown: "Infinity" }))
        ],
        [
          "Tasks.child: maxChildren of Jobs must be a whole number >= 1 or unbounded, got 0",
          "Tasks.child: maxChildren of Jobs must be a whole number >= 1 or unbounded, got 1.5",
          "Tasks.child: shutdown of Jobs must be a duration >= 0, got NaN",
          'Tasks.child: id must be a string that is not empty, got ""',
          "Tasks.run: shutdown of Jobs must be a duration >= 0, got soon",
          "Tasks.stream: concurrency of Jobs must be a whole number >= 1, got 0",
          "Tasks.stream: ahead of Jobs must be a whole number >= 4, got 3",
          "Tasks.stream: timeout of Jobs must be a duration >= 0, got NaN",
          "Tasks.stream: onTimeout of Jobs must be fail or value, got kill",
          "Tasks.stream: ordered of Jobs must be true or false, got yes",
          "accepted"
        ]
      )
      assert.strictEqual(Supervisor.make("root", { children: [Jobs.child({ id: "other" })] }).children[0]!.id, "other")
    })
  )
})
