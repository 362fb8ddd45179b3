/**
 * Secrets that a text shows by their form: tokens of providers, credentials in URLs and headers, private keys, numbers.
 *
 * No pattern can be made slow by a hostile text: a repetition is bounded, or nothing has to follow it and what it takes
 * cannot begin another match.
 */
import { looksSecret } from "./keys.ts"
import { bankAccounts, bsn, cards, isBsn, isSteuerId, socialSecurity, type Span, steuerId } from "./numbers.ts"

/** What finds one kind of secret. */
export interface Finder {
  readonly rule: string
  readonly spans: (text: string) => ReadonlyArray<Span>
}

/** What a text must have so that it is worth while to look at it with the finders of a group. */
interface Group {
  readonly mayHold: (text: string) => boolean
  readonly finders: ReadonlyArray<Finder>
}

/**
 * Finds by a pattern: all of a match, or what its group `secret` holds.
 *
 * @param accepts whether what was found is a secret. Default: it is.
 */
export const finder = (rule: string, pattern: RegExp, accepts?: (secret: string) => boolean): Finder => {
  const partial = pattern.source.includes("(?<secret>")
  const flags = new Set([...pattern.flags, "g", ...(partial ? ["d"] : [])])
  flags.delete("y")
  const every = new RegExp(pattern.source, [...flags].join(""))
  return {
    rule,
    spans: (text) => {
      const spans: Array<Span> = []
      for (const match of text.matchAll(every)) {
        const span: Span | undefined = partial
          ? match.indices?.groups?.["secret"]
          : [match.index, match.index + match[0].length]
        if (span === undefined || span[0] === span[1]) continue
        if (accepts === undefined || accepts(text.slice(...span))) spans.push(span)
      }
      return spans
    }
  }
}

const hasDigit = (text: string): boolean => /\d/.test(text)

/** Whether a text is base64 of `user:password`. */
const isBasic = (text: string): boolean => {
  try {
    return /^[\x20-\x7e\u0080-\u00ff]{0,256}:/.test(atob(text))
  } catch {
    return false
  }
}

const keyEnd = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
const keyBegin = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g

/** Private keys; one of which the end is cut off goes to the end of the text. */
const privateKeys = (text: string): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  keyBegin.lastIndex = 0
  for (let begin = keyBegin.exec(text); begin !== null; begin = keyBegin.exec(text)) {
    keyEnd.lastIndex = keyBegin.lastIndex
    const end = keyEnd.exec(text) === null ? text.length : keyEnd.lastIndex
    spans.push([begin.index, end])
    keyBegin.lastIndex = end
  }
  return spans
}

/**
 * The forms of tokens. Each may begin only where no character of its own kind stands before it.
 */
const forms: ReadonlyArray<readonly [rule: string, pattern: RegExp, accepts?: (secret: string) => boolean]> = [
  [
    "bearer-token",
    /(?<![A-Za-z0-9])Bearer[ \t]{1,4}(?<secret>[A-Za-z0-9._~+/=-]{8,})/gi,
    (text) => hasDigit(text) || text.length >= 24
  ],
  ["basic-auth", /(?<![A-Za-z0-9])Basic[ \t]{1,4}(?<secret>[A-Za-z0-9+/]{6,}={0,2})/gi, isBasic],
  ["jwt", /(?<![\w.-])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*){1,3}/g],
  ["api-key", /(?<![\w-])sk-[\w-]{16,}/g, (text) => hasDigit(text)],
  [
    "api-key",
    /(?<![\w-])(?:xai|gsk|pplx|r8|hf|sk_ant|lin_api|ntn|figd|dop_v1|nvapi)[-_][\w-]{20,}/g,
    (text) => hasDigit(text)
  ],
  ["stripe-key", /(?<!\w)(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{10,}/g],
  ["github-token", /(?<!\w)(?:gh[opsur]_[A-Za-z0-9_]{20,}|github_pat_\w{20,})/g],
  ["gitlab-token", /(?<![\w-])gl(?:pat|dt|rt|cbt|ptt|soat|ft|imt|agent)-[\w.-]{16,}/g],
  ["slack-token", /(?<![\w-])(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}/g],
  ["npm-token", /(?<!\w)npm_[A-Za-z0-9]{30,}/g],
  ["pypi-token", /(?<![\w-])pypi-[\w-]{16,}/g],
  ["shopify-token", /(?<!\w)shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,64}/g],
  ["vault-token", /(?<![\w.])hv[bsr]\.[\w-]{20,}/g],
  ["sendgrid-key", /(?<![\w.])SG\.[\w-]{16,64}\.[\w-]{16,}/g],
  ["age-key", /(?<!\w)AGE-SECRET-KEY-1[A-Z0-9]{20,}/g],
  ["aws-key", /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])/g],
  ["google-key", /(?<![\w-])(?:AIza[\w-]{35}|GOCSPX-[\w-]{20,64}|ya29\.[\w.-]{20,})/g],
  ["telegram-token", /(?<![\w:])\d{8,10}:AA[\w-]{33}(?![\w-])/g]
]

/** Where tokens begin, found by their rarest character. */
const tokenSign =
  /[_.JKSBCIA-](?<=(?:sk|[sr]k_live|[sr]k_test|whsec|gh[opsur]|_pat|gl(?:pat|dt|rt|cbt|ptt|soat|ft|imt|agent)|xox[a-z]|xapp|npm|pypi|shp(?:at|ca|pa|ss)|xai|gsk|pplx|r8|hf|sk_ant|lin_api|ntn|figd|dop_v1|nvapi|GOCSPX|AGE-SECRET)[_-]|eyJ|A[KSBC]|AI|(?:hv[bsr]|SG|ya29)\.|:A)|[Bb](?=earer|asic|EARER|ASIC)/

/** Nine digits or more, which may be grouped. */
const numberSign = /\d[ -]?\d[ -]?\d[ -]?\d[ -]?\d[ -]?\d[ -]?\d[ -]?\d[ -]?\d/

const query =
  /[?&;](?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|signature|sig|key|code|auth|st|hmac)=(?<secret>[^&\s"'#<>;]{6,4096})/gi

const groups: ReadonlyArray<Group> = [
  {
    mayHold: (text) => text.includes("-----BEGIN"),
    finders: [{ rule: "private-key", spans: privateKeys }]
  },
  {
    mayHold: (text) => text.includes("@") && text.includes("://"),
    finders: [
      finder("url-credentials", /:\/\/[^\s/:@"'<>]{0,256}:(?<secret>[^\s/@"'<>]{1,1024})@/g),
      finder("url-credentials", /:\/\/(?<secret>[^\s/:@"'<>]{16,1024})@/g, hasDigit)
    ]
  },
  {
    mayHold: (text) => text.includes("=") && text.includes("://"),
    finders: [finder("url-secret", query, (text) => text.length >= 16 && looksSecret(text))]
  },
  {
    mayHold: (text) => text.includes("hooks.slack.com"),
    finders: [
      finder("slack-webhook", /hooks\.slack\.com\/(?:services|workflows|triggers)\/(?<secret>[\w/+-]{16,256})/g)
    ]
  },
  { mayHold: (text) => tokenSign.test(text), finders: forms.map((form) => finder(...form)) },
  {
    mayHold: (text) => numberSign.test(text),
    finders: [
      { rule: "card-number", spans: cards },
      finder("national-id", socialSecurity),
      finder("national-id", bsn, isBsn),
      finder("national-id", steuerId, isSteuerId),
      { rule: "iban", spans: bankAccounts }
    ]
  },
  {
    mayHold: (text) => text.includes(" -u ") || text.includes(" --user "),
    finders: [
      finder(
        "basic-auth",
        /(?:^|\s)(?:-u|--user)[ \t]{1,4}["']?[^\s:"'/]{1,128}:(?<secret>[^\s"']{1,256})/g,
        (text) => !/^\d{1,8}$/.test(text)
      )
    ]
  }
]

/** Personal data beyond numbers: addresses and telephone numbers. */
const personal: Group = {
  mayHold: (text) => text.includes("@") || text.includes("+"),
  finders: [
    finder("email", /(?<![\w.+%-])[\w.+%-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,24}(?![\w-])/g),
    finder("phone", /(?<![\w+])\+[1-9](?:[ ()./-]{0,2}\d){7,14}(?!\d)/g)
  ]
}

/** Finds what texts show by their form, with the rules that are kept; the finders that a text calls for. */
export const finding = (
  without: ReadonlySet<string>,
  withPersonal: boolean
): ((text: string) => ReadonlyArray<Finder>) => {
  const kept = [...groups, ...(withPersonal ? [personal] : [])]
    .map(({ finders, mayHold }) => ({ mayHold, finders: finders.filter(({ rule }) => !without.has(rule)) }))
    .filter(({ finders }) => finders.length > 0)
  return (text) => {
    let called: Array<Finder> | undefined
    for (const { finders, mayHold } of kept) if (mayHold(text)) (called ??= []).push(...finders)
    return called ?? none
  }
}

const none: ReadonlyArray<Finder> = []
