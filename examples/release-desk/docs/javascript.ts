/**
 * What a JavaScript or TypeScript module exports, and whether a doc comment stands before it.
 *
 * **Details**
 *
 * A scanner, not a parser: exports stand at the top level, so brackets, strings, templates, comments and regular
 * expressions are all it has to know. `oxc-parser` is exact, but native code that recurses: twenty thousand arrows,
 * conditionals or `if`s in a row overflow its stack and end the process, which no caller can catch.
 *
 * **Invariants**
 *
 * - X1. It looks at each character a bounded number of times and holds no recursion.
 * - X2. It never throws.
 *
 * **Gotchas**
 *
 * `module.exports` is not read. Of `export const a = 1, b = 2` only the first is seen.
 *
 * @since 0.1.0
 */

/**
 * A name that a module declares and exports.
 *
 * @category models
 * @since 0.1.0
 */
export interface Export {
  readonly name: string
  readonly line: number
  readonly documented: boolean
}

/**
 * What a module exports: its own, names of other modules, and everything of other modules.
 *
 * **Details**
 *
 * - `indirect`: `imported` is the name in the other module, `undefined` for its namespace.
 * - `stars`: `export * from`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Exports {
  readonly own: ReadonlyArray<Export>
  readonly indirect: ReadonlyArray<{
    readonly name: string
    readonly imported: string | undefined
    readonly target: string
  }>
  readonly stars: ReadonlyArray<string>
}

interface Token {
  readonly kind: "word" | "string" | "sign"
  readonly value: string
  readonly line: number
  readonly depth: number
  readonly documented: boolean
}

const end: Token = { kind: "sign", value: "", line: 0, depth: 0, documented: false }

const beforeOperand = new Set(
  "return typeof case in of delete void throw new else do instanceof await yield default extends".split(" ")
)

const isWordCode = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 48 && code <= 57) ||
  code === 95 ||
  code === 36 ||
  code === 35 ||
  code > 127

/** The tokens outside of brackets and directly inside one. */
const tokensOf = (text: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  const templates: Array<number> = [] // at which depth a `${` was opened
  let at = 0
  let line = 1
  let depth = 0
  let documented = false
  let last = ""
  let hopeless = 0
  const push = (kind: Token["kind"], value: string, onLine = line) => {
    if (depth <= 1) tokens.push({ kind, value, line: onLine, depth, documented })
    documented = false
    last = kind === "string" ? "STRING" : value
  }
  const skipTemplate = () => {
    while (at < text.length) {
      const char = text[at]
      if (char === "\n") line += 1
      if (char === "\\") {
        if (text[at + 1] === "\n") line += 1
        at += 2
      } else if (char === "`") {
        at += 1
        return
      } else if (char === "$" && text[at + 1] === "{") {
        at += 2
        depth += 1
        templates.push(depth)
        return
      } else at += 1
    }
  }
  const skipString = (mark: string) => {
    const start = ++at
    while (at < text.length && text[at] !== mark && text[at] !== "\n") {
      if (text[at] === "\\") {
        if (text[at + 1] === "\n") line += 1
        at += 1
      }
      at += 1
    }
    const value = text.slice(start, Math.min(at, start + 1_000))
    if (text[at] === mark) at += 1
    push("string", value)
  }
  const skipRegExp = (): boolean => {
    // One that never ends on this line is not looked for twice.
    if (at < hopeless) return false
    let inClass = false
    for (let to = at + 1; to <= text.length; to++) {
      const char = text[to]
      if (char === undefined || char === "\n") {
        hopeless = to
        return false
      }
      if (char === "\\") to += 1
      else if (char === "[") inClass = true
      else if (char === "]") inClass = false
      else if (char === "/" && !inClass) {
        at = to + 1
        return true
      }
    }
    hopeless = text.length
    return false
  }
  while (at < text.length) {
    const char = text[at]!
    if (char === "\n") {
      line += 1
      at += 1
      // What fooled the scanner ends here: nobody writes these words at the margin inside of brackets.
      if (depth > 0 && templates.length === 0 && /^(?:export|import)\s/.test(text.slice(at, at + 7))) depth = 0
    } else if (char <= " " || char === "\uFEFF") at += 1
    else if (char === "/" && text[at + 1] === "/") {
      const stop = text.indexOf("\n", at)
      at = stop < 0 ? text.length : stop
    } else if (char === "/" && text[at + 1] === "*") {
      const found = text.indexOf("*/", at + 2)
      const stop = found < 0 ? text.length : found + 2
      if (text[at + 2] === "*" && stop - at > 4) documented = true
      for (; at < stop; at++) if (text[at] === "\n") line += 1
    } else if (isWordCode(char.charCodeAt(0))) {
      const start = at
      while (at < text.length && isWordCode(text.charCodeAt(at))) at += 1
      push("word", text.slice(start, Math.min(at, start + 200)))
    } else if (char === '"' || char === "'") skipString(char)
    else if (char === "`") {
      at += 1
      push("string", "")
      skipTemplate()
    } else if (char === "(" || char === "[" || char === "{") {
      push("sign", char)
      depth += 1
      at += 1
    } else if (char === ")" || char === "]" || char === "}") {
      at += 1
      if (char === "}" && templates.length > 0 && templates.at(-1) === depth) {
        templates.pop()
        depth -= 1
        skipTemplate()
        last = "STRING"
      } else {
        depth = Math.max(0, depth - 1)
        push("sign", char)
      }
    } else if (char === "/") {
      const operand = last === ")" || last === "]" || last === "}" || last === "STRING"
      const mayBegin =
        !operand && (last === "" || beforeOperand.has(last) || !isWordCode(last.charCodeAt(0))) && last !== "<"
      if (!mayBegin || !skipRegExp()) at += 1
      push("sign", "/")
    } else {
      at += 1
      push("sign", char)
    }
  }
  return tokens
}

const modifiers = new Set(["declare", "abstract", "async"])
const kinds = new Set("const let var function class interface type enum namespace module".split(" "))

/**
 * Reads a module.
 *
 * @category scanning
 * @since 0.1.0
 */
export const exportsOf = (text: string): Exports => {
  const tokens = tokensOf(text)
  const own: Array<Export> = []
  const local = new Map<string, Omit<Export, "name">>()
  const imported = new Map<string, { readonly imported: string | undefined; readonly target: string }>()
  const indirect: Array<Exports["indirect"][number]> = []
  const stars: Array<string> = []
  /** `export { a as b }`, looked up when every declaration is known */
  const later: Array<{ readonly local: string; readonly name: string; readonly at: Token }> = []
  const tokenAt = (at: number): Token => tokens[at] ?? end
  const is = (at: number, value: string): boolean => tokenAt(at).kind !== "string" && tokenAt(at).value === value

  /** `{ a, type b as c }` from its brace on, and where it ends. */
  const names = (from: number) => {
    const found: Array<{ readonly theirs: string; readonly ours: string; readonly documented: boolean }> = []
    let at = from + 1
    while (at < tokens.length && tokenAt(at).depth === 1) {
      const named: Array<string> = []
      const { documented } = tokenAt(at)
      for (; at < tokens.length && tokenAt(at).depth === 1 && !is(at, ","); at++) named.push(tokenAt(at).value)
      at += is(at, ",") ? 1 : 0
      const isType = named[0] === "type" && named.length > 1 && named[1] !== "as"
      const [theirs, as, ours] = isType ? named.slice(1) : named
      if (theirs !== undefined)
        found.push({ theirs, ours: as === "as" && ours !== undefined ? ours : theirs, documented })
    }
    return { found, end: at + 1 }
  }
  const source = (at: number): string | undefined =>
    is(at, "from") && tokenAt(at + 1).kind === "string" ? tokenAt(at + 1).value : undefined

  /** The names that a declaration binds, from its first word on; nothing when it is none. */
  const declared = (from: number): ReadonlyArray<string> => {
    let at = from
    while (modifiers.has(tokenAt(at).value) && tokenAt(at + 1).kind === "word") at += 1
    const kind = tokenAt(at).value
    if (tokenAt(at).kind !== "word" || !kinds.has(kind)) return []
    at += kind === "const" && is(at + 1, "enum") ? 2 : 1
    if (kind === "function" && is(at, "*")) at += 1
    const first = tokenAt(at)
    if (first.kind === "word") return [first.value]
    if (kind !== "const" && kind !== "let" && kind !== "var") return []
    const bound: Array<string> = []
    if (is(at, "{") || is(at, "[")) {
      for (at += 1; at < tokens.length && tokenAt(at).depth === 1; at++) {
        const binds = [",", "}", "]", "="].some((sign) => is(at + 1, sign))
        if (tokenAt(at).kind === "word" && binds && !is(at - 1, "=")) bound.push(tokenAt(at).value)
      }
    }
    return bound
  }

  let decorated = false
  for (let at = 0; at < tokens.length; at++) {
    const token = tokenAt(at)
    if (token.depth > 0) continue
    if (is(at, "@")) decorated ||= token.documented
    if (token.kind !== "word" || is(at - 1, ".")) continue
    const documented = token.documented || decorated
    const place = { line: token.line, documented }
    if (token.value === "import") {
      let next = at + 1
      if (is(next, "type") && !is(next + 1, "from") && !is(next + 1, ",")) next += 1
      const bound: Array<readonly [string, string | undefined]> = []
      if (tokenAt(next).kind === "word") {
        bound.push([tokenAt(next).value, "default"])
        next += is(next + 1, ",") ? 2 : 1
      }
      if (is(next, "*") && is(next + 1, "as")) {
        bound.push([tokenAt(next + 2).value, undefined])
        next += 3
      } else if (is(next, "{")) {
        const { end, found } = names(next)
        for (const { ours, theirs } of found) bound.push([ours, theirs])
        next = end
      }
      const target = source(next)
      if (target !== undefined) for (const [name, theirs] of bound) imported.set(name, { imported: theirs, target })
    } else if (token.value === "export") {
      decorated = false
      const next = is(at + 1, "type") && (is(at + 2, "{") || is(at + 2, "*")) ? at + 2 : at + 1
      if (is(next, "*")) {
        const target = source(is(next + 1, "as") ? next + 3 : next + 1)
        if (target === undefined) continue
        if (is(next + 1, "as")) indirect.push({ name: tokenAt(next + 2).value, imported: undefined, target })
        else stars.push(target)
      } else if (is(next, "{")) {
        const { end, found } = names(next)
        const target = source(end)
        for (const { documented: here, ours, theirs } of found) {
          const at = { ...token, documented: documented || here }
          if (target === undefined) later.push({ local: theirs, name: ours, at })
          else indirect.push({ name: ours, imported: theirs, target })
        }
      } else if (is(next, "default")) {
        const [name] = declared(next + 1)
        const value = tokenAt(next + 1)
        const isName = value.kind === "word" && !kinds.has(value.value) && !modifiers.has(value.value)
        if (name !== undefined || !isName || [".", "("].some((sign) => is(next + 2, sign))) {
          own.push({ name: "default", ...place })
        } else later.push({ local: value.value, name: "default", at: { ...token, documented } })
      } else {
        for (const name of declared(next)) {
          own.push({ name, ...place })
          local.set(name, place)
        }
        // The declaration's own words are passed over, or they would be met again as a local one.
        while (tokenAt(at + 1).kind === "word" && tokenAt(at + 1).depth === 0 && tokenAt(at + 1).line === token.line) {
          at += 1
        }
      }
    } else {
      for (const name of declared(at)) {
        const known = local.get(name)
        local.set(name, known === undefined ? place : { ...known, documented: known.documented || documented })
        decorated = false
      }
      while (modifiers.has(tokenAt(at).value) && tokenAt(at + 1).kind === "word") at += 1
    }
  }
  for (const { at, local: name, name: ours } of later) {
    const from = imported.get(name)
    const known = local.get(name)
    if (from !== undefined) indirect.push({ name: ours, ...from })
    else if (known === undefined) own.push({ name: ours, line: at.line, documented: at.documented || ours === name })
    else own.push({ name: ours, line: known.line, documented: known.documented || at.documented })
  }
  return { own: merged(own), indirect, stars }
}

/** An overload is documented by any of its declarations, and so is a type that shares its value's name. */
const merged = (exports: ReadonlyArray<Export>): ReadonlyArray<Export> => {
  const byName = new Map<string, Export>()
  for (const each of exports) {
    const known = byName.get(each.name)
    byName.set(each.name, known === undefined ? each : { ...known, documented: known.documented || each.documented })
  }
  return [...byName.values()]
}
