/**
 * Hosts as they are compared, patterns of them, and which of them are nobody's business outside.
 */

/** A host in small letters, without a port and a final dot; `undefined` for what is none. Addresses are in their usual form. */
export const hostOf = (given: unknown): string | undefined => {
  if (typeof given !== "string" || given === "" || given.length > 253 || /[\s/\\?#@%]/.test(given)) return undefined
  const bare = given.includes(":") && /^[0-9a-f:.]+$/i.test(given) && given.split(":").length > 2 ? `[${given}]` : given
  try {
    const { hostname } = new URL(`http://${bare}/`)
    const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "")
    return host === "" ? undefined : host
  } catch {
    return undefined
  }
}

/** A host, or `*.` and a domain: every host below it. */
export type Pattern = string

/** A pattern as it is compared; `undefined` for what is none. */
export const patternOf = (given: unknown): Pattern | undefined => {
  if (typeof given !== "string") return undefined
  if (!given.startsWith("*.")) return given.includes("*") ? undefined : hostOf(given)
  const domain = given.slice(2)
  const host = domain.includes("*") || !domain.includes(".") ? undefined : hostOf(domain)
  return host === undefined || isAddress(host) ? undefined : `*.${host}`
}

export const fits = (host: string, pattern: Pattern): boolean =>
  pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1 : host === pattern

/** The pattern that says the most of a host: the host itself, then the longest domain. */
export const closest = (host: string, patterns: Iterable<Pattern>): Pattern | undefined => {
  let found: Pattern | undefined
  for (const pattern of patterns) {
    if (pattern === host) return pattern
    if (fits(host, pattern) && pattern.length > (found?.length ?? 0)) found = pattern
  }
  return found
}

const v4 = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/

const isAddress = (host: string): boolean => host.includes(":") || v4.test(host)

/** Whether an address of four numbers leads to this machine, to a network that is nobody else's, or to no single host. */
const isPrivateV4 = ([a = 0, b = 0, c = 0]: ReadonlyArray<number>): boolean =>
  a === 0 ||
  a === 10 ||
  a === 127 ||
  a >= 224 ||
  (a === 100 && b >= 64 && b <= 127) ||
  (a === 169 && b === 254) ||
  (a === 172 && b >= 16 && b <= 31) ||
  (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)))) ||
  (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
  (a === 203 && b === 0 && c === 113)

/** The eight numbers of an address as a URL has it: hexadecimal, and at most one gap. */
const groupsOf = (host: string): ReadonlyArray<number> => {
  const [head = "", tail] = host.split("::")
  const numbers = (text: string) => (text === "" ? [] : text.split(":").map((each) => Number.parseInt(each, 16)))
  const first = numbers(head)
  const last = tail === undefined ? [] : numbers(tail)
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last]
}

const isPrivateV6 = (host: string): boolean => {
  const groups = groupsOf(host)
  const [a = 0] = groups
  // Only what is given out to everybody is public: 2000::/3.
  if ((a & 0xe000) !== 0x2000) return true
  const embedded = (high: number | undefined = 0, low: number | undefined = 0) => [high >> 8, high & 255, low >> 8]
  // 6to4 and Teredo lead to an address of four numbers.
  if (a === 0x2002) return isPrivateV4(embedded(groups[1], groups[2]))
  return a === 0x2001 && (groups[1] === 0 || groups[1] === 0xdb8)
}

const own = ["localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "arpa", "test", "invalid"]

/** Whether a host is this machine, or in a network that is nobody else's. A name without a dot is. */
export const isPrivate = (host: string): boolean => {
  if (host.includes(":")) return isPrivateV6(host)
  const address = v4.exec(host)
  if (address !== null) return isPrivateV4(address.slice(1).map(Number))
  const labels = host.split(".")
  return labels.length === 1 || own.includes(labels.at(-1) ?? "")
}
