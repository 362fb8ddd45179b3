/**
 * What is known of a call of a model while it goes on, for whoever traces it: an interruption says neither that its time was over nor
 * what it had used by then.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

import type { Tokens } from "../ModelCall.ts"

/** Written by who makes the call. `late`: its time was over. `reported`: what it has used so far, as its provider said. */
export interface CallNotes {
  late: boolean
  reported: Tokens | undefined
}

/** How many tokens the prompts of the calls around may have. Default: that is not known. */
export const WindowSize = Context.Reference<number | undefined>("espalier/agent/internal/callNotes/WindowSize", {
  defaultValue: () => undefined
})

/** Of the call that is made. Default `undefined`: nobody writes any. */
export const CallNotes = Context.Reference<CallNotes | undefined>("espalier/agent/internal/callNotes/CallNotes", {
  defaultValue: () => undefined
})
