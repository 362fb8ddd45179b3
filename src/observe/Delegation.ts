/**
 * The delegation of a run over time, out of the run's events alone: who was asked what, for how long, what models and tools
 * were called for it, what that cost, and what went wrong first.
 *
 * | node | stands for | below it |
 * |---|---|---|
 * | `run` | the run | segments |
 * | `segment` | what one process did without a pause | the workflow of the desk |
 * | `workflow` | a desk, or a task that is carried out by tasks of its own | supervisors, plans, workflows |
 * | `supervisor` | the root of a desk, or a domain in one workflow | plans, workflows, orders |
 * | `plan` | a choice that was asked for: a route, a plan | calls of models |
 * | `delegate` | an order to a worker, as far as one segment has it | attempts |
 * | `agent` | one attempt | calls of models and tools |
 * | `chat` `tool` `effect` | a call of a model, of a tool, and what other workers do outside | |
 * | `review` `note` | a question to people, and what happened in a moment or was waited for | |
 *
 * **Details**
 *
 * - A run that waits for people or for a timer is carried out by nobody. Its segment ends there, and what goes on later is another
 *   one. Whoever had not left by then goes on with the same.
 * - A segment whose process died is `lost`, and ends with its last event. Of what went on in it nobody knows the outcome.
 * - Waiting, a no of people, and what was called back or put down are no errors.
 *
 * **Invariants**
 *
 * - D1. Any first part of a history gives a tree, and so does one that this version would not have written.
 * - D2. The totals of the run are those of all calls of models that the journal has, as `Meter` counts them.
 * - D3. Each event is looked at once. Ids do not change when events are added.
 *
 * **Gotchas**
 *
 * Times are those of the events. A call was over when it was written down, and began so long before as it says it took.
 *
 * **Example** (Who was asked, and how that ended)
 *
 * ```ts
 * import { Delegation } from "espalier/observe"
 *
 * const { add, tree } = Delegation.fold()
 * const at = { at: 5, note: "" }
 * add({ ...at, _tag: "RunStarted", run: "r1", desk: "d", version: "1", definition: "", input: null, tasks: [] })
 * add({ ...at, _tag: "Dispatched", task: "links", dispatch: "r1/links/1", worker: "docs.links", contract: 1 })
 * const names = (node: Delegation.Node): ReadonlyArray<string> => [
 *   `${node.kind} ${node.name}`,
 *   ...node.children.flatMap(names)
 * ]
 * names(tree()!).slice(4) // => ["supervisor docs", "delegate docs.links", "agent docs.links"]
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import type * as Journal from "../journal/Journal.ts"
import * as Run from "../run/Run.ts"
import {
  Decision,
  DispatchEnd,
  FinalAction,
  ReviewEnd,
  ReviewKind,
  ReviewReason,
  type RunEvent
} from "../run/RunEvent.ts"
import { Delegating } from "./internal/delegating.ts"

/**
 * What a node stands for: see the table of the module.
 *
 * @category models
 * @since 0.1.0
 */
export const Kind = Schema.Literals([
  "run",
  "segment",
  "workflow",
  "supervisor",
  "plan",
  "delegate",
  "agent",
  "chat",
  "tool",
  "effect",
  "review",
  "note"
])

/**
 * @category models
 * @since 0.1.0
 */
export type Kind = typeof Kind.Type

/**
 * How it ended. `suspended`: it waits, or was put down. `ok`: a segment, a tool or a call that did what it should.
 *
 * @category models
 * @since 0.1.0
 */
export const Outcome = Schema.Literals([...DispatchEnd.literals, "ok", "suspended"])

/**
 * @category models
 * @since 0.1.0
 */
export type Outcome = typeof Outcome.Type

/** @since 0.1.0 */
export interface Fault extends Schema.Schema.Type<typeof Fault> {}

/**
 * What went wrong in a node itself.
 *
 * **Details**
 *
 * - `kind`: of the failure, where it has one; of a run why it stopped; else a word such as `tool-failed` or `timeout`.
 * - `reason`: in the words of whoever failed, which may say anything.
 * - `recovered`: something later made it good: another attempt, another worker, another answer.
 *
 * @category models
 * @since 0.1.0
 */
export const Fault = Schema.Struct({
  kind: Schema.String,
  reason: Schema.String,
  recovered: Schema.optionalKey(Schema.Literal(true))
})

/** @since 0.1.0 */
export interface Totals extends Schema.Schema.Type<typeof Totals> {}

/**
 * What was used in a node and all below it.
 *
 * **Details**
 *
 * - `calls`: of models, the failed ones, too. `toolCalls`: of tools, as far as they were paid for.
 * - `tokens`: as `Meter` counts them; `total` has each once.
 * - `costs`: by currency, of the calls with a price. `unpriced`: how many have none: what they cost is not known, and not 0.
 * - `estimated`: of how many calls the provider did not say what they used.
 *
 * @category models
 * @since 0.1.0
 */
export const Totals = Schema.Struct({
  calls: Schema.Int,
  toolCalls: Schema.Int,
  tokens: Schema.Struct({
    input: Schema.Int,
    output: Schema.Int,
    cacheRead: Schema.Int,
    cacheWrite: Schema.Int,
    reasoning: Schema.Int,
    total: Schema.Int
  }),
  costs: Schema.Array(Schema.Struct({ currency: Schema.String, cost: Schema.Finite })),
  unpriced: Schema.Int,
  estimated: Schema.Int
})

const fields = {
  id: Schema.Int,
  kind: Kind,
  name: Schema.String,
  startedAt: Schema.Finite,
  endedAt: Schema.optionalKey(Schema.Finite),
  outcome: Schema.optionalKey(Outcome),
  lost: Schema.optionalKey(Schema.Literal(true)),
  error: Schema.optionalKey(Fault),
  task: Schema.optionalKey(Schema.String),
  dispatch: Schema.optionalKey(Schema.String),
  attempt: Schema.optionalKey(Schema.Int),
  attempts: Schema.optionalKey(Schema.Int),
  segment: Schema.optionalKey(
    Schema.Struct({
      index: Schema.Int,
      cause: Schema.Literals(["start", "decision", "timer", "message", "crash-recovery"]),
      replayed: Schema.Int
    })
  ),
  review: Schema.optionalKey(
    Schema.Struct({
      review: Schema.String,
      kind: ReviewKind,
      reason: ReviewReason,
      end: Schema.optionalKey(ReviewEnd),
      decision: Schema.optionalKey(Schema.Literals([...Decision.literals, ...FinalAction.literals])),
      by: Schema.optionalKey(Schema.String),
      waitMillis: Schema.optionalKey(Schema.Finite)
    })
  ),
  note: Schema.optionalKey(Schema.String),
  totals: Schema.optionalKey(Totals)
} as const

/** @since 0.1.0 */
export interface Node extends Schema.Struct.Type<typeof fields> {
  readonly children: ReadonlyArray<Node>
}

/**
 * A node, and what is below it, as plain JSON.
 *
 * **Details**
 *
 * - `id`: unique in the tree, in the order in which nodes came up. `name`: of the desk, worker, domain, model, tool.
 * - `startedAt`, `endedAt`: milliseconds since 1970; without `endedAt` it goes on. `lost`: of its end nothing is written.
 * - `outcome`: absent while it goes on, where it was lost, and of notes. `error`: see {@link Fault}.
 * - `task`, `dispatch`: which one it is about. `attempt`: which one it is; `attempts`: of an order, so far, in all segments.
 * - `segment`: which one it is from 0, why it began, and how many events were read again for it.
 * - `review`: what was asked and why, how that was closed, who decided what, and how long it waited. `decision` of one that
 *   nobody has decided in time: what was done instead.
 * - `totals`: absent where no model and no tool was called.
 *
 * @category models
 * @since 0.1.0
 */
export const Node = Schema.Struct({
  ...fields,
  children: Schema.Array(Schema.suspend((): Schema.Codec<Node> => Node))
})

/**
 * Takes events one after the other, so that a long history need not be held. The tree of no events is `undefined`.
 *
 * @category folding
 * @since 0.1.0
 */
export interface Fold {
  readonly add: (event: RunEvent) => void
  readonly tree: () => Node | undefined
}

/**
 * Makes an empty {@link Fold}.
 *
 * @category folding
 * @since 0.1.0
 */
export const fold = (): Fold => {
  const delegating = new Delegating()
  return { add: (event) => delegating.add(event), tree: () => delegating.tree() }
}

/**
 * The delegation of a run, as far as its journal has it; `undefined` of a run that the journal does not know.
 *
 * @category queries
 * @since 0.1.0
 */
export const ofRun = (
  run: string
): Effect.Effect<Node | undefined, Run.RunTooNew | Run.RunUntrusted | Journal.JournalError, Journal.Journal> =>
  Effect.suspend(() => {
    const { add, tree } = fold()
    return Run.events(run).pipe(
      Stream.runForEach((event) => Effect.sync(() => add(event))),
      Effect.map(tree)
    )
  })

/**
 * Where something went wrong first: the nodes from the run down to the one with the error.
 *
 * **Details**
 *
 * Errors that nothing has made good come before those that were recovered; then the earlier ones, by when their nodes ended;
 * of those that ended together, the one that lies deepest. `undefined` where nothing went wrong.
 *
 * @category queries
 * @since 0.1.0
 */
export const firstError = (tree: Node): { readonly error: Fault; readonly path: ReadonlyArray<Node> } | undefined => {
  let first: { readonly error: Fault; readonly path: ReadonlyArray<Node>; readonly at: number } | undefined
  const visit = (node: Node, above: ReadonlyArray<Node>): void => {
    const path = [...above, node]
    const { error } = node
    if (error !== undefined) {
      const at = node.endedAt ?? node.startedAt
      const sameWorth = (first?.error.recovered === true) === (error.recovered === true)
      const isFirst =
        first === undefined ||
        (sameWorth
          ? at < first.at || (at === first.at && path.length > first.path.length)
          : first.error.recovered === true)
      if (isFirst) first = { error, path, at }
    }
    for (const child of node.children) visit(child, path)
  }
  visit(tree, [])
  return first === undefined ? undefined : { error: first.error, path: first.path }
}
