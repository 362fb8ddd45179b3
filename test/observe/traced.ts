/** Runs that are traced, and what holds of the spans of any run. */
import { assert } from "@effect/vitest"
import { Layer } from "effect"
import { Meter } from "espalier/agent"
import { type Delegation, EspalierTracer, SemConv, Tracing } from "espalier/observe"
import type { RunEvent } from "espalier/run"

import { inMemory, type Seen } from "./seen.ts"
import { type Difference, differences, lines, ofSpans, ofTree } from "./shape.ts"
import { collecting } from "./spans.ts"
import { treeOf } from "./trees.ts"

/** Tracing over a tracer in memory, and the spans that it has made. */
export const tracing = (options: Tracing.Options = {}) => {
  const { layer, spans } = collecting()
  return {
    layer: Layer.merge(Tracing.layer(options), EspalierTracer.layer().pipe(Layer.provideMerge(layer))),
    seen: () => inMemory(spans)
  }
}

/** The reviews that somebody has decided: by the spans of those who did, and by the journal. */
const decidedBySpans = (spans: ReadonlyArray<Seen>): ReadonlySet<string> =>
  new Set(
    spans.flatMap(({ attributes, name }) =>
      name === SemConv.spanName.reviewDecide ? [String(attributes[SemConv.espalier.reviewId])] : []
    )
  )

const decidedByTree = ({ children, review }: Delegation.Node): ReadonlyArray<string> => [
  ...(review?.end === "decided" ? [review.review] : []),
  ...children.flatMap(decidedByTree)
]

interface Used {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly reasoning: number
  readonly costs: Readonly<Record<string, number>>
}

const money = (amount: number): number => Math.round(amount * 1e12) / 1e12

/** What spans of models say that they used; those of a cache count as input there. */
export const usedBySpans = (spans: ReadonlyArray<Seen>): Used => {
  const { attributes: names } = SemConv.names()
  const chats = spans.filter(({ attributes }) => attributes[names.operationName] === SemConv.operations.chat)
  const sum = (name: string) => chats.reduce((total, { attributes }) => total + Number(attributes[name] ?? 0), 0)
  const costs: Record<string, number> = {}
  for (const { attributes } of chats) {
    const { [SemConv.espalier.costAmount]: cost, [SemConv.espalier.costCurrency]: currency } = attributes
    if (typeof cost === "number") costs[String(currency)] = money((costs[String(currency)] ?? 0) + cost)
  }
  return {
    input: sum(names.usageInput),
    output: sum(names.usageOutput),
    cacheRead: sum(names.usageCacheRead),
    cacheWrite: sum(names.usageCacheWrite),
    reasoning: sum(names.usageReasoning),
    costs
  }
}

/** The same as the journal has it. */
const usedByTotals = (totals: Pick<Meter.Totals, "tokens" | "costs"> | undefined): Used => {
  const { cacheRead = 0, cacheWrite = 0, input = 0, output = 0, reasoning = 0 } = totals?.tokens ?? {}
  const costs = Object.fromEntries((totals?.costs ?? []).map(({ cost, currency }) => [currency, money(cost)]))
  return { input: input + cacheRead + cacheWrite, output, cacheRead, cacheWrite, reasoning, costs }
}

/** All that is below a span. */
const below = ({ id }: Seen, spans: ReadonlyArray<Seen>): ReadonlyArray<Seen> =>
  spans.filter(({ parent }) => parent === id).flatMap((span) => [span, ...below(span, spans)])

/** Work below which models have said what they used has their sum. */
const isSum = (span: Seen, spans: ReadonlyArray<Seen>): void => {
  const { attributes: names } = SemConv.names()
  const { costCurrency, outcome, usageCost, usageInputTokens, usageOutputTokens } = SemConv.espalier
  const { attributes, name } = span
  const operation = attributes[names.operationName]
  const { chat, executeTool } = SemConv.operations
  const isAnchor = attributes[outcome] === undefined
  if (isAnchor || operation === chat || operation === executeTool) return
  const { costs, input, output } = usedBySpans(below(span, spans))
  const told = [Number(attributes[usageInputTokens] ?? 0), Number(attributes[usageOutputTokens] ?? 0)] as const
  if (differences.some(({ unsummed }) => unsummed?.(span) === true)) {
    assert.isTrue(told[0] <= input && told[1] <= output, name)
    return
  }
  assert.deepStrictEqual(told, [input, output], name)
  const cost = attributes[usageCost]
  assert.deepStrictEqual(
    typeof cost === "number" ? { [String(attributes[costCurrency])]: money(cost) } : {},
    costs,
    name
  )
}

/** What was used is told by the spans of models alone, and comes to what the journal has, in each segment and in all. */
const addsUp = (run: string, spans: ReadonlyArray<Seen>, events: ReadonlyArray<RunEvent.RunEvent>): void => {
  const said = events.filter((event) => !differences.some(({ unused }) => unused?.(event) === true))
  const { attributes: names } = SemConv.names()
  for (const { attributes, name } of spans) {
    if (attributes[names.operationName] === SemConv.operations.chat) continue
    const told = Object.keys(attributes).filter((key) => SemConv.isUsage(key) || key === SemConv.espalier.costAmount)
    assert.deepStrictEqual(told, [], name)
  }
  for (const span of spans) isSum(span, spans)
  assert.deepStrictEqual(usedBySpans(spans), usedByTotals(Meter.fold(said).run))
  for (const { segment, totals } of treeOf(said).children) {
    const anchor = spans.find(
      ({ attributes, name }) =>
        name === SemConv.spanName.segment &&
        attributes[SemConv.espalier.runId] === run &&
        attributes[SemConv.espalier.segmentIndex] === segment?.index
    )
    const own = spans.filter(({ trace }) => trace === anchor?.trace)
    assert.deepStrictEqual(usedBySpans(own), usedByTotals(totals))
  }
}

/** What has to hold of all spans of a run, whatever it is: each is over, no error is without its type, no id is there twice. */
export const sound = (spans: ReadonlyArray<Seen>, run: string): void => {
  const { attributes: names } = SemConv.names()
  assert.strictEqual(new Set(spans.map(({ id }) => id)).size, spans.length)
  for (const span of spans) {
    const { attributes, end, name } = span
    assert.notStrictEqual(end, "open", name)
    assert.strictEqual(attributes[names.errorType] === undefined, end !== "error", `${name} ${JSON.stringify(span)}`)
    assert.strictEqual(attributes[SemConv.espalier.runId], run, name)
    const attempt = attributes[SemConv.espalier.taskAttempt]
    if (attributes[SemConv.espalier.nodeRole] !== "worker" || typeof attempt !== "number") continue
    // A try points to the one before it, where that was made in the same process.
    const before = spans.find(
      (each) =>
        each.parent === span.parent &&
        each.attributes[SemConv.espalier.nodeRole] === "worker" &&
        each.attributes[SemConv.espalier.taskAttempt] === attempt - 1
    )
    const restarts = span.links.filter(({ type }) => type === SemConv.links.restartOf).map(({ id }) => id)
    assert.deepStrictEqual(restarts, before === undefined ? [] : [before.id], name)
  }
}

/** Whether what was traced of a run is the tree of its history, segment by segment. */
export const agree = (
  run: string,
  spans: ReadonlyArray<Seen>,
  events: ReadonlyArray<RunEvent.RunEvent>,
  without: ReadonlyArray<Difference> = []
): void => {
  const tree = treeOf(events)
  const segments = ofSpans(run, spans, without)
  assert.deepStrictEqual(lines(segments), lines(ofTree(tree, without)))
  assert.deepStrictEqual(segments, ofTree(tree, without))
  addsUp(run, spans, events)
  assert.deepStrictEqual(decidedBySpans(spans), new Set(decidedByTree(tree)))
}
