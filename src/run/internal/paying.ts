/**
 * Paying for calls one by one: each is told as it happens, and counts against an allowance.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import type { Allowance, Spend, Spending } from "../Allowance.ts"
import type { Usage } from "../Result.ts"
import { charge, measures, plus, type Writable } from "./amounts.ts"
import { isRecord } from "./given.ts"
import { owned } from "./plain.ts"
import { shortened } from "./problems.ts"
import { bytesOf } from "./showing.ts"

/** What is told of something that was paid for. */
export interface Told {
  readonly what: string
  readonly usage: Usage
  readonly facts?: Readonly<Record<string, Schema.Json>>
  readonly note: string
}

/** Bytes of JSON that facts may take: 8 KiB. */
const most = 8 * 1024

const sum = (usage: Usage): string => {
  const parts = measures.flatMap((measure) => (usage[measure] === undefined ? [] : [`${usage[measure]} ${measure}`]))
  return parts.length === 0 ? "nothing that is known" : parts.join(", ")
}

/** As it is told: facts that are no plain JSON, or too much of it, are left out, which the note says. */
const told = ({ facts, note, usage: given, what }: Spending): Told => {
  const own = facts === undefined ? undefined : owned(facts, "facts")
  const fits = own !== undefined && EffectResult.isSuccess(own) && isRecord(own.success) && bytesOf(own.success) <= most
  const usage = charge({}, given)
  const said =
    note === undefined ? `A call was paid for (${shortened(what, 100)}): ${sum(usage)}` : shortened(note, 500)
  const kept = fits ? { facts: own.success as Readonly<Record<string, Schema.Json>> } : {}
  return {
    what: shortened(what, 100),
    usage,
    ...kept,
    note: facts === undefined || fits ? said : `${said}; what is known of it cannot be recorded`
  }
}

/** What is paid for of one order, or for one choice. */
export class Paying {
  private readonly allowance: Allowance
  private readonly tell: (told: Told) => void

  constructor(allowance: Allowance, tell: (told: Told) => void) {
    this.allowance = allowance
    this.tell = tell
  }

  readonly spend: Spend = (estimate, work) =>
    Effect.suspend(() => {
      let paid: Usage = {}
      const record = (spending: Spending) =>
        Effect.sync(() => {
          const each = told(spending)
          paid = plus(paid, each.usage)
          this.tell(each)
        })
      return this.allowance.call(estimate, work(record), () => only(estimate, paid))
    })
}

/** What was paid, and nothing of what was only expected. */
const only = (estimate: Usage, paid: Usage): Usage => {
  const used: Writable<Usage> = { ...paid }
  for (const measure of measures) if (estimate[measure] !== undefined) used[measure] ??= 0
  return used
}
