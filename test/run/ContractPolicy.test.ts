import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Contract, ContractPolicy } from "espalier/run"

const policy = ContractPolicy.make({
  limits: { deadlineMillis: 60_000, tokens: 1_000, toolCalls: 10, steps: 5, cost: 2.5 },
  areas: {
    repository: ContractPolicy.paths(["docs", "src/api", "/srv/repo"]),
    network: ContractPolicy.names(["api.example.org", "registry.example.org"]),
    anywhere: ContractPolicy.paths(["."]),
    tables: ContractPolicy.names(["*"]),
    constructor: ContractPolicy.names([])
  },
  dataClasses: ["public", "internal"]
})

const hash = `sha256:${"0".repeat(64)}`
const report = { uri: "file:report", hash }

const check = (fields: object, facts?: ContractPolicy.Facts, by = policy) =>
  Effect.map(Contract.make({ task: "fix", objective: "Fix links", ...fields }), (contract) => ({
    contract,
    checked: ContractPolicy.check(contract, by, facts)
  }))

const repository = (scope: string) => ({ permissions: { repository: [scope] } })
const anywhere = (scope: string) => ({ permissions: { anywhere: [scope] } })
const inside = `must lie inside "docs", "src/api", "/srv/repo"`

type Bad = readonly [message: string, fields: object, facts?: ContractPolicy.Facts, by?: ContractPolicy.ContractPolicy]

const bad: ReadonlyArray<Bad> = [
  ["limits.deadlineMillis must be at most 60000, got 60001", { limits: { deadlineMillis: 60_001 } }],
  ["limits.tokens must be at most 1000, got 1001", { limits: { tokens: 1_001 } }],
  ["limits.toolCalls must be at most 10, got 11", { limits: { toolCalls: 11 } }],
  ["limits.steps must be at most 5, got 9007199254740991", { limits: { steps: Number.MAX_SAFE_INTEGER } }],
  ["limits.cost must be at most 2.5, got 2.51", { limits: { cost: 2.51 } }],
  ["limits.tokens must be at most 1000, got 2000 (and 1 more)", { limits: { tokens: 2_000, cost: 3 } }],

  ["permissions.shell is not an area of the policy", { permissions: { shell: ["ls"] } }],
  ["permissions.toString is not an area of the policy", { permissions: { toString: ["x"] } }],
  ["permissions.hasOwnProperty is not an area of the policy", { permissions: { hasOwnProperty: [] } }],
  ['permissions.constructor[0] must be one of nothing, got "x"', { permissions: { constructor: ["x"] } }],

  [`permissions.repository[0] ${inside}, got "."`, repository(".")],
  [`permissions.repository[0] ${inside}, got "**"`, repository("**")],
  [`permissions.repository[0] ${inside}, got "*/docs"`, repository("*/docs")],
  [`permissions.repository[0] ${inside}, got "doc?"`, repository("doc?")],
  [`permissions.repository[0] ${inside}, got "docs*"`, repository("docs*")],
  [`permissions.repository[0] ${inside}, got "documents/a.md"`, repository("documents/a.md")],
  [`permissions.repository[0] ${inside}, got "src"`, repository("src")],
  [`permissions.repository[0] ${inside}, got "src/apis/x.ts"`, repository("src/apis/x.ts")],
  [`permissions.repository[0] ${inside}, got "Docs/a.md"`, repository("Docs/a.md")],
  [`permissions.repository[0] ${inside}, got "ｄocs/a.md"`, repository("ｄocs/a.md")],
  [`permissions.repository[0] ${inside}, got " docs/a.md"`, repository(" docs/a.md")],
  [`permissions.repository[0] ${inside}, got "/docs/a.md"`, repository("/docs/a.md")],
  [`permissions.repository[0] ${inside}, got "/"`, repository("/")],
  [`permissions.repository[0] ${inside}, got "/etc/passwd"`, repository("/etc/passwd")],
  [`permissions.repository[0] ${inside}, got "/srv/repository"`, repository("/srv/repository")],
  [`permissions.repository[0] ${inside}, got "srv/repo"`, repository("srv/repo")],
  [`permissions.anywhere[0] must lie inside ".", got "/etc"`, anywhere("/etc")],
  ['permissions.repository[0] must not contain .., got "docs/../../etc"', repository("docs/../../etc")],
  ['permissions.repository[0] must not contain .., got "docs/a/.."', repository("docs/a/..")],
  ['permissions.anywhere[0] must not contain .., got ".."', anywhere("..")],
  ['permissions.anywhere[0] must not contain .., got "./../x"', anywhere("./../x")],
  [
    String.raw`permissions.repository[0] must be separated by /, not by \, got "docs\\..\\..\\etc"`,
    repository(String.raw`docs\..\..\etc`)
  ],
  ['permissions.anywhere[0] must not begin with the letter of a drive, got "C:/Windows"', anywhere("C:/Windows")],
  ['permissions.anywhere[0] must not begin with ~, got "~/.ssh"', anywhere("~/.ssh")],
  ...["docs/{a,../b}", "docs/[.][.]/x", "docs/@(a|b)", "!docs/a.md"].map((scope): Bad => [
    `permissions.repository[0] must have no other wildcards than *, ** and ?, got ${JSON.stringify(scope)}`,
    repository(scope)
  ]),
  [
    String.raw`permissions.repository[0] must not contain control characters, got "docs/a\u0000.md"`,
    repository("docs/a\u0000.md")
  ],
  [
    String.raw`permissions.repository[0] must not contain a lone surrogate, got "docs/\ud800"`,
    repository("docs/\ud800")
  ],
  [
    `permissions.repository[2] ${inside}, got "etc" (and 1 more)`,
    { permissions: { repository: ["docs", "src/api/**", "etc", "var"] } }
  ],
  [
    'permissions.network[0] must be one of "api.example.org", "registry.example.org", got "API.example.org"',
    { permissions: { network: ["API.example.org"] } }
  ],
  [
    'permissions.network[0] must be one of "api.example.org", "registry.example.org", got "*"',
    { permissions: { network: ["*"] } }
  ],

  ["permissions.repository is required", {}, { areas: ["repository"] }],
  ["permissions.constructor is required", {}, { areas: ["constructor"] }],
  [
    "permissions.repository must name at least one scope, got [0 items]",
    { permissions: { repository: [] } },
    { areas: ["repository"] }
  ],

  ['dataClass must be one of "public", "internal", got "personal"', { dataClass: "personal" }],
  ['dataClass must be one of "public", "internal", got "Public"', { dataClass: "Public" }],
  ['dataClass must be one of "public", "internal", got "toString"', { dataClass: "toString" }],
  ["dataClass is required", {}, {}, ContractPolicy.make({ dataClassRequired: true })],

  [
    'capability must be one of "read", "write", got "wright"',
    {},
    { capability: "wright", capabilities: ["read", "write"] }
  ],
  ['capability must be one of nothing, got "write"', {}, { capability: "write" }],

  [
    "references.report.version is stale: the current version is 3, got 2",
    { references: { report: { ...report, version: 2 } } },
    { versions: { report: 3 } }
  ],
  [
    "references.report.version must be at most the current version 3, got 4",
    { references: { report: { ...report, version: 4 } } },
    { versions: { report: 3 } }
  ],
  ["references.report.version is required", { references: { report } }, { versions: { report: 1 } }]
]

describe("ContractPolicy", () => {
  describe("check", () => {
    it.effect.each(bad)("R-201 refuses in the form of the first check: %s", ([message, fields, facts, by]) =>
      Effect.gen(function* () {
        const { checked } = yield* check(fields, facts, by)
        assert.isTrue(Result.isFailure(checked))
        if (Result.isFailure(checked)) {
          assert.instanceOf(checked.failure, Contract.ContractInvalid)
          assert.strictEqual(checked.failure.message, `CONTRACT_INVALID: ${message}`)
        }
      })
    )

    const good: ReadonlyArray<readonly [object, ContractPolicy.Facts?, ContractPolicy.ContractPolicy?]> = [
      [{}],
      [{ limits: { deadlineMillis: 60_000, tokens: 1_000, toolCalls: 10, steps: 5, cost: 2.5 } }],
      [{ limits: { tokens: Number.MAX_SAFE_INTEGER } }, {}, ContractPolicy.make()],
      ...[
        "docs",
        "docs/",
        "./docs//a.md",
        "docs/**/*.md",
        "docs/..a/b..",
        "docs/...",
        "docs/*",
        "src/api/x.ts",
        "/srv/repo",
        "/srv/repo/docs/?.md",
        "docs/größe 😀.md"
      ].map((scope) => [repository(scope)] as const),
      [anywhere("**")],
      [anywhere(".")],
      [{ permissions: { network: ["api.example.org"], tables: ["orders", "../x"], constructor: [] } }],
      [{ dataClass: "internal" }, {}, ContractPolicy.make({ dataClassRequired: true })],
      [{ dataClass: "secret" }, {}, ContractPolicy.make({ dataClasses: ["secret"] })],
      [repository("docs"), { areas: ["repository"] }],
      [{}, { capability: "write", capabilities: ["read", "write"] }],
      [{ references: { report: { ...report, version: 3 } } }, { versions: { report: 3, other: 9 } }],
      [{ references: { report, constructor: report } }, { versions: {} }]
    ]
    it.effect.each(good)("answers with the contract itself: %j", ([fields, facts, by]) =>
      Effect.gen(function* () {
        const { checked, contract } = yield* check(fields, facts, by)
        assert.strictEqual(Result.getOrThrow(checked), contract)
      })
    )

    it.effect("shows a long list of what is allowed shortened", () =>
      Effect.gen(function* () {
        const capabilities = Array.from({ length: 1_000 }, (_, index) => `capability-${index}`)
        const { checked } = yield* check({}, { capability: "none", capabilities })
        assert.isTrue(Result.isFailure(checked))
        if (Result.isFailure(checked)) assert.isBelow(checked.failure.message.length, 300)
      })
    )
  })

  describe("make", () => {
    const bad: ReadonlyArray<readonly [string, () => unknown]> = [
      [
        "ContractPolicy.make: limits.tokens must be a whole number >= 0, got -1",
        () => ContractPolicy.make({ limits: { tokens: -1 } })
      ],
      [
        "ContractPolicy.make: a name must be letters, digits, '.', '_' and '-', got \"a b\"",
        () => ContractPolicy.make({ areas: { "a b": ContractPolicy.names([]) } })
      ],
      [
        "ContractPolicy.make: a name must be letters, digits, '.', '_' and '-', got \"\"",
        () => ContractPolicy.make({ dataClasses: [""] })
      ],
      ['ContractPolicy.paths: a root must not contain .., got "docs/.."', () => ContractPolicy.paths(["docs/.."])],
      ['ContractPolicy.paths: a root must have no wildcards, got "docs/*"', () => ContractPolicy.paths(["docs/*"])],
      ['ContractPolicy.paths: a root must not be empty, got ""', () => ContractPolicy.paths([""])]
    ]
    it.each(bad)("throws a RangeError: %s", (message, make) => {
      assert.throws(make, RangeError)
      try {
        make()
      } catch (error) {
        assert.strictEqual((error as RangeError).message, message)
      }
    })
  })
})
