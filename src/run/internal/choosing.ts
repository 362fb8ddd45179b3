/**
 * What routers and planners share: an answer that says what it cost, and what people said.
 *
 * @since 0.1.0
 */
import type { Next, View } from "../Coordinator.ts"
import type { Usage } from "../Result.ts"
import type { Answer } from "../RunState.ts"
import { stop } from "./visits.ts"

const TypeId = "~espalier/run/Told"

/** An answer with what it cost and what is to be noted about it. */
export class Told {
  readonly [TypeId] = TypeId
  readonly answer: unknown
  readonly usage: Usage | undefined
  readonly note: string | undefined

  constructor(answer: unknown, usage: Usage | undefined, note: string | undefined) {
    this.answer = answer
    this.usage = usage
    this.note = note
  }
}

/** An answer, wherever it was wrapped. */
export const told = (value: unknown): Told => (value instanceof Told ? value : new Told(value, undefined, undefined))

/** What a person said last about whom or what to choose. */
export const lastSaid = ({ said }: View): Answer | undefined => said.findLast(({ kind }) => kind === "routing")

/** The end of a group because of what was said, or of nobody having said it in time; `what`: that they stopped. */
export const stopped = ({ by, instead, note }: Answer, what: string): Next => {
  if (instead === undefined) return stop("rejected-by-reviewer", `${by} stopped ${what}: ${note}`)
  return stop(instead === "withdrawn" ? "no-ready-task" : "escalation-expired", note)
}
