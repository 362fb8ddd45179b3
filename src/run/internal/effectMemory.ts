/**
 * Effects outside of a run: what is known of them is in memory, and ends with it.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"

import type { Service } from "../Effects.ts"
import { type Book, type Entry, type Intent, type Known, type Pending, perform } from "./performing.ts"

type Remembered =
  | { readonly _tag: "Intended" }
  | { readonly _tag: "Done"; readonly value: Schema.Json | undefined }
  | { readonly _tag: "Lost"; readonly why: string }

/** The effects of one task, as if it were a task of a run. */
export class Memory implements Book {
  readonly run: string
  readonly task: string
  readonly pending = new Map<string, Pending>()
  readonly service: Service = { perform: (options) => perform(this, options) }
  private readonly known = new Map<string, Remembered>()

  constructor(run: string, task: string) {
    this.run = run
    this.task = task
  }

  refusal(): undefined {
    return undefined
  }

  look({ effect }: Intent): Known {
    const entry = this.known.get(effect)
    switch (entry?._tag) {
      case undefined:
        return { _tag: "New" }
      case "Done":
        return { _tag: "Done", value: Effect.succeed(entry?.value) }
      case "Intended":
        return { _tag: "Unknown" }
      case "Lost":
        return { _tag: "Held", effect, happened: true, why: entry.why }
    }
  }

  tell({ effect }: Intent, entry: Entry): Deferred.Deferred<string | undefined> {
    switch (entry._tag) {
      case "Intended": {
        this.known.set(effect, { _tag: "Intended" })
        break
      }
      case "Settled": {
        if (entry.outcome === "failed") this.known.delete(effect)
        else this.known.set(effect, { _tag: "Done", value: entry.value })
        break
      }
      case "Quarantined": {
        // What may not have happened is looked at anew each time.
        if (entry.happened) this.known.set(effect, { _tag: "Lost", why: entry.why })
      }
    }
    const ack = Deferred.makeUnsafe<string | undefined>()
    Deferred.doneUnsafe(ack, Exit.succeed(undefined))
    return ack
  }

  written(): void {}
  stick(): void {}
}
