/**
 * How much work it is to look at a text, counted and not timed: every step that a backtracking engine makes for every
 * expression that is asked, and every character that functions of strings go through.
 */

type Matcher = (at: number, go: (at: number) => boolean) => boolean

/** One expression, compiled to functions that count. It knows what the expressions of redaction are made of. */
class Engine {
  steps = 0
  private text = ""
  private readonly source: string
  private readonly ignoresCase: boolean
  private at = 0
  private readonly root: Matcher

  constructor({ flags, source }: RegExp) {
    this.source = source
    this.ignoresCase = flags.includes("i")
    this.root = this.choice()
    if (this.at !== source.length) throw new Error(`meter: cannot read ${source} at ${this.at}`)
  }

  /** The steps of the attempts from the first place to the last. */
  attempts(text: string, from: number, to: number): number {
    this.text = text
    this.steps = 0
    for (let start = from; start <= to; start++) if (this.root(start, () => true)) break
    return this.steps
  }

  private choice(): Matcher {
    const ways = [this.sequence()]
    while (this.source[this.at] === "|") {
      this.at++
      ways.push(this.sequence())
    }
    return ways.length === 1 ? ways[0]! : (at, go) => ways.some((way) => way(at, go))
  }

  private sequence(): Matcher {
    const parts: Array<Matcher> = []
    while (this.at < this.source.length && !"|)".includes(this.source[this.at]!)) parts.push(this.repeated())
    return parts.reduceRight<Matcher>(
      (rest, part) => (at, go) => part(at, (next) => rest(next, go)),
      (at, go) => go(at)
    )
  }

  private repeated(): Matcher {
    const begin = this.at
    const { match, single } = this.atom()
    const many = /^(?:[?*+]|\{(\d+)(,?)(\d*)\})(\?)?/.exec(this.source.slice(this.at))
    if (many === null) return match
    this.at += many[0].length
    const sign = many[0][0]
    const least = sign === "+" ? 1 : sign === "{" ? Number(many[1]) : 0
    const most = sign === "?" ? 1 : sign === "{" ? (many[2] === "" ? least : Number(many[3] || Infinity)) : Infinity
    if (many[4] !== undefined) throw new Error(`meter: no lazy repetitions: ${this.source.slice(begin)}`)
    if (single !== undefined) {
      return (at, go) => {
        let end = at
        while (end - at < most && single(end)) end++
        for (; end - at >= least; end--) {
          this.steps++
          if (go(end)) return true
        }
        return false
      }
    }
    const again = (at: number, count: number, go: (at: number) => boolean): boolean =>
      (count < most && match(at, (next) => next !== at && again(next, count + 1, go))) || (count >= least && go(at))
    return (at, go) => again(at, 0, go)
  }

  private atom(): { readonly match: Matcher; readonly single?: (at: number) => boolean } {
    const opened = /^\((?:\?(?:<([=!])|([=!])|:|<\w+>))?/.exec(this.source.slice(this.at))
    if (opened !== null) {
      this.at += opened[0].length
      const inner = this.choice()
      this.at++ // )
      const [, behind, ahead] = opened
      if (behind !== undefined) {
        return {
          match: (at, go) => {
            // The texts in front that these look for are short.
            let found = false
            for (let start = at; !found && start >= 0 && at - start <= 24; start--)
              found = inner(start, (end) => end === at)
            return found === (behind === "=") && go(at)
          }
        }
      }
      if (ahead !== undefined) return { match: (at, go) => inner(at, () => true) === (ahead === "=") && go(at) }
      return { match: inner }
    }
    const sign = this.source[this.at]!
    if (sign === "^" || sign === "$") {
      this.at++
      return { match: (at, go) => (sign === "^" ? at === 0 : at === this.text.length) && go(at) }
    }
    // One character, of which the platform knows whether it is one.
    const one = /^(?:\[(?:\\.|[^\]\\])*\]|\\[\s\S]|[\s\S])/.exec(this.source.slice(this.at))![0]
    this.at += one.length
    const is = new RegExp(`^${one}$`, this.ignoresCase ? "i" : "")
    const known = new Map<string, boolean>()
    const single = (at: number): boolean => {
      this.steps++
      const character = this.text[at]
      if (character === undefined) return false
      let holds = known.get(character)
      if (holds === undefined) known.set(character, (holds = is.test(character)))
      return holds
    }
    return { match: (at, go) => single(at) && go(at + 1), single }
  }
}

const engines = new Map<string, Engine>()

/** The work of a function. */
export const workOf = (run: () => unknown): number => {
  let work = 0
  let counting = true
  const uncounted = <A>(f: () => A): A => {
    if (!counting) return f()
    counting = false
    try {
      return f()
    } finally {
      counting = true
    }
  }
  const { exec } = RegExp.prototype
  const { charAt, charCodeAt, includes, indexOf, slice, startsWith } = String.prototype
  const originals = { charAt, charCodeAt, includes, indexOf, slice, startsWith }
  const counted = (method: keyof typeof originals, cost: (self: string, result: unknown, from: unknown) => number) =>
    // A method of a text knows its text.
    function (this: string, ...given: ReadonlyArray<unknown>): unknown {
      const result: unknown = Reflect.apply(originals[method], this, given)
      if (counting) work += cost(this, result, given[1])
      return result
    }
  try {
    const countedExec = function (this: RegExp, text: string): RegExpExecArray | null {
      if (!counting) return exec.call(this, text)
      return uncounted(() => {
        const from = this.global || this.sticky ? this.lastIndex : 0
        const { sticky } = this
        const found = exec.call(this, text)
        const key = `${this.flags.includes("i")} ${this.source}`
        let engine = engines.get(key)
        if (engine === undefined) engines.set(key, (engine = new Engine(this)))
        work += 1 + engine.attempts(text, from, sticky ? from : (found?.index ?? text.length))
        return found
      })
    }
    Object.assign(RegExp.prototype, { exec: countedExec })
    const one = () => 1
    const reached = (self: string, result: unknown, from: unknown) =>
      1 + (Number(result) < 0 ? self.length : Number(result)) - Number(from ?? 0)
    Object.assign(String.prototype, {
      charAt: counted("charAt", one),
      charCodeAt: counted("charCodeAt", one),
      startsWith: counted("startsWith", one),
      slice: counted("slice", (_, result) => 1 + String(result).length),
      includes: counted("includes", ({ length }) => length),
      indexOf: counted("indexOf", reached)
    })
    run()
  } finally {
    Object.assign(RegExp.prototype, { exec })
    Object.assign(String.prototype, originals)
  }
  return work
}
