/**
 * A desk that changes a program: a contract that a person approves, code and tests on a branch, reviews, one final revision.
 *
 * ```text
 * requirements ─ contract ─ branch ─ tests ─ development ─┬─ regression ─┬─ acceptance ─ deployment
 *               (a person)                                └─ audit ──────┘               (a person)
 *
 * development:  code ─┬─ test ───┬─ judge ── holds ──▶ the end
 *                     └─ review ─┘    │ ▲
 *                                 fix │ └── retest ── fix ◀── once more ── escalate (a person)
 *                                     ▼
 * ```
 *
 * @since 0.1.0
 */
import { Schema } from "effect"
import { type Coordinator, ContractPolicy, Desk, Domain, Graph, Plan } from "espalier/run"

import { Approved, briefOf, doneWhen, limits, secured, tested } from "./contract.ts"
import { control, reconciled, Ruling } from "./control.ts"
import { type Cast, Reviewed, roles } from "./roles.ts"
import { permissions } from "./tools.ts"

/**
 * What a run begins with: what somebody wishes, and what has to be so in any case.
 *
 * @category models
 * @since 0.1.0
 */
export const Input = Schema.Struct({ wish: Schema.NonEmptyString, constraints: Schema.Array(Schema.String) })

/**
 * @category models
 * @since 0.1.0
 */
export type Input = typeof Input.Type

const isRuling = Schema.is(Ruling)

const isReviewed = Schema.is(Reviewed)

/** The ruling that stands, before there is one that nothing is known. */
const ruled = ({ judge }: Coordinator.Accepted): Ruling =>
  isRuling(judge) ? judge : { verdict: "holds", revision: "", round: 0, failing: [] }

interface Development {
  readonly approved: Approved
}

const isApproved = Schema.is(Approved)

const brief = (output: unknown, statements: Readonly<Record<string, string>>) =>
  isApproved(output) ? briefOf(output, statements) : undefined

const names = (ruling: Ruling) => [
  ...new Set(ruling.failing.map(({ requirement }) => requirement).filter((name) => Object.hasOwn(tested, name)))
]

/** What the coder is told. */
const contract = ({ approved }: Development) => briefOf(approved, { ...tested, ...secured })

/** Code, tests and reviews, until everything holds; the coder is asked again twice, then a person is. */
const development = Graph.make({
  start: "code",
  nodes: {
    code: {
      worker: "coding.coder",
      objective: "Write the code that the contract asks for",
      permissions: permissions.coding,
      limits,
      fresh: true,
      outcomes: ["written"],
      outcome: () => "written",
      input: (_, given: Development) => ({ contract: contract(given) })
    },
    test: {
      worker: "testing.tester",
      objective: "Run all tests",
      permissions: permissions.testing,
      limits,
      fresh: true,
      outcomes: ["ran"],
      outcome: () => "ran",
      input: () => ({ only: [] })
    },
    review: {
      worker: "security.reviewer",
      objective: "Review the security of the change",
      permissions: permissions.security,
      limits,
      fresh: true,
      outcomes: ["reviewed"],
      outcome: () => "reviewed",
      input: (_, given: Development) => ({ contract: briefOf(given.approved, secured) })
    },
    judge: {
      worker: "control.judge",
      objective: "Decide whether the work goes back",
      join: true,
      fresh: true,
      outcomes: ["holds", "fix", "exhausted"],
      outcome: (output) => (isRuling(output) ? output.verdict : "exhausted"),
      input: (accepted) => {
        const again = accepted["retest"] !== undefined
        const { review } = accepted
        return {
          round: ruled(accepted).round,
          look: again ? ["retest"] : ["test", "review"],
          findings: !again && isReviewed(review) ? review.findings : []
        }
      }
    },
    fix: {
      worker: "coding.coder",
      objective: "Mend what the failing evidence shows",
      permissions: permissions.coding,
      limits,
      fresh: true,
      outcomes: ["written"],
      outcome: () => "written",
      input: (accepted, given: Development) => ({ contract: contract(given), failing: ruled(accepted).failing })
    },
    retest: {
      worker: "testing.tester",
      objective: "Run the tests that failed",
      permissions: permissions.testing,
      limits,
      fresh: true,
      outcomes: ["ran"],
      outcome: () => "ran",
      input: (accepted) => ({ only: names(ruled(accepted)) })
    },
    escalate: {
      worker: "control.escalation",
      objective: "Ask what becomes of it",
      fresh: true,
      outcomes: ["again"],
      outcome: () => "again",
      input: (accepted) => ({ ruling: ruled(accepted) })
    }
  },
  edges: {
    code: { written: ["test", "review"] },
    test: { ran: "judge" },
    review: { reviewed: "judge" },
    judge: { holds: "finish", fix: "fix", exhausted: "escalate" },
    fix: { written: "retest" },
    retest: { ran: "judge" },
    escalate: { again: "fix" }
  },
  result: "judge"
})

/**
 * The desk with these models.
 *
 * @category desks
 * @since 0.1.0
 */
export const desk = <R>(cast: Cast<R>) => {
  const { analyst, author, coder, reviewer, tester } = roles(cast)
  const { acceptance, clerk, deployer, escalation, judge, registrar } = control
  return Desk.make("password-reset", {
    version: "1",
    owner: "shop",
    input: Input,
    contracts: ContractPolicy.make({
      areas: { read: ContractPolicy.paths(["."]), write: ContractPolicy.paths(["src", "test", "contracts"]) },
      limits
    }),
    acceptance: { sameRevision: true },
    domains: [
      Domain.make("requirements", { workers: [analyst] }),
      Domain.make("coding", { workers: [coder] }),
      Domain.make("testing", { workers: [author, tester] }),
      Domain.make("security", { workers: [reviewer] }),
      Domain.make("control", { workers: [registrar, clerk, judge, escalation, acceptance] }),
      Domain.make("release", { workers: [deployer] })
    ],
    coordinator: Plan.make<Input>([
      {
        id: "requirements",
        worker: "requirements.analyst",
        objective: "Draft the contract",
        limits,
        input: (_, { constraints, wish }) => ({ wish, constraints })
      },
      {
        id: "contract",
        worker: "control.registrar",
        objective: "Make the contract, for a person to approve",
        needs: ["requirements"],
        acceptance: "person",
        input: ({ requirements }) => ({ draft: requirements })
      },
      {
        id: "branch",
        worker: "control.clerk",
        objective: "Commit the approved contract",
        needs: ["contract"],
        permissions: permissions.control,
        input: ({ contract }) => ({ approved: contract })
      },
      {
        id: "tests",
        worker: "testing.author",
        objective: "Write the tests",
        needs: ["contract", "branch"],
        permissions: permissions.authoring,
        limits,
        input: ({ contract }) => ({ contract: brief(contract, tested) })
      },
      {
        id: "development",
        by: development,
        objective: "Write the code until everything holds",
        needs: ["contract", "tests"],
        permissions: permissions.coding,
        onIncomplete: "escalate",
        input: ({ contract }) => ({ approved: contract })
      },
      {
        id: "regression",
        worker: "testing.tester",
        objective: "Run all tests against the final revision",
        needs: ["development"],
        permissions: permissions.testing,
        limits,
        definitionOfDone: doneWhen(tested),
        onIncomplete: "escalate",
        fresh: true,
        input: () => ({ only: [] })
      },
      {
        id: "audit",
        worker: "security.reviewer",
        objective: "Review the security of the final revision",
        needs: ["contract", "development"],
        permissions: permissions.security,
        limits,
        definitionOfDone: doneWhen(secured),
        onIncomplete: "escalate",
        fresh: true,
        input: ({ contract }) => ({ contract: brief(contract, secured) })
      },
      {
        id: "acceptance",
        worker: "control.acceptance",
        objective: "Hold everything against one revision",
        needs: ["contract", "regression", "audit"],
        definitionOfDone: doneWhen(reconciled),
        onIncomplete: "escalate",
        input: ({ audit, contract }) => ({ approved: contract, reviewed: audit })
      },
      {
        id: "deployment",
        worker: "release.deployer",
        objective: "Deploy what was accepted",
        needs: ["acceptance"],
        input: ({ acceptance }) => ({ accepted: acceptance })
      }
    ])
  })
}
