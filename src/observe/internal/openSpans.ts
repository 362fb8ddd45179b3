/**
 * The spans of a run that are open, each below another one, and what was used below them.
 *
 * **Invariants**
 *
 * - S1. What is closed has nothing open below it: that is closed before.
 * - S2. The first so many are made. What is opened after them is no span, and what is done in it is done in the nearest around it.
 * - S3. To close a span takes as long as what is below it has parts, however many others are open.
 *
 * @since 0.1.0
 */
import type { Of } from "../../run/RunEvent.ts"
import type { Attributes } from "../SemConv.ts"
import { closing, type Fields, type How, type Op, type Open } from "./spanOps.ts"
import { SpanUsage } from "./spanUsage.ts"

/** Work that is cut off by the end of what it is below is only put down; supervisors and groups end as what they are below. */
const endBelow = (id: string, how: How): How =>
  how.outcome !== "accepted" || /^(domain|group) /.test(id) ? how : { outcome: "suspended" }

/** @since 0.1.0 */
export class OpenSpans {
  private readonly names: Attributes
  private readonly most: number
  /** Each with what it is below. */
  private readonly parents = new Map<string, string>()
  /** Each with what is open below it, in the order in which that was opened. There are no empty ones. */
  private readonly children = new Map<string, Set<string>>()
  /** What is no span, each with what it is below. S2 */
  private readonly unmade = new Map<string, string>()
  private readonly usage = new SpanUsage()
  private made = 0
  private beyond = 0

  constructor(names: Attributes, most: number) {
    this.names = names
    this.most = most
  }

  /** How many were not made. */
  get dropped(): number {
    return this.beyond
  }

  has(id: string): boolean {
    return this.parents.has(id)
  }

  /** What is a span, and the nearest to this from the inside out. */
  nearest(id: string): string {
    let nearest = id
    for (let below = this.unmade.get(id); below !== undefined; below = this.unmade.get(below)) nearest = below
    return nearest
  }

  /** What is open of this and of what it is below, from the inside out. */
  around(id: string): ReadonlyArray<string> {
    const found: Array<string> = []
    for (let each: string | undefined = id; each !== undefined; each = this.parents.get(each)) {
      if (this.parents.has(each)) found.push(each)
    }
    return found
  }

  /** Opens a span, or nothing where there are too many. */
  open(op: Open & { readonly parent: string }): ReadonlyArray<Op> {
    const { id, parent } = op
    this.leave(id)
    this.parents.set(id, parent)
    const siblings = this.children.get(parent)
    if (siblings === undefined) this.children.set(parent, new Set([id]))
    else siblings.add(id)
    if (this.made < this.most) {
      this.made += 1
      return [op] // what it is below was made before it
    }
    this.beyond += 1
    this.unmade.set(id, parent)
    return []
  }

  /** Tells more of a span that is open. */
  tell(id: string, attributes: Fields): ReadonlyArray<Op> {
    return this.unmade.has(id) ? [] : [{ _tag: "Tell", id, attributes }]
  }

  /** What was used in the time of spans, for their ends. */
  spent(event: Of<"Spent">, spans: ReadonlyArray<string>): void {
    this.usage.add(event, spans)
  }

  /** Closes a span, and before it whatever is open below it. S1 */
  close(id: string, how: How, more: Fields = {}): ReadonlyArray<Op> {
    if (!this.has(id)) return []
    const ops: Array<Op> = []
    for (const child of this.children.get(id) ?? []) ops.push(...this.close(child, endBelow(child, how))) // S3
    this.leave(id)
    const used = this.usage.take(id)
    if (!this.unmade.delete(id)) ops.push(closing(id, how, this.names, { ...used, ...more }))
    return ops
  }

  private leave(id: string): void {
    const parent = this.parents.get(id)
    if (parent === undefined) return
    this.parents.delete(id)
    const siblings = this.children.get(parent)
    siblings?.delete(id)
    if (siblings?.size === 0) this.children.delete(parent)
  }
}
