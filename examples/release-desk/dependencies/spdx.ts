/**
 * What a licence expression asks of those who ship the package.
 *
 * **Details**
 *
 * An expression is SPDX: `MIT`, `(MIT OR GPL-3.0-only)`, `Apache-2.0 WITH LLVM-exception`, and the loose names that
 * people write instead. `OR` is the licensee's choice, so the lightest side counts; `AND` asks for both, so the
 * heaviest does.
 *
 * @since 0.1.0
 */

/**
 * What a licence asks, the lightest first.
 *
 * **Details**
 *
 * - `weak-copyleft`: changes to the package itself must be passed on (LGPL, MPL, EPL).
 * - `copyleft`: whatever is shipped with it must be passed on (GPL, AGPL).
 * - `proprietary`: no right at all without asking.
 * - `unknown`: a name that is not known here.
 *
 * @category models
 * @since 0.1.0
 */
export type Family = "permissive" | "weak-copyleft" | "unknown" | "copyleft" | "proprietary"

const order: ReadonlyArray<Family> = ["permissive", "weak-copyleft", "unknown", "copyleft", "proprietary"]

const permissive = new Set(
  [
    "mit mit-0 mit/x11 x11 expat isc 0bsd bsd bsd-1-clause bsd-2-clause bsd-3-clause bsd-4-clause bsd-2-clause-patent",
    "bsd-3-clause-clear apache apache-2.0 apache-1.1 apache2 unlicense the-unlicense cc0 cc0-1.0 cc-by-3.0 cc-by-4.0",
    "zlib libpng blueoak-1.0.0 python-2.0 psf-2.0 psf wtfpl artistic-2.0 unicode-3.0 unicode-dfs-2016 bsl-1.0 ncsa",
    "public-domain publicdomain ofl-1.1 postgresql curl hpnd ms-pl upl-1.0 ftl zpl-2.1 openssl w3c cnri-python afl-2.1"
  ]
    .join(" ")
    .split(" ")
)

/**
 * Classifies an expression.
 *
 * @category classifying
 * @since 0.1.0
 */
export const familyOf = (expression: string): Family => {
  const words = (expression.slice(0, 1_000).match(/[()]|[^\s()]+/g) ?? []).slice(0, 200)
  // Two stacks instead of recursion: an expression comes from outside, and may be nothing but brackets.
  const values: Array<Family> = []
  const operators: Array<string> = []
  const reduce = () => {
    const right = values.pop()
    const left = values.pop()
    const operator = operators.pop()
    if (left === undefined || right === undefined) return
    const [light, heavy] = order.indexOf(left) <= order.indexOf(right) ? [left, right] : [right, left]
    values.push(operator === "OR" ? light : heavy)
  }
  const isExpression = words.some((word) => /^(AND|OR|WITH)$/i.test(word)) || words.length === 1
  if (!isExpression) return named(expression.replace(/[()]/g, " ").trim())
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ""
    const upper = word.toUpperCase()
    if (word === "(") operators.push("(")
    else if (word === ")") {
      while (operators.length > 0 && operators.at(-1) !== "(") reduce()
      operators.pop()
    } else if (upper === "AND" || upper === "OR") {
      const binds = upper === "OR" ? ["AND", "OR"] : ["AND"]
      while (binds.includes(operators.at(-1) ?? "")) reduce()
      operators.push(upper)
    } else if (upper === "WITH") {
      const base = values.pop()
      // An exception is there to loosen: a linking exception makes the GPL a licence for the package alone.
      if (base !== undefined) values.push(base === "copyleft" ? "weak-copyleft" : base)
      at++
    } else values.push(named(word))
  }
  while (operators.length > 0) {
    if (operators.at(-1) === "(") operators.pop()
    else reduce()
  }
  return values.length === 1 ? (values[0] ?? "unknown") : "unknown"
}

const named = (name: string): Family => {
  const plain = name
    .toLowerCase()
    .replace(/^the /, "")
    .replace(/[\s_]+/g, "-")
    .replace(/[*+,;.]+$/, "")
  if (permissive.has(plain)) return "permissive"
  if (plain === "unlicensed" || plain === "proprietary" || plain === "commercial") return "proprietary"
  if (/^(agpl|affero|gnu-affero|sspl)/.test(plain)) return "copyleft"
  if (/^(lgpl|gnu-lesser|gnu-library|mpl|mozilla-public|epl|eclipse-public|cddl|eupl|cpl)/.test(plain))
    return "weak-copyleft"
  if (/^(gpl|gnu-general|gnu-gpl|cc-by-sa)/.test(plain)) return "copyleft"
  if (
    /^(mit|isc|bsd|apache|apache-software|zlib|python-software-foundation|new-bsd|modified-bsd|simplified-bsd|0bsd|\d-clause-bsd)(-|$)/.test(
      plain
    )
  ) {
    return "permissive"
  }
  return "unknown"
}

/**
 * Which licence the text of a licence file is, or `undefined` when it is not one of the usual ones.
 *
 * @category classifying
 * @since 0.1.0
 */
export const textOf = (text: string): string | undefined => {
  const words = text.slice(0, 6_000).replace(/\s+/g, " ").toLowerCase()
  if (words.includes("gnu affero general public license")) return "AGPL-3.0"
  if (words.includes("gnu lesser general public license") && words.indexOf("gnu lesser") < 600) return "LGPL"
  if (words.includes("gnu general public license") && words.indexOf("gnu general") < 600) return "GPL"
  if (words.includes("mozilla public license")) return "MPL-2.0"
  if (words.includes("apache license") && words.includes("version 2.0")) return "Apache-2.0"
  if (words.includes("free and unencumbered software released into the public domain")) return "Unlicense"
  if (words.includes("permission is hereby granted, free of charge")) return "MIT"
  if (words.includes("permission to use, copy, modify, and/or distribute")) {
    return words.includes("copyright notice and this permission notice") ? "ISC" : "0BSD"
  }
  if (words.includes("redistribution and use in source and binary forms")) return "BSD"
  return undefined
}
