import { assert, describe, it } from "@effect/vitest"
import { Effect, Result as EffectResult, Schema } from "effect"
import { Acceptance, Contract, type Result } from "espalier/run"

const requirement = (id: string, mandatory = true): Contract.Requirement => ({
  id,
  statement: `${id} holds`,
  mandatory,
  evidence: true
})

const contract = (fields: Partial<Contract.Fields> = {}): Contract.Contract => {
  const made = Contract.parse({ task: "release", objective: "Release it", ...fields })
  if (EffectResult.isFailure(made)) throw made.failure
  return made.success
}

const evidence = (text: string): Result.Evidence => {
  const [id, exit, at, revision] = text.split(" ")
  return {
    requirement: id!,
    command: `check ${id}`,
    ...(exit === "-" ? {} : { exitStatus: Number(exit) }),
    ...(at === undefined || at === "-" ? {} : { at: Number(at) }),
    ...(revision === undefined ? {} : { revision })
  }
}

const all = (text: string): ReadonlyArray<Result.Evidence> =>
  text
    .split(", ")
    .filter((each) => each !== "")
    .map(evidence)

/** Random evidence for requirements a, b and c, over three times and two revisions. */
const anyEvidence = Schema.Struct({
  requirement: Schema.Literals(["a", "b", "c"]),
  command: Schema.optionalKey(Schema.Literals(["check", " "])),
  exitStatus: Schema.optionalKey(Schema.Literals([0, 1])),
  at: Schema.optionalKey(Schema.Literals([1, 2, 3])),
  revision: Schema.optionalKey(Schema.Literals(["r1", "r2"]))
})

describe("Acceptance", () => {
  describe("check", () => {
    type Row = readonly [handed: string, state: Acceptance.State, reason: string]
    const table: ReadonlyArray<Row> = [
      ["", "unproven", "There is no evidence for it"],
      ["a 0", "met", "check a ended with exit status 0"],
      ["a 1", "unmet", "check a ended with exit status 1"],
      ["a -", "unproven", "check a has no exit status"],
      ["a 1 1, a 0 2", "met", "check a ended with exit status 0"],
      ["a 0 2, a 1 1", "met", "check a ended with exit status 0"],
      ["a 0 1, a 2 1", "unmet", "check a ended with exit status 2"],
      ["a 1, a 0", "met", "check a ended with exit status 0"],
      ["a 0 1, a 1", "met", "check a ended with exit status 0"],
      ["a 0 1, a - 2", "unproven", "check a has no exit status"],
      [
        "b 0 1",
        "unproven",
        "There is no evidence for it; there is evidence for b, which is no requirement of this task"
      ],
      [
        "b 0, tests 0",
        "unproven",
        "There is no evidence for it; there is evidence for b, tests, which are no requirements of this task"
      ]
    ]
    it.effect.each(table)("R-213 with evidence %j a requirement is %s", ([handed, state, reason]) =>
      Effect.sync(() => {
        const { accepted, findings } = Acceptance.check([requirement("a")], all(handed))
        assert.deepStrictEqual(
          findings.map((each) => [each.state, each.reason]),
          [[state, reason]]
        )
        assert.strictEqual(accepted, state === "met")
      })
    )

    const revisions: ReadonlyArray<Row> = [
      ["a 0 1 r2", "met", "check a ended with exit status 0"],
      ["a 0 1 r1", "unproven", "It was checked against revision r1, not against revision r2"],
      ["a 0 1", "unproven", "It was checked against no revision, not against revision r2"],
      ["a 0 1 r2, a 1 2 r1", "met", "check a ended with exit status 0"],
      ["a 0 1 r1, a 1 2 r2", "unmet", "check a ended with exit status 1"]
    ]
    it.effect.each(revisions)("R-213 at revision r2, with evidence %j a requirement is %s", ([handed, state, reason]) =>
      Effect.sync(() => {
        const [finding] = Acceptance.check([requirement("a")], all(handed), { revision: "r2" }).findings
        assert.deepStrictEqual([finding?.state, finding?.reason], [state, reason])
      })
    )

    it.effect.each([
      ["", "met", "It needs no evidence"],
      ["a -", "met", "It needs no evidence"],
      ["a 1 1 r1", "met", "It needs no evidence"],
      ["a 1 1 r2", "unmet", "check a ended with exit status 1"],
      ["a 0 1 r2", "met", "check a ended with exit status 0"]
    ] as ReadonlyArray<Row>)(
      "R-213 without need of evidence, at revision r2, with %j it is %s",
      ([handed, ...expected]) =>
        Effect.sync(() => {
          const definition = [{ ...requirement("a"), evidence: false }]
          const [finding] = Acceptance.check(definition, all(handed), { revision: "r2" }).findings
          assert.deepStrictEqual([finding?.state, finding?.reason], expected)
        })
    )

    const { command: _, ...unsaid } = evidence("a 0 1 r1")
    const lacking: ReadonlyArray<readonly [Result.Evidence, boolean, Acceptance.State, string]> = [
      [{ requirement: "a", exitStatus: 0 }, false, "unproven", "Its evidence does not say what was run"],
      [{ ...unsaid, command: " " }, false, "unproven", "Its evidence does not say what was run"],
      [unsaid, true, "unproven", "Its evidence does not say what was run"],
      [{ ...unsaid, exitStatus: 1 }, true, "unmet", "Its check ended with exit status 1"],
      [evidence("a 0 1"), true, "unproven", "check a does not say against which revision it was run"],
      [evidence("a 1 1"), true, "unmet", "check a ended with exit status 1"],
      [evidence("a 0 1"), false, "met", "check a ended with exit status 0"],
      [evidence("a 0 1 r1"), true, "met", "check a ended with exit status 0"]
    ]
    it.each(lacking)("R-213 with %j, where a revision is asked for: %s, it is %s", (handed, named, state, reason) => {
      const [finding] = Acceptance.check([requirement("a")], [handed], { named }).findings
      assert.deepStrictEqual([finding?.state, finding?.reason], [state, reason])
    })

    it("R-213 gives the evidence that decides, and what belongs to no requirement", () => {
      const handed = all("a 1 1, a 0 2, z 0 3")
      const { findings, strays } = Acceptance.check([requirement("a")], handed)
      assert.strictEqual(findings[0]?.evidence, handed[1])
      assert.deepStrictEqual(strays, handed.slice(2))
    })

    it("R-213 a failing check blocks when it is mandatory, and only then", () => {
      const definition = [requirement("a"), requirement("b", false)]
      assert.isTrue(Acceptance.check(definition, all("a 0, b 1")).accepted)
      assert.isFalse(Acceptance.check(definition, all("a 1, b 0")).accepted)
      assert.isTrue(Acceptance.check([], []).accepted)
    })

    it.prop(
      "R-213 failing evidence never makes anything accepted",
      {
        handed: Schema.Array(anyEvidence),
        failing: anyEvidence,
        place: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10 })),
        any: Schema.Boolean,
        needs: Schema.Boolean,
        named: Schema.Boolean
      },
      ({ any, failing, handed, named, needs, place }) => {
        const revision = any ? undefined : "r1"
        const definition = [requirement("a"), { ...requirement("b"), evidence: needs }, requirement("c", false)]
        const more = handed.toSpliced(place, 0, { ...failing, exitStatus: 1 })
        const before = Acceptance.check(definition, handed, { named, revision })
        const after = Acceptance.check(definition, more, { named, revision })
        assert.isTrue(before.accepted || !after.accepted)
        for (const [index, finding] of after.findings.entries()) {
          if (finding.state === "met") assert.strictEqual(before.findings[index]?.state, "met")
        }
        const entries = (evidence: ReadonlyArray<Result.Evidence>) => [
          { task: "t", definitionOfDone: definition, evidence }
        ]
        const final = (evidence: ReadonlyArray<Result.Evidence>) => Acceptance.final(entries(evidence), { revision })
        assert.isTrue(final(handed).accepted || !final(more).accepted)
      }
    )
  })

  describe("final", () => {
    const entry = (task: string, handed: string, definitionOfDone = [requirement("a")]): Acceptance.Entry => ({
      task,
      definitionOfDone,
      evidence: all(handed)
    })

    it("R-213 accepts what was all checked against the same revision", () => {
      const result = Acceptance.final([entry("t", "a 0 1 r1, a 0 5 r2"), entry("u", "a 0 4 r2")])
      assert.deepStrictEqual([result.accepted, result.revision, result.open], [true, "r2", []])
    })

    it("R-213 names what was checked against another revision", () => {
      const result = Acceptance.final([entry("t", "a 0 1 r1"), entry("u", "a 0 4 r2"), entry("v", "")])
      assert.isFalse(result.accepted)
      assert.deepStrictEqual(
        result.open.map(({ checkedAgainst, reason, requirement, task }) => [task, requirement, checkedAgainst, reason]),
        [
          ["t", "a", "r1", "It was checked against revision r1, not against revision r2"],
          ["v", "a", undefined, "There is no evidence for it"]
        ]
      )
      assert.lengthOf(result.findings, 3)
    })

    it("R-213 goes by the revision that it is given", () => {
      const entries = [entry("t", "a 0 9 r1")]
      assert.isTrue(Acceptance.final(entries, { revision: "r1" }).accepted)
      assert.isFalse(Acceptance.final(entries, { revision: "r2" }).accepted)
    })

    it("R-213 evidence without a revision does not count beside evidence with one", () => {
      const unnamed = Acceptance.final([entry("t", "a 0 1"), entry("u", "a 1 2")])
      assert.deepStrictEqual(
        unnamed.open.map(({ reason, state }) => [state, reason]),
        [
          ["unproven", "check a does not say against which revision it was run"],
          ["unmet", "check a ended with exit status 1"]
        ]
      )
      const mixed = Acceptance.final([entry("t", "a 0 1"), entry("u", "a 0 2 r1")])
      assert.deepStrictEqual(
        mixed.open.map(({ reason, task }) => [task, reason]),
        [["t", "It was checked against no revision, not against revision r1"]]
      )
    })

    it("R-213 the revision is that of the mandatory requirements", () => {
      const definition = [requirement("a"), requirement("b", false)]
      const handed = "a 0 1 r2, a 1 2 r1"
      assert.strictEqual(Acceptance.final([entry("t", handed, definition)]).revision, "r1")
      assert.isFalse(Acceptance.final([entry("t", `${handed}, b 1 3 r2`, definition)]).accepted)
    })

    it("R-213 does not wait for what is not mandatory", () => {
      assert.isTrue(Acceptance.final([entry("t", "a 0 1 r1", [requirement("a"), requirement("b", false)])]).accepted)
    })

    it("R-213 is plain data", () => {
      const result = Acceptance.final([entry("t", "a 0 1 r1"), entry("u", "a 1 2 r2")])
      const json: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(Acceptance.Final)(result)))
      assert.deepStrictEqual(Schema.decodeUnknownSync(Acceptance.Final)(json), result)
    })
  })

  describe("followUp", () => {
    const whole = contract({
      version: 4,
      inputs: { files: ["a.md"] },
      references: { bundle: { uri: "https://example.org/bundle", hash: `sha256:${"0".repeat(64)}` } },
      constraints: ["Touch no code"],
      dataClass: "internal",
      limits: { tokens: 100, steps: 3 },
      definitionOfDone: [requirement("a"), requirement("b"), requirement("c", false)]
    })
    const handed = all("a 0 1, b 7 2, c - 3")
    const { findings } = Acceptance.check(whole.definitionOfDone, handed)

    it.effect("R-213 is a valid contract that carries only the failing evidence", () =>
      Effect.gen(function* () {
        const fields = yield* Effect.fromResult(Acceptance.followUp(whole, findings))
        assert.deepStrictEqual(yield* Contract.make(fields), {
          ...whole,
          version: 1,
          task: "release.follow-up",
          objective: "Meet what is still open of: Release it",
          inputs: {
            files: ["a.md"],
            "follow-up": [
              {
                requirement: "b",
                state: "unmet",
                reason: "check b ended with exit status 7",
                evidence: { requirement: "b", command: "check b", exitStatus: 7, at: 2 }
              },
              {
                requirement: "c",
                state: "unproven",
                reason: "check c has no exit status",
                evidence: { requirement: "c", command: "check c", at: 3 }
              }
            ]
          },
          definitionOfDone: [requirement("b"), requirement("c", false)]
        })
      })
    )

    it.effect("R-213 is bounded: limits can be lowered and not raised, and the id stays an id", () =>
      Effect.gen(function* () {
        const limits = { tokens: 40, steps: 9, cost: 1 }
        const fields = yield* Effect.fromResult(Acceptance.followUp(whole, findings, { task: "again", limits }))
        assert.deepStrictEqual([fields.task, fields.limits], ["again", { tokens: 40, steps: 3, cost: 1 }])
        const long = { ...whole, task: "x".repeat(64) }
        yield* Contract.make(yield* Effect.fromResult(Acceptance.followUp(long, findings)))
      })
    )

    it.effect("R-213 a follow-up can be followed up, and carries only the latest evidence", () =>
      Effect.gen(function* () {
        const first = yield* Contract.make(yield* Effect.fromResult(Acceptance.followUp(whole, findings)))
        const again = Acceptance.check(first.definitionOfDone, all("b 8 5, c 0 5")).findings
        const second = yield* Contract.make(
          yield* Effect.fromResult(Acceptance.followUp(first, again, { task: "release.follow-up.2" }))
        )
        assert.strictEqual(second.objective, first.objective)
        assert.deepStrictEqual(second.definitionOfDone, [requirement("b")])
        assert.deepStrictEqual(second.inputs, {
          files: ["a.md"],
          "follow-up": [
            {
              requirement: "b",
              state: "unmet",
              reason: "check b ended with exit status 8",
              evidence: { requirement: "b", command: "check b", exitStatus: 8, at: 5 }
            }
          ]
        })
      })
    )

    it("R-213 there is none when everything is met", () => {
      const met = Acceptance.check(whole.definitionOfDone, all("a 0, b 0, c 0")).findings
      const refused = Acceptance.followUp(whole, met)
      assert.isTrue(EffectResult.isFailure(refused))
      if (EffectResult.isSuccess(refused)) return
      assert.strictEqual(
        refused.failure.message,
        "NOTHING_OPEN: findings must name a requirement of release that is not met, got none"
      )
    })
  })

  describe("reduceScope", () => {
    const whole = contract({ definitionOfDone: [requirement("a"), requirement("b", false), requirement("c", false)] })

    it.effect("R-213 gives a new version without what was dropped", () =>
      Effect.gen(function* () {
        const reduced = yield* Effect.fromResult(Acceptance.reduceScope(whole, ["b"]))
        assert.deepStrictEqual(reduced, {
          ...whole,
          version: 2,
          definitionOfDone: [requirement("a"), requirement("c", false)]
        })
      })
    )

    const bad: ReadonlyArray<
      readonly [message: string, dropped: ReadonlyArray<string>, mandatory: ReadonlyArray<string>]
    > = [
      ['dropped[1] must be a requirement of the contract that is not mandatory, got "a"', ["b", "a"], ["a"]],
      ['dropped[0] must be a requirement of the contract, got "z"', ["z"], []],
      ["dropped must name at least one requirement", [], []]
    ]
    it.effect.each(bad)("R-213 refuses: %s", ([message, dropped, mandatory]) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Effect.fromResult(Acceptance.reduceScope(whole, dropped)))
        assert.strictEqual(error.message, `SCOPE_NOT_REDUCED: ${message}`)
        assert.deepStrictEqual(error.mandatory, mandatory)
      })
    )

    const ids = ["a", "b", "c", "d", "e"]
    it.prop(
      "R-213 never loses a mandatory requirement",
      {
        mandatory: Schema.Tuple([Schema.Boolean, Schema.Boolean, Schema.Boolean, Schema.Boolean, Schema.Boolean]),
        dropped: Schema.Array(Schema.Literals(["a", "b", "c", "d", "e", "z"]))
      },
      ({ dropped, mandatory }) => {
        const before = contract({ definitionOfDone: ids.map((id, index) => requirement(id, mandatory[index]!)) })
        const reduced = Acceptance.reduceScope(before, dropped)
        const must = ids.filter((_, index) => mandatory[index])
        if (EffectResult.isFailure(reduced)) {
          assert.isTrue(dropped.length === 0 || dropped.some((id) => id === "z" || must.includes(id)))
          assert.deepStrictEqual(
            reduced.failure.mandatory,
            dropped.filter((id) => must.includes(id))
          )
          return
        }
        const left = reduced.success.definitionOfDone.map(({ id }) => id)
        assert.deepStrictEqual(
          left,
          ids.filter((id) => !dropped.some((each) => each === id))
        )
        assert.deepStrictEqual(
          left.filter((id) => must.includes(id)),
          must
        )
        assert.strictEqual(reduced.success.version, before.version + 1)
      }
    )
  })
})
