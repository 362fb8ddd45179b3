/**
 * What the change has to do, what it may spend, and what a draft of its contract is held to.
 *
 * A model drafts the contract; it cannot draft less than stands here.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"
import { Contract } from "espalier/run"

/**
 * What the tests of the change show, by the name of the test.
 *
 * @category models
 * @since 0.1.0
 */
export const tested = {
  valid: "A valid token sets the password",
  unknown: "A token that was never given out is refused",
  expired: "A token is refused once its 15 minutes are over",
  reused: "A token is good for one use",
  malformed: "What has not the form of a token is refused",
  replay: "A request that is sent again does nothing, and a newer token makes older ones void",
  "rate-limit": "An account has at most 5 requests in an hour",
  "password-policy": "A weak password is refused, and does not use up the token",
  notification: "The owner is told that the password was changed",
  concurrent: "Of several who redeem one token at the same time, one gets through",
  login: "What was there before still works"
} as const

/**
 * What the review of security shows, by the name of the probe.
 *
 * @category models
 * @since 0.1.0
 */
export const secured = {
  leakage: "No token stands in a log",
  storage: "A token has 128 bits, and only a hash of it is kept",
  sessions: "A reset ends the sessions of the account, and no other",
  "same-answer": "The answer is the same for an unknown account"
} as const

/**
 * What each order under the contract may spend: 900 seconds, 12,000 tokens, 20 calls of tools.
 *
 * @category models
 * @since 0.1.0
 */
export const limits = { deadlineMillis: 900_000, tokens: 12_000, toolCalls: 20 } as const

/**
 * How often the coder is asked again before a person is.
 *
 * @category models
 * @since 0.1.0
 */
export const retries = 2

/**
 * The numbers of the change.
 *
 * @category models
 * @since 0.1.0
 */
export const numbers = { tokenBits: 128, expiryMinutes: 15, requestsPerHour: 5 } as const

const ids = [...Object.keys(tested), ...Object.keys(secured)]

/** @since 0.1.0 */
export interface Draft extends Schema.Schema.Type<typeof Draft> {}

/**
 * A contract as a model drafts it.
 *
 * @category models
 * @since 0.1.0
 */
export const Draft = Schema.Struct({
  version: Schema.Int.check(Schema.isGreaterThan(0)),
  objective: Schema.NonEmptyString,
  constraints: Schema.Array(Schema.NonEmptyString),
  requirements: Schema.Array(Schema.Struct({ id: Schema.String, statement: Schema.NonEmptyString })),
  numbers: Schema.Struct({ tokenBits: Schema.Int, expiryMinutes: Schema.Int, requestsPerHour: Schema.Int }),
  limits: Schema.Struct({ deadlineMillis: Schema.Int, tokens: Schema.Int, toolCalls: Schema.Int }),
  risks: Schema.Array(Schema.NonEmptyString)
})

const isDraft = Schema.is(Draft)

/**
 * What a draft lacks, a sentence each.
 *
 * @category checking
 * @since 0.1.0
 */
export const lacking = (draft: unknown): ReadonlyArray<string> => {
  if (!isDraft(draft)) return ["it is no draft of a contract"]
  const named = draft.requirements.map(({ id }) => id)
  const said: Array<string> = []
  for (const id of ids) if (!named.includes(id)) said.push(`the requirement ${id} is missing`)
  for (const id of named) if (!ids.includes(id)) said.push(`nothing shows the requirement ${id}`)
  const { expiryMinutes, requestsPerHour, tokenBits } = draft.numbers
  if (tokenBits < numbers.tokenBits) said.push(`a token must have ${numbers.tokenBits} bits or more`)
  if (expiryMinutes !== numbers.expiryMinutes) said.push(`a token must expire after ${numbers.expiryMinutes} minutes`)
  if (requestsPerHour !== numbers.requestsPerHour) {
    said.push(`an account must have ${numbers.requestsPerHour} requests in an hour`)
  }
  for (const name of ["deadlineMillis", "tokens", "toolCalls"] as const) {
    if (draft.limits[name] !== limits[name]) said.push(`limits.${name} must be ${limits[name]}`)
  }
  return said
}

/** @since 0.1.0 */
export interface Approved extends Schema.Schema.Type<typeof Approved> {}

/**
 * A contract that people are asked about, and that all work goes by once they have approved it.
 *
 * **Details**
 *
 * - `digest`: of the contract in full, as `Contract.digest` has it; `contract`: that contract.
 *
 * @category models
 * @since 0.1.0
 */
export const Approved = Schema.Struct({
  version: Schema.Int,
  digest: Schema.String,
  contract: Contract.Contract,
  risks: Schema.Array(Schema.String)
})

/** @since 0.1.0 */
export interface Brief extends Schema.Schema.Type<typeof Brief> {}

/**
 * A contract as somebody who works under it reads it. What it may touch and spend is not for it to read: it is enforced.
 *
 * @category models
 * @since 0.1.0
 */
export const Brief = Schema.Struct({
  version: Schema.Int,
  digest: Schema.String,
  objective: Schema.String,
  constraints: Schema.Array(Schema.String),
  requirements: Schema.Array(Schema.String)
})

/**
 * The brief of a contract with the requirements of these ids.
 *
 * @category conversions
 * @since 0.1.0
 */
export const briefOf = (
  { contract, digest, version }: Approved,
  statements: Readonly<Record<string, string>>
): Brief => {
  const { constraints, definitionOfDone, objective } = contract
  const requirements = definitionOfDone
    .filter(({ id }) => Object.hasOwn(statements, id))
    .map(({ id, statement }) => `${id}: ${statement}`)
  return { version, digest, objective, constraints, requirements }
}

/**
 * A point of a definition of done for each of these.
 *
 * @category conversions
 * @since 0.1.0
 */
export const doneWhen = (statements: Readonly<Record<string, string>>) =>
  Object.entries(statements).map(([id, statement]) => ({ id, statement, mandatory: true, evidence: true }))
