import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { Autonomy, Ladder, ReviewPolicy, RunEvent } from "espalier/run"

const hour = 3_600_000

const ending = (action: Ladder.Action, after: number = 2 * hour): Ladder.Ladder =>
  Ladder.make({ stages: [{ to: ["group:release"], after: 0 }], final: { after, action } })

const subject = (kind: RunEvent.ReviewKind, risk: Autonomy.Risk, irreversible = false): ReviewPolicy.Subject => ({
  kind,
  risk,
  irreversible
})

const anyone = [["anyone"], ["anyone"], ["anyone"]]

describe("make", () => {
  it("has the defaults of the module", () => {
    assert.deepStrictEqual(ReviewPolicy.make(), {
      version: "1",
      ladders: {},
      quorum: { low: 1, medium: 1, high: 1, critical: 2 },
      veto: true,
      separation: { low: "off", medium: "off", high: "requester", critical: "requester" },
      allowAutoApprove: false,
      agents: false,
      grantMillis: 24 * hour,
      stalledMillis: 600_000,
      maxExtensions: 2,
      onReject: "tell"
    })
    assert.deepStrictEqual(ReviewPolicy.policy, ReviewPolicy.make({}))
  })

  const made = "a ladder that Ladder.make has made"
  const silence = 'one of "reject", "halt", "hold", got "approve"'
  const refused: ReadonlyArray<readonly [options: unknown, message: string]> = [
    [null, "options must be an object, got null"],
    [{ quorums: {} }, "each field of options must be one of quorum,"],
    [{ version: 2 }, "version must be a text that is not empty, got 2"],
    [{ version: " " }, 'version must be a text that is not empty, got " "'],
    [{ ladders: [] }, "ladders must be an object, got [0 items]"],
    [{ ladders: { hgih: ending("hold") } }, "each field of ladders must be one of high,"],
    [{ ladders: { high: { stages: [], final: {} } } }, `ladders.high must be ${made}, got {2 fields}`],
    [{ ladders: null }, "ladders must be an object, got null"],
    [{ ladders: { question: null } }, `ladders.question must be ${made}, got null`],
    [{ ladders: { medium: ending("approve") } }, `ladders.medium.final.action must be ${silence}`],
    [{ allowAutoApprove: true, ladders: { high: ending("approve") } }, `ladders.high.final.action must be ${silence}`],
    [{ ladders: { critical: ending("approve") } }, `ladders.critical.final.action must be ${silence}`],
    [{ ladders: { question: ending("approve") } }, `ladders.question.final.action must be ${silence}`],
    [{ ladders: { reconciliation: ending("approve") } }, `ladders.reconciliation.final.action must be ${silence}`],
    [{ quorum: 2 }, "quorum must be an object, got 2"],
    [{ quorum: { any: 2 } }, 'each field of quorum must be one of low, high, medium, critical, got "any"'],
    [{ quorum: { low: 0 } }, "quorum.low must be a whole number >= 1, got 0"],
    [{ quorum: { high: 1.5 } }, "quorum.high must be a whole number >= 1, got 1.5"],
    [{ quorum: { critical: 1 } }, "quorum.critical must be a whole number >= 2, got 1"],
    [{ quorum: { medium: null } }, "quorum.medium must be a whole number >= 1, got null"],
    [{ veto: 1 }, "veto must be true or false, got 1"],
    [
      { separation: { high: "editor" } },
      'separation.high must be one of "off", "requester", "requester-and-editor", got "editor"'
    ],
    [{ separation: "off" }, 'separation must be an object, got "off"'],
    [{ allowAutoApprove: "low" }, 'allowAutoApprove must be true or false, got "low"'],
    [{ agents: "low" }, 'agents must be true or false, got "low"'],
    [{ grantFor: 0 }, "grantFor must be a duration > 0, got 0"],
    [{ grantFor: "Infinity" }, 'grantFor must be a duration of at most 100 years, got "Infinity"'],
    [{ stalledAfter: "3 moons" }, "stalledAfter must be a duration > 0, got 3 moons"],
    [{ maxExtensions: -1 }, "maxExtensions must be a whole number >= 0, got -1"],
    [{ onReject: "halt" }, 'onReject must be one of "tell", "fail", "escalate", got "halt"']
  ]
  it.each(refused)("R-306 D77 refuses %j: %s", (options, message) => {
    assert.throws(() => ReviewPolicy.make(options as ReviewPolicy.Options), RangeError, `ReviewPolicy.make: ${message}`)
  })
})

describe("terms", () => {
  type Row = readonly [
    ...asked: Required<Parameters<typeof subject>>,
    rule: string,
    risk: Autonomy.Risk,
    final: Ladder.Action,
    more: Partial<ReviewPolicy.Terms>
  ]
  const batch = { batchable: true }
  const another = { separation: "requester" } as const
  const two = { ...another, quorum: 2 }
  const usual: ReadonlyArray<Row> = [
    ["action-approval", "low", false, "low", "low", "reject", batch],
    ["action-approval", "medium", false, "medium", "medium", "reject", batch],
    ["action-approval", "high", false, "high", "high", "reject", another],
    ["action-approval", "critical", false, "critical", "critical", "reject", two],
    ["action-approval", "low", true, "high", "high", "reject", { ...another, irreversible: true }],
    ["action-approval", "medium", true, "high", "high", "reject", { ...another, irreversible: true }],
    ["action-approval", "high", true, "high", "high", "reject", { ...another, irreversible: true }],
    ["action-approval", "critical", true, "critical", "critical", "reject", { ...two, irreversible: true }],
    ["result-acceptance", "low", false, "low", "low", "reject", batch],
    ["escalation", "high", false, "high", "high", "reject", another],
    ["budget-increase", "medium", false, "medium", "medium", "reject", batch],
    ["scope-reduction", "low", false, "low", "low", "reject", batch],
    ["routing", "medium", false, "medium", "medium", "reject", batch],
    ["question", "low", false, "question", "low", "hold", {}],
    ["question", "critical", false, "question", "critical", "hold", {}],
    ["reconciliation", "medium", false, "reconciliation", "medium", "hold", {}],
    ["reconciliation", "critical", false, "reconciliation", "critical", "hold", two]
  ]
  it.each(usual)(
    "R-306 of %s at risk %s (irreversible: %s) are by rule %s, risk %s, end with %s, and have %j",
    (kind, risk, irreversible, rule, as, final, more) => {
      const terms = ReviewPolicy.terms(ReviewPolicy.policy, subject(kind, risk, irreversible))
      assert.deepStrictEqual(terms, { policy: { version: "1", rule }, risk: as, stages: anyone, final, ...more })
    }
  )

  const kinds = RunEvent.ReviewKind.literals

  const silent: ReadonlyArray<readonly [by: string, allowed: boolean, action: Ladder.Action, approved: Array<string>]> =
    [
      ["a ladder that approves and a policy that allows it", true, "approve", ["action-approval low"]],
      ["a ladder that approves alone", false, "approve", []],
      ["a policy that allows it alone", true, "reject", []]
    ]
  it.each(silent)("R-306 D77 silence approves by %s", (_, allowAutoApprove, action, approved) => {
    const policy = ReviewPolicy.make({ allowAutoApprove, ladders: { low: ending(action) } })
    const found: Array<string> = []
    for (const kind of kinds) {
      for (const risk of Autonomy.Risk.literals) {
        for (const irreversible of [false, true]) {
          const { autoApprove, final } = ReviewPolicy.full(
            ReviewPolicy.terms(policy, subject(kind, risk, irreversible))
          )
          assert.strictEqual(autoApprove, final === "approve")
          if (autoApprove) found.push(`${kind} ${risk}${irreversible ? " irreversible" : ""}`)
        }
      }
    }
    assert.deepStrictEqual(found, approved)
    // What silence may not approve, it rejects.
    const other = ReviewPolicy.terms(policy, subject("budget-increase", "low"))
    assert.strictEqual(other.final, "reject")
  })

  it("R-306 say critical of a high risk with more than one approval, and keep the rule of high", () => {
    const policy = ReviewPolicy.make({ quorum: { high: 3 }, separation: { high: "requester-and-editor" } })
    assert.deepStrictEqual(ReviewPolicy.terms(policy, subject("action-approval", "high")), {
      policy: { version: "1", rule: "high" },
      risk: "critical",
      stages: anyone,
      final: "reject",
      quorum: 3,
      separation: "requester-and-editor"
    })
  })

  it("R-306 let the requester answer a question, and one person do so", () => {
    const policy = ReviewPolicy.make({ quorum: { low: 2 }, separation: { low: "requester" } })
    const { quorum, separation } = ReviewPolicy.full(ReviewPolicy.terms(policy, subject("question", "low")))
    assert.deepStrictEqual([quorum, separation], [1, "off"])
  })

  it("R-306 let agents decide at low risk only", () => {
    const policy = ReviewPolicy.make({ agents: true })
    const table = (irreversible: boolean) =>
      Autonomy.Risk.literals.map(
        (risk) => ReviewPolicy.full(ReviewPolicy.terms(policy, subject("action-approval", risk, irreversible))).agents
      )
    assert.deepStrictEqual(table(false), [true, false, false, false])
    assert.deepStrictEqual(table(true), [false, false, false, false])
  })

  it("R-306 take their stages and their end from the ladder that is armed", () => {
    const policy = ReviewPolicy.make({
      ladders: { high: ending("halt"), question: ending("reject"), reconciliation: ending("halt", hour) }
    })
    const armed = (...given: Parameters<typeof subject>) => {
      const ladder = ReviewPolicy.ladder(policy, subject(...given))
      const { final, stages } = ReviewPolicy.terms(policy, subject(...given))
      assert.deepStrictEqual(
        stages,
        ladder.stages.map(({ to }) => to)
      )
      assert.strictEqual(final, ladder.final.action)
      return `${final} after ${ladder.final.afterMillis / hour}`
    }
    assert.strictEqual(armed("action-approval", "high"), "halt after 2")
    assert.strictEqual(armed("action-approval", "low", true), "halt after 2")
    assert.strictEqual(armed("action-approval", "medium"), "reject after 72")
    assert.strictEqual(armed("action-approval", "critical"), "reject after 24")
    assert.strictEqual(armed("question", "medium"), "reject after 2")
    assert.strictEqual(armed("reconciliation", "high"), "halt after 1")
  })

  const refused: ReadonlyArray<readonly [unknown, string]> = [
    [{ kind: "plan", risk: "low" }, "kind must be one of"],
    [{ kind: "question", risk: "hgih" }, 'risk must be one of "low", "medium", "high", "critical", got "hgih"'],
    [{ kind: "question", risk: "low", irreversible: "no" }, 'irreversible must be true or false, got "no"']
  ]
  it.each(refused)("refuse %j: %s", (given, message) => {
    for (const read of [ReviewPolicy.terms, ReviewPolicy.ladder]) {
      assert.throws(
        () => read(ReviewPolicy.policy, given as ReviewPolicy.Subject),
        RangeError,
        `ReviewPolicy: ${message}`
      )
    }
  })

  const Quorum = Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 4 }))
  const Minutes = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_000 }))
  const Few = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
  const given = Arbitrary.schema(
    Schema.Struct({
      kind: RunEvent.ReviewKind,
      risk: Autonomy.Risk,
      irreversible: Schema.Boolean,
      quorum: Quorum,
      medium: Ladder.Action,
      low: Ladder.Action,
      allowAutoApprove: Schema.Boolean,
      veto: Schema.Boolean,
      agents: Schema.Boolean,
      separation: ReviewPolicy.Separation,
      onReject: ReviewPolicy.OnReject,
      grant: Minutes,
      stalled: Minutes,
      maxExtensions: Few
    })
  )
  const Json = Schema.toCodecJson(ReviewPolicy.Terms)

  it.prop(
    "R-306 D77 R1 R2 survive JSON, say no more than they must, and approve by nobody only at low risk",
    { given },
    ({ given }) => {
      const { agents, allowAutoApprove, irreversible, kind, maxExtensions, onReject, quorum, risk, veto } = given
      const options: ReviewPolicy.Options = {
        ladders: { low: ending(given.low), medium: ending(given.medium) },
        quorum: { medium: quorum, critical: quorum },
        separation: { medium: given.separation },
        grantFor: given.grant * 60_000,
        stalledAfter: given.stalled * 60_000,
        allowAutoApprove,
        veto,
        agents,
        onReject,
        maxExtensions
      }
      if (given.medium === "approve") {
        assert.throws(() => ReviewPolicy.make(options), RangeError, "ladders.medium.final.action")
        return
      }
      const terms = ReviewPolicy.terms(ReviewPolicy.make(options), { kind, risk, irreversible })
      const full = ReviewPolicy.full(terms)

      const json: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(Json)(terms)))
      assert.deepStrictEqual(Schema.decodeUnknownSync(Json)(json), terms)
      assert.deepStrictEqual(json, terms)

      const bare = ReviewPolicy.full({
        policy: terms.policy,
        risk: terms.risk,
        stages: terms.stages,
        final: terms.final
      })
      const differing = Object.entries(full).filter(([name, value]) => bare[name as keyof typeof bare] !== value)
      assert.deepStrictEqual(
        Object.keys(terms).toSorted(),
        ["policy", "risk", "stages", "final", ...differing.map(([name]) => name)].toSorted()
      )

      assert.deepStrictEqual(
        [full.irreversible, full.veto, full.extensions, full.grantMillis, full.stalledMillis, full.onReject],
        [irreversible, veto, maxExtensions, given.grant * 60_000, given.stalled * 60_000, onReject]
      )
      const low = risk === "low" && !irreversible
      if (!low) assert.deepStrictEqual([full.autoApprove, full.agents], [false, false])
      if (full.final === "approve") assert.isTrue(full.autoApprove && allowAutoApprove && low)
      if (full.batchable) assert.include(["low", "medium"], full.risk)
    },
    { arbitrary: { runs: 500, seed: "espalier" } }
  )
})

describe("findings", () => {
  const table: ReadonlyArray<readonly [ReviewPolicy.Options, ReadonlyArray<string>]> = [
    [{}, []],
    [{ allowAutoApprove: true, ladders: { low: ending("approve") } }, []],
    [
      { ladders: { low: ending("approve") } },
      ["ladders.low ends with approve, but allowAutoApprove is false: silence rejects"]
    ],
    [
      { allowAutoApprove: true },
      ["allowAutoApprove is true, but ladders.low does not end with approve: silence approves nothing"]
    ],
    [{ ladders: { high: ending("reject", 60_000) } }, []],
    [
      { ladders: { high: ending("reject", 59_999) } },
      ["ladders.high ends after 59999 milliseconds: hardly anybody decides in less than a minute"]
    ],
    [
      { grantFor: "10 minutes" },
      ["grantFor is not longer than stalledAfter: an approval ends before it is told that nobody made use of it"]
    ]
  ]
  it.each(table)("R-218 of %j are %j", (options, expected) => {
    assert.deepStrictEqual(ReviewPolicy.findings(ReviewPolicy.make(options)), expected)
  })
})
