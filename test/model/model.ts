/** The model of a whole tree: does the same steps as the living one. */
import { Branch, placeOf, type Request } from "./branch.ts"
import { Leaf } from "./leaf.ts"
import type { Place, World } from "./place.ts"
import type { Case, End, Step } from "./plan.ts"
import { Story } from "./story.ts"
import { Timeline } from "./timeline.ts"

export class Model {
  readonly time = new Timeline()
  readonly story = new Story()
  readonly replies: Array<string> = []
  readonly root: Branch
  private readonly world: World
  private decisions: Array<() => void> = []
  private deciding = false

  constructor(plan: Case) {
    this.world = {
      time: this.time,
      story: this.story,
      begun: new Map(),
      reachable: new Map(),
      newest: new Map(),
      hanging: [],
      decide: (decision) => {
        this.decisions.push(decision)
        if (this.deciding) return
        this.deciding = true
        this.time.soon(() => {
          for (let next = this.decisions.shift(); next !== undefined; next = this.decisions.shift()) next()
          this.deciding = false
        })
      }
    }
    this.root = new Branch(this.world, undefined, plan.root, true)
    this.root.state = "starting"
    this.root.begin()
  }

  do(step: Step): void {
    switch (step.do) {
      case "wait":
        return this.time.advanceTo(this.time.now + step.millis)
      case "end":
        return (this.world.newest.get(step.path) as { end(how: End): void } | undefined)?.end(step.how)
      case "tell":
      case "ask":
        return (this.world.reachable.get(step.path) as Leaf | undefined)?.send(step.work, step.do)
      case "add":
        return this.request(step.path, step.child.id, (parent) => ({
          what: "add",
          place: placeOf(this.world, parent, step.child, false)
        }))
      case "stop":
      case "restart":
      case "remove":
        return this.request(step.path, step.id, () => ({ what: step.do }))
      case "interrupt-starter":
        return this.stop()
    }
  }

  stop(): void {
    this.root.halt(false)
  }

  private request(path: string, id: string, of: (branch: Branch) => Pick<Request, "what" | "place">): void {
    // Whoever is outside knows the tree when it has started, or from a child that told.
    if (!this.root.life?.ready && this.world.newest.size === 0 && this.root.state === "starting") return
    const at = this.replies.push("waits") - 1
    let node: Place | undefined = this.root
    for (const step of path.split("/").slice(1)) {
      node = node instanceof Branch ? node.childOf(step) : undefined
    }
    if (!(node instanceof Branch)) {
      this.replies[at] = "not-found"
      return
    }
    const request = of(node)
    node.ask({
      ...request,
      id,
      reply: (answer) => {
        this.replies[at] = answer
        const { place } = request
        if (answer === "done" && place instanceof Leaf && place.spec.kind === "actor") {
          this.world.reachable.set(place.path, place)
        }
      }
    })
  }
}
