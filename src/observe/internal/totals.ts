/**
 * What calls of models and tools come to.
 *
 * @since 0.1.0
 */
import { CallSums, tokensOf } from "../../agent/internal/callSums.ts"
import type * as ModelCall from "../../agent/ModelCall.ts"
import type * as RunEvent from "../../run/RunEvent.ts"

/** Sums as plain data. */
export interface Totals {
  readonly calls: number
  readonly toolCalls: number
  readonly tokens: Required<ModelCall.Tokens> & { readonly total: number }
  readonly costs: ReadonlyArray<{ readonly currency: string; readonly cost: number }>
  readonly unpriced: number
  readonly estimated: number
}

/** Sums that grow. */
export class Sums {
  private readonly models = new CallSums()
  private toolCalls = 0

  /** Adds a call of a model, or what is known of it without its record. */
  model(call: ModelCall.Call | undefined, spent: RunEvent.Of<"Spent">): void {
    this.models.add(call, tokensOf(call, spent))
  }

  tool(): void {
    this.toolCalls += 1
  }

  addAll(other: Sums): void {
    this.models.addAll(other.models)
    this.toolCalls += other.toolCalls
  }

  /** Nothing where nothing was called. */
  get totals(): Totals | undefined {
    const { toolCalls } = this
    const { calls, costs, estimated, tokens, unpriced } = this.models
    return calls + toolCalls === 0 ? undefined : { calls, toolCalls, tokens, costs, unpriced, estimated }
  }
}
