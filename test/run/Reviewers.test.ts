import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import {
  Arbitrary,
  DateTime,
  Deferred,
  Effect,
  Exit,
  Fiber,
  FileSystem,
  Layer,
  PlatformError,
  Result,
  Schema
} from "effect"
import { TestClock } from "effect/testing"
import { Reviewers } from "espalier/run"

const who = (text: string): Reviewers.Principal => Result.getOrThrow(Reviewers.principal(text))

/** A principal on behalf of another, as in `agent:critic for ann`. */
const acting = (text: string): Reviewers.Principal => {
  const [name = "", onBehalfOf] = text.split(" for ")
  return onBehalfOf === undefined ? who(name) : { ...who(name), onBehalfOf }
}

const at = (text: string): number => DateTime.toEpochMillis(DateTime.makeUnsafe(text))

const question: Reviewers.Question = {
  stages: [["group:finance"]],
  risk: "high",
  separation: "requester",
  requester: "ann",
  editors: [],
  agents: false
}

/** A verdict in short: `yes`, `yes via ann`, `yes beside another`, or why not. */
const short = (verdict: Reviewers.Verdict): string =>
  verdict._tag === "Refused"
    ? verdict.because
    : `yes${verdict.via === undefined ? "" : ` via ${verdict.via}`}${verdict.alone ? "" : " beside another"}`

const vote = (by: string, options: Partial<Reviewers.Vote> = {}): Reviewers.Vote => ({
  ...question,
  by: acting(by),
  decision: "approve",
  ...options
})

const may = (by: string, options?: Partial<Reviewers.Vote>) => Effect.map(Reviewers.eligible(vote(by, options)), short)

/** Who stands in for whom, as in `bob>cem`; always. */
const instead = (...chains: ReadonlyArray<string>) =>
  chains.map((each) => {
    const [name = "", delegate = ""] = each.split(">")
    return { who: name, from: "1970-01-01", until: "9999-01-01", delegate }
  })

const finance = Reviewers.layer({ groups: { finance: ["ann", "bob", "service:ledger", "agent:critic"] } })

describe("Reviewers", () => {
  describe("principal", () => {
    it.each([
      ["ann", "human", "ann"],
      ["user:ann", "human", "ann"],
      ["human:ann", "human", "ann"],
      ["service:mailer", "service", "mailer"],
      ["AGENT:critic", "agent", "critic"],
      ["user:agent:critic", "agent", "critic"],
      ["system:clock", "system", "clock"],
      ["ann@example.org", "human", "ann@example.org"],
      ["a".repeat(200), "human", "a".repeat(200)]
    ] as const)("R-306 %s is a %s", (text, kind, id) => {
      const principal = who(text)
      assert.deepStrictEqual(principal, { kind, id })
      assert.deepStrictEqual(who(Reviewers.nameOf(principal)), principal)
    })

    const refusals: ReadonlyArray<readonly [said: string, by: unknown, message: string]> = [
      ["nothing", "", `id must be a text that is not empty, got ""`],
      ["nothing after a kind", "agent:", `id must be a text that is not empty, got ""`],
      ["too much", "a".repeat(201), "id must be a text of at most 200 characters"],
      ["a control character", "an\u0007n", "id must be a text without control characters"],
      ["a sign that turns texts round", "a\u202enn", "id must be a text without control characters"],
      ["a line", "an\nn", "id must be a text without control characters"],
      ["half a character", "an\ud800n", "id must be a text without control characters"],
      ["a blank at its end", "ann ", `id must be a text without blanks at its ends, got "ann "`],
      ["a group", "group:finance", `id must be an id without a kind before it, got "group:finance"`],
      ["two kinds", "agent:human:ann", `id must be an id without a kind before it, got "human:ann"`],
      [
        "another kind",
        { kind: "robot", id: "r" },
        `kind must be "human" | "service" | "agent" | "system", got "robot"`
      ],
      ["no id", { kind: "human" }, "id is required"],
      ["on behalf of a group", { kind: "human", id: "a", onBehalfOf: "role:x" }, "onBehalfOf must be the name of one"],
      ["an unknown field", { kind: "human", id: "a", admin: true }, "admin is not a known field"],
      ["a number", 7, "who decides must be an object, got 7"]
    ]
    it.each(refusals)("R-306 refuses %s", (_, by, message) => {
      const refused = Reviewers.principal(by as string)
      assert.isTrue(Result.isFailure(refused))
      if (Result.isSuccess(refused)) return
      assert.include(refused.failure.message, `PRINCIPAL_INVALID: ${message}`)
      assert.strictEqual(refused.failure._tag, "PrincipalInvalid")
    })
  })

  describe("eligible", () => {
    const critics = { risk: "low", agents: true } as const
    const edited = { separation: "requester-and-editor", editors: ["bob"] } as const
    const table: ReadonlyArray<readonly [by: string, options: Partial<Reviewers.Vote>, said: string]> = [
      ["bob", {}, "yes"],
      ["eve", {}, "not-a-reviewer"],
      ["Bob", {}, "not-a-reviewer"],
      ["service:bob", {}, "not-a-reviewer"],
      ["service:ledger", {}, "yes"],
      ["ledger", {}, "not-a-reviewer"],
      // What somebody says about for whom they act gives no right.
      ["eve for bob", {}, "not-a-reviewer"],
      ["service:mailer for bob", {}, "not-a-reviewer"],
      // Separation: ann has asked.
      ["ann", {}, "self-approval"],
      ["Ann", {}, "self-approval"],
      ["ａｎｎ", {}, "self-approval"],
      ["ann", { requester: "user:Ann" }, "self-approval"],
      ["ann", { requester: "a\u200bnn " }, "self-approval"],
      ["ann", { decision: "edit" }, "self-approval"],
      ["ann", { decision: "answer" }, "self-approval"],
      ["ann", { separation: "off" }, "yes"],
      ["ann", { requester: "service:ann" }, "yes"],
      ["ann", { requester: undefined }, "yes"],
      ["bob for ann", {}, "self-approval"],
      ["service:ledger for ann", {}, "self-approval"],
      ["agent:critic for ann", critics, "self-approval"],
      ["bob", { requester: acting("agent:planner for bob") }, "self-approval"],
      ["bob", { requester: acting("agent:planner for ann") }, "yes"],
      // Whoever has asked may reject, and nobody may on their behalf.
      ["ann", { decision: "reject" }, "yes"],
      ["zoe", { decision: "reject", requester: "zoe" }, "yes"],
      ["zoe", { decision: "reject", requester: acting("agent:planner for zoe") }, "yes"],
      ["service:mailer for ann", { decision: "reject" }, "not-a-reviewer"],
      ["bob for ann", { decision: "reject" }, "yes"],
      ["eve", { decision: "reject" }, "not-a-reviewer"],
      ["agent:planner", { decision: "reject", requester: "agent:planner" }, "not-a-reviewer"],
      // Agents, and the system.
      ["agent:critic", {}, "not-a-reviewer"],
      ["agent:critic", { agents: true }, "not-a-reviewer"],
      ["agent:critic", { ...critics, risk: "medium" }, "not-a-reviewer"],
      ["agent:critic", { ...critics, agents: false }, "not-a-reviewer"],
      ["agent:critic", critics, "yes"],
      ["agent:other", critics, "not-a-reviewer"],
      ["bob for agent:critic", {}, "not-a-reviewer"],
      ["bob for agent:critic", critics, "yes"],
      ["system:clock", { ...critics, stages: [["anyone"]], separation: "off" }, "not-a-reviewer"],
      ["bob for system:clock", {}, "not-a-reviewer"],
      // Who has edited is not the only one.
      ["ann", edited, "self-approval"],
      ["service:ledger", edited, "yes"],
      ["bob", edited, "self-approval"],
      ["BOB", { ...edited, stages: [["anyone"]] }, "self-approval"],
      ["service:ledger for bob", edited, "self-approval"],
      ["bob", { ...edited, separation: "requester" }, "yes"],
      ["bob", { ...edited, decision: "reject" }, "yes"],
      ["bob", { ...edited, quorum: 2 }, "yes beside another"],
      ["bob", { ...edited, quorum: 2, approvals: ["bob"] }, "yes beside another"],
      ["bob", { ...edited, quorum: 2, approvals: ["cem"] }, "yes"],
      ["bob", { ...edited, quorum: 2, approvals: ["ann"] }, "self-approval"],
      ["bob", { ...edited, quorum: 2, approvals: ["eve"], editors: ["bob", "eve"] }, "self-approval"],
      ["bob", { ...edited, quorum: 2, approvals: [acting("eve for bob")] }, "yes beside another"],
      ["bob", { ...edited, approvals: ["cem"] }, "yes"],
      ["bob", { ...edited, decision: "edit" }, "yes beside another"],
      ["service:ledger", { ...edited, decision: "edit", editors: [] }, "yes beside another"],
      // Every stage that has begun.
      ["eve", { stages: [["group:finance"], ["user:eve"]] }, "yes"],
      ["bob", { stages: [["group:finance"], ["user:eve"]] }, "yes"],
      ["bob", { stages: [["user:eve"]] }, "not-a-reviewer"],
      ["bob", { stages: [["role:finance"]] }, "not-a-reviewer"],
      ["bob", { stages: [] }, "not-a-reviewer"],
      ["eve", { stages: [["user:bob", "anyone"]] }, "yes"],
      ["zoe", { stages: [["requester"]], requester: "zoe", separation: "off" }, "yes"],
      ["service:ledger", { stages: [["user:service:ledger"]] }, "yes"],
      ["bob", { stages: [["finance"]] }, "reviewers-unavailable"]
    ]
    it.effect.each(table)("R-306 %s with %j: %s", ([by, options, said]) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* may(by, options), said)
      }).pipe(Effect.provide(finance))
    )

    it.effect("R-306 says who decides, and why one may not", () =>
      Effect.gen(function* () {
        const said = Effect.fnUntraced(function* (by: string, options?: Partial<Reviewers.Vote>) {
          const verdict = yield* Reviewers.eligible(vote(by, options))
          return verdict._tag === "Refused" ? verdict.reason : verdict.as
        })
        assert.deepStrictEqual(yield* said("service:ledger for bob"), {
          kind: "service",
          id: "ledger",
          onBehalfOf: "bob"
        })
        assert.strictEqual(yield* said("eve"), "eve is none of those who are asked: group:finance")
        assert.strictEqual(yield* said("ann"), "ann has asked for this and may reject it, but not approve it")
        assert.strictEqual(
          yield* said("bob for ann"),
          "bob, on behalf of ann, has asked for this and may reject it, but not approve it"
        )
        assert.strictEqual(
          yield* said("agent:critic", { agents: true }),
          "agent:critic decides as an agent, and agents may do so only where the risk is low, and it is high"
        )
        assert.strictEqual(
          yield* said("bob", { separation: "requester-and-editor", editors: ["bob"] }),
          "bob has edited this, and somebody else has to approve it, too"
        )
      }).pipe(Effect.provide(finance))
    )

    it.effect("R-306 lets everybody decide where there is no directory, but nobody for himself", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* may("eve"), "yes")
        assert.strictEqual(yield* may("ann"), "self-approval")
        assert.strictEqual(yield* may("eve for ann"), "self-approval")
        assert.strictEqual(yield* may("ann", { separation: "off" }), "yes")
        assert.strictEqual(yield* may("agent:critic"), "not-a-reviewer")
      })
    )

    it.effect("R-306 knows the manager of the one who has asked, or of the one behind it", () =>
      Effect.gen(function* () {
        const stages = [["manager-of-requester"]]
        assert.strictEqual(yield* may("bob", { stages }), "yes")
        assert.strictEqual(yield* may("cem", { stages }), "not-a-reviewer")
        assert.strictEqual(yield* may("cem", { stages, requester: "bob" }), "yes")
        assert.strictEqual(yield* may("bob", { stages, requester: acting("agent:planner for ann") }), "yes")
        assert.strictEqual(yield* may("bob", { stages, requester: "cem" }), "not-a-reviewer")
        assert.strictEqual(yield* may("bob", { stages, requester: undefined }), "not-a-reviewer")
      }).pipe(Effect.provide(Reviewers.layer({ users: { ann: { manager: "bob" }, bob: { manager: "cem" }, cem: {} } })))
    )

    it.effect("R-306 a name that every object has is no group, no role and no manager", () =>
      Effect.gen(function* () {
        for (const name of ["constructor", "__proto__", "toString"]) {
          assert.strictEqual(yield* may("bob", { stages: [[`group:${name}`, `role:${name}`]] }), "not-a-reviewer")
        }
        for (const requester of ["constructor", "__proto__"]) {
          assert.strictEqual(yield* may("bob", { stages: [["manager-of-requester"]], requester }), "not-a-reviewer")
        }
      }).pipe(Effect.provide(Reviewers.layer({ groups: {}, roles: {}, users: {} })))
    )
  })

  describe("who is away", () => {
    it.effect("R-306 has a right that goes over from the first moment until before the last", () =>
      Effect.gen(function* () {
        const bob = may("bob")
        const zoe = may("zoe")
        yield* TestClock.setTime(at("2026-12-24") - 1)
        assert.strictEqual(yield* zoe, "not-a-reviewer")
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* zoe, "yes via bob")
        assert.strictEqual(yield* bob, "yes")
        yield* TestClock.setTime(at("2026-12-27T08:00:00Z") - 1)
        assert.strictEqual(yield* zoe, "yes via bob")
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* zoe, "not-a-reviewer")
      }).pipe(
        Effect.provide(
          Reviewers.layer({
            groups: { finance: ["ann", "bob"] },
            absences: [
              { who: "bob", from: "2026-12-24", until: "2026-12-27T09:00:00+01:00", delegate: "zoe" },
              { who: "ann", from: "2026-12-24", until: "2026-12-27" }
            ]
          })
        )
      )
    )

    const rows: ReadonlyArray<
      readonly [chains: ReadonlyArray<string>, by: string, options: Partial<Reviewers.Vote>, said: string]
    > = [
      [["bob>cem", "cem>dee", "dee>eli"], "cem", {}, "yes via bob"],
      [["bob>cem", "cem>dee", "dee>eli"], "dee", {}, "yes via bob"],
      [["bob>cem", "cem>dee", "dee>eli"], "eli", {}, "yes via bob"],
      [["bob>cem", "cem>dee", "dee>eli", "eli>fay"], "fay", {}, "not-a-reviewer"],
      [["bob>cem", "cem>bob"], "cem", {}, "yes via bob"],
      [["bob>cem", "cem>bob"], "dee", {}, "not-a-reviewer"],
      // Whoever stands in for the one who has asked is not independent of them, unless they are asked themselves.
      [["ann>cem"], "cem", {}, "self-approval"],
      [["ann>cem"], "cem", { decision: "reject" }, "yes via ann"],
      [["ann>cem"], "cem", { separation: "off" }, "yes via ann"],
      [["ann>bob"], "bob", {}, "yes"],
      [["ann>cem", "bob>cem"], "cem", {}, "yes via bob"],
      [["ann>cem", "cem>dee"], "dee", {}, "self-approval"],
      [["bob>ann", "ann>cem"], "cem", {}, "self-approval"],
      [["bob>Ann", "Ann>cem"], "cem", {}, "self-approval"],
      // The one who has asked stands in for another.
      [["bob>ann"], "ann", { stages: [["user:bob"]] }, "self-approval"],
      [["bob>agent:critic"], "agent:critic", {}, "not-a-reviewer"],
      [["bob>agent:critic"], "agent:critic", { agents: true, risk: "low" }, "yes via bob"],
      // Whoever stands in for an editor is as much of one.
      [["bob>cem"], "cem", { separation: "requester-and-editor", editors: ["bob"] }, "self-approval"],
      [["bob>cem"], "cem", { separation: "requester-and-editor", editors: ["bob"], approvals: ["zoe"] }, "yes via bob"]
    ]
    it.effect.each(rows)("R-306 %j: %s with %j: %s", ([chains, by, options, said]) =>
      Effect.gen(function* () {
        const directory = Reviewers.layer({ groups: { finance: ["ann", "bob"] }, absences: instead(...chains) })
        assert.strictEqual(yield* Effect.provide(may(by, options), directory), said)
      })
    )
  })

  describe("rule", () => {
    const people = ["ann", "bob", "cem", "dee", "service:s"]
    const named = Arbitrary.schema(Schema.Literals(people))
    const cases = {
      members: Arbitrary.array(named, { maxLength: 3 }),
      links: Arbitrary.array(Arbitrary.all([named, named]), { maxLength: 8 }),
      by: named,
      onBehalfOf: Arbitrary.schema(Schema.Literals(["", ...people])),
      requester: named,
      behind: Arbitrary.schema(Schema.Literals(["", ...people])),
      decision: Arbitrary.schema(Schema.Literals(["approve", "edit", "answer"])),
      separation: Arbitrary.schema(Schema.Literals(["requester", "requester-and-editor"]))
    }

    it("R-306 follows a chain over three steps, whatever a directory has", () => {
      const standIns = new Map([
        ["human:bob", ["cem"]],
        ["human:cem", ["dee"]],
        ["human:dee", ["eli"]],
        ["human:eli", ["fay"]]
      ])
      const said = (by: string) => short(Reviewers.rule(vote(by), { members: ["bob"], standIns }))
      assert.deepStrictEqual(["dee", "eli", "fay"].map(said), ["yes via bob", "yes via bob", "not-a-reviewer"])
    })

    it.prop(
      "R-306 nobody approves what he has asked for, over whatever chain, and whoever is independent may",
      cases,
      ({ behind, by, decision, links, members, onBehalfOf, requester, separation }) => {
        const standIns = new Map<string, ReadonlyArray<string>>()
        for (const [from, to] of links) {
          const key = from.startsWith("service:") ? from : `human:${from}`
          standIns.set(key, [...(standIns.get(key) ?? []), to])
        }
        const as = onBehalfOf === "" ? who(by) : { ...who(by), onBehalfOf }
        const asked = behind === "" ? who(requester) : { ...who(requester), onBehalfOf: behind }
        const verdict = Reviewers.rule(
          { ...question, separation, by: as, decision, requester: asked },
          { members, standIns }
        )
        const own = [requester, behind]
        // Each way to the one who decides, by trying all of them.
        const reaches = (at: string, steps: number): boolean =>
          !own.includes(at) &&
          (at === by || (steps > 0 && links.some(([from, to]) => from === at && reaches(to, steps - 1))))
        const independent =
          !own.includes(by) &&
          (onBehalfOf === "" || !own.includes(onBehalfOf)) &&
          members.some((member) => reaches(member, 3))
        assert.strictEqual(verdict._tag === "Eligible", independent, JSON.stringify(verdict))
        if (verdict._tag === "Eligible") {
          assert.strictEqual(verdict.alone, separation === "requester" || decision !== "edit")
          assert.notInclude(own, verdict.via ?? by)
          assert.isTrue(members.includes(verdict.via ?? by))
        }
      },
      { arbitrary: { runs: 2_000 } }
    )
  })

  describe("a directory that cannot say", () => {
    const broken = (look: Effect.Effect<Reviewers.View, Reviewers.ReviewersUnavailable>) =>
      Layer.succeed(Reviewers.Reviewers, Reviewers.make("ldap", look))
    const members = (
      answer: Effect.Effect<"anyone" | ReadonlyArray<string>, Reviewers.ReviewersUnavailable>,
      standIns: Reviewers.View["standIns"] = () => Effect.succeed([])
    ) => broken(Effect.succeed({ members: () => answer, standIns, admins: Effect.succeed([]) }))
    const down = Reviewers.unavailable("ldap", "must answer, got status 503")

    const reasons: ReadonlyArray<readonly [said: string, directory: Layer.Layer<never>, reason: string]> = [
      ["fails", broken(Effect.fail(down)), "ldap must answer, got status 503"],
      ["fails about members", members(Effect.fail(down)), "ldap must answer, got status 503"],
      [
        "fails about who stands in",
        members(Effect.succeed(["bob"]), () => Effect.fail(down)),
        "ldap must answer, got status 503"
      ],
      ["dies", members(Effect.die(new Error("no route"))), "ldap must answer: no route"],
      ["is interrupted", members(Effect.interrupt), "ldap must answer"],
      [
        "throws",
        broken(
          Effect.succeed({
            members: () => {
              throw new Error("not ready")
            },
            standIns: () => Effect.succeed([]),
            admins: Effect.succeed([])
          })
        ),
        "ldap must answer: not ready"
      ],
      [
        "answers with something else",
        members(Effect.succeed("ann" as unknown as ReadonlyArray<string>)),
        "ldap must name members as a list of texts"
      ]
    ]
    it.effect.each(reasons)("R-306 lets nobody in when it %s", ([, directory, reason]) =>
      Effect.gen(function* () {
        const verdict = yield* Reviewers.eligible(vote("eve"))
        assert.strictEqual(short(verdict), "reviewers-unavailable")
        assert.include(verdict._tag === "Refused" ? verdict.reason : "", `It cannot be said who may decide: ${reason}`)
        assert.isFalse(yield* Reviewers.none(question))
        assert.strictEqual(short(yield* Reviewers.mayOverride({ by: who("eve") })) === "yes", false)
        // What needs no directory is said without it.
        assert.strictEqual(yield* may("ann"), "self-approval")
        assert.strictEqual(yield* may("ann", { decision: "reject" }), "yes")
      }).pipe(Effect.provide(directory))
    )

    it.effect("R-306 lets nobody in when it has not answered after 5 seconds", () =>
      Effect.gen(function* () {
        const asked = yield* Deferred.make<void>()
        const slow = members(Effect.andThen(Deferred.succeed(asked, undefined), Effect.never))
        const fiber = yield* Effect.forkChild(Effect.provide(Reviewers.eligible(vote("bob")), slow))
        yield* Deferred.await(asked)
        yield* TestClock.adjust(4_999)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(fiber), {
          _tag: "Refused",
          because: "reviewers-unavailable",
          reason: "It cannot be said who may decide: ldap must answer within 5 seconds"
        })
      })
    )

    it.effect("R-306 an interruption of the caller is none of the directory", () =>
      Effect.gen(function* () {
        const asked = yield* Deferred.make<void>()
        const slow = members(Effect.andThen(Deferred.succeed(asked, undefined), Effect.never))
        const fiber = yield* Effect.forkChild(Effect.provide(Reviewers.eligible(vote("bob")), slow))
        yield* Deferred.await(asked)
        yield* Fiber.interrupt(fiber)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      })
    )

    it.effect("R-306 is told what it is asked about, and looked at once for each question", () =>
      Effect.gen(function* () {
        const told: Array<unknown> = []
        let looks = 0
        const look = Effect.sync((): Reviewers.View => {
          looks += 1
          return {
            members: (text, about) => Effect.sync(() => (told.push([text, about]), ["bob", "cem"])),
            standIns: () => Effect.succeed([]),
            admins: Effect.succeed([])
          }
        })
        const about = { run: "r1", desk: "payments", stages: [["group:finance", "role:x"], ["group:finance"]] }
        assert.strictEqual(yield* Effect.provide(may("eve", about), broken(look)), "not-a-reviewer")
        const facts = { requester: "ann", run: "r1", desk: "payments", risk: "high" }
        assert.deepStrictEqual(told, [
          ["group:finance", facts],
          ["role:x", facts]
        ])
        assert.strictEqual(looks, 1)
      })
    )

    it("R-306 has a name", () => {
      assert.throws(() => Reviewers.make(" ", Effect.fail(down)), RangeError, "Reviewers.make: name")
    })
  })

  describe("none", () => {
    const rows: ReadonlyArray<
      readonly [stage: ReadonlyArray<string>, options: Partial<Reviewers.Question>, none: boolean]
    > = [
      [["anyone"], {}, false],
      [["group:finance"], {}, false],
      [["group:empty"], {}, true],
      [["group:unknown", "role:unknown"], {}, true],
      [[], {}, true],
      [["group:empty", "user:bob"], {}, false],
      [["user:ann"], {}, true],
      [["user:ann"], { separation: "off" }, false],
      [["user:ann"], { requester: "bob" }, false],
      [["requester"], {}, true],
      [["requester"], { requester: undefined }, true],
      [["manager-of-requester"], {}, true],
      [["user:agent:critic"], {}, true],
      [["user:agent:critic"], { agents: true, risk: "low" }, false],
      // Whoever stands in for the one who has asked is nobody who could approve it; one for an agent is.
      [["user:zoe"], { requester: "zoe" }, true],
      [["user:zoe"], { requester: "zoe", separation: "off" }, false],
      [["user:agent:old"], {}, false],
      [["user:system:clock"], {}, true],
      [["finance"], {}, false]
    ]
    it.effect.each(rows)("R-306 of %j with %j: %s", ([stage, options, none]) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* Reviewers.none({ ...question, ...options, stages: [stage] }), none)
      }).pipe(
        Effect.provide(
          Reviewers.layer({
            groups: { finance: ["ann", "bob"], empty: [] },
            absences: instead("ann>cem", "zoe>dee", "agent:old>eli")
          })
        )
      )
    )
  })

  describe("mayOverride", () => {
    it.effect.each([
      ["ann", undefined, "yes"],
      ["ann", "ann", "self-approval"],
      ["ann", "Ann", "self-approval"],
      ["ann", "bob", "yes"],
      ["bob", undefined, "not-a-reviewer"],
      ["Ann", undefined, "not-a-reviewer"],
      ["ann for bob", undefined, "not-a-reviewer"],
      ["agent:ops", undefined, "not-a-reviewer"],
      ["service:ops", undefined, "not-a-reviewer"],
      ["zoe", undefined, "not-a-reviewer"]
    ] as const)("R-306 %s, of what %s has asked for: %s", ([by, requester, said]) =>
      Effect.gen(function* () {
        assert.strictEqual(short(yield* Reviewers.mayOverride({ by: acting(by), requester })), said)
      }).pipe(
        Effect.provide(Reviewers.layer({ admins: ["ann", "agent:ops", "service:ops"], absences: instead("ann>zoe") }))
      )
    )

    it.effect("R-306 there is nobody who may where there is no directory", () =>
      Effect.gen(function* () {
        assert.strictEqual(short(yield* Reviewers.mayOverride({ by: who("ann") })), "not-a-reviewer")
      })
    )
  })

  describe("layer", () => {
    const wrong: ReadonlyArray<readonly [directory: unknown, message: string]> = [
      [[], "DIRECTORY_INVALID: the directory must be an object, got [0 items]"],
      [{ groups: { finance: "ann" } }, `groups.finance must be a list, got "ann"`],
      [{ groups: { finance: ["ann", 7] } }, "groups.finance[1] must be a text, got 7"],
      [{ groups: { finance: ["group:other"] } }, `groups.finance[0] must be the name of one, such as ann or service:x`],
      [{ groups: { " ": ["ann"] } }, `groups[" "] must have a name that group:NAME can ask for`],
      [{ roles: { "on call ": ["ann"] } }, `roles["on call "] must have a name that role:NAME can ask for`],
      [{ users: { "role:x": {} } }, `users["role:x"] must have the name of one`],
      [{ users: { ann: { manager: "" } } }, `users.ann.manager must be a text that is not empty, got ""`],
      [{ users: { ann: { boss: "bob" } } }, "users.ann.boss is not a known field"],
      [{ teams: {} }, "teams is not a known field"],
      [{ admins: ["a\u0000"] }, "admins[0] must be a text without control characters"],
      [{ absences: [{ who: "ann", from: "soon", until: "2026-01-01" }] }, `absences[0].from must be a day, or a time`],
      [{ absences: [{ who: "ann", from: "2026-02-30", until: "2026-04-01" }] }, "absences[0].from must be a day"],
      [{ absences: [{ who: "ann", from: "2026-01-01T09:00", until: "2026-04-01" }] }, "absences[0].from must be a day"],
      [
        { absences: [{ who: "ann", from: "2026-01-02", until: "2026-01-02" }] },
        "absences[0].until must be later than from, 2026-01-02"
      ],
      [
        { absences: [{ who: "ann", from: "2026-01-01", until: "2026-01-02", delegate: "user:ann" }] },
        "absences[0].delegate must be somebody else"
      ],
      [{ absences: [{ who: "ann", from: "2026-01-01" }] }, "absences[0].until is required"]
    ]
    it.effect.each(wrong)("R-306 refuses %j", ([directory, message]) =>
      Effect.gen(function* () {
        const build = Effect.provide(may("bob"), Reviewers.layer(directory as Reviewers.Directory))
        const error = yield* Effect.flip(build)
        assert.instanceOf(error, Reviewers.DirectoryInvalid)
        assert.include(error.message, message)
      })
    )
  })

  describe("layerFile", () => {
    it.effect("R-306 is read whenever somebody decides, and lets nobody in while it is missing or damaged", () =>
      Effect.gen(function* () {
        const files = yield* FileSystem.FileSystem
        const path = `${yield* files.makeTempDirectoryScoped()}/directory.json`
        const said = Effect.provide(Reviewers.eligible(vote("bob")), Reviewers.layerFile(path))
        const reason = Effect.map(said, (verdict) => (verdict._tag === "Refused" ? verdict.reason : "yes"))
        const unsaid = `It cannot be said who may decide: the file ${path}`
        assert.strictEqual(yield* reason, `${unsaid} must be there`)
        yield* files.writeFileString(path, JSON.stringify({ groups: { finance: ["bob"] } }))
        assert.strictEqual(yield* reason, "yes")
        yield* files.writeFileString(path, JSON.stringify({ groups: { finance: ["cem"] } }))
        assert.strictEqual(yield* reason, "bob is none of those who are asked: group:finance")
        yield* files.writeFileString(path, `{ "groups": { "finance": ["bob"`)
        assert.match(yield* reason, /directory\.json must be JSON, and is not at position \d+/)
        yield* files.writeFileString(path, JSON.stringify({ groups: { finance: [1] } }))
        assert.strictEqual(yield* reason, `${unsaid}: groups.finance[0] must be a text, got 1`)
        yield* files.writeFileString(path, JSON.stringify([]))
        assert.strictEqual(yield* reason, `${unsaid} must be an object, got [0 items]`)
        yield* files.truncate(path, 16 * 1024 * 1024 + 1)
        assert.strictEqual(yield* reason, `${unsaid} must not be larger than 16 MiB, got 16777217 bytes`)
        yield* files.remove(path)
        assert.strictEqual(yield* reason, `${unsaid} must be there`)
        yield* files.makeDirectory(path)
        assert.include(yield* reason, `${unsaid} must be readable`)
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
    )

    it.effect("R-306 a change holds for the next decision of the same layer, and one answer is of one moment", () =>
      Effect.gen(function* () {
        let text = JSON.stringify({ groups: { finance: ["bob"] }, absences: instead("bob>cem") })
        let reads = 0
        const files = FileSystem.layerNoop({
          stat: () => Effect.succeed({ size: text.length } as unknown as FileSystem.File.Info),
          readFileString: () =>
            Effect.sync(() => {
              reads += 1
              return text
            })
        })
        yield* Effect.gen(function* () {
          assert.strictEqual(yield* may("cem"), "yes via bob")
          assert.strictEqual(reads, 1)
          text = JSON.stringify({ groups: { finance: ["bob"] } })
          assert.strictEqual(yield* may("cem"), "not-a-reviewer")
          text = ""
          assert.strictEqual(yield* may("bob"), "reviewers-unavailable")
        }).pipe(Effect.provide(Layer.provide(Reviewers.layerFile("d.json"), files)))
      })
    )

    it.effect("R-306 says that it cannot be read when it may not be", () =>
      Effect.gen(function* () {
        const denied = Effect.fail(
          PlatformError.systemError({ _tag: "PermissionDenied", module: "FileSystem", method: "stat" })
        )
        const files = FileSystem.layerNoop({ stat: () => denied })
        const verdict = yield* Reviewers.eligible(vote("bob")).pipe(
          Effect.provide(Layer.provide(Reviewers.layerFile("d.json"), files))
        )
        assert.strictEqual(
          verdict._tag === "Refused" && verdict.reason,
          "It cannot be said who may decide: the file d.json must be readable: PermissionDenied"
        )
      })
    )
  })
})
