import { assert, describe, it } from "@effect/vitest"
import { Budget, type RunEvent, RunState } from "espalier/run"

import { applySaid, copy } from "../../../src/run/internal/apply.ts"
import { objection } from "../../../src/run/internal/applying/saying.ts"
import { fold, started } from "../simulate.ts"

type Said = Partial<RunEvent.Of<"ReviewDecided">>
type Asked = Pick<RunEvent.Of<"ReviewOpened">, "kind" | "allowed" | "facts">

const ledger = (() => {
  const draft = Budget.make({ run: { tokens: 1_000, cost: 2 } })
  Budget.reserve(draft, { id: "x", accounts: ["run"], amount: { tokens: 800, cost: 1.9 } })
  return draft
})()

const ask = ({ allowed, facts, kind }: Asked, said: Said): string | undefined =>
  objection(
    {
      ledger,
      reviews: new Map([
        ["r1/review/1", { review: "r1/review/1", kind, reason: "autonomy", allowed, facts, at: 0, note: "" }]
      ])
    },
    { _tag: "ReviewDecided", at: 1, review: "r1/review/1", decision: "answer", by: "ann", note: "", ...said }
  )

const question: Asked = { kind: "question", allowed: ["answer", "reject"], facts: { question: "Which?" } }
const routing: Asked = { kind: "routing", allowed: ["answer", "reject"], facts: { choices: ["read", "finish"] } }
const plan: Asked = { kind: "routing", allowed: ["answer", "reject"], facts: { group: "" } }
const conflict: Asked = { kind: "reconciliation", allowed: ["answer", "accept-partial"], facts: { field: "owner" } }
const action: Asked = { kind: "action-approval", allowed: ["approve", "reject"], facts: { worker: "d.one" } }
const budget: Asked = {
  kind: "budget-increase",
  allowed: ["approve", "reject"],
  facts: { account: "run", estimate: { tokens: 400, cost: 0.3 }, needed: { tokens: 200, cost: 0.2 } }
}
const approve = { decision: "approve" } as const

const wrong: ReadonlyArray<readonly [string, Asked, Said]> = [
  ['decision must be one of approve, reject, got "retry"', action, { decision: "retry" }],
  ['answer must be the answer to "Which?", got none', question, {}],
  ['answer must be the answer to "Which?", got null', question, { answer: null }],
  ['answer must be the answer to "Which?", got " "', question, { answer: " " }],
  ['answer must not be given with the decision "reject", got "no"', question, { decision: "reject", answer: "no" }],
  ['answer must not be given with the decision "approve", got true', action, { ...approve, answer: true }],
  [
    "raise must be given only where a budget-increase is approved, got {1 field}",
    action,
    { ...approve, raise: { tokens: 1 } }
  ],
  [
    "raise must be given only where a budget-increase is approved, got {1 field}",
    budget,
    { decision: "reject", raise: { tokens: 1 } }
  ],
  ['answer must be one of read, finish, got "none"', routing, { answer: "none" }],
  ["answer must be one of read, finish, got [1 item]", routing, { answer: ["read"] }],
  ['answer must be { "reconcile": { "owner": value } }, got "ann"', conflict, { answer: "ann" }],
  [
    'answer must be { "reconcile": { "owner": value } }, got one with "place"',
    conflict,
    { answer: { reconcile: { place: 1 } } }
  ],
  [
    'answer must be { "reconcile": { "owner": value } }, got one with "owner", "place"',
    conflict,
    { answer: { reconcile: { owner: 1, place: 1 } } }
  ],
  [
    'answer must be { "reconcile": { "owner": value } }, got one with "owner"',
    conflict,
    { answer: { reconcile: { owner: 1 }, more: 1 } }
  ],
  ["raise is required: a budget-increase is approved with what run is raised by", budget, approve],
  ["raise must name", { ...budget, facts: { account: "run", estimate: {} } }, { ...approve, raise: {} }],
  [
    "raise.tokens must be at least 200, as run lacks 200 tokens and 0.2 units of cost",
    budget,
    { ...approve, raise: {} }
  ],
  [
    "raise.tokens must be at least 200, as run lacks 200 tokens and 0.2 units of cost, got 199",
    budget,
    { ...approve, raise: { tokens: 199, cost: 1 } }
  ],
  [
    "raise.cost must be at least 0.2, as run lacks 200 tokens and 0.2 units of cost",
    budget,
    { ...approve, raise: { tokens: 200 } }
  ],
  ["raise.tokens must be more than nothing, got 0", budget, { ...approve, raise: { tokens: 0 } }],
  [
    "raise.steps must not be given, as run limits only tokens, cost, got 1",
    budget,
    { ...approve, raise: { tokens: 200, cost: 1, steps: 1 } }
  ]
]

const right: ReadonlyArray<readonly [string, Asked, Said]> = [
  ["an approval", action, approve],
  ["an answer that is false", question, { answer: false }],
  ["a name", routing, { answer: "read" }],
  ["a name with blanks around it", routing, { answer: " finish " }],
  ["a plan", plan, { answer: [{ id: "a" }] }],
  ["the value of the field", conflict, { answer: { reconcile: { owner: null } } }],
  ["what there is", conflict, { decision: "accept-partial" }],
  ["exactly what is lacking", budget, { ...approve, raise: { tokens: 200, cost: 0.2 } }],
  ["no raise", budget, { decision: "reject" }],
  ["a raise of an old question", { ...budget, facts: { account: "run" } }, { ...approve, raise: { tokens: 1 } }]
]

describe("objection", () => {
  it.each(wrong)("R-216 R-306 %s", (reason, asked, said) => {
    const objected = ask(asked, said) ?? "nothing"
    assert.include(objected, reason)
    if (!reason.startsWith("decision")) {
      assert.include(objected, `; r1/review/1 (${asked.kind}) allows ${asked.allowed.join(", ")}`)
    }
  })

  it.each(right)("R-216 R-306 lets %s pass", (_, asked, said) => {
    assert.isUndefined(ask(asked, said))
  })

  it("R-306 is for what is said now: what a journal has stays readable", () => {
    const { allowed, facts, kind } = question
    const opened: RunEvent.RunEvent = {
      _tag: "ReviewOpened",
      at: 1,
      review: "r1/review/1",
      kind,
      reason: "ambiguity",
      allowed,
      facts,
      note: ""
    }
    const said: RunEvent.RunEvent = {
      _tag: "ReviewDecided",
      at: 2,
      review: "r1/review/1",
      decision: "answer",
      by: "ann",
      note: ""
    }
    const state = fold([started([{ id: "a", worker: "d.one" }]), opened])
    assert.strictEqual(RunState.evolve(state, said)._tag, "Success")
    assert.include(applySaid(copy(state), said), "answer must be the answer")
  })
})
