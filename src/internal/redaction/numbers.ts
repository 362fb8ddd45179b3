/**
 * Numbers that prove themselves: payment cards, bank accounts, numbers of persons. What has no checksum and no context is
 * left alone.
 */

/** A part of a text, from its first character to that after the last. */
export type Span = readonly [from: number, to: number]

const luhn = (digits: string): boolean => {
  let sum = 0
  for (let index = digits.length - 1, double = false; index >= 0; index--, double = !double) {
    const digit = digits.charCodeAt(index) - 48
    sum += double ? (digit < 5 ? 2 * digit : 2 * digit - 9) : digit
  }
  return sum % 10 === 0
}

/** Beginnings and lengths that issuers use. */
const issued =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17})$/

/** Whether digits are the number of a payment card. */
export const isCard = (digits: string): boolean => issued.test(digits) && !/^(\d)\1+$/.test(digits) && luhn(digits)

/** How the digits of a card are grouped where they are. */
const shapes = new Set(["4-4-4-4", "4-6-5", "4-6-4", "4-4-4-4-3", "4-4-4-1", "6-10", "6-13"])

/** How many groups of digits from this one on are a card; none when they are not. */
const grouped = (groups: ReadonlyArray<string>, first: number): number => {
  let shape = ""
  let digits = ""
  for (let count = 1; count <= 5 && first + count <= groups.length; count++) {
    const group = groups[first + count - 1]!
    digits += group
    if (digits.length > 19) return 0
    shape = count === 1 ? `${group.length}` : `${shape}-${group.length}`
    if ((count === 1 || shapes.has(shape)) && isCard(digits)) return count
  }
  return 0
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** Digits with at most one blank or hyphen between two of them, of the length of a card or more. */
const runs = (text: string): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  for (let from = 0; from < text.length; from++) {
    if (!isDigit(text.charCodeAt(from))) continue
    let to = from + 1
    for (;;) {
      const code = text.charCodeAt(to)
      if (isDigit(code)) to++
      else if ((code === 32 || code === 45) && isDigit(text.charCodeAt(to + 1))) to += 2
      else break
    }
    if (to - from >= 13) spans.push([from, to])
    from = to
  }
  return spans
}

const isPartOfWord = (character: string | undefined): boolean => character !== undefined && /[\w-]/.test(character)

/** Payment cards in a text: digits alone, or in the groups in which they are printed. */
export const cards = (text: string): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  for (const [index, end] of runs(text)) {
    // More digits beside it, or letters, make it something else: a hash, an id.
    if (isPartOfWord(text[index - 1]) || isPartOfWord(text[end])) continue
    const groups = text.slice(index, end).split(/[ -]/)
    const starts: Array<number> = []
    let at = index
    for (const group of groups) {
      starts.push(at)
      at += group.length + 1
    }
    for (let first = 0; first < groups.length;) {
      const count = grouped(groups, first)
      if (count > 0) {
        const last = first + count - 1
        spans.push([starts[first]!, starts[last]! + groups[last]!.length])
      }
      first += Math.max(1, count)
    }
  }
  return spans
}

/** Lengths of bank account numbers by country. */
const ibans: ReadonlyMap<string, number> = new Map(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 " +
    "GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 MC27 MD24 " +
    "ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 TL23 TN24 TR26 " +
    "UA29 VA22 VG24 XK20"
  )
    .split(" ")
    .map((each) => [each.slice(0, 2), Number(each.slice(2))])
)

/** Whether a text is the number of a bank account: the length of its country, and the remainder 1 of 97. */
export const isIban = (text: string): boolean => {
  const plain = text.replaceAll(" ", "")
  if (ibans.get(plain.slice(0, 2)) !== plain.length) return false
  let rest = 0
  for (const character of plain.slice(4) + plain.slice(0, 4)) {
    const code = character.charCodeAt(0)
    rest = code >= 65 ? (rest * 100 + code - 55) % 97 : (rest * 10 + code - 48) % 97
  }
  return rest === 1
}

const ibanPattern = /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/g

/** Bank accounts in a text. What follows in capitals may be a word, so that shorter readings are tried, too. */
export const bankAccounts = (text: string): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  for (const { 0: found, index } of text.matchAll(ibanPattern)) {
    for (let end = found.length; end >= 15; end = found.lastIndexOf(" ", end - 1)) {
      if (!isIban(found.slice(0, end))) continue
      spans.push([index, index + end])
      break
    }
  }
  return spans
}

/** A social security number of the United States, as it is printed. Those that are never given out are none. */
export const socialSecurity = /(?<![\w.-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-]|\.\d)/g

const digitsOf = (text: string): ReadonlyArray<number> => Array.from(text.replaceAll(/\D/g, ""), Number)

/** The Dutch proof by eleven. */
export const isBsn = (text: string): boolean => {
  const digits = digitsOf(text)
  if (digits.length !== 9 || digits.every((digit) => digit === 0)) return false
  const sum = digits.reduce((sum, digit, index) => sum + digit * (index === 8 ? -1 : 9 - index), 0)
  return sum % 11 === 0
}

/** The check digit of a German tax id. */
export const isSteuerId = (text: string): boolean => {
  const digits = digitsOf(text)
  if (digits.length !== 11 || digits[0] === 0) return false
  let product = 10
  for (const digit of digits.slice(0, 10)) {
    const sum = (digit + product) % 10 || 10
    product = (2 * sum) % 11
  }
  return (11 - product) % 10 === digits[10]
}

/** Dutch numbers of citizens, where the text says that it is one. */
export const bsn =
  /(?<![A-Za-z])(?:BSN|burgerservicenummer|sofinummer)(?![A-Za-z])[^\d\r\n]{0,24}(?<secret>\d{9})(?![\w-])/gi

/** German tax ids, where the text says that it is one. */
export const steuerId =
  /(?<![A-Za-z])(?:Steuer-?ID|Steuer-?Identifikationsnummer|steuerliche Identifikationsnummer|IdNr|TIN)(?![A-Za-z])[^\d\r\n]{0,24}(?<secret>\d{2}[ -]?\d{3}[ -]?\d{3}[ -]?\d{3})(?![\w-])/gi
