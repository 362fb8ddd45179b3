/**
 * Effects outside of a run: what is known of them is in memory, and ends with it.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Autonomy from "../Autonomy.ts"
import type { Service } from "../Effects.ts"
import * as ReviewText from "../ReviewText.ts"
import * as ToolGate from "../ToolGate.ts"
import { EffectError } from "./effectErrors.ts"
import {
  type Book,
  type Entry,
  type Intent,
  type Known,
  type Pending,
  perform,
  recall,
  withArguments
} from "./performing.ts"
import { type Called, edited, misfit } from "./tools.ts"

type Remembered =
  | { readonly _tag: "Intended" }
  | { readonly _tag: "Done"; readonly value: Schema.Json | undefined }
  | { readonly _tag: "Lost"; readonly why: string }

/** What people would be asked about a call. */
export interface Question {
  readonly tool: string
  readonly args: Schema.Json
  readonly risk: Autonomy.Risk
  readonly irreversible: boolean
  readonly rule: string
  readonly reason: string
}

/** What somebody says who decides without people. */
export interface Said {
  readonly decision: "approve" | "edit" | "reject"
  readonly edits?: Readonly<Record<string, Schema.Json>> | undefined
  readonly note?: string | undefined
}

/** What stands in for a run, and for people. */
export interface Settings {
  readonly tier?: Autonomy.Tier | undefined
  readonly decide?: ((question: Question) => Said) | undefined
}

const nobody = (): Said => ({ decision: "reject", note: "there are no people here" })

/** The effects of one task, as if it were a task of a run. */
export class Memory implements Book {
  readonly run: string
  readonly task: string
  readonly dispatch: string
  readonly pending = new Map<string, Pending>()
  readonly service: Service = {
    perform: (options, called) => perform(this, options, called),
    recall: (options) => recall(this, options),
    // There is only one order.
    done: Effect.succeed([])
  }
  private readonly known = new Map<string, Remembered>()

  private readonly settings: Settings
  /** What was let be done, with the arguments that were approved. */
  private readonly passed = new Map<string, Intent>()

  constructor(run: string, task: string, settings: Settings = {}) {
    this.run = run
    this.task = task
    this.dispatch = `${run}/${task}/1`
    this.settings = settings
  }

  earlier(intent: Intent): Intent {
    return intent
  }

  pass(intent: Intent, called: Called): Effect.Effect<Intent, EffectError> {
    return Effect.suspend(() => {
      // What was begun is gone on with as it was.
      const begun = this.known.has(intent.effect) ? this.passed.get(intent.effect) : undefined
      const passed = begun ?? this.decide(intent, called)
      if (passed instanceof EffectError) return Effect.fail(passed)
      this.passed.set(intent.effect, passed)
      return Effect.succeed(passed)
    })
  }

  private decide(intent: Intent, called: Called): Intent | EffectError {
    const { decide = nobody, tier = Autonomy.defaultTier } = this.settings
    const { arguments: args, name } = intent
    const fail = (reason: EffectError["reason"], detail: string) => new EffectError({ effect: name, reason, detail })
    if (called._tag === "Undeclared") {
      return fail("denied", new Autonomy.ToolUnknown({ tool: name, known: called.known.toSorted() }).message)
    }
    const wrong = misfit(called, args)
    if (wrong !== undefined) return fail("malformed", wrong)
    const ruled = this.rule(called, args, tier)
    if (ruled._tag === "Run") return intent
    const { irreversible, reason, risk, rule } = ruled
    if (ruled._tag === "Deny") return fail("denied", `its gate says no (${rule})${reason === "" ? "" : `: ${reason}`}`)
    if (ruled._tag === "Confirm") {
      const facts = { task: this.task, worker: this.run, risk, tier, confidence: 1, attempts: 0 }
      if (Autonomy.confirm(facts).allowed) return intent
    }
    const {
      decision,
      edits = {},
      note = "no reason given"
    } = decide({ tool: name, args, risk, irreversible, rule, reason })
    switch (decision) {
      case "approve":
        return intent
      case "edit": {
        const changed = edited(called, args, edits)
        if (EffectResult.isFailure(changed)) return fail("rejected", changed.failure)
        const again = this.rule(called, changed.success, tier)
        return again._tag === "Deny" ? fail("denied", again.reason) : withArguments(intent, changed.success)
      }
      case "reject": {
        const text = ReviewText.forWorker({ _tag: "Rejected", by: "policy", reason: note, doNotRetry: false }, name)
        return fail("rejected", text)
      }
    }
  }

  private rule(tool: Extract<Called, { readonly _tag: "Declared" }>, args: Schema.Json, tier: Autonomy.Tier) {
    const read = tool.read(args)
    const decoded = EffectResult.isSuccess(read) ? read.success : args
    return ToolGate.decide({ tool, args: decoded, worker: tool.worker, tier })
  }

  holds(): boolean {
    return true
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
