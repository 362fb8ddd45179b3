/**
 * The contracts of declared tasks: what is declared is checked once, and with each order only what is new in it.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"

import type * as Contract from "../Contract.ts"
import { localName, type Task } from "../Coordinator.ts"
import * as Plan from "../Plan.ts"
import { isId } from "./fields.ts"
import { frozenIfPlain } from "./plain.ts"

/**
 * Contracts as `Plan.contract` makes them, to the last message.
 *
 * @since 0.1.0
 */
export class Contracts {
  /** The contracts without inputs; `undefined` for a task that has none. */
  private readonly declared = new WeakMap<Task<never, unknown>, Contract.Contract | undefined>()

  /** The contract of a task that is called `id`, or why it is none. */
  of(
    template: Task<never, unknown>,
    id: string,
    inputs: unknown,
    amendment: Readonly<Record<string, unknown>> | undefined
  ): EffectResult.Result<Contract.Contract, Contract.ContractInvalid> {
    const base = amendment === undefined ? this.baseOf(template) : undefined
    const contract = base === undefined ? undefined : withInputs(base, localName(id), inputs)
    // Who has something to object says it best.
    return contract === undefined
      ? Plan.contract({ ...template, id }, inputs, amendment)
      : EffectResult.succeed(contract)
  }

  private baseOf(template: Task<never, unknown>): Contract.Contract | undefined {
    if (this.declared.has(template)) return this.declared.get(template)
    const base = EffectResult.getOrUndefined(Plan.contract(template, {}))
    this.declared.set(template, base)
    return base
  }
}

/** A checked contract with other inputs, when there is nothing to object to them. */
const withInputs = (base: Contract.Contract, task: string, given: unknown): Contract.Contract | undefined => {
  if (!isId(task) || typeof given !== "object" || Array.isArray(given)) return undefined
  const inputs = frozenIfPlain(given) as Contract.Contract["inputs"] | undefined | null
  if (inputs === undefined || inputs === null) return undefined
  for (const name of Object.keys(base.references)) if (Object.hasOwn(inputs, name)) return undefined

  return Object.freeze({ ...base, task, inputs })
}
