import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { type Autonomy, StandingGrant } from "espalier/run"

const minute = 60_000
const hours = 60 * minute

const given = {
  grant: "g1",
  by: "ada",
  tool: "mail.send",
  where: { "/to": "team", "/options/copy": null },
  task: "notify",
  uses: 3,
  at: 1_000,
  until: 1_000 + 15 * minute
}

const ordinary = { risk: "medium", irreversible: false } as const

const action: StandingGrant.Action = {
  ...ordinary,
  tool: "mail.send",
  args: { text: "Hi", options: { copy: null }, to: "team" },
  task: "notify",
  at: 1_000,
  used: 0
}

const granted = (fields: Record<string, unknown> = {}) =>
  Result.getOrThrow(StandingGrant.make({ ...given, ...fields }, ordinary))

const without = (...names: ReadonlyArray<string>) =>
  Result.getOrThrow(
    StandingGrant.make(Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name))), ordinary)
  )

describe("StandingGrant", () => {
  describe("make", () => {
    it("R-306 gives a grant as it was asked for", () => {
      assert.deepStrictEqual(granted(), given)
      assert.deepStrictEqual(granted({ uses: 1000, until: 1_000 + 8 * hours }), {
        ...given,
        uses: 1000,
        until: 1_000 + 8 * hours
      })
    })

    type Row = readonly [fields: Record<string, unknown>, message: string]
    const table: ReadonlyArray<Row> = [
      [{ uses: 0 }, "uses must be a whole number > 0, got 0"],
      [{ uses: 1001 }, "uses must be a whole number from 1 to 1000, got 1001"],
      [{ uses: 1.5 }, "uses must be a whole number > 0, got 1.5"],
      [{ uses: Infinity }, "uses must be a whole number > 0, got Infinity"],
      [{ until: 1_000 }, "until must be later than at, and at most 8 hours later, got 1000"],
      [{ until: 999 }, "until must be later than at, and at most 8 hours later, got 999"],
      [{ until: 1_001 + 8 * hours }, "until must be later than at, and at most 8 hours later, got 28801001"],
      [{ until: Number.NaN }, "until must be a whole number >= 0, got NaN"],
      [{ until: undefined }, "until must be a number, got undefined"],
      [{ at: -1 }, "at must be a whole number >= 0, got -1"],
      [{ tool: " " }, `tool must be a text that is not empty, got " "`],
      [{ by: 1 }, "by must be a text, got 1"],
      [{ grant: "" }, `grant must be a text that is not empty, got ""`],
      [{ task: "" }, `task must be a text that is not empty, got ""`],
      [{ forever: true }, "forever is not a known field"],
      [{ revoked: { by: "bob", at: 2_000 } }, "revoked must be absent of a new grant"]
    ]
    it.each(table)("R-306 refuses %j: %s", (fields, message) => {
      const result = StandingGrant.make({ ...given, ...fields }, ordinary)
      if (Result.isSuccess(result)) return assert.fail("it is given")
      assert.strictEqual(result.failure.message, `STANDING_GRANT_INVALID: ${message}`)
    })

    it("R-306 refuses what is no pointer, and too many of them", () => {
      const odd = StandingGrant.make({ ...given, where: { to: "team" } }, ordinary)
      if (Result.isSuccess(odd)) return assert.fail("it is given")
      assert.match(odd.failure.message, /^STANDING_GRANT_INVALID: where\.to must be a JSON Pointer/)
      const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`/${index}`, 1]))
      const much = StandingGrant.make({ ...given, where: many }, ordinary)
      if (Result.isSuccess(much)) return assert.fail("it is given")
      assert.strictEqual(much.failure.problems[0]?.expectation, "must have at most 100 pointers")
    })

    const barred: ReadonlyArray<readonly [risk: unknown, irreversible: unknown, message: string]> = [
      ["critical", false, "the grant must not be for an action of critical risk"],
      ["CRITICAL", false, "the grant must not be for an action of critical risk"],
      ["low", true, "the grant must not be for an action that cannot be undone"],
      ["low", undefined, "the grant must not be for an action that cannot be undone"]
    ]
    it.each(barred)("R-306 gives none for risk %s, irreversible %s", (risk, irreversible, message) => {
      const kind = { risk: risk as Autonomy.Risk, irreversible: irreversible as boolean }
      const result = StandingGrant.make(given, kind)
      if (Result.isSuccess(result)) return assert.fail("it is given")
      assert.strictEqual(result.failure.message, `STANDING_GRANT_INVALID: ${message}`)
    })
  })

  describe("refusal", () => {
    const other = (fields: Record<string, unknown>) => ({ ...action, ...fields }) as StandingGrant.Action
    type Row = readonly [fields: Record<string, unknown>, refusal: StandingGrant.Refusal | undefined]
    const table: ReadonlyArray<Row> = [
      [{}, undefined],
      [{ risk: "high" }, undefined],
      [{ used: 2, at: 1_000 + 15 * minute - 1 }, undefined],
      [{ task: "notify/mail/2" }, undefined],
      [{ at: 999 }, "not-yet"],
      [{ at: Number.NaN }, "not-yet"],
      [{ at: 1_000 + 15 * minute }, "expired"],
      [{ at: Infinity }, "expired"],
      [{ used: 3 }, "used-up"],
      [{ used: -1 }, "used-up"],
      [{ used: Number.NaN }, "used-up"],
      [{ tool: "mail.sendAll" }, "other-tool"],
      [{ tool: "Mail.send" }, "other-tool"],
      [{ task: "notify2" }, "other-task"],
      [{ task: "other/notify" }, "other-task"],
      [{ task: "" }, "other-task"],
      [{ args: { options: { copy: null }, to: "all" } }, "other-arguments"],
      [{ args: { options: { copy: null }, to: ["team"] } }, "other-arguments"],
      [{ args: { options: {}, to: "team" } }, "other-arguments"],
      [{ args: { options: null, to: "team" } }, "other-arguments"],
      [{ args: null }, "other-arguments"],
      [{ risk: "critical" }, "risk"],
      [{ risk: "unheard-of" }, "risk"],
      [{ irreversible: true }, "irreversible"],
      [{ irreversible: undefined }, "irreversible"]
    ]
    it.each(table)("R-306 of an action with %j is %s", (fields, refusal) => {
      assert.strictEqual(StandingGrant.refusal(granted(), other(fields)), refusal)
      assert.strictEqual(StandingGrant.covers(granted(), other(fields)), refusal === undefined)
    })

    it("R-306 asks for nothing that a grant is not bound to", () => {
      assert.isTrue(StandingGrant.covers(without("where"), other({ args: "anything" })))
      assert.isTrue(StandingGrant.covers(without("task"), other({ task: "anything" })))
      assert.isTrue(StandingGrant.covers(granted({ where: {} }), other({ args: null })))
    })

    it("R-306 takes a value for the same whatever the order of its fields, and no field that every object has", () => {
      const whole = granted({ where: { "": { b: 1, a: [{ d: 1, c: 2 }] } } })
      assert.isTrue(StandingGrant.covers(whole, other({ args: { a: [{ c: 2, d: 1 }], b: 1 } })))
      assert.isFalse(StandingGrant.covers(whole, other({ args: { a: [{ c: 2, d: 1 }], b: 1, e: null } })))
      const inherited = granted({ where: { "/__proto__": {} } })
      assert.strictEqual(StandingGrant.refusal(inherited, other({ args: {} })), "other-arguments")
    })

    it("R-306 does not believe a grant that goes beyond what can be given", () => {
      const forged = { ...granted(), uses: 1e9, until: 1e15, where: { "no pointer": "x" } }
      const at = (fields: Record<string, unknown>) => StandingGrant.refusal(forged, other(fields))
      assert.strictEqual(at({}), "other-arguments")
      assert.strictEqual(at({ used: 1000 }), "used-up")
      assert.strictEqual(at({ at: 1_000 + 8 * hours }), "expired")
    })

    const Any = Schema.Struct({
      tool: Schema.Literals(["mail.send", "mail.send2", "mail"]),
      args: Schema.Json,
      bound: Schema.Boolean,
      task: Schema.Literals(["notify", "notify/a", "notifya", ""]),
      risk: Schema.Literals(["low", "medium", "high", "critical"]),
      irreversible: Schema.Boolean,
      offset: Schema.Int.check(Schema.isBetween({ minimum: -2, maximum: 40 })),
      used: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 })),
      uses: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
      lasts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 32 })),
      revoked: Schema.Boolean
    })
    const asked = ({ args, bound, irreversible, lasts, offset, risk, task, tool, used, uses }: typeof Any.Type) => {
      const until = given.at + lasts * 15 * minute
      const grant = granted({ uses, until, where: bound ? { "/to": "team" } : {} })
      const at = given.at + offset * 15 * minute
      return { grant, action: { tool, args: bound ? { to: "team", args } : args, task, risk, irreversible, at, used } }
    }

    it.prop(
      "R-306 covers nothing before or after its time, beyond its uses, of another tool or task, and nothing revoked",
      { any: Any },
      ({ any }) => {
        const { action, grant } = asked(any)
        const holds =
          any.tool === "mail.send" &&
          (any.task === "notify" || any.task === "notify/a") &&
          any.risk !== "critical" &&
          !any.irreversible &&
          any.offset >= 0 &&
          any.offset < any.lasts &&
          any.used < any.uses
        assert.strictEqual(StandingGrant.covers(grant, action), holds)
        assert.isFalse(StandingGrant.covers({ ...grant, revoked: { by: "bob", at: action.at + 1 } }, action))
      }
    )

    it.prop(
      "R-306 covers at most its uses, however many ask, and only until it is revoked",
      {
        any: Any,
        asking: Schema.Array(Any),
        revokedAt: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 }))
      },
      ({ any, asking, revokedAt }) => {
        let { grant } = asked(any)
        let used = 0
        for (const [index, each] of asking.entries()) {
          if (index === revokedAt) grant = { ...grant, revoked: { by: "bob", at: 1 } }
          const next = { ...action, args: { to: "team" }, at: asked(each).action.at, used }
          if (!StandingGrant.covers(grant, next)) continue
          used += 1
          assert.isBelow(index, revokedAt)
          assert.isBelow(next.at, grant.until)
        }
        assert.isAtMost(used, grant.uses)
      }
    )
  })
})
