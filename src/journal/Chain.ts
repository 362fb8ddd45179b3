/**
 * The chain of a run's events, checked: each hash covers its event and, through the hash before it, all that came before.
 *
 * `hash = SHA-256(hash of the event before ‖ newline ‖ row)`. The row is the JSON array `[run, version, type, at]`, a newline,
 * and the data exactly as it is stored; before the first event stand 64 zeros.
 *
 * **Details**
 *
 * - What is checked is the text of the data, not what it means: a row that was only spaced anew is found, too.
 * - A chain shows that nothing inside of it was changed, put in or taken out. That its end is still there only shows against
 *   a {@link Head} that was kept elsewhere: an export has one, `verify` prints one.
 *
 * **Gotchas**
 *
 * Whoever can write the journal can write a new chain. Keep heads where that one cannot write.
 *
 * **Example** (A head that was kept, and a history that goes on)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Chain, Journal } from "espalier/journal"
 *
 * const program = Effect.gen(function* () {
 *   const journal = yield* Journal.Journal
 *   const note = { type: "Noted", at: 0, data: null }
 *   yield* journal.append({ run: "r1", expected: 0, events: [note] })
 *   const kept = yield* journal.head("r1")
 *   yield* journal.append({ run: "r1", expected: 1, events: [note] })
 *   const { damage, events } = yield* Chain.verify("r1", { head: kept })
 *   return [events, damage]
 * })
 *
 * await Effect.runPromise(Effect.provide(program, Journal.layerMemory)) // => [2, undefined]
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import { canonicalRow, root } from "./internal/chain.ts"
import { showId } from "./internal/errors.ts"
import { sha256 } from "./internal/sha256.ts"
import { type Head, Journal, type JournalError, type Stored } from "./Journal.ts"

/**
 * The first place at which a chain does not hold.
 *
 * **Details**
 *
 * - `version`: of the event. `expected`, `found`: hashes.
 * - `problem`: `"altered"`, the event has not the hash that follows from it and what came before; `"missing"`, there is none
 *   of this version though later ones are there; `"cut"`, the history ends before the head that was given; `"replaced"`, it
 *   does not come by that head.
 *
 * @category errors
 * @since 0.1.0
 */
export class ChainBroken extends Schema.TaggedError<ChainBroken>("espalier/journal/ChainBroken")("ChainBroken", {
  run: Schema.String,
  version: Schema.Int,
  problem: Schema.Literals(["altered", "missing", "cut", "replaced"]),
  expected: Schema.String,
  found: Schema.String
}) {
  override get message(): string {
    const run = `the run ${showId(this.run)}`
    switch (this.problem) {
      case "altered":
        return `${run} was changed at version ${this.version}: its hash is ${this.found}, and ${this.expected} follows from what is there`
      case "missing":
        return `${run} has no event ${this.version}, and later ones are there`
      case "cut":
        return `${run} was cut off: it ends with version ${this.version} (${this.found}), before the head ${this.expected}`
      case "replaced":
        return `${run} is another history: it does not come by the head ${this.expected}; its version ${this.version} is ${this.found}`
    }
  }
}

/**
 * What came of checking a chain.
 *
 * **Details**
 *
 * - `events`: how many hold, from the first one on. `head`: the last of them.
 * - `damage`: the first place that does not hold; absent when all is well.
 *
 * @category models
 * @since 0.1.0
 */
export interface Verification {
  readonly run: string
  readonly events: number
  readonly head: Head
  readonly damage?: ChainBroken | undefined
}

/**
 * What a chain is checked against, and how.
 *
 * **Details**
 *
 * - `head`: one that was kept. The history has to come by it, and may have gone on since. Without its `version` it may be any
 *   event. Default: none, and then an end that was cut off is not seen.
 * - `digest`: SHA-256 of a text as UTF-8, in hexadecimal. Default: one in plain JavaScript; that of a platform is faster.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly head?: { readonly hash: string; readonly version?: number | undefined } | undefined
  readonly digest?: ((text: string) => string) | undefined
}

const encoder = new TextEncoder()

const own = (text: string): string => sha256(encoder.encode(text))

/**
 * Checks a chain event by event, and holds nothing but the last hash.
 *
 * @category folding
 * @since 0.1.0
 */
export interface Walk {
  /** Takes the next event; what is wrong with it, if anything is. After that the walk stays where it is. */
  readonly add: (event: Stored) => ChainBroken | undefined
  /** What came of it, when there are no more events. */
  readonly end: () => Verification
}

/**
 * Makes a {@link Walk} that is before the first event of a run.
 *
 * @category folding
 * @since 0.1.0
 */
export const walk = (run: string, options: Options = {}): Walk => {
  const { digest = own, head: kept } = options
  let head: Head = { version: 0, hash: root }
  let damage: ChainBroken | undefined
  let passed = kept === undefined || kept.hash === root

  const broken = (
    problem: ChainBroken["problem"],
    version: number,
    hashes: { readonly expected: string; readonly found: string }
  ): ChainBroken => (damage = new ChainBroken({ run, version, problem, ...hashes }))

  return {
    add: (event) => {
      if (damage !== undefined) return damage
      const version = head.version + 1
      if (event.version !== version) return broken("missing", version, { expected: "", found: "" })
      const expected = digest(canonicalRow(head.hash, { run, ...event }))
      if (event.hash !== expected) return broken("altered", version, { expected, found: event.hash })
      if (kept?.version === version && kept.hash !== expected) {
        return broken("replaced", version, { expected: kept.hash, found: expected })
      }
      if (kept?.hash === expected) passed = true
      head = { version, hash: expected }
      return undefined
    },
    end: () => {
      if (damage === undefined && !passed && kept !== undefined) {
        const cut = kept.version !== undefined && kept.version > head.version
        broken(cut ? "cut" : "replaced", head.version, { expected: kept.hash, found: head.hash })
      }
      return { run, events: head.version, head, ...(damage === undefined ? {} : { damage }) }
    }
  }
}

/**
 * Checks the events of a run as they are stored: all of them, from the first one on.
 *
 * @category verification
 * @since 0.1.0
 */
export const verifyEvents = (run: string, events: Iterable<Stored>, options?: Options | undefined): Verification => {
  const { add, end } = walk(run, options)
  for (const event of events) if (add(event) !== undefined) break
  return end()
}

/**
 * Checks the chain of a run in the journal.
 *
 * **Details**
 *
 * - Reads each event once and holds one page of them. A run that the journal does not know has a chain of no events.
 * - Fails only with trouble of the store.
 *
 * @category verification
 * @since 0.1.0
 */
export const verify = (
  run: string,
  options?: Options | undefined
): Effect.Effect<Verification, JournalError, Journal> =>
  Effect.flatMap(Journal, (journal) =>
    Effect.suspend(() => {
      const { add, end } = walk(run, options)
      return journal.rows(run).pipe(
        Stream.takeWhile((event) => add(event) === undefined),
        Stream.runDrain,
        Effect.map(end)
      )
    })
  )

/**
 * Checks the chain of every run that has events, listed or not, in the order of their ids.
 *
 * @category verification
 * @since 0.1.0
 */
export const verifyAll = (
  options?: Pick<Options, "digest"> | undefined
): Stream.Stream<Verification, JournalError, Journal> =>
  Stream.unwrap(Effect.map(Journal, (journal) => Stream.mapEffect(journal.ids, (run) => verify(run, options))))
