/**
 * Which names stand for a secret: of fields, headers, environment variables and flags, in any casing and with any
 * separators.
 */

/**
 * What a name says about the value beside it.
 *
 * - `strong`: whatever it is, it is a secret. `token`: a text without blanks of six characters or more is.
 * - `weak`: a text that looks like one is. `digits`: a text or a number of twelve digits or more is.
 */
export interface Named {
  readonly rule: string
  readonly kind: "strong" | "token" | "weak" | "digits"
}

/** A longer name is none. */
export const longestName = 64

/** Said after the name of what it is a form of. */
const forms = new Set(
  "value hash hashed plain plaintext raw confirm confirmation repeat again new old current b64 base64 encoded pem text string str env header".split(
    " "
  )
)

/** Tokens of another trade: of lists that are paged, of models, of tasks that can be cancelled. */
const otherTokens = new Set(
  "next page continuation sync resume stop start end first last eos bos pad unk sep mask cls special per cancellation cancel max min sub total input output prompt completion".split(
    " "
  )
)

const secretKeys = new Set(
  "api access secret private signing signature encryption decryption master account subscription auth ssh session shared license service deploy webhook hmac aes rsa".split(
    " "
  )
)

const passOwners = new Set(
  "db database user admin root smtp imap mysql pg postgres redis ftp ssh mail proxy".split(" ")
)

const of = (rule: string, kind: Named["kind"] = "strong"): Named => ({ rule, kind })

const password = of("password")
const secret = of("secret")
const token = of("token", "token")
const cookie = of("cookie")
const session = of("session-id", "token")
const card = of("card-number", "digits")

const words: ReadonlyMap<string, Named> = new Map([
  ...["password", "passwd", "pwd", "passphrase", "passcode", "passwort", "kennwort"].map(
    (word) => [word, password] as const
  ),
  // Of several things the number may be told.
  ["passwords", of("password", "token")],
  ["pass", of("password", "weak")],
  ["secret", secret],
  ["secrets", of("secret", "token")],
  ...["jwt", "csrf", "xsrf"].map((word) => [word, token] as const),
  ["bearer", of("token", "weak")],
  ["authorization", of("authorization", "token")],
  ["auth", of("authorization", "weak")],
  ["cookie", cookie],
  ["cookies", of("cookie", "token")],
  ...["credential", "credentials", "creds"].map((word) => [word, of("credentials", "weak")] as const),
  ["sid", of("session-id", "weak")],
  ...["cvv", "cvc"].map((word) => [word, of("card-code")] as const),
  ["ssn", of("national-id")]
])

/** Ends of names that are written in one word. */
const endings: ReadonlyArray<readonly [string, Named]> = [
  ["password", password],
  ["passwd", password],
  ["passphrase", password],
  ["clientsecret", secret],
  ["appsecret", secret],
  ["apikey", of("api-key")],
  ["accesskey", of("secret-key")],
  ["secretkey", of("secret-key")],
  ["privatekey", of("private-key")],
  ["authtoken", token],
  ["accesstoken", token],
  ["refreshtoken", token],
  ["idtoken", token],
  ["apitoken", token],
  ["sessiontoken", token],
  ["sessionid", session],
  ["sessid", session],
  ["creditcard", card],
  ["cardnumber", card]
]

/** The words of a name in lower case, without the numbers behind them. */
const wordsOf = (name: string): Array<string> =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.replace(/\d+$/, ""))
    .filter((word) => word !== "")

const decide = (name: string): Named | undefined => {
  if (name.includes("[")) return undefined // something was taken out of it
  const said = wordsOf(name)
  while (said.length > 1 && forms.has(said.at(-1) ?? "")) said.pop()
  const last = said.at(-1)
  if (last === undefined) return undefined
  const before = said.at(-2) ?? ""
  const known = words.get(last)
  if (known !== undefined) return last === "pass" && passOwners.has(before) ? password : known
  switch (last) {
    case "token":
      return otherTokens.has(before) ? undefined : token
    case "tokens":
      return ["access", "refresh", "auth", "api", "bearer", "session", "secret"].includes(before) ? token : undefined
    case "key":
    case "keys":
      if (!secretKeys.has(before)) return undefined
      return of(
        before === "api" ? "api-key" : before === "private" ? "private-key" : "secret-key",
        last === "key" ? "strong" : "token"
      )
    case "id":
      return before === "session" || before === "sess" ? session : undefined
    case "phrase":
      return before === "seed" || before === "recovery" || before === "pass" ? secret : undefined
    case "number":
      if (before === "security" && said.at(-3) === "social") return of("national-id")
      return before === "card" ? card : undefined
    default:
      return endings.find(([ending]) => last.endsWith(ending))?.[1]
  }
}

/** What each name that was met says; names come from code and repeat. */
const met = new Map<string, Named | undefined>()
const mostMet = 4096

/** What a name says, or nothing. */
export const named = (name: string): Named | undefined => {
  if (name.length > longestName || name.length < 3) return undefined
  const known = met.get(name)
  if (known !== undefined || met.has(name)) return known
  const decided = decide(name)
  // Names can be hostile, too: what is kept of them is bounded.
  if (met.size < mostMet) met.set(name, decided)
  return decided
}

const templates =
  /^(?:\*{1,64}|•{1,64}|x{3,64}|<[^<>]{0,64}>|\[[^[\]]{0,64}\]|\{\{?[^{}]{0,64}\}?\}|\$\{?\w{1,64}\}?|%\w{1,64}%)$/i

const verdicts = new Set(
  (
    "required optional missing invalid expired empty present absent none null nil undefined true false yes no ok set unset " +
    "string text number boolean object array any unknown redacted hidden masked secret password token basic bearer oauth " +
    "oauth2 apikey digest auto enabled disabled allowed denied granted automatic manual valid wrong weak strong failed passed"
  ).split(" ")
)

/** Whether a text in the place of a secret is none: a template, a type, a word about it. */
export const isHarmless = (value: string): boolean =>
  value.length <= 66 && (value.length === 0 || verdicts.has(value.toLowerCase()) || templates.test(value))

/** Whether a text without blanks is more than a word: digits, signs, or a change of case within it. */
export const looksSecret = (value: string): boolean => {
  const bare = value.replace(/[.,;:!?]{1,3}$/, "")
  if (bare.length < 4 || /\s/.test(bare)) return false
  return bare.length >= 24 || /\d/.test(bare) || /[a-z][A-Z]/.test(bare) || /[^A-Za-z0-9.'_-]/.test(bare)
}

/** Whether a value that stands beside a name of this kind is a secret. */
export const isSecret = (kind: Named["kind"], value: string): boolean => {
  if (isHarmless(value)) return false
  switch (kind) {
    case "strong":
      return true
    case "token":
      return (
        value.length >= 6 && !/^\d{1,5}$/.test(value) && (!/\s/.test(value) || /^[A-Za-z][\w-]{1,30} \S{6}/.test(value))
      )
    case "weak":
      return value.length >= 6 && looksSecret(value)
    case "digits":
      return /^\d(?:[ -]?\d){11,18}$/.test(value)
  }
}
