/**
 * What the models that were asked below a span have used, for the end of that span.
 *
 * It is what their own spans say, added up: a call of which the provider did not say what it used is counted, and in no sum.
 *
 * @since 0.1.0
 */
import { callOf, Money } from "../../agent/internal/callSums.ts"
import type { Of } from "../../run/RunEvent.ts"
import { espalier } from "../SemConv.ts"

/** The sums of one span. */
class Used {
  private input = 0
  private output = 0
  private unknown = 0
  private unpriced = 0
  private readonly money = new Money()

  add(call: ReturnType<typeof callOf>): void {
    if (call === undefined || call.estimated === true) {
      this.unknown += 1
      return
    }
    const { cacheRead = 0, cacheWrite = 0, input, output } = call.usage
    this.input += input + cacheRead + cacheWrite
    this.output += output
    const { cost, currency } = call
    if (cost === undefined || currency === undefined) this.unpriced += 1
    else this.money.add(cost, currency)
  }

  /** Money of several currencies is no sum. */
  get attributes(): Readonly<Record<string, string | number>> {
    const [first, ...others] = this.money.costs
    return {
      [espalier.usageInputTokens]: this.input,
      [espalier.usageOutputTokens]: this.output,
      ...(first === undefined || others.length > 0
        ? {}
        : { [espalier.usageCost]: first.cost, [espalier.costCurrency]: first.currency }),
      ...(this.unknown === 0 ? {} : { [espalier.usageUnknownCalls]: this.unknown }),
      ...(this.unpriced === 0 ? {} : { [espalier.usageUnpricedCalls]: this.unpriced })
    }
  }
}

/** The sums of the spans that are open. */
export class SpanUsage {
  private readonly used = new Map<string, Used>()

  /** Adds a call of a model to those in whose time and below which it was made. */
  add(spent: Of<"Spent">, spans: ReadonlyArray<string>): void {
    if (spent.what !== "model") return
    const call = callOf(spent)
    for (const id of spans) {
      const used = this.used.get(id) ?? new Used()
      this.used.set(id, used)
      used.add(call)
    }
  }

  /** The sums of a span that ends: none where no model was asked. */
  take(id: string): Readonly<Record<string, string | number>> {
    const used = this.used.get(id)
    this.used.delete(id)
    return used === undefined ? {} : used.attributes
  }
}
