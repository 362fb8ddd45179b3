/**
 * Takes secrets out of data before it is written down: by the names beside them, by their form, by marks, by own rules.
 *
 * A `Redaction` is a value: it is made of the default rules and of one's own, and is asked about texts and about plain
 * data. What it takes out is replaced by the name of the rule, as in `[redacted:github-token]`. It is provided through
 * {@link Redaction}, which has the default rules where nothing else is provided.
 *
 * | rules | take out |
 * |---|---|
 * | `password` `secret` `token` `api-key` `secret-key` `private-key` `authorization` `cookie` `session-id` `credentials` `card-code` | the value of a field, a header, a variable or a flag with such a name, in any casing: `dbPassword`, `X-API-KEY`, `--client-secret` |
 * | `bearer-token` `basic-auth` `jwt` `private-key` | credentials by their form in any text |
 * | `api-key` `github-token` `gitlab-token` `slack-token` `slack-webhook` `npm-token` `pypi-token` `aws-key` `google-key` `stripe-key` `sendgrid-key` `shopify-token` `vault-token` `age-key` `telegram-token` | tokens of providers by their form |
 * | `url-credentials` `url-secret` | what stands before the `@` of a URL; signatures and keys among its parameters |
 * | `card-number` `iban` `national-id` | numbers whose check digits are right: cards, bank accounts; numbers of persons of the United States as they are printed, of the Netherlands and Germany where the text names them |
 * | `email` `phone` | only with `personal` |
 *
 * **Details**
 *
 * - In data, lists and objects without a class are walked through, with the names of fields and with texts that are JSON
 *   themselves. A `Redacted` of Effect is taken out wherever it is (`secret`).
 * - Numbers and texts are replaced by a text. `true`, `false` and `null` say nothing and stay, and so do counts under a name
 *   such as `tokens`, templates such as `${TOKEN}`, and words such as `required`.
 *
 * **Invariants**
 *
 * - X1. What holds no secret comes back as the same reference.
 * - X2. A second time changes nothing.
 * - X3. It never throws, whatever it is given, and its work is linear in the size of that. A text becomes at most twice as
 *   long, and 256 characters more. What cannot be read, is too deep or too large, or consists of little but secrets, is
 *   taken out as a whole (`unreadable`, `too-deep`, `too-large`, `crowded`).
 *
 * **Gotchas**
 *
 * Rules find what looks like a secret. A password in a sentence, or a text that was encoded, does not: hand secrets over by
 * reference, and mark what is one with {@link secret} or `Redacted`.
 *
 * **Example** (The default rules)
 *
 * ```ts
 * import { Redaction } from "espalier"
 *
 * const { text, value } = Redaction.defaults
 *
 * text("GET /repos with ghp_16C7e42F292c6912E7710c838347Ae178B4a") // => "GET /repos with [redacted:github-token]"
 * value({ user: "ada", dbPassword: "x", tokens: 512 }) // => { user: "ada", dbPassword: "[redacted:password]", tokens: 512 }
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"

import { atAGlance } from "./internal/redaction/glance.ts"
import { asJson } from "./internal/redaction/json.ts"
import { named, type Named } from "./internal/redaction/keys.ts"
import { secretMark } from "./internal/redaction/mark.ts"
import { finder, finding, type Finder } from "./internal/redaction/patterns.ts"
import { redactText, type TextRules } from "./internal/redaction/texts.ts"
import { redactValue, type ValueRules } from "./internal/redaction/values.ts"

const TypeId = "~espalier/Redaction"

/**
 * Rules to take secrets out by.
 *
 * **Details**
 *
 * - `text`: a text without its secrets.
 * - `value`: data without its secrets. What was JSON is JSON afterwards.
 *
 * @category models
 * @since 0.1.0
 */
export interface Redaction {
  readonly [TypeId]: typeof TypeId
  readonly text: (text: string) => string
  readonly value: {
    (value: Schema.Json): Schema.Json
    (value: unknown): unknown
  }
}

/**
 * A rule of one's own, made by {@link rule}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rule {
  readonly [TypeId]: "Rule"
  readonly name: string
  readonly by:
    | { readonly _tag: "Pattern"; readonly finder: Finder }
    | { readonly _tag: "Key"; readonly test: (key: string) => boolean }
    | { readonly _tag: "Test"; readonly test: (value: unknown, key: string) => boolean }
}

const rulePattern = /^[a-z0-9][a-z0-9-]{0,63}$/

/**
 * Makes a rule.
 *
 * **Details**
 *
 * - `name`: what stands in the place of the secret; small letters, digits and `-`, at most 64.
 * - One of these:
 *   - `pattern`: each match in a text is taken out; with a group `secret`, only what that group holds.
 *   - `key`: the value of a field, a header or a variable with this name is taken out; a text is compared without regard to
 *     casing and separators.
 *   - `test`: is asked about every value, with the name of its field (`""` for an item of a list); what it says yes to is
 *     taken out. One that throws has said yes.
 *
 * **Gotchas**
 *
 * - Throws a `RangeError` for another name, and unless there is exactly one of the three.
 * - A pattern runs over every text, and only its author can keep it from being slow: bound its repetitions.
 *
 * @category constructors
 * @since 0.1.0
 */
export const rule = (
  options: { readonly name: string } & (
    | { readonly pattern: RegExp; readonly key?: undefined; readonly test?: undefined }
    | { readonly key: string | RegExp; readonly pattern?: undefined; readonly test?: undefined }
    | {
        readonly test: (value: unknown, key: string) => boolean
        readonly pattern?: undefined
        readonly key?: undefined
      }
  )
): Rule => {
  const { key, name, pattern, test } = options
  const refuse = (parameter: string, expectation: string): never => {
    throw new RangeError(`Redaction.rule: ${parameter} must be ${expectation}`)
  }
  if (typeof name !== "string" || !rulePattern.test(name)) {
    return refuse("name", `small letters, digits and '-', at most 64, got ${JSON.stringify(name)}`)
  }
  const made = (by: Rule["by"]): Rule => ({ [TypeId]: "Rule", name, by })
  const given = [pattern, key, test].filter((each) => each !== undefined)
  if (given.length !== 1) return refuse("options", `exactly one of pattern, key and test, got ${given.length}`)
  if (pattern !== undefined) {
    return pattern instanceof RegExp
      ? made({ _tag: "Pattern", finder: finder(name, pattern) })
      : refuse("pattern", `a RegExp, got a ${typeof pattern}`)
  }
  if (test !== undefined) {
    return typeof test === "function"
      ? made({ _tag: "Test", test })
      : refuse("test", `a function, got a ${typeof test}`)
  }
  if (typeof key === "string" && bare(key) !== "") {
    const own = bare(key)
    return made({ _tag: "Key", test: (name) => bare(name) === own })
  }
  if (!(key instanceof RegExp))
    return refuse("key", `a text with a letter or a digit, or a RegExp, got a ${typeof key}`)
  const own = new RegExp(key.source, key.flags.replaceAll(/[gy]/g, ""))
  return made({ _tag: "Key", test: (name) => own.test(name) })
}

const bare = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "")

/**
 * What rules are made of.
 *
 * **Details**
 *
 * - `rules`: one's own; they go before the default rules. Default none.
 * - `without`: names of default rules that are left out. Default none.
 * - `personal`: whether addresses and telephone numbers are taken out, too. Default false.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly rules?: ReadonlyArray<Rule> | undefined
  readonly without?: ReadonlyArray<string> | undefined
  readonly personal?: boolean | undefined
}

/** A shorter name holds no token. */
const shortestNamedSecret = 16

/** Texts that are JSON are read as such this deep within each other. */
const jsonLevels = 3

/**
 * Makes rules: the default ones, with one's own before them.
 *
 * **Example** (A rule of one's own)
 *
 * ```ts
 * import { Redaction } from "espalier"
 *
 * const { text } = Redaction.make({ rules: [Redaction.rule({ name: "ticket", pattern: /\bINC-\d{6}\b/ })] })
 *
 * text("see INC-004711") // => "see [redacted:ticket]"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Redaction => {
  const { personal = false, rules = [] } = options
  const without = new Set(options.without)
  const own = rules.flatMap(({ by }) => (by._tag === "Pattern" ? [by.finder] : []))
  const keys = rules.flatMap(({ by, name }) => (by._tag === "Key" ? [{ said: strong(name), test: by.test }] : []))
  const tests = rules.flatMap(({ by, name }) => (by._tag === "Test" ? [{ rule: name, test: by.test }] : []))
  const naming = (name: string): Named | undefined => {
    // What was put into a name is no part of it.
    if (keys.length > 0 && !name.includes("[redacted:")) for (const { said, test } of keys) if (test(name)) return said
    const said = named(name)
    return said === undefined || without.has(said.rule) ? undefined : said
  }
  const shared = { own, naming, finders: finding(without, personal), mayHold: personal ? always : atAGlance }
  const cards = !without.has("card-number")

  const reading = (level: number): ValueRules => {
    const rules: TextRules = { ...shared, json: level < jsonLevels ? asJson(reading(level + 1)) : () => undefined }
    const text = (text: string) => redactText(text, rules)
    return {
      text,
      name: (name) => (name.length < shortestNamedSecret && own.length === 0 ? name : text(name)),
      naming,
      tests,
      cards
    }
  }
  const outermost = reading(0)
  return {
    [TypeId]: TypeId,
    text: outermost.text,
    value: (<A>(value: A): A => redactValue(value, outermost) as A) as Redaction["value"]
  }
}

const always = (): boolean => true

const strong = (rule: string): Named => ({ rule, kind: "strong" })

/**
 * The default rules.
 *
 * @category constructors
 * @since 0.1.0
 */
export const defaults: Redaction = make()

/**
 * Takes nothing out.
 *
 * **When to use**
 *
 * Where nothing is kept, as in a test that looks at what went in.
 *
 * @category constructors
 * @since 0.1.0
 */
export const none: Redaction = {
  [TypeId]: TypeId,
  text: (text) => text,
  value: (<A>(value: A): A => value) as Redaction["value"]
}

/**
 * The rules of whatever is written down around this effect. Default: {@link defaults}.
 *
 * @category services
 * @since 0.1.0
 */
export const Redaction = Context.Reference<Redaction>("espalier/Redaction", { defaultValue: () => defaults })

/**
 * Provides rules, as {@link make} makes them.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options | undefined): Layer.Layer<never> => Layer.sync(Redaction, () => make(options))

/**
 * Marks a schema: what it encodes to is taken out wherever a run writes it down.
 *
 * **Details**
 *
 * It sets the annotation {@link secretKey} to `true`, which can be set on a schema or on a field (`annotateKey`), too. A
 * schema of `Redacted` values needs no mark.
 *
 * **Gotchas**
 *
 * The text that stands in its place has to fit where the value is read again: mark a text, or make the field optional.
 *
 * @category annotations
 * @since 0.1.0
 */
export const secret = <S extends Schema.Top>(schema: S): S["Rebuild"] => schema.annotate({ [secretKey]: true })

/**
 * The annotation that {@link secret} sets.
 *
 * @category annotations
 * @since 0.1.0
 */
export const secretKey = secretMark
