/**
 * Texts that are JSON: read, without their secrets, and written again.
 */
import { redactValue, type ValueRules } from "./values.ts"

/** The longest text that is read as JSON. */
const longestJson = 16 * 1024 * 1024

const first = /^\s*[{[]/
const indented = /\n( {1,8}|\t)/

/** A text that is JSON without its secrets; `undefined` for one that is none. It stays JSON. */
export const asJson =
  (rules: ValueRules) =>
  (text: string): string | undefined => {
    if (text.length < 8 || text.length > longestJson || !first.test(text)) return undefined
    try {
      const value: unknown = JSON.parse(text)
      const redacted = redactValue(value, rules)
      return redacted === value ? text : JSON.stringify(redacted, null, indented.exec(text)?.[1])
    } catch {
      return undefined
    }
  }
