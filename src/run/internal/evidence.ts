/**
 * What happens to evidence at the boundary: who gave it is written in, and a long output is shortened in sight of all.
 *
 * @since 0.1.0
 */
import type { Evidence, Origin } from "../Result.ts"
import { show, type Problem } from "./problems.ts"

/** Bytes of UTF-8 that the output of one piece of evidence may take: 4 KB. */
const longest = 4096

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The start of a character, at `index` or before it. */
const boundary = (bytes: Uint8Array, index: number): number => {
  let at = index
  while (at > 0 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at -= 1
  return at
}

/**
 * A text of at most 4096 bytes: the beginning and the end of a longer one, with the number of bytes left out between them.
 *
 * @since 0.1.0
 */
export const shortenOutput = (text: string): string => {
  // No unit takes more than three bytes.
  if (text.length * 3 <= longest) return text
  const bytes = encoder.encode(text)
  if (bytes.length <= longest) return text
  const room = (longest - 48) / 2
  const head = boundary(bytes, room)
  const tail = boundary(bytes, bytes.length - room + 3)
  const sign = `\n… ${tail - head} bytes left out …\n`
  return decoder.decode(bytes.subarray(0, head)) + sign + decoder.decode(bytes.subarray(tail))
}

/**
 * Evidence as it is stored, or what is wrong with what it says of its own origin.
 *
 * @since 0.1.0
 */
export const settle = (
  evidence: ReadonlyArray<Evidence>,
  origin: Origin | undefined,
  redact: (text: string) => string = (text) => text
): { readonly evidence: ReadonlyArray<Evidence>; readonly problems: ReadonlyArray<Problem> } => {
  const problems: Array<Problem> = []
  const settled = evidence.map((each, index): Evidence => {
    if (origin !== undefined) {
      for (const field of ["worker", "task"] as const) {
        const said = each[field]
        if (said === undefined || said === origin[field]) continue
        const expectation = `must be ${show(origin[field])}, who gives it`
        problems.push({ path: `evidence[${index}].${field}`, expectation, actual: show(said) })
      }
    }
    return {
      ...each,
      ...(each.output === undefined ? {} : { output: shortenOutput(redact(each.output)) }),
      ...(origin === undefined ? {} : { worker: origin.worker, task: origin.task, at: each.at ?? origin.at })
    }
  })
  return { evidence: settled, problems }
}
