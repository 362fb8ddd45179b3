/**
 * What a tree does, told in lines that a living tree and a model can both write.
 *
 * Lines are kept by scene: a supervisor and its children are one scene, in which the order of lines has a meaning. Two
 * scenes have none between them, except what the story of the supervisor above says.
 */
import { Duration } from "effect"
import type { Tree } from "espalier"

export class Story {
  readonly scenes = new Map<string, Array<string>>()

  tell(scene: string, line: string): void {
    const lines = this.scenes.get(scene)
    if (lines === undefined) this.scenes.set(scene, [line])
    else lines.push(line)
  }

  /** The first difference between two stories. */
  static differ(real: Story, model: Story): string | undefined {
    for (const scene of new Set([...real.scenes.keys(), ...model.scenes.keys()])) {
      const [ours = [], theirs = []] = [real.scenes.get(scene), model.scenes.get(scene)]
      for (let i = 0; i < Math.max(ours.length, theirs.length); i++) {
        if (ours[i] === theirs[i]) continue
        const before = ours.slice(Math.max(0, i - 4), i).map((line) => `\n    ${line}`)
        return `${scene}: after${before.join("")}\n  the tree says    ${ours[i] ?? "nothing"}\n  the model says   ${theirs[i] ?? "nothing"}`
      }
    }
    return undefined
  }
}

/** Where an event is told: with its siblings, or, for what a supervisor decides, with its children. */
export const sceneOf = (path: ReadonlyArray<string>, tag: Tree.Event["_tag"]): string =>
  tag === "GaveUp" || tag === "AutoShutdown"
    ? path.join("/")
    : tag === "DeadLetter"
      ? `${path.join("/")} mail`
      : path.slice(0, -1).join("/")

export const lineOf = (event: Tree.Event): string => {
  const id = event.path.at(-1)
  switch (event._tag) {
    case "Starting":
    case "Started":
    case "Ignored":
    case "StartFailed":
    case "Leaked":
    case "LeakEnded":
      return `${event.at} ${event._tag} ${id} #${event.incarnation}`
    case "Exited":
      return `${event.at} Exited ${id} #${event.incarnation} ${event.reason._tag}${event.ordered ? " ordered" : ""}`
    case "BackingOff":
      return `${event.at} BackingOff ${id} until ${event.until}`
    case "Restarting":
      return `${event.at} Restarting ${id} ${event.strategy} left ${event.left}`
    case "GaveUp": {
      const { restarts, within } = event.intensity
      const spent = event.restarts.filter((time) => event.at - time <= Duration.toMillis(within))
      return `${event.at} GaveUp on ${event.child}, ${spent.length} of ${restarts} spent`
    }
    case "AutoShutdown":
      return `${event.at} AutoShutdown by ${event.child}`
    case "Failed":
      return `${event.at} Failed ${id} ${event.reason._tag}`
    case "DeadLetter":
      return `${event.at} DeadLetter ${event.reason}`
    case "Stopping":
    case "Removed":
      return `${event.at} ${event._tag} ${id}`
    default:
      return `${event.at} ${event._tag} ${id}`
  }
}

/** A node and what is below it, as one comparable value. */
export interface Picture {
  readonly id: string
  readonly state: string
  readonly incarnation: number
  readonly restarts: number
  readonly leaked: number
  readonly mailbox: number | undefined
  readonly left: number | undefined
  readonly children: ReadonlyArray<Picture>
}

export const pictureOf = (node: Tree.Snapshot): Picture => ({
  id: node.id,
  state: node.state,
  incarnation: node.incarnation,
  restarts: node.restarts,
  leaked: node.leaked,
  mailbox: node.mailbox,
  left: node.intensity?.left,
  children: node.children.map(pictureOf)
})

const own = (node: Picture): string => JSON.stringify({ ...node, children: node.children.map(({ id }) => id) })

/** The first node in which two pictures differ. */
export const differ = (real: Picture, model: Picture): string | undefined => {
  if (own(real) !== own(model)) return `\n  the tree is      ${own(real)}\n  the model is     ${own(model)}`
  for (const [i, child] of real.children.entries()) {
    const found = differ(child, model.children[i]!)
    if (found !== undefined) return `/${child.id}${found}`
  }
  return undefined
}
