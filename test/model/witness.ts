/** What must hold of the events of any tree, whatever was planned: read one after the other, with no model at hand. */
import type { Tree } from "espalier"

import type { Spec, SupervisorSpec } from "./plan.ts"

interface Place {
  state: "down" | "starting" | "up"
  incarnation: number
  stopping: boolean
  leaks: number
  /** under which it was last started */
  reign: Reign | undefined
  /** the time at which its restart counts: that of its end, or that for which it waited */
  counts: number
}

/** One incarnation of a supervisor. */
interface Reign {
  /** its place in the order, by id */
  readonly ranks: Map<string, number>
  readonly spent: Array<number>
  next: number
  /** its first start is under way */
  booting: boolean
  /** when it was asked to stop, or gave up; what it was asked before that at the same moment is still done */
  downAt: number | undefined
  /** it stops its children: the rank of the last one that it asked */
  down: number | undefined
  lastStarted: number
}

export class Witness {
  readonly complaints: Array<string> = []
  private readonly places = new Map<string, Place>()
  private readonly reigns = new Map<string, Reign>()
  private readonly specs = new Map<string, SupervisorSpec>()
  /** children that somebody asked to be stopped, sooner or later */
  private readonly requested = new Set<string>()
  private over = false

  constructor(root: SupervisorSpec) {
    this.know(root, root.id)
  }

  /** A spec that was added. */
  know(spec: Spec, path: string): void {
    if (spec.kind !== "supervisor") return
    this.specs.set(path, spec)
    for (const child of spec.children) this.know(child, `${path}/${child.id}`)
  }

  /** A request to stop a child. */
  request(path: string): void {
    this.requested.add(path)
  }

  private place(path: string): Place {
    let place = this.places.get(path)
    if (place === undefined) {
      this.places.set(
        path,
        (place = { state: "down", incarnation: 0, stopping: false, leaks: 0, reign: undefined, counts: 0 })
      )
    }
    return place
  }

  private childrenOf(path: string): Array<readonly [id: string, place: Place]> {
    const depth = path.length + 1
    return [...this.places].flatMap(([known, place]) =>
      known.startsWith(`${path}/`) && !known.slice(depth).includes("/") ? [[known.slice(depth), place] as const] : []
    )
  }

  see(event: Tree.Event): void {
    const path = event.path.join("/")
    const parent = event.path.slice(0, -1).join("/")
    const id = event.path.at(-1)!
    const place = this.place(path)
    const reign = this.reigns.get(parent)
    const must = (holds: boolean, what: string): void => {
      if (!holds) this.complaints.push(`at ${event.at} ${event._tag} ${path}: ${what}`)
    }
    const alone = (): void => {
      for (const [other, { state, stopping }] of this.childrenOf(parent)) {
        if (other === id) continue
        must(state !== "starting", `${other} is starting`)
        must(!stopping, `${other} is stopping`)
      }
    }
    if (this.over) must(event._tag === "LeakEnded" || event._tag === "DeadLetter", "the tree has ended")

    switch (event._tag) {
      case "Starting": {
        must(place.state === "down", "it is not down")
        // A removed child that was declared is back when its supervisor begins anew, and so is its count.
        must(
          event.incarnation === place.incarnation + 1 || event.incarnation === 1 || reign !== place.reign,
          "incarnations are counted"
        )
        place.reign = reign
        place.state = "starting"
        place.incarnation = event.incarnation
        place.stopping = false
        const spec = this.specs.get(path)
        if (spec !== undefined) {
          const ranks = new Map(spec.children.map((child, i) => [child.id, i]))
          this.reigns.set(path, {
            ranks,
            spent: [],
            next: ranks.size,
            booting: true,
            downAt: undefined,
            down: undefined,
            lastStarted: -1
          })
        }
        if (reign === undefined) return
        alone()
        must(reign.downAt === undefined || reign.downAt === event.at, "its supervisor is stopping")
        if (!reign.ranks.has(id)) reign.ranks.set(id, reign.next++)
        if (reign.booting) must(reign.ranks.get(id)! > reign.lastStarted, "children start in order")
        reign.lastStarted = reign.ranks.get(id)!
        return
      }
      case "Started": {
        must(place.state === "starting", "it is not starting")
        place.state = "up"
        const own = this.reigns.get(path)
        if (own !== undefined) own.booting = false
        return
      }
      case "Ignored":
      case "StartFailed":
      case "Exited": {
        if (event._tag === "Exited")
          must(place.state === "up" || (event.ordered && place.state === "starting"), "not up")
        else must(place.state === "starting", "it is not starting")
        for (const [other, child] of this.childrenOf(path))
          must(child.state === "down", `its child ${other} is not down`)
        place.state = "down"
        place.stopping = false
        place.counts = event.at
        this.reigns.delete(path)
        if (parent === "") this.over = true
        return
      }
      case "Stopping": {
        must(place.state !== "down", "it is down")
        must(!place.stopping, "it was asked already")
        const own = this.reigns.get(path)
        if (own !== undefined && own.downAt === undefined) goDown(own, event.at)
        if (reign !== undefined) {
          alone()
          const rank = reign.ranks.get(id)!
          // The one that was about to start is asked first, wherever it stands.
          const inFlight =
            reign.down === Number.POSITIVE_INFINITY && (rank === reign.lastStarted || this.requested.has(path))
          if (reign.down !== undefined && !inFlight) {
            must(rank < reign.down, "children stop in reverse order")
            reign.down = rank
          }
        }
        place.stopping = true
        return
      }
      case "Restarting": {
        must(
          reign !== undefined && (reign.downAt === undefined || reign.downAt === event.at),
          "its supervisor is not up"
        )
        const { restarts, within } = this.specs.get(parent)!.intensity
        const recent = reign!.spent.filter((time) => place.counts - time <= within).length + 1
        reign!.spent.push(place.counts)
        must(recent <= restarts, `${recent} restarts within ${within}, and ${restarts} are allowed`)
        must(event.left === restarts - recent, `${restarts - recent} are left, not ${event.left}`)
        return
      }
      case "BackingOff":
        place.counts = event.until
        return
      case "GaveUp":
      case "AutoShutdown":
        goDown(this.reigns.get(path)!, event.at)
        return
      case "Leaked":
        must(place.state !== "down", "it is down")
        place.leaks += 1
        return
      case "LeakEnded":
        must(place.leaks > 0, "nothing leaked")
        place.leaks -= 1
        return
      case "Removed":
        must(place.state === "down", "it is not down")
        reign?.ranks.delete(id)
        return
      default:
    }
  }

  get leaks(): number {
    let sum = 0
    for (const place of this.places.values()) sum += place.leaks
    return sum
  }
}

const goDown = (reign: Reign, at: number): void => {
  reign.downAt = at
  reign.down = Number.POSITIVE_INFINITY
}
