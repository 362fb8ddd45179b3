/**
 * An order that is open: its dispatch, the attempt that goes on, and the tools that this has called.
 *
 * @since 0.1.0
 */
import type { Node } from "../Delegation.ts"
import type { Section } from "./section.ts"
import type { Twig } from "./twig.ts"

/** An open order. */
export class Order {
  readonly task: string
  readonly dispatch: string
  readonly worker: string
  /** The number of the attempt that goes on or comes next. */
  attempt = 1
  /** When the next attempt begins, where none goes on. */
  private nextAt: number | undefined
  /** It was called back. */
  isRecalled = false
  /** Its worker asks models. */
  isAgent = false
  /** Where its work is told of since it was begun last. */
  private section: Section | undefined
  private delegate: Twig | undefined
  private agent: Twig | undefined
  /** What it does outside and goes on, by name; calls of tools that are told of by what was paid for them alone. */
  private readonly outside = new Map<string, Array<Twig>>()
  private readonly repeated = new Map<string, number>()
  /** What was paid for and is not settled. */
  private readonly paid = new Set<Twig>()

  constructor(task: string, dispatch: string, worker: string) {
    this.task = task
    this.dispatch = dispatch
    this.worker = worker
  }

  /** Its work begins in a segment: at first, with an answer, or anew. */
  begin(section: Section, supervisor: Twig, at: number): void {
    const { dispatch, task, worker } = this
    this.section = section
    this.delegate = section.start(supervisor, "delegate", worker, at, { task, dispatch, attempts: this.attempt })
    this.agent = undefined
    this.outside.clear()
    this.repeated.clear()
    this.paid.clear()
    this.nextAt = Math.max(at, this.nextAt ?? at)
    this.due(at)
  }

  /** Whether another attempt is to come. */
  get waits(): boolean {
    return this.nextAt !== undefined
  }

  get goesOn(): boolean {
    return this.delegate?.isOpen === true
  }

  /** Begins the attempt that is due by then. */
  due(at: number): void {
    const { delegate, nextAt, section, worker } = this
    if (nextAt === undefined || nextAt > at || delegate === undefined || section === undefined) return
    this.agent = section.start(delegate, "agent", worker, nextAt, { attempt: this.attempt })
    delegate.said.attempts = this.attempt
    this.nextAt = undefined
  }

  /** There is word of an attempt, so that it has begun: a timer may be early by the clock that the events have. */
  heard(attempt: number, at: number): void {
    if (this.nextAt !== undefined && attempt >= this.attempt) {
      this.attempt = attempt
      this.nextAt = Math.min(this.nextAt, at)
    }
    this.due(at)
  }

  /** Where something that its work did is told of. */
  at(at: number): Twig | undefined {
    this.due(at)
    return this.agent ?? this.delegate
  }

  /** An attempt has failed, and another one follows. */
  failed(attempt: number, at: number, waitMillis: number, error: NonNullable<Node["error"]>): void {
    this.heard(attempt, at)
    this.leave(at)
    if (this.agent?.isOpen === true) this.section?.end(this.agent, at, "failed", error)
    this.attempt = attempt + 1
    this.nextAt = at + waitMillis
  }

  /** Its work has stopped: it is over, or waits. What is put down between two tries has the second one before it. */
  stop(at: number, outcome: Node["outcome"], error?: Node["error"]): void {
    this.due(at)
    this.leave(at)
    const { agent, delegate, section } = this
    if (agent?.isOpen === true) section?.end(agent, at, outcome, error)
    if (delegate?.isOpen === true) section?.end(delegate, at, outcome, error)
    if (outcome !== "suspended") this.nextAt = undefined
  }

  /** Something is about to be done outside. */
  intended(name: string, at: number): Twig | undefined {
    const parent = this.at(at)
    if (parent === undefined || this.section === undefined) return undefined
    const twig = this.section.start(parent, this.isAgent ? "tool" : "effect", name, at)
    const known = this.outside.get(name)
    if (known === undefined) this.outside.set(name, [twig])
    else known.push(twig)
    return twig
  }

  /**
   * A tool was called: what is told of it already, or nothing. Which one it was of those that have the same name and go on at the same
   * time is known when it is settled; until then it is the first.
   */
  called(name: string, at: number, outcome: Node["outcome"], error?: Node["error"]): Twig | undefined {
    const twig = this.outside.get(name)?.find(({ isOpen }) => isOpen)
    if (twig === undefined) this.repeated.set(name, (this.repeated.get(name) ?? 0) + 1)
    else {
      this.section?.end(twig, at, outcome, error)
      this.paid.add(twig)
    }
    return twig
  }

  /** It is known what came of something that was done outside. */
  settled(twig: Twig, at: number, outcome: Node["outcome"], error?: Node["error"]): void {
    if (this.paid.delete(twig) || !twig.isOpen) return
    const taken = this.outside.get(twig.name)?.find((each) => this.paid.has(each))
    if (taken === undefined) return this.section?.end(twig, at, outcome, error)
    // It was this call that was paid for, and the other one goes on.
    this.paid.delete(taken)
    this.section?.exchange(taken, twig)
  }

  /** Whether what was settled is told of by a call that was paid for. */
  wasRepeated(name: string): boolean {
    const count = this.repeated.get(name) ?? 0
    this.repeated.set(name, Math.max(0, count - 1))
    return count > 0
  }

  /** Of what it was doing outside nobody has written the end. */
  private leave(at: number): void {
    for (const twigs of this.outside.values()) {
      for (const twig of twigs) {
        if (!twig.isOpen) continue
        this.section?.end(twig, at)
        twig.said.lost = true
      }
    }
    this.outside.clear()
    this.paid.clear()
  }
}
