/**
 * The chain of a run's events: each one's hash covers the event and, through the hash before it, all that came before.
 *
 * `hash = SHA-256(hash of the event before ‖ newline ‖ canonical row)`, in hexadecimal. The canonical row is the JSON array
 * `[run, version, type, at]`, a newline, and the data exactly as it is stored.
 */

/** What stands for the hash before the first event. */
export const root = "0".repeat(64)

/** What is hashed of an event. */
export const canonicalRow = (
  previous: string,
  row: {
    readonly run: string
    readonly version: number
    readonly type: string
    readonly at: number
    readonly data: string
  }
): string => `${previous}\n${JSON.stringify([row.run, row.version, row.type, row.at])}\n${row.data}`
