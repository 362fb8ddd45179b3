import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, type Schema } from "effect"
import { Failure } from "espalier"
import { type Repetition, Router } from "espalier/run"

import { type Came, candidate, ended, ids, part, play, question, seen, view, type World } from "./coordinators.ts"
import { dice } from "./simulate.ts"

const tasks = [
  { id: "research", worker: "d.research", objective: "Find out" },
  { id: "write", worker: "d.write", objective: "Write" },
  { id: "spare", capability: "anything", objective: "Do what can be done" }
] as const

type Name = (typeof tasks)[number]["id"]

/** Whoever chooses answers with these, one after the other, and then with the last one for ever. */
const scripted = (
  answers: ReadonlyArray<unknown>,
  options: {
    readonly fallback?: Name | "review"
    readonly steps?: number
    readonly repetition?: Repetition.Policy
  } = {}
) => {
  let asked = 0
  return () =>
    Router.make({
      tasks,
      choose: () => {
        const answer = answers[Math.min(asked, answers.length - 1)]
        asked += 1
        return answer instanceof Failure.Failure ? Effect.fail(answer) : Effect.succeed(answer)
      },
      fallback: "review",
      ...options
    })
}

const run = (answers: ReadonlyArray<unknown>, options: Parameters<typeof scripted>[1] = {}, world: World = {}) =>
  play(scripted(answers, options), world)

/** Each task does something new each time. */
const fresh = (name: string, before: number): Came => ({
  worker: `d.${name}`,
  order: `${name}-in-${before}`,
  digest: `${name}-out-${before}`
})

const decide = (answer: unknown) =>
  Effect.suspend(() => scripted([answer])().decide?.(question()) ?? Effect.die(new Error("it cannot be asked")))

describe("Router", () => {
  describe("decide", () => {
    it.effect.each([
      ["research", "research"],
      [" research \n", "research"],
      ["finish", "finish"],
      [" none ", "none"]
    ] as const)("R-204 D18 takes %j as a name, after trimming", ([given, name]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* decide(given), { answer: name, note: `The choice is ${name}` })
      })
    )

    it.effect("R-204 D18 compares names in their normal form", () =>
      Effect.gen(function* () {
        const router = Router.make({
          tasks: [{ id: "re\u0301sume\u0301", worker: "d.one", objective: "Sum up" }],
          choose: () => Effect.succeed(" r\u00e9sum\u00e9"),
          fallback: "review"
        })
        const { answer } = yield* router.decide!(question())
        assert.strictEqual(answer, "re\u0301sume\u0301")
        const next = router.next(
          view({
            consult: { id: "r1/consult/1", purpose: "route", status: "answered", failures: 0, answer },
            answers: [answer]
          })
        )
        assert.strictEqual(next._tag, "Add")
      })
    )

    it.effect.each<[unknown, string]>([
      ["researcher", `"researcher"`],
      ["Research", `"Research"`],
      ["re search", `"re search"`],
      ["research, write", `"research, write"`],
      ["", `""`],
      ["constructor", `"constructor"`],
      [["research", "write"], "[2 items]"],
      [["research"], "[1 item]"],
      [{ worker: "research", secret: "s3cret" }, "{2 fields}"],
      [null, "null"],
      [undefined, "undefined"],
      [7, "7"],
      ["x".repeat(5000), `"${"x".repeat(47)}…"`]
    ])("R-204 D18 refuses %j, and names it and what is allowed", ([given, shown]) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(decide(given))
        assert.instanceOf(error, Router.RoutingError)
        assert.strictEqual(error.answer, shown)
        assert.deepStrictEqual(error.candidates, ["research", "write", "spare", "finish", "none"])
        assert.strictEqual(Failure.kindOf(error), "malformed")
        assert.strictEqual(error.message, `ROUTING_ERROR: ${shown} is none of: research, write, spare, finish, none`)
      })
    )

    it.effect("R-204 says what a choice cost, also one that could not be used", () =>
      Effect.gen(function* () {
        const usage = { tokens: 12 }
        const good = yield* decide(Router.answer("write", { usage, note: "The text is missing" }))
        assert.deepStrictEqual(good, { answer: "write", usage, note: "The text is missing" })
        const bad = yield* Effect.flip(decide(Router.answer("wrote", { usage })))
        assert.deepStrictEqual(bad instanceof Router.RoutingError ? bad.usage : undefined, usage)
      })
    )

    it.effect("R-204 D19 shows the declared tasks and what became of those so far, and no output", () =>
      Effect.gen(function* () {
        const asked: Array<Router.Question> = []
        const router = Router.make({
          tasks,
          choose: Router.rule((question) => {
            asked.push(question)
            return "finish"
          }),
          fallback: "review"
        })
        const workers = [candidate("d.research"), { ...candidate("d.write"), available: false }]
        yield* router.decide!(question({ workers, tasks: [seen("research#1")] }))
        assert.deepStrictEqual(asked[0]?.choices, [
          {
            name: "research",
            objective: "Find out",
            worker: "d.research",
            description: "The worker d.research",
            available: true
          },
          { name: "write", objective: "Write", worker: "d.write", description: "The worker d.write", available: false },
          { name: "spare", objective: "Do what can be done", capability: "anything", available: false }
        ])
        assert.deepStrictEqual(asked[0]?.tasks, [seen("research#1")])
      })
    )
  })

  it.effect("R-204 R-205 gives one task after the other, until it is finished", () =>
    Effect.gen(function* () {
      const played = yield* run(["research", "write", "research", "finish"], {}, { came: fresh })
      assert.deepStrictEqual(ids(played), ["research#1", "write#2", "research#3"])
      assert.deepStrictEqual(
        played.planned.map(({ needs, template }) => [template, needs]),
        [
          ["research", []],
          ["write", ["research#1"]],
          ["research", ["research#1", "write#2"]]
        ]
      )
      assert.strictEqual(ended(played), "Done")
      assert.deepStrictEqual(
        played.moves.map(({ _tag }) => _tag),
        ["Consult", "Add", "Consult", "Add", "Consult", "Add", "Consult", "Done"]
      )
    })
  )

  it.effect("R-204 a bad answer is told why, and the next good one counts", () =>
    Effect.gen(function* () {
      const played = yield* run(["researcher", "research", "finish"])
      assert.deepStrictEqual(ids(played), ["research#2"])
      const second = played.questions[1]?.refused
      assert.deepStrictEqual(second, {
        kind: "malformed",
        reason: `ROUTING_ERROR: "researcher" is none of: research, write, spare, finish, none`
      })
    })
  )

  it.effect.each<[string, ReadonlyArray<unknown>]>([
    ["none", ["none", "finish"]],
    ["a second bad answer in a row", ["researcher", ["research"], "finish"]],
    ["a second failure", [Failure.transient("busy"), Failure.transient("busy"), "finish"]],
    ["a failure after a bad answer", ["", Failure.transient("busy"), "finish"]]
  ])("R-204 has the fallback stand in after %s, and goes on", ([, answers]) =>
    Effect.gen(function* () {
      const played = yield* run(answers, { fallback: "spare" })
      assert.deepStrictEqual(ids(played), [`spare#${answers.length - 1}-fallback`])
      assert.strictEqual(ended(played), "Done")
      assert.strictEqual(played.planned[0]?.template, "spare")
    })
  )

  it.effect("R-204 has the fallback stand in once, and then asks a person", () =>
    Effect.gen(function* () {
      const none = yield* run(["none"], { fallback: "spare" })
      assert.deepStrictEqual(ids(none), ["spare#1-fallback"])
      assert.deepStrictEqual(none.end, {
        _tag: "Review",
        reason: "no-route",
        choices: ["research", "write", "spare", "finish"],
        note: "None of the tasks was chosen; a person chooses one of: research, write, spare, finish"
      })
      const bad = yield* run(["x"], { fallback: "spare" })
      assert.deepStrictEqual(ids(bad), ["spare#2-fallback"])
      assert.strictEqual(bad.questions.length, 4)
      assert.strictEqual(ended(bad), "Review")
    })
  )

  it.effect("R-204 two bad answers with a good one between them are not two in a row", () =>
    Effect.gen(function* () {
      const played = yield* run(["x", "research", "x", "write", "finish"], { fallback: "spare" })
      assert.deepStrictEqual(ids(played), ["research#2", "write#4"])
    })
  )

  describe("with a person", () => {
    it.effect("R-204 takes a person's answer as a route, and then asks again", () =>
      Effect.gen(function* () {
        const played = yield* run(
          ["none", "none", "research", "finish"],
          {},
          {
            people: [
              { decision: "answer", answer: " write" },
              { decision: "answer", answer: "spare" }
            ]
          }
        )
        assert.deepStrictEqual(ids(played), ["write#1-review", "spare#2-review", "research#3"])
        assert.strictEqual(ended(played), "Done")
      })
    )

    it.effect("R-204 asks again when a person names nobody who is known, and says so", () =>
      Effect.gen(function* () {
        const people = [{ decision: "answer", answer: "editor" } as const]
        const played = yield* run(["none"], {}, { people })
        assert.strictEqual(
          played.end._tag === "Review" ? played.end.note : "",
          `None of the tasks was chosen; ann answered "editor", which is none of: research, write, spare, finish`
        )
        const more = yield* run(
          ["none", "finish"],
          {},
          { people: [...people, { decision: "answer", answer: "none" }, { decision: "answer", answer: "write" }] }
        )
        assert.deepStrictEqual(ids(more), ["write#1-review"])
        assert.strictEqual(ended(more), "Done")
      })
    )

    it.effect.each([
      ["answer", "finish", "Done"],
      ["accept-partial", undefined, "Done"],
      ["reject", undefined, "Stop rejected-by-reviewer"]
    ] as const)("R-204 does what a person decides: %s %s", ([decision, answer, end]) =>
      Effect.gen(function* () {
        const person = answer === undefined ? { decision } : { decision, answer }
        const played = yield* run(["research", "none"], {}, { people: [person] })
        assert.deepStrictEqual(ids(played), ["research#1"])
        assert.strictEqual(ended(played), end)
      })
    )
  })

  it.effect("R-204 D28 a router that finishes at once has added nothing", () =>
    Effect.gen(function* () {
      const played = yield* run(["finish"])
      assert.deepStrictEqual(played.planned, [])
      assert.strictEqual(ended(played), "Done")
      assert.deepStrictEqual(scripted([""])().merge?.([]), Result.fail("No task gave a result"))
    })
  )

  describe("its cap", () => {
    it.effect.each([1, 2, 5, 20] as const)(
      "R-204 D30 is on tasks: exactly %d of a router that never finishes",
      (steps) =>
        Effect.gen(function* () {
          const played = yield* run(["research"], { steps }, { came: fresh })
          assert.strictEqual(ids(played).length, steps)
          assert.deepStrictEqual(played.end, {
            _tag: "Stop",
            reason: "budget-exceeded",
            recall: false,
            note: `The group has had ${steps} of ${steps} tasks, and research would be next`
          })
        })
    )

    it.effect("R-204 lets it finish with the last task, and is 20 unless told otherwise", () =>
      Effect.gen(function* () {
        const just = yield* run(["research", "write", "finish"], { steps: 2 }, { came: fresh })
        assert.strictEqual(ended(just), "Done")
        assert.strictEqual(ids(yield* run(["research"], {}, { came: fresh })).length, 20)
      })
    )

    it.effect("R-204 holds for the fallback and for people too", () =>
      Effect.gen(function* () {
        const fallback = yield* run(["research", "none"], { steps: 1, fallback: "spare" }, { came: fresh })
        assert.strictEqual(ended(fallback), "Stop budget-exceeded")
        const people = [{ decision: "answer", answer: "write" } as const]
        const person = yield* run(["research", "none"], { steps: 1 }, { came: fresh, people })
        assert.strictEqual(ended(person), "Stop budget-exceeded")
      })
    )
  })

  it.effect("R-204 D20 D39 stops when the same order comes out the same for the third time", () =>
    Effect.gen(function* () {
      const same = () => ({ worker: "d.research", order: "in", digest: "out" })
      const played = yield* run(["research"], {}, { came: same })
      assert.strictEqual(ids(played).length, 3)
      assert.deepStrictEqual(played.end, {
        _tag: "Stop",
        reason: "loop-detected",
        recall: false,
        note: "The choices go round in circles: d.research did the same thing 3 times"
      })
      const finished = yield* run(["research", "research", "research", "finish"], {}, { came: same })
      assert.strictEqual(ended(finished), "Done")
    })
  )

  it.effect(
    "R-204 R-215 whatever is answered, it comes to an end, each choice leads to one task at most, and a resumed run goes on the same",
    () =>
      Effect.gen(function* () {
        const answers: ReadonlyArray<unknown> = [
          "research",
          "write",
          " spare ",
          "finish",
          "none",
          "Research",
          ["write"],
          null,
          Failure.transient("busy")
        ]
        const said: ReadonlyArray<NonNullable<World["people"]>[number]> = [
          { decision: "answer", answer: "write" },
          { decision: "answer", answer: "finish" },
          { decision: "answer", answer: "nobody" },
          { decision: "answer" },
          { decision: "accept-partial" },
          { decision: "reject" }
        ]
        const ends = new Set<string>()
        for (let seed = 0; seed < 400; seed++) {
          const die = dice(seed)
          const script = Array.from({ length: 60 }, () => die.pick(answers))
          const steps = 1 + die.below(6)
          const fallback = die.pick(["review", "spare", "write"] as const)
          const people = Array.from({ length: 12 }, () => die.pick(said))
          const status = () => die.pick(["accepted", "accepted", "partial", "failed"] as const)
          const played = yield* run(
            script,
            { steps, fallback },
            { people, came: (name, before) => ({ ...fresh(name, before), status: status() }) }
          )
          ends.add(ended(played))
          const marks = ids(played).map((id) => id.slice(id.indexOf("#") + 1).split("-")[0])
          assert.isAtMost(marks.length, steps)
          assert.strictEqual(new Set(marks).size, marks.length)
          assert.isAtMost(ids(played).filter((id) => id.endsWith("-fallback")).length, fallback === "review" ? 0 : 1)
        }
        assert.deepStrictEqual([...ends].toSorted(), ["Done", "Stop budget-exceeded", "Stop rejected-by-reviewer"])
      })
  )

  it("R-204 goes on from the recorded choice alone", () => {
    const answered = (answer: Schema.Json) =>
      view({
        tasks: [seen("research#7")],
        answers: ["research", answer],
        consult: { id: "r1/consult/9", purpose: "route", status: "answered", failures: 0, answer }
      })
    const next = Router.make({ tasks, choose: () => Effect.never, fallback: "review" }).next(answered("write"))
    assert.deepStrictEqual(next, {
      _tag: "Add",
      tasks: [{ id: "write#9", needs: ["research#7"], worker: "d.write", acceptMissing: true, template: "write" }],
      note: "write was chosen"
    })
  })

  it("R-205 has the newest output of a declared task as its result", () => {
    const router = Router.make({ tasks, choose: () => Effect.succeed("finish"), fallback: "review", result: "write" })
    const parts = [part("write#1", "a"), part("write#2", "b"), part("research#3", "c")]
    assert.deepStrictEqual(router.merge?.(parts), Result.succeed("b"))
    assert.deepStrictEqual(router.merge?.([part("research#3", "c")]), Result.fail("The task write gave no result"))
  })

  it("R-204 R-218 names a fallback that is none of the tasks, and names that mean something else", () => {
    const choose = () => Effect.succeed("finish")
    const untyped = Router.make as (options: unknown) => Router.Router
    const found = (options: object) =>
      untyped({ choose, ...options })
        .problems?.()
        .map(({ message, rule }) => `${rule}: ${message}`)
    assert.deepStrictEqual(found({ tasks, fallback: "write" }), [])
    assert.deepStrictEqual(found({ tasks, fallback: "editor" }), [
      `no-fallback: the router's fallback must be one of write, review, spare, research, got "editor"`
    ])
    assert.deepStrictEqual(found({ tasks }), [
      "no-fallback: the router's fallback must be one of research, write, spare, review, got undefined"
    ])
    assert.deepStrictEqual(found({ tasks: [], fallback: "review" }), ["no-task: the router has no tasks to choose"])
    assert.deepStrictEqual(found({ tasks: [{ ...tasks[0], id: "none" }], fallback: "review" }), [
      "reserved-name: no task of a router can be called none"
    ])
  })

  it("R-204 refuses a number of steps that is out of range", () => {
    assert.throws(() => scripted([""], { steps: 0 })(), "Router.make: steps must be a whole number >= 1, got 0")
  })
})
