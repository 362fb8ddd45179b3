/**
 * Text that arrives in pieces, cut into lines of bounded length. Nothing is lost: what is too long goes on as parts.
 */

/** Characters of one line; a longer line is told in parts of at most this length. */
export const MaxLine = 16_384

/** A line without its end, or a part of one that is too long. */
export interface Line {
  readonly text: string
  /** whether the same line goes on */
  readonly cut: boolean
}

export class Lines {
  private rest = ""
  private readonly max: number

  constructor(max = MaxLine) {
    this.max = max
  }

  /** The lines that this text completes. */
  push(text: string): ReadonlyArray<Line> {
    const lines: Array<Line> = []
    const all = this.rest + text
    let from = 0
    for (let at = all.indexOf("\n", this.rest.length); at >= 0; at = all.indexOf("\n", from)) {
      const end = at > from && all[at - 1] === "\r" ? at - 1 : at
      lines.push({ text: all.slice(this.parts(lines, all, from, end), end), cut: false })
      from = at + 1
    }
    this.rest = all.slice(this.parts(lines, all, from, all.length))
    return lines
  }

  /** What is left when no more text comes. */
  end(): ReadonlyArray<Line> {
    const text = this.rest
    this.rest = ""
    return text === "" ? [] : [{ text, cut: false }]
  }

  /** Adds the parts of a line that is too long, and tells where its last part begins. */
  private parts(lines: Array<Line>, all: string, from: number, to: number): number {
    let start = from
    while (to - start > this.max) {
      const last = all.charCodeAt(start + this.max - 1)
      // A character of two halves stays whole.
      const end = start + this.max - (last >= 0xd800 && last <= 0xdbff ? 1 : 0)
      lines.push({ text: all.slice(start, end), cut: true })
      start = end
    }
    return start
  }
}
