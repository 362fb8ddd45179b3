/**
 * The model of a supervisor: a script that does one thing after the other and waits for each, as Erlang's supervisor
 * does. What it hears while it waits for something else stays in its inbox. A stop is the only thing that it always
 * listens to: it breaks the script off.
 */
import { Leaf } from "./leaf.ts"
import type { Fault, Life, News, Parent, Reason, World } from "./place.ts"
import { Place } from "./place.ts"
import { isSignificant, type Spec, type SupervisorSpec } from "./plan.ts"
import type { Picture } from "./story.ts"

/** What somebody asks of a supervisor. */
export interface Request {
  readonly what: "add" | "stop" | "restart" | "remove"
  readonly id: string
  readonly place?: Place
  readonly reply: (answer: string) => void
}

type Note = News | Request | { readonly what: "halt"; readonly returns: boolean }

type Script<A> = Generator<void, A, void>

/** The script is broken off. */
class Broken {
  readonly why: "stopped" | "gave-up" | "shut-down" | "start-failed"
  readonly fault: Fault
  readonly returns: boolean
  constructor(why: Broken["why"], fault: Fault, returns = false) {
    this.why = why
    this.fault = fault
    this.returns = returns
  }
}

interface BranchLife extends Life {
  script: Script<void> | undefined
  inbox: Array<Note>
  stopping: boolean
  order: Array<Place>
  spent: Array<number>
  /** it is being started, or stopped */
  inFlight: Place | undefined
  /** the request that is being carried out */
  request: Request | undefined
  /** a group that waits for the retry of one of its members */
  waiting: { readonly child: Place; readonly group: ReadonlyArray<Place> } | undefined
  faults: Map<Place, Fault>
  trouble: Fault | undefined
}

const isRequest = (note: Note): note is Request => "reply" in note

const isNews = (note: Note): note is News => "about" in note

const ends: ReadonlyArray<Note["what"]> = ["ignored", "start-failed", "exited"]

export class Branch extends Place implements Parent {
  declare readonly spec: SupervisorSpec
  declare life: BranchLife | undefined
  readonly children: ReadonlyArray<Place>

  constructor(world: World, parent: Parent | undefined, spec: SupervisorSpec, declared: boolean) {
    super(world, parent, spec, declared)
    this.children = spec.children.map((child) => placeOf(world, this, child, true))
  }

  // ----------------------------------------------------------------------------------------------------------- letters

  hear(news: News): void {
    this.deliver(news)
  }

  ask(request: Request): void {
    this.deliver(request)
  }

  private deliver(note: Note): void {
    const { life } = this
    if (life !== undefined) this.world.decide(() => this.take(life, note))
    else if (isRequest(note)) note.reply("not-running")
  }

  private take(life: BranchLife, note: Note): void {
    const deaf = life.stopping || life.script === undefined
    if (deaf && isRequest(note)) return note.reply("not-running")
    if (life.script === undefined || (deaf && note.what === "halt")) return
    life.inbox.push(note)
    life.script.next()
  }

  private *receive(life: BranchLife, wanted: (note: Note) => boolean): Script<Note> {
    for (;;) {
      const at = life.inbox.findIndex((note) => note.what === "halt" || wanted(note))
      const [note] = at < 0 ? [] : life.inbox.splice(at, 1)
      if (note?.what === "halt") throw new Broken("stopped", [], note.returns)
      if (note !== undefined) return note
      yield
    }
  }

  // ------------------------------------------------------------------------------------------------------------- script

  protected override live(life: Life): BranchLife {
    for (const child of this.children) {
      child.state = "stopped"
      child.renew()
    }
    return {
      ...life,
      script: undefined,
      inbox: [],
      stopping: false,
      order: [...this.children],
      spent: [],
      inFlight: undefined,
      request: undefined,
      waiting: undefined,
      faults: new Map(),
      trouble: undefined
    }
  }

  protected launch(life: BranchLife): void {
    this.world.decide(() => {
      if (life.over) return
      life.script = this.play(life)
      life.script.next()
    })
  }

  private *play(life: BranchLife): Script<void> {
    let end = new Broken("stopped", [])
    try {
      for (const child of life.order.slice()) {
        const news = yield* this.bring(life, child)
        if (news.what === "start-failed") throw new Broken("start-failed", news.fault)
      }
      this.ready(life)
      if (this.parent === undefined) this.state = "running"
      for (;;) yield* this.handle(life, yield* this.receive(life, () => true))
    } catch (broken) {
      if (!(broken instanceof Broken)) throw broken
      end = broken
    }
    yield* this.takeAllDown(life, end)
    for (const child of life.order) {
      if (!child.declared) child.revoke()
      else if (!end.returns) child.settle()
    }
    life.script = undefined
    if (end.why === "gave-up" || end.why === "start-failed") life.trouble = end.fault
    if (end.why === "gave-up" && !life.ordered) this.gone(life, end.fault)
    else this.finished(life, end.fault)
  }

  /** Starts one child and waits for what comes of it. */
  private *bring(life: BranchLife, child: Place): Script<News> {
    child.state = "starting"
    life.inFlight = child
    child.begin()
    const { incarnation } = child
    const news = (yield* this.receive(
      life,
      (note) =>
        isNews(note) &&
        note.about === child &&
        note.incarnation === incarnation &&
        (note.what === "started" || note.what === "ignored" || note.what === "start-failed")
    )) as News
    life.inFlight = undefined
    if (news.what === "started") child.state = "running"
    else if (news.what === "start-failed") child.state = news.leaked ? "leaked" : "failed"
    else {
      child.state = "stopped"
      child.settle()
      if (child.spec.restart === "never") this.forget(life, child)
    }
    return news
  }

  /** Stops children, the last one first. One that dies before its turn is crossed off. */
  private *takeDown(life: BranchLife, group: ReadonlyArray<Place>, why: "restart" | "request" | "end"): Script<void> {
    const known = new Set(life.inbox)
    const left = group.toReversed()
    const down = (child: Place, leaked: boolean): void => {
      child.state = leaked ? "leaked" : "stopped"
      if (why === "end") return
      if (child.spec.restart === "never") this.forget(life, child)
      else if (why === "request") child.settle()
    }
    for (let child = left.shift(); child !== undefined; child = left.shift()) {
      if (!life.order.includes(child)) continue
      const died = this.died(life, child)
      if (died !== undefined) {
        life.inbox.splice(life.inbox.indexOf(died), 1)
        down(child, died.leaked)
      } else if (child.isUp) {
        child.state = "stopping"
        life.inFlight = child
        child.halt(why === "restart" ? child.spec.restart !== "never" : false)
        const { leaked } = yield* this.awaitEnd(life, child, left, known, down)
        life.inFlight = undefined
        down(child, leaked)
      } else if (child.state === "backing-off") {
        child.state = "stopped"
        this.waitNoMore(life, child)
      }
    }
  }

  private *awaitEnd(
    life: BranchLife,
    child: Place,
    left: ReadonlyArray<Place>,
    known: ReadonlySet<Note>,
    down: (child: Place, leaked: boolean) => void
  ): Script<News> {
    return (yield* this.receive(life, (note) => {
      if (!isNews(note) || known.has(note)) return false
      if (note.about === child) return note.incarnation === child.incarnation && ends.includes(note.what)
      const late = note.what === "exited" && note.incarnation === note.about.incarnation && left.includes(note.about)
      if (late && note.about.state === "running") down(note.about, note.leaked)
      return false
    })) as News
  }

  /** The news of its death, if it waits to be read. */
  private died(life: BranchLife, child: Place): News | undefined {
    return life.inbox.find(
      (note): note is News =>
        isNews(note) &&
        note.about === child &&
        note.what === "exited" &&
        note.incarnation === child.incarnation &&
        child.state === "running"
    )
  }

  /** The end of all. */
  private *takeAllDown(life: BranchLife, end: Broken): Script<void> {
    life.stopping = true
    life.request?.reply("not-running")
    for (const note of life.inbox.splice(0)) {
      if (isRequest(note)) note.reply("not-running")
      else if (note.what === "exited" && note.about.state === "running" && note.incarnation === note.about.incarnation)
        note.about.state = note.leaked ? "leaked" : "stopped"
    }
    const { inFlight } = life
    const known = new Set<Note>()
    const down = (child: Place, leaked: boolean): void => {
      child.state = leaked ? "leaked" : "stopped"
    }
    if (inFlight !== undefined) {
      if (inFlight.state === "starting") {
        inFlight.state = "stopping"
        inFlight.halt(end.returns)
      }
      down(inFlight, (yield* this.awaitEnd(life, inFlight, life.order, known, down)).leaked)
    }
    for (const child of life.order.toReversed()) {
      if (child.isUp) {
        child.state = "stopping"
        child.halt(end.returns)
        down(child, (yield* this.awaitEnd(life, child, life.order, known, down)).leaked)
      } else if (child.state === "backing-off") {
        child.state = "stopped"
        this.waitNoMore(life, child)
      }
    }
  }

  // ----------------------------------------------------------------------------------------------------------- restarts

  private *handle(life: BranchLife, note: Note): Script<void> {
    if (isRequest(note)) {
      life.request = note
      const answer = yield* this.carryOut(life, note)
      life.request = undefined
      // Whoever asked learns of it when it is done, before a group goes on.
      if (typeof answer === "string") return note.reply(answer)
      note.reply("done")
      return yield* this.startGroup(life, answer.group, answer.child)
    }
    if (!isNews(note) || note.incarnation !== note.about.incarnation) return
    const { about: child, fault } = note
    if (note.what === "retry" && child.state === "backing-off") {
      const known = life.faults.get(child) ?? []
      life.faults.delete(child)
      return yield* this.restart(life, child, note.at, known)
    }
    if (note.what !== "exited" || child.state !== "running") return
    switch (note.verdict) {
      case "restart": {
        if (note.delay > 0) this.wait(life, child, note)
        else yield* this.restart(life, child, note.at, fault)
        return
      }
      case "escalate":
        return this.giveUp(life, child, fault)
      case "forget": {
        child.state = "stopped"
        this.forget(life, child)
        break
      }
      default: {
        child.state = note.verdict === "stop" ? "stopped" : note.verdict === "fail" ? "failed" : "gave-up"
        child.settle()
      }
    }
    this.endWith(life, child, [])
  }

  private count(life: BranchLife, at: number): number {
    return life.spent.filter((time) => at - time <= this.spec.intensity.within).length
  }

  private *restart(life: BranchLife, child: Place, at: number, fault: Fault): Script<void> {
    life.spent.push(at)
    const { restarts } = this.spec.intensity
    const left = restarts - this.count(life, at)
    if (left < 0) return this.giveUp(life, child, fault)
    child.state = "stopped"
    if (life.waiting?.child === child) life.waiting = undefined
    child.restarts += 1
    child.tell(`Restarting ${child.spec.id} ${this.spec.strategy} left ${left}`)
    const { strategy } = this.spec
    const from = strategy === "one-for-all" ? 0 : life.order.indexOf(child)
    const group = strategy === "one-for-one" ? [child] : life.order.slice(from)
    if (strategy !== "one-for-one") yield* this.takeDown(life, group, "restart")
    yield* this.startGroup(life, group)
  }

  private *startGroup(life: BranchLife, group: ReadonlyArray<Place>, except?: Place): Script<void> {
    for (const child of group) {
      if (!life.order.includes(child) || child === except || child.isUp || child.spec.restart === "never") continue
      if (child.state === "backing-off") this.waitNoMore(life, child)
      const news = yield* this.bring(life, child)
      if (news.what !== "start-failed") continue
      switch (news.verdict) {
        case "restart": {
          this.wait(life, child, news)
          if (this.spec.strategy === "one-for-one") break
          const at = life.order.indexOf(child)
          const last = life.order.indexOf(group.findLast((member) => life.order.includes(member))!)
          const first = this.spec.strategy === "one-for-all" ? 0 : at
          life.waiting = { child, group: life.order.slice(first, last + 1) }
          if (first < at) yield* this.takeDown(life, life.order.slice(first, at), "restart")
          return
        }
        case "escalate":
          return this.giveUp(life, child, news.fault)
        case "forget": {
          this.forget(life, child)
          break
        }
        default:
          child.settle()
      }
      if (news.verdict !== "restart") {
        const ahead = group.slice(group.indexOf(child) + 1)
        this.endWith(
          life,
          child,
          ahead.filter((member) => member !== except && member.spec.restart !== "never")
        )
      }
    }
  }

  private wait(life: BranchLife, child: Place, { delay, fault }: News): void {
    child.state = "backing-off"
    life.faults.set(child, fault)
    child.retryLater(delay)
  }

  private waitNoMore(life: BranchLife, child: Place): void {
    life.faults.delete(child)
    if (life.waiting?.child === child) life.waiting = undefined
    child.cancelRetry()
  }

  private giveUp(life: BranchLife, child: Place, fault: Fault): never {
    child.state = "failed"
    const { restarts } = this.spec.intensity
    const { now } = this.world.time
    const spent = Math.min(this.count(life, now), restarts + 1)
    this.world.story.tell(this.path, `${now} GaveUp on ${child.spec.id}, ${spent} of ${restarts} spent`)
    for (const each of life.order) each.settleIdle()
    throw new Broken("gave-up", fault)
  }

  /** Ends with a significant child that is over, unless others keep it up; `ahead` are about to be started. */
  private endWith(life: BranchLife, child: Place, ahead: ReadonlyArray<Place>): void {
    if (!isSignificant(child.spec, this.spec)) return
    const waiting = (life.waiting?.group ?? []).filter((member) => member.spec.restart !== "never")
    const up = life.order.filter((other) => other.isUp || other.state === "backing-off")
    const others = [...up, ...ahead, ...waiting].filter((other) => life.order.includes(other))
    if (this.spec.autoShutdown === "all-significant" && others.some(({ spec }) => isSignificant(spec, this.spec)))
      return
    this.world.story.tell(this.path, `${this.world.time.now} AutoShutdown by ${child.spec.id}`)
    for (const each of life.order) each.settleIdle()
    throw new Broken("shut-down", ["shutdown"])
  }

  private forget(life: BranchLife, child: Place): void {
    const at = life.order.indexOf(child)
    if (at < 0) return
    life.order.splice(at, 1)
    child.tell(`Removed ${child.spec.id}`)
    child.revoke()
  }

  // ----------------------------------------------------------------------------------------------------------- requests

  private *carryOut(life: BranchLife, request: Request): Script<string | NonNullable<BranchLife["waiting"]>> {
    const child = this.childOf(request.id)
    if (request.what === "add") {
      if (child !== undefined) return child.isUp ? "already-started" : "already-present"
      const place = request.place!
      life.order.push(place)
      const news = yield* this.bring(life, place)
      if (news.what !== "start-failed") return "done"
      this.forget(life, place)
      return "start failed"
    }
    if (child === undefined) return "not-found"
    if (request.what === "stop") {
      if (child.isUp) yield* this.takeDown(life, [child], "request")
      else if (child.state === "backing-off") {
        const { waiting } = life
        this.waitNoMore(life, child)
        child.state = "stopped"
        child.settle()
        if (child.spec.restart === "never") this.forget(life, child)
        if (waiting?.child === child) return waiting
      } else if (child.spec.restart === "never") this.forget(life, child)
      return "done"
    }
    if (child.isUp) return "running"
    if (child.state === "backing-off") return "restarting"
    if (request.what === "remove") {
      this.forget(life, child)
      return "done"
    }
    const news = yield* this.bring(life, child)
    if (news.what !== "start-failed") return "done"
    child.settle()
    return "start failed"
  }

  // ------------------------------------------------------------------------------------------------------- as a child

  protected quit(life: BranchLife, returns: boolean): void {
    if (this.parent === undefined) this.state = "stopping"
    if (!returns) for (const child of life.order) child.settleIdle()
    this.deliver({ what: "halt", returns })
  }

  protected cut(life: BranchLife): boolean {
    life.stopping = true
    life.script = undefined
    life.request?.reply("not-running")
    for (const note of life.inbox.splice(0)) if (isRequest(note)) note.reply("not-running")
    for (const child of life.order.toReversed()) {
      if (child.state === "backing-off") child.cancelRetry()
      child.abandon()
      child.state = child.leaked > 0 ? "leaked" : "stopped"
      if (child.declared) child.settle()
      else child.revoke()
    }
    return false
  }

  private gone(life: BranchLife, fault: Fault): void {
    if (!life.over) this.end(life, fault, "GaveUp", false)
  }

  protected override end(life: BranchLife, fault: Fault, reason: Reason, leaked: boolean): void {
    super.end(life, reason === "Error" ? (life.trouble ?? fault) : fault, reason, leaked)
  }

  protected override down(life: Life, reason: Reason): void {
    if (this.parent !== undefined) return
    this.state = reason === "GaveUp" ? "gave-up" : life.ready || life.ordered ? "stopped" : "failed"
    this.revoke()
  }

  override renew(): void {
    super.renew()
    for (const child of this.children) child.renew()
  }

  override settle(): void {
    for (const child of this.children) child.settle()
  }

  override revoke(): void {
    for (const child of this.children) child.revoke()
  }

  childOf(id: string): Place | undefined {
    return this.life?.order.find((child) => child.spec.id === id)
  }

  look(): Picture {
    const { life } = this
    const { restarts } = this.spec.intensity
    const left = life === undefined ? restarts : Math.max(0, restarts - this.count(life, this.world.time.now))
    return this.picture({ mailbox: undefined, left, children: life?.order ?? this.children })
  }
}

export const placeOf = (world: World, parent: Parent, spec: Spec, declared: boolean): Place =>
  spec.kind === "supervisor" ? new Branch(world, parent, spec, declared) : new Leaf(world, parent, spec, declared)
