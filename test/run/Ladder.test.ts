import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { Ladder, Reviewers } from "espalier/run"

const hour = 3_600_000

const stages = [
  { to: ["group:release"], after: 0, remindAt: [0.5] },
  { to: ["role:on-call"], after: "1 hour" },
  { to: ["anyone"], after: "2 hours" }
]

const final = { after: "3 hours", action: "reject" }

const shown = (steps: ReadonlyArray<Ladder.Step>): ReadonlyArray<string> =>
  steps.map(({ at, stage, what }) => `${what} ${stage} at ${at / hour}`)

describe("make", () => {
  it("gives the stages their names, and counts in milliseconds", () => {
    assert.deepStrictEqual(Ladder.make({ stages, final } as Ladder.Options), {
      stages: [
        { name: "primary", to: ["group:release"], afterMillis: 0, remindAt: [0.5] },
        { name: "alternate", to: ["role:on-call"], afterMillis: hour, remindAt: [] },
        { name: "escalation", to: ["anyone"], afterMillis: 2 * hour, remindAt: [] }
      ],
      final: { afterMillis: 3 * hour, action: "reject" }
    })
  })

  const first = (fields: object) => ({ stages: [{ to: ["anyone"], after: 0, ...fields }], final })
  const second = (after: unknown) => ({ stages: [stages[0], { to: ["anyone"], after }], final })
  const whole = "a duration of whole milliseconds, at most 100 years"
  const whom = "anyone, requester, manager-of-requester, user:ID, group:NAME or role:NAME"
  const name = "and then 1 to 200 characters that can be seen, without a blank at either end"
  const refused: ReadonlyArray<readonly [unknown, string]> = [
    [undefined, "options must be an object, got undefined"],
    [{ stages, final, end: 1 }, 'each field of options must be one of final, stages, got "end"'],
    [{ final }, "stages must be a list, got undefined"],
    [{ stages: [], final }, "stages must be a list of 1 to 3 stages, got [0 items]"],
    [{ stages: [...stages, stages[2]], final }, "stages must be a list of 1 to 3 stages, got [4 items]"],
    [{ stages: [5], final }, "stages[0] must be an object, got 5"],
    [first({ from: 1 }), 'each field of stages[0] must be one of to, after, remindAt, got "from"'],
    [first({ to: undefined }), "stages[0].to must be a list, got undefined"],
    [first({ to: [] }), "stages[0].to must be a list of 1 to 50 of those who may decide, got [0 items]"],
    [
      first({ to: Array.from({ length: 51 }, (_, index) => `user:${index}`) }),
      "stages[0].to must be a list of 1 to 50 of those who may decide, got [51 items]"
    ],
    [first({ to: [5] }), "stages[0].to[0] must be a name that is not empty, got 5"],
    [first({ to: ["anyone", "anyone"] }), "stages[0].to[1] must not be named twice, got"],
    [first({ to: ["anyone", "release"] }), `stages[0].to[1] must be ${whom}, got "release"`],
    [first({ to: ["team:release"] }), `stages[0].to[0] must be ${whom}, got "team:release"`],
    [first({ to: ["Anyone"] }), `stages[0].to[0] must be ${whom}, got "Anyone"`],
    [first({ to: ["anyone\n"] }), `stages[0].to[0] must be ${whom}, got`],
    [first({ to: ["group:"] }), `stages[0].to[0] must be group: ${name}, got "group:"`],
    [first({ to: ["role: on call"] }), `stages[0].to[0] must be role: ${name}, got "role: on call"`],
    [first({ to: ["user:a\u200bnn"] }), `stages[0].to[0] must be user: ${name}, got`],
    [first({ to: ["user:group:a"] }), `stages[0].to[0] must be user: ${name}, got "user:group:a"`],
    [first({ to: [`user:${"a".repeat(201)}`] }), `stages[0].to[0] must be user: ${name}, got`],
    [first({ after: "1 hour" }), 'stages[0].after must be 0, got "1 hour"'],
    [first({ after: -1 }), "stages[0].after must be a duration >= 0, got -1"],
    [first({ after: undefined }), "stages[0].after must be a duration >= 0, got undefined"],
    [second(0), "stages[1].after must be longer than stages[0].after, got 0"],
    [second("3 moons"), "stages[1].after must be a duration >= 0, got 3 moons"],
    [second("Infinity"), `stages[1].after must be ${whole}, got "Infinity"`],
    [second(0.5), `stages[1].after must be ${whole}, got 0.5`],
    [second("5218 weeks"), `stages[1].after must be ${whole}, got "5218 weeks"`],
    [
      { stages: [stages[0], stages[2], stages[1]], final },
      'stages[2].after must be longer than stages[1].after, got "1 hour"'
    ],
    [first({ remindAt: 0.5 }), "stages[0].remindAt must be a list, got 0.5"],
    [first({ remindAt: null }), "stages[0].remindAt must be a list, got null"],
    [first({ remindAt: [0] }), "stages[0].remindAt[0] must be a number > 0 and < 1, got 0"],
    [first({ remindAt: [0.5, 1] }), "stages[0].remindAt[1] must be a number > 0 and < 1, got 1"],
    [first({ remindAt: [Number.NaN] }), "stages[0].remindAt[0] must be a number > 0 and < 1, got NaN"],
    [first({ remindAt: ["0.5"] }), 'stages[0].remindAt[0] must be a number > 0 and < 1, got "0.5"'],
    [first({ remindAt: [0.5, 0.5] }), "stages[0].remindAt[1] must be more than the share before, 0.5, got 0.5"],
    [
      first({ remindAt: Array.from({ length: 11 }, (_, index) => (index + 1) / 20) }),
      "stages[0].remindAt must be a list of at most 10 shares, got [11 items]"
    ],
    [{ stages }, "final must be an object, got undefined"],
    [{ stages, final: { ...final, by: 1 } }, 'each field of final must be one of after, action, got "by"'],
    [
      { stages, final: { ...final, after: "2 hours" } },
      'final.after must be longer than stages[2].after, got "2 hours"'
    ],
    [{ stages, final: { after: "3 hours" } }, 'final.action must be one of "reject", "halt", "hold", "approve", got'],
    [
      { stages, final: { ...final, action: "deny" } },
      'final.action must be one of "reject", "halt", "hold", "approve", got "deny"'
    ]
  ]
  it.each(refused)("R-306 refuses %j: %s", (options, message) => {
    assert.throws(() => Ladder.make(options as Ladder.Options), RangeError, `Ladder.make: ${message}`)
  })

  it.each([
    "anyone",
    "requester",
    "manager-of-requester",
    "user:ann",
    "user:auth0|5f:7",
    "user:ann+desk@example.org",
    "user:service:mailer",
    "group:eng/release",
    "group:Qualität und Recht",
    "role:on-call"
  ])("R-306 asks %s, in a ladder, in what is recorded, and of a directory", (who) => {
    assert.deepStrictEqual(
      Ladder.make({ stages: [{ to: [who], after: 0 }], final: { after: 1, action: "hold" } }).stages,
      [{ name: "primary", to: [who], afterMillis: 0, remindAt: [] }]
    )
    assert.isTrue(Schema.is(Ladder.Who)(who))
    assert.isTrue(Schema.is(Reviewers.Who)(who))
  })

  it("is told from what only looks like a ladder", () => {
    const made = Ladder.make({ stages, final } as Ladder.Options)
    assert.isTrue(Ladder.isLadder(made))
    assert.isTrue(Ladder.isLadder(JSON.parse(JSON.stringify(made))))
    const [one, two] = made.stages
    for (const other of [
      undefined,
      { stages, final },
      { ...made, stages: [] },
      { ...made, stages: [one, { ...two, name: "escalation" }] },
      { ...made, stages: [one, { ...two, to: ["team:release"] }] },
      { ...made, final: { ...made.final, afterMillis: hour } },
      { ...made, final: { ...made.final, action: "deny" } }
    ]) {
      assert.isFalse(Ladder.isLadder(other))
    }
  })
})

describe("defaults", () => {
  const slow = ["remind 0 at 12", "remind 0 at 19.2", "widen 1 at 24", "widen 2 at 48", "expire 2 at 72"]
  const fast = ["remind 0 at 2", "remind 0 at 3.2", "widen 1 at 4", "widen 2 at 8", "expire 2 at 24"]
  type Given = Parameters<typeof Ladder.defaults>
  const table: ReadonlyArray<readonly [given: Given, action: Ladder.Action, steps: ReadonlyArray<string>]> = [
    [["low"], "reject", slow],
    [["medium"], "reject", slow],
    [["high"], "reject", fast],
    [["critical"], "reject", fast],
    [["low", "question"], "hold", slow],
    [["critical", "question"], "hold", fast],
    [["medium", "reconciliation"], "hold", slow],
    [["high", "reconciliation"], "hold", fast]
  ]
  it.each(table)("R-306 of %j end with %s: %j", (given, action, steps) => {
    const ladder = Ladder.defaults(...given)
    assert.strictEqual(ladder.final.action, action)
    assert.deepStrictEqual(shown(Ladder.arm(ladder, 0)), steps)
    assert.deepStrictEqual(
      ladder.stages.map(({ name, to }) => [name, to]),
      [
        ["primary", ["anyone"]],
        ["alternate", ["anyone"]],
        ["escalation", ["anyone"]]
      ]
    )
  })

  const people: ReadonlyArray<readonly [to: Given[2], stages: ReadonlyArray<ReadonlyArray<string>>]> = [
    [{ primary: ["user:a"] }, [["user:a"], ["user:a"], ["user:a"]]],
    [{ primary: ["user:a"], alternate: ["user:b"] }, [["user:a"], ["user:b"], ["user:b"]]],
    [{ primary: ["user:a"], escalation: ["user:c"] }, [["user:a"], ["user:a"], ["user:c"]]]
  ]
  it.each(people)("R-306 for %j never widen to whom nobody has named", (to, stages) => {
    assert.deepStrictEqual(
      Ladder.defaults("high", "approval", to).stages.map(({ to }) => to),
      stages
    )
  })

  const refused: ReadonlyArray<readonly [ReadonlyArray<unknown>, string]> = [
    [["hgih"], 'risk must be one of "low", "medium", "high", "critical", got "hgih"'],
    [["high", "plan"], 'asked must be one of "approval", "question", "reconciliation", got "plan"'],
    [["high", "approval", { first: [] }], 'each field of to must be one of primary, alternate, escalation, got "first"']
  ]
  it.each(refused)("refuse %j", (given, message) => {
    assert.throws(() => Ladder.defaults(...(given as unknown as Given)), RangeError, `Ladder.defaults: ${message}`)
  })
})

describe("steps", () => {
  it("D77 of three stages of an hour each are four, and nobody's answer is a no after three hours", () => {
    const ladder = Ladder.make({ stages, final } as Ladder.Options)
    assert.deepStrictEqual(shown(Ladder.arm(ladder, 10 * hour)), [
      "remind 0 at 10.5",
      "widen 1 at 11",
      "widen 2 at 12",
      "expire 2 at 13"
    ])
    assert.strictEqual(ladder.final.action, "reject")
  })

  it("R-306 of a single stage remind and expire", () => {
    const ladder = Ladder.make({
      stages: [{ to: ["anyone"], after: 0, remindAt: [0.1, 0.9] }],
      final: { after: "10 hours", action: "halt" }
    })
    assert.deepStrictEqual(shown(Ladder.arm(ladder, 0)), ["remind 0 at 1", "remind 0 at 9", "expire 0 at 10"])
  })

  it("R-306 go on every day while a question is held", () => {
    assert.deepStrictEqual(Ladder.holding(72 * hour, 2), { at: 96 * hour, what: "remind", stage: 2 })
  })

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("do not move by %d", (millis) => {
    const steps = Ladder.arm(Ladder.defaults("low"), 0)
    const message = `millis must be a number of milliseconds >= 0, got ${millis}`
    assert.throws(() => Ladder.extend(steps, millis), RangeError, `Ladder.extend: ${message}`)
    assert.throws(() => Ladder.pause(steps, millis), RangeError, `Ladder.pause: ${message}`)
  })

  it("R-306 widen: who was asked stays asked", () => {
    const asked = [["user:a", "group:b"], ["role:c"], ["user:a", "anyone"]]
    assert.deepStrictEqual(Ladder.named(asked, 0), ["user:a", "group:b"])
    assert.deepStrictEqual(Ladder.named(asked, 1), ["user:a", "group:b", "role:c"])
    assert.deepStrictEqual(Ladder.named(asked, 2), ["user:a", "group:b", "role:c", "anyone"])
  })

  const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
  const some = (minimum: number, maximum: number) => Arbitrary.schema(between(minimum, maximum))
  const stage = Arbitrary.schema(
    Schema.Struct({
      // Often a stage of few milliseconds, where rounding shows.
      length: Schema.Union([between(1, 5), between(1, 400_000_000)]),
      shares: Schema.Array(Schema.Finite.check(Schema.isBetween({ minimum: Number.MIN_VALUE, maximum: 1 - 2 ** -53 })))
    })
  )
  const Steps = Schema.Array(Ladder.Step)

  it.prop(
    "R-306 L1 L2 L3 are in order, widen once for each stage, remind inside their stage, and move together",
    {
      at: some(0, 4_000_000_000_000),
      lengths: Arbitrary.array(stage, { minLength: 1, maxLength: 3 }),
      millis: some(0, 1_000_000_000),
      gone: some(0, 40)
    },
    ({ at, gone, lengths, millis }) => {
      const begin = lengths.map((_, index) => lengths.slice(0, index).reduce((sum, { length }) => sum + length, 0))
      const end = lengths.reduce((sum, { length }) => sum + length, 0)
      const remindAt = lengths.map(({ shares }) => [...new Set(shares)].toSorted((a, b) => a - b).slice(0, 10))
      const ladder = Ladder.make({
        stages: lengths.map((_, index) => ({ to: ["anyone"], after: begin[index]!, remindAt: remindAt[index]! })),
        final: { after: end, action: "reject" }
      })
      const steps = Ladder.arm(ladder, at)

      const times = steps.map((step) => step.at)
      assert.deepStrictEqual(
        times,
        times.toSorted((a, b) => a - b)
      )
      assert.deepStrictEqual(steps.at(-1), { at: at + end, what: "expire", stage: lengths.length - 1 })
      assert.deepStrictEqual(
        steps.filter(({ what }) => what === "widen"),
        begin.slice(1).map((after, index) => ({ at: at + after, what: "widen", stage: index + 1 }))
      )
      for (const [index, after] of begin.entries()) {
        const reminders = steps.filter(({ stage, what }) => what === "remind" && stage === index)
        assert.strictEqual(reminders.length, remindAt[index]!.length)
        for (const reminder of reminders) {
          assert.isAtLeast(reminder.at, at + after)
          assert.isBelow(reminder.at, at + (begin[index + 1] ?? end))
        }
      }
      // What a stage reminds of comes after it has widened, also within the same millisecond.
      const order = steps.map(({ stage }) => stage)
      assert.deepStrictEqual(
        order,
        order.toSorted((a, b) => a - b)
      )
      for (const [index, step] of steps.entries()) {
        if (step.what === "widen") assert.isTrue(steps.slice(0, index).every(({ stage }) => stage < step.stage))
      }

      const left = steps.slice(gone)
      for (const move of [Ladder.extend, Ladder.pause]) {
        assert.deepStrictEqual(
          move(left, millis),
          left.map((step) => ({ at: step.at + millis, what: step.what, stage: step.stage }))
        )
      }
      const json: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(Steps)(steps)))
      assert.deepStrictEqual(Schema.decodeUnknownSync(Steps)(json), steps)
    },
    { arbitrary: { runs: 300, seed: "espalier" } }
  )
})
