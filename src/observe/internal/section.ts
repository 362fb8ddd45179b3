/**
 * What grows in one segment of a run: its workflows and supervisors, and who works under them.
 *
 * @since 0.1.0
 */
import type { Node } from "../Delegation.ts"
import type { Said, Twig } from "./twig.ts"

/** Where tasks are looked after: the run's own supervisor, or the workflow of a group. `domains`: their supervisors in there. */
export interface Place {
  readonly twig: Twig
  readonly domains: Map<string, Twig>
}

/** How a twig is begun below another one. */
export type Begin = (parent: Twig | undefined, kind: Node["kind"], name: string, at: number, said?: Said) => Twig

/** Where a group belongs: the group of its task, and the kind of its coordinator. */
export interface Group {
  readonly parent: string
  readonly kind: string
}

/** One segment. */
export class Section {
  readonly twig: Twig
  private readonly begin: Begin
  private readonly groups: ReadonlyMap<string, Group>
  private readonly places = new Map<string, Place>()
  /** What goes on, in the order in which it began. */
  private readonly open = new Set<Twig>()
  private rested: ReadonlyArray<Twig> = []
  private readonly root: Place
  /** The last sign that somebody carries the run out. */
  lastAt: number

  constructor(twig: Twig, begin: Begin, desk: string, groups: ReadonlyMap<string, Group>) {
    this.twig = twig
    this.begin = begin
    this.groups = groups
    this.lastAt = twig.startedAt
    this.open.add(twig)
    const workflow = this.start(twig, "workflow", desk, twig.startedAt)
    this.root = { twig: this.start(workflow, "supervisor", desk, twig.startedAt), domains: new Map() }
  }

  /** Begins something that ends with the segment at the latest. */
  start(parent: Twig, kind: Node["kind"], name: string, at: number, said?: Said): Twig {
    const twig = this.begin(parent, kind, name, at, said)
    if (this.isOpen) this.open.add(twig)
    else twig.end(at)
    return twig
  }

  end(twig: Twig, at: number, outcome?: Node["outcome"], error?: Node["error"]): void {
    twig.end(at, outcome, error)
    this.open.delete(twig)
  }

  /** What has ended goes on, and what went on has ended in its place. */
  exchange(ended: Twig, open: Twig): void {
    open.takeEnd(ended)
    this.open.delete(open)
    this.open.add(ended)
  }

  get isOpen(): boolean {
    return this.twig.isOpen
  }

  /** The place of a group; a workflow that is not there is begun. */
  place(group: string, at: number): Place {
    if (group === "") return this.root
    const known = this.places.get(group)
    if (known !== undefined && (known.twig.isOpen || !this.isOpen)) return known
    const { kind, parent } = this.groups.get(group) ?? { kind: "tasks", parent: "" }
    const above = this.place(parent, at).twig
    const place = { twig: this.start(above, "workflow", kind, at, { task: group }), domains: new Map<string, Twig>() }
    this.places.set(group, place)
    return place
  }

  /** The supervisor of a domain in a place. */
  domain(group: string, domain: string, at: number): Twig {
    const { domains, twig } = this.place(group, at)
    const known = domains.get(domain)
    if (known !== undefined) return known
    const supervisor = this.start(twig, "supervisor", domain, at)
    domains.set(domain, supervisor)
    return supervisor
  }

  /** The group of a task is over. */
  close(group: string, at: number, outcome: Node["outcome"], error?: Node["error"]): void {
    const place = this.places.get(group)
    if (place === undefined || !place.twig.isOpen) return
    for (const twig of place.domains.values()) this.end(twig, at, outcome, error)
    this.end(place.twig, at, outcome, error)
  }

  /** All that goes on ends with the segment. `lost`: its process has died. */
  stop(at: number, outcome: Node["outcome"], lost = false): void {
    this.rested = [...this.open]
    for (const twig of this.rested) {
      twig.end(at, outcome)
      if (lost) twig.said.lost = true
    }
    this.open.clear()
  }

  /** Nobody had left: what waited goes on. */
  goOn(): void {
    for (const twig of this.rested) {
      twig.reopen()
      this.open.add(twig)
    }
    this.rested = []
  }
}
