/**
 * Who somebody is: a person, a service, an agent or the system itself, and the texts that name them.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { Text } from "./fields.ts"
import { decoder, Problem, sentences } from "./problems.ts"

/**
 * What kind of somebody it is.
 *
 * @category models
 * @since 0.1.0
 */
export const Kind = Schema.Literals(["human", "service", "agent", "system"])

/**
 * @category models
 * @since 0.1.0
 */
export type Kind = typeof Kind.Type

const longest = 200

const plainText = Text.check(
  Schema.isMaxLength(longest, { expected: `a text of at most ${longest} characters` }),
  Schema.isPattern(/^(?!.*[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])/su, {
    expected: "a text without control characters and others that cannot be seen"
  }),
  Schema.isPattern(/^(?:\S|\S.*\S)$/su, { expected: "a text without blanks at its ends" })
)

/**
 * The id of somebody.
 *
 * **Details**
 *
 * 1 to 200 characters, none of which is a control character or one that cannot be seen; no blank at either end; no kind
 * such as `agent:` before it, and neither `user:`, `group:` nor `role:`.
 *
 * @category models
 * @since 0.1.0
 */
export const Id = plainText.check(
  Schema.isPattern(/^(?!(?:human|user|service|agent|system|group|role):)/i, {
    expected: "an id without a kind before it"
  })
)

const isId = Schema.is(Id)

/**
 * A text that names somebody: an id is one of a person, and `service:x`, `agent:x`, `system:x` and `human:x` name the kind,
 * too.
 *
 * @category models
 * @since 0.1.0
 */
export const Name = plainText.check(
  Schema.makeFilter((text: string) => isId(parts(text).id), { expected: "the name of one, such as ann or service:x" })
)

/** @since 0.1.0 */
export interface Principal extends Schema.Schema.Type<typeof Principal> {}

/**
 * Somebody who decides, as whoever let them in says it.
 *
 * **Details**
 *
 * - `kind`, `id`: who it is. Two of different kinds are never the same.
 * - `authn`: how it was made sure of, such as `oidc` or `slack`; absent where nobody has.
 * - `onBehalfOf`: for whom it acts, as {@link principal} reads it: `ann`, `service:mailer`.
 *
 * @category models
 * @since 0.1.0
 */
export const Principal = Schema.Struct({
  kind: Kind,
  id: Id,
  authn: Schema.optionalKey(plainText),
  onBehalfOf: Schema.optionalKey(Name)
})

/**
 * Something that names nobody. The message names the first problem, `problems` has them all.
 *
 * @category errors
 * @since 0.1.0
 */
export class PrincipalInvalid extends Schema.TaggedError<PrincipalInvalid>("espalier/run/Reviewers/PrincipalInvalid")(
  "PrincipalInvalid",
  { problems: Schema.Array(Problem) }
) {
  override get message(): string {
    return `PRINCIPAL_INVALID: ${sentences(this.problems, "who decides")}`
  }
}

const kindPattern = /^(?:user:)?(?:(human|service|agent|system):)?(.*)$/isu

/** What a text says, whether or not it may be an id. */
const parts = (text: string): { readonly kind: Kind; readonly id: string } => {
  const [, kind = "human", id = text] = kindPattern.exec(text) ?? []
  return { kind: kind.toLowerCase() as Kind, id }
}

const decode = decoder(Principal, "error")

/**
 * Reads who somebody is.
 *
 * **Details**
 *
 * - A text is the id of a person: `ann`. `service:x`, `agent:x`, `system:x` and `human:x` name the kind, too. A
 *   `user:` before it says nothing more.
 * - Anything else is checked as a {@link Principal}.
 *
 * Fails with {@link PrincipalInvalid}.
 *
 * **Example** (Texts that name somebody)
 *
 * ```ts
 * import { Result } from "effect"
 * import { Reviewers } from "espalier/run"
 *
 * Result.getOrThrow(Reviewers.principal("ann")) // => { kind: "human", id: "ann" }
 * Result.getOrThrow(Reviewers.principal("agent:critic")) // => { kind: "agent", id: "critic" }
 * ```
 *
 * @category principals
 * @since 0.1.0
 */
export const principal = (by: string | Principal): Result.Result<Principal, PrincipalInvalid> =>
  Result.mapError(decode(typeof by === "string" ? parts(by) : by), (problems) => new PrincipalInvalid({ problems }))

/**
 * A text that {@link principal} reads as this kind and id: `ann`, `agent:critic`.
 *
 * @category principals
 * @since 0.1.0
 */
export const nameOf = ({ id, kind }: Pick<Principal, "kind" | "id">): string =>
  kind === "human" ? id : `${kind}:${id}`

/**
 * Whoever a text or a principal names. Unlike {@link principal} it reads everything: what names nobody is a person whom
 * nobody knows.
 *
 * @since 0.1.0
 */
export const somebody = (who: string | Principal): Principal => (typeof who === "string" ? parts(who) : who)

/**
 * By what a right is looked up: the same for the same kind and id only.
 *
 * @since 0.1.0
 */
export const keyOf = (who: string | Principal): string => {
  const { id, kind } = somebody(who)
  return `${kind}:${id}`
}

/**
 * Whom a key names.
 *
 * @since 0.1.0
 */
export const nameOfKey = (key: string): string => nameOf(parts(key))

/**
 * By what two are held to be the same when that costs a right: casing, forms of characters and what cannot be seen make no
 * difference.
 *
 * @since 0.1.0
 */
export const folded = (key: string): string =>
  key
    .normalize("NFKC")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "")
    .replaceAll(/\s+/gu, " ")
    .trim()
    .toLowerCase()

/**
 * All that somebody is: they themselves, and the one for whom they act, each {@link folded}.
 *
 * @since 0.1.0
 */
export const identities = (who: string | Principal): ReadonlyArray<string> => {
  const { onBehalfOf } = somebody(who)
  return [keyOf(who), ...(onBehalfOf === undefined ? [] : [keyOf(onBehalfOf)])].map(folded)
}

/** Who has voted: `principal` is more of `by`; `via`: in whose place. */
interface Voter {
  readonly by: string
  readonly principal?: Principal | undefined
  readonly via?: string | undefined
}

/**
 * Whether two votes are those of one: of the same, of one who acts for the other, or by the same right.
 *
 * @since 0.1.0
 */
export const isSameVoter = (one: Voter, other: Voter): boolean => {
  const all = ({ by, principal, via }: Voter) => [
    ...identities(principal ?? by),
    ...(via === undefined ? [] : identities(via))
  ]
  const others = all(other)
  return all(one).some((each) => others.includes(each))
}
