/**
 * Which modules a JavaScript or TypeScript file asks for.
 *
 * **Details**
 *
 * A scanner of words, not a parser: the forms that name a module are plain to see for one that knows strings, comments,
 * templates and regular expressions. `oxc-parser` is exact, but it is native code that recurses: twenty kilobytes of
 * opening brackets overflow its stack and end the process, which no caller can catch. What this scanner does not
 * understand costs at most the rest of a line; a test compares the two on real packages.
 *
 * **Invariants**
 *
 * - J1. It looks at each character a bounded number of times and holds no recursion.
 * - J2. It never throws.
 *
 * @since 0.1.0
 */

/**
 * A module that is asked for.
 *
 * **Details**
 *
 * - `kind`: `import` covers `export … from`; `types` are those that leave nothing at run time.
 * - `optional`: inside a `try` block, so that its absence may be meant.
 *
 * @category models
 * @since 0.1.0
 */
export interface Requested {
  readonly specifier: string
  readonly kind: "import" | "types" | "dynamic" | "require"
  readonly optional: boolean
  readonly line: number
}

/**
 * What a file says about modules.
 *
 * **Details**
 *
 * - `ambient`: the modules it declares itself, `declare module "x"`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Scan {
  readonly requested: ReadonlyArray<Requested>
  readonly ambient: ReadonlyArray<string>
}

/**
 * The file names that hold JavaScript or TypeScript, alone or in a `<script>`.
 *
 * @category models
 * @since 0.1.0
 */
export const isSource = (path: string): boolean => /\.(?:[cm]?[jt]sx?|vue|svelte|astro)$/.test(path)

/**
 * Scans a file.
 *
 * @category scanning
 * @since 0.1.0
 */
export const scan = (path: string, text: string): Scan => {
  if (/\.(vue|svelte)$/.test(path)) return merged(scripts(text))
  if (path.endsWith(".astro")) return merged(frontmatter(text))
  return words(text, 1)
}

interface Part {
  readonly text: string
  readonly line: number
}

const merged = (parts: ReadonlyArray<Part>): Scan => {
  const scans = parts.map(({ line, text }) => words(text, line))
  return {
    requested: scans.flatMap(({ requested }) => requested),
    ambient: scans.flatMap(({ ambient }) => ambient)
  }
}

const newlines = (text: string): number => text.split("\n").length - 1

const scripts = (text: string): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  let line = 1
  let counted = 0
  for (let open = text.indexOf("<script"); open >= 0;) {
    const start = text.indexOf(">", open) + 1
    const end = start === 0 ? -1 : text.indexOf("</script", start)
    if (end < 0) break
    line += newlines(text.slice(counted, start))
    counted = start
    parts.push({ text: text.slice(start, end), line })
    open = text.indexOf("<script", end)
  }
  return parts
}

const frontmatter = (text: string): ReadonlyArray<Part> => {
  const end = text.startsWith("---") ? text.indexOf("\n---", 3) : -1
  return end < 0 ? [] : [{ text: text.slice(3, end), line: 1 }]
}

const space = 32
const newline = 10
const quote = 34
const apostrophe = 39
const backtick = 96
const slash = 47
const star = 42
const backslash = 92
const openBrace = 123
const closeBrace = 125
const dollar = 36

const isWordCode = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 48 && code <= 57) ||
  code === 95 ||
  code === dollar ||
  code > 127

// After these words a slash begins a regular expression.
const beforeOperand = new Set(
  "return typeof case in of delete void throw new else do instanceof await yield default extends".split(" ")
)

/** The words that may stand between `import` or `export` and its `from`. */
const isPunctuation = (word: string): boolean =>
  word === "{" || word === "}" || word === "," || word === "*" || word === "STRING"

interface Clause {
  readonly verb: "import" | "export"
  words: number
  types: boolean
  last: string
}

const words = (text: string, firstLine: number): Scan => {
  const requested: Array<Requested> = []
  const ambient: Array<string> = []
  // What each open brace belongs to: `${` of a template, a block of `try`, or anything else.
  const braces: Array<"template" | "try" | "other"> = []
  let tries = 0
  let line = firstLine
  let at = 0
  let hopeless = 0
  /** the last four words or signs, the newest first */
  let last = ""
  let second = ""
  let third = ""
  let clause: Clause | undefined

  const add = (specifier: string, kind: Requested["kind"]) =>
    requested.push({ specifier, kind, optional: tries > 0, line })
  const next = (word: string) => {
    third = second
    second = last
    last = word
  }
  const skipString = (mark: number): string | undefined => {
    const start = at + 1
    let plain = true
    at = start
    while (at < text.length) {
      const code = text.charCodeAt(at)
      if (code === mark) {
        at++
        return plain ? text.slice(start, at - 1) : undefined
      }
      if (code === newline) return undefined
      if (code === backslash) {
        plain = false
        if (text.charCodeAt(at + 1) === newline) line++
        at++
      }
      at++
    }
    return undefined
  }
  /** From inside a template to its end or to the next `${`. */
  const skipTemplate = (): boolean => {
    while (at < text.length) {
      const code = text.charCodeAt(at)
      if (code === newline) line++
      if (code === backslash) {
        if (text.charCodeAt(at + 1) === newline) line++
        at += 2
      } else if (code === backtick) {
        at++
        return true
      } else if (code === dollar && text.charCodeAt(at + 1) === openBrace) {
        at += 2
        braces.push("template")
        return false
      } else at++
    }
    return true
  }
  /** Whether a regular expression began here and was passed over: it ends on its line. */
  const skipRegExp = (): boolean => {
    // One that never ends on this line is not looked for twice.
    if (at < hopeless) return false
    let inClass = false
    for (let end = at + 1; end < text.length; end++) {
      const code = text.charCodeAt(end)
      if (code === newline) {
        hopeless = end
        return false
      }
      if (code === backslash) end++
      else if (code === 91) inClass = true
      else if (code === 93) inClass = false
      else if (code === slash && !inClass) {
        at = end + 1
        while (isWordCode(text.charCodeAt(at))) at++
        return true
      }
    }
    hopeless = text.length
    return false
  }
  /** Whether the string that was just read is the whole argument, not the beginning of a computed one. */
  const isWhole = () => /^\s*[),]/.test(text.slice(at, at + 80))
  const onString = (value: string) => {
    if (clause !== undefined && last === "from" && (clause.words > 0 || clause.verb === "export")) {
      add(value, clause.types ? "types" : "import")
      clause = undefined
    } else if (clause?.verb === "import" && clause.words === 0) {
      add(value, "import")
      clause = undefined
    } else if (last === "(" && isWhole()) {
      if (second === "import" && third !== ".") add(value, "dynamic")
      else if (second === "require" && third !== ".") add(value, "require")
      else if (second === "resolve" && third === ".") add(value, "require")
    } else if (last === "module" && second === "declare") ambient.push(value)
  }
  const onWord = (word: string) => {
    if (clause !== undefined) {
      if (word === "type" && clause.words === 0) clause.types = true
      else if (word === "from" && clause.types && clause.words === 1 && clause.last === "type") {
        // `import type from "x"` imports a default export named type.
        if (/^\s*["']/.test(text.slice(at, at + 80))) clause.types = false
      }
      clause.words++
      clause.last = word
      if (declares.has(word) && clause.words === 1 && clause.verb === "export") clause = undefined
    }
    if ((word === "import" || word === "export") && last !== ".") {
      clause = { verb: word, words: 0, types: false, last: "" }
    }
    next(word)
  }
  const onSign = (sign: string) => {
    if (clause !== undefined) {
      if (sign === "," && clause.types && clause.words === 1) clause.types = false
      if (!isPunctuation(sign)) clause = undefined
      else {
        clause.words++
        clause.last = sign
      }
    }
    next(sign)
  }

  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === newline) {
      line++
      at++
    } else if (code <= space || code === 0xfeff) at++
    else if (code === slash && text.charCodeAt(at + 1) === slash) {
      const end = text.indexOf("\n", at)
      at = end < 0 ? text.length : end
    } else if (code === slash && text.charCodeAt(at + 1) === star) {
      const end = text.indexOf("*/", at + 2)
      const stop = end < 0 ? text.length : end + 2
      for (let found = text.indexOf("\n", at); found >= 0 && found < stop; found = text.indexOf("\n", found + 1)) line++
      at = stop
    } else if (isWordCode(code)) {
      const start = at
      while (isWordCode(text.charCodeAt(at))) at++
      onWord(text.slice(start, at))
    } else if (code === quote || code === apostrophe) {
      const value = skipString(code)
      if (value !== undefined) onString(value)
      if (clause === undefined) next("STRING")
      else onSign("STRING")
    } else if (code === backtick) {
      const start = ++at
      const whole = skipTemplate()
      if (whole && text.charCodeAt(at - 1) === backtick) {
        const value = text.slice(start, at - 1)
        if (!value.includes("\\") && !value.includes("\n")) onString(value)
      }
      onSign(whole ? "TEMPLATE" : "${")
    } else if (code === openBrace) {
      const isTry = last === "try"
      braces.push(isTry ? "try" : "other")
      if (isTry) tries++
      at++
      onSign("{")
    } else if (code === closeBrace) {
      const closed = braces.pop()
      at++
      if (closed === "template") onSign(skipTemplate() ? "TEMPLATE" : "${")
      else {
        if (closed === "try") tries--
        onSign("}")
      }
    } else if (code === slash) {
      const afterOperand = last === ")" || last === "]" || last === "STRING" || last === "TEMPLATE"
      const mayBegin = !afterOperand && (last === "" || beforeOperand.has(last) || !isWordCode(last.charCodeAt(0)))
      if (!mayBegin || !skipRegExp()) at++
      onSign("/")
    } else {
      at++
      onSign(text[at - 1] ?? "")
    }
  }
  return { requested, ambient }
}

const declares = new Set(
  "const let var function class enum namespace abstract async default declare interface module global".split(" ")
)
