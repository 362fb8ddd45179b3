/**
 * Tells comments, strings and code apart, line by line.
 *
 * It is a scanner, not a parser: it knows how a language begins and ends comments and strings, and nothing else. What a
 * regular expression literal holds can fool it for the rest of its line; an unclosed long string for the rest of the
 * file.
 *
 * **Invariants**
 *
 * - L1. One pass, linear in the length of the text.
 * - L2. A line of the result for every line of the text, so numbers match.
 *
 * @since 0.1.0
 */
import type { Syntax } from "./languages.ts"

/**
 * One line: its code, with strings and comments blanked out, the same with its strings kept, and the text of its comments.
 *
 * @category models
 * @since 0.1.0
 */
export interface Line {
  readonly code: string
  readonly kept: string
  readonly comment: string
}

type State =
  | { readonly in: "code" }
  | { readonly in: "comment"; readonly close: string | undefined }
  | { readonly in: "string"; readonly close: string; readonly long: boolean }

const code: State = { in: "code" }

const startsWithAny = (text: string, at: number, options: ReadonlyArray<string>): string | undefined =>
  options.find((option) => text.startsWith(option, at))

/**
 * Scans a text.
 *
 * @category scanning
 * @since 0.1.0
 */
export const scan = (text: string, syntax: Syntax): ReadonlyArray<Line> => {
  const lines: Array<Line> = []
  let state: State = code
  let written = ""
  let kept = ""
  let comment = ""
  let from = 0 // where the run of code or comment that is not copied yet begins
  const flush = (to: number): void => {
    if (state.in === "comment") comment += text.slice(from, to)
    else kept += text.slice(from, to)
    if (state.in === "code") written += text.slice(from, to)
    from = to
  }
  for (let at = 0; at <= text.length; at++) {
    if (at === text.length || text[at] === "\n") {
      flush(at)
      lines.push({ code: written, kept, comment })
      written = ""
      kept = ""
      comment = ""
      from = at + 1
      if ((state.in === "comment" && state.close === undefined) || (state.in === "string" && !state.long)) state = code
      continue
    }
    if (state.in === "code") {
      const block = syntax.block.find(([open]) => text.startsWith(open, at))
      const long = block === undefined ? startsWithAny(text, at, syntax.long) : undefined
      const line = block === undefined && long === undefined ? startsWithAny(text, at, syntax.line) : undefined
      const quote =
        long ?? (line === undefined && block === undefined ? startsWithAny(text, at, syntax.strings) : undefined)
      if (block !== undefined || line !== undefined) {
        const open = block?.[0] ?? line!
        flush(at)
        state = { in: "comment", close: block?.[1] }
        at += open.length - 1
        from = at + 1
      } else if (quote !== undefined) {
        flush(at)
        written += '""'
        state = { in: "string", close: quote, long: long !== undefined }
        at += quote.length - 1
      }
    } else if (state.in === "string") {
      if (text[at] === "\\") {
        at += text[at + 1] === "\n" ? 0 : 1
      } else if (text.startsWith(state.close, at)) {
        at += state.close.length - 1
        flush(at + 1)
        state = code
      }
    } else if (state.close !== undefined && text.startsWith(state.close, at)) {
      flush(at)
      at += state.close.length - 1
      from = at + 1
      state = code
    }
  }
  return lines
}
