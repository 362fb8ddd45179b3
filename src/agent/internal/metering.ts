/**
 * How calls of models are let through, paid for and written down: the same for agents, choices and judges.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { Spending } from "../../run/Allowance.ts"
import { shorten } from "../../run/internal/problems.ts"
import type { Usage } from "../../run/Result.ts"
import { CostModel } from "../CostModel.ts"
import * as ModelCall from "../ModelCall.ts"
import { ModelFailure } from "../ModelFailure.ts"
import type { CallOptions, Swap } from "../Models.ts"

/** What the notice of a swap is called. @since 0.1.0 */
export const modelSwap = "model-swap"

/**
 * What a call is for, and what goes with it.
 *
 * **Details**
 *
 * - `what`: for whom and for what. `estimate`: what it may use. `left`: what may still be spent; absent = not limited.
 * - `record`, `notice`: as an order, or a question, has them.
 * - `more`: what else there is to know of it. `usage`: what it counts as, where that is more than it used.
 */
export interface Purpose {
  readonly what: string
  readonly estimate: { readonly input: number; readonly output: number }
  readonly left: Usage
  readonly record: (spending: Spending) => Effect.Effect<void>
  readonly notice?: ((what: string, note: string) => Effect.Effect<void>) | undefined
  readonly more?: Readonly<Record<string, Schema.Json>> | undefined
  readonly usage?: ((call: ModelCall.Call) => Usage) | undefined
}

/** Options of a call that is written down in any case. */
export interface Metered extends CallOptions {
  readonly onCall: (call: ModelCall.Call) => Effect.Effect<void>
}

/** How a call with a purpose is made: see `Models.call`. @since 0.1.0 */
export const metered = ({
  estimate,
  left,
  more = {},
  notice,
  record,
  usage = ModelCall.usageOf,
  what
}: Purpose): Effect.Effect<Metered, never, CostModel> =>
  Effect.map(CostModel, ({ price }) => ({
    estimate,
    admit: (call) => affordable(call, price(call), left.cost),
    onCall: (call) =>
      record({
        what: "model",
        usage: usage(call),
        facts: { ...call, ...more },
        note: `${call.provider}/${call.model} was asked for ${what}: ${call.end}`
      }),
    ...(notice === undefined ? {} : { onSwap: (swap) => notice(modelSwap, swapped(swap)) })
  }))

const swapped = ({ from, kind, reason, to }: Swap): string =>
  `${to} is asked instead of ${from} (${kind}): ${shorten(reason, 300)}`

/** Whether a call may cost what it may come to. What nobody knows the price of is not called where cost is limited. */
const affordable = (
  { model, provider }: Pick<ModelCall.Call, "model" | "provider">,
  cost: number | undefined,
  left: number | undefined
): Effect.Effect<void, ModelFailure> => {
  if (left === undefined || (cost !== undefined && cost <= left)) return Effect.void
  const who = `${provider}/${model}`
  const [kind, reason] =
    cost === undefined
      ? (["capability", `what ${who} costs is not known, and what may be spent is limited`] as const)
      : (["exhausted", `a call of ${who} may cost ${cost}, and ${left} is left`] as const)
  return Effect.fail(new ModelFailure({ provider, model, kind, reason, begun: false }))
}
