/** The model of a child that does something: an init, a run or a mailbox, and a clean-up. */
import type { Fault, Life, Reason } from "./place.ts"
import { Place } from "./place.ts"
import type { End, LeafSpec, Work } from "./plan.ts"
import type { Picture } from "./story.ts"

interface LeafLife extends Life {
  /** what it does */
  at: "init" | "run" | "cleaning" | "gone"
  /** somebody tried to interrupt it */
  interrupted: boolean
  /** the timer of its init, or of the handler at work */
  callOffBody: (() => void) | undefined
  handling: Message | undefined
  awake: boolean
}

interface Message {
  readonly work: Work
  readonly kind: "tell" | "ask"
}

const partOf = (how: End): Fault => {
  switch (how) {
    case "done":
      return []
    case "dies":
      return ["bug"]
    case "interrupts":
      return ["interruption"]
    default:
      return [how]
  }
}

export class Leaf extends Place {
  declare readonly spec: LeafSpec
  declare life: LeafLife | undefined
  private mail: Array<Message> = []
  private closed = false
  private revoked = false

  protected override live(life: Life): LeafLife {
    this.closed = this.revoked
    return {
      ...life,
      at: "init",
      interrupted: false,
      callOffBody: undefined,
      handling: undefined,
      awake: false
    }
  }

  protected launch(life: LeafLife): void {
    const { reachable, newest, time } = this.world
    newest.set(this.path, { end: (how: End) => life.at === "run" && this.bodyEnds(life, partOf(how)) })
    if (this.declared && this.spec.kind === "actor") reachable.set(this.path, this)
    const init = this.spec.inits[life.index % this.spec.inits.length]!
    const done = (): void => {
      life.callOffBody = undefined
      switch (init.how) {
        case "fails":
          return this.bodyEnds(life, [this.spec.initError])
        case "dies":
          return this.bodyEnds(life, ["bug"])
        case "interrupts":
          return this.bodyEnds(life, ["interruption"])
        case "ignores":
          return this.bodyEnds(life, [], true)
        default:
          if (life.interrupted) return this.bodyEnds(life, ["interruption"])
          life.at = "run"
          this.ready(life)
          this.rouse(life)
      }
    }
    if (init.after === 0) done()
    else life.callOffBody = time.later(init.after, done)
  }

  private get deafInit(): boolean {
    const { inits } = this.spec
    return inits[((this.world.begun.get(this.path) ?? 1) - 1) % inits.length]!.how === "deaf"
  }

  protected quit(life: LeafLife): void {
    this.interrupt(life)
  }

  private interrupt(life: LeafLife): void {
    if (life.at === "cleaning" || life.at === "gone") return
    life.interrupted = true
    if (life.at === "init") {
      if (!this.deafInit) this.bodyEnds(life, ["interruption"])
      return
    }
    if (this.spec.kind === "worker") {
      if (!this.spec.deaf) this.bodyEnds(life, ["interruption"])
      return
    }
    const { handling } = life
    if (handling === undefined) return this.bodyEnds(life, [])
    if (handling.work.how === "deaf") return
    life.handling = undefined
    this.letter(handling, "interrupted")
    this.bodyEnds(life, [])
  }

  protected cut(life: LeafLife): boolean {
    this.interrupt(life)
    const { handling } = life
    life.handling = undefined
    if (handling !== undefined) this.letter(handling, "interrupted")
    return life.at !== "gone"
  }

  /** Its effect is over: now it cleans up. */
  private bodyEnds(life: LeafLife, fault: Fault, declines = false): void {
    life.callOffBody?.()
    life.callOffBody = undefined
    life.at = "cleaning"
    life.exit = fault
    const finalizer = this.spec.finalizers[life.index % this.spec.finalizers.length]!
    const clean = (): void => {
      life.at = "gone"
      const dies = finalizer.how === "dies"
      if (declines && !dies && !life.ordered) this.declined(life)
      else this.finished(life, dies ? [...fault, "bug"] : fault)
    }
    if (!life.over) {
      life.callOff?.()
      life.callOff = undefined
    }
    if (finalizer.after === 0) return clean()
    if (finalizer.after === Number.POSITIVE_INFINITY) this.world.hanging.push(clean)
    else this.world.time.later(finalizer.after, clean)
    if (!life.over) this.grace(life)
  }

  // ------------------------------------------------------------------------------------------------------------ mail

  send(work: Work, kind: Message["kind"]): void {
    const message: Message = { work, kind }
    if (this.closed) return this.letter(message, "stopped")
    this.mail.push(message)
    if (this.life !== undefined) this.rouse(this.life)
  }

  private letter(message: Message, why: string): void {
    if (message.kind === "tell") {
      this.world.story.tell(`${this.path} mail`, `${this.world.time.now} DeadLetter ${why}`)
    }
  }

  private clear(why: string): void {
    for (const message of this.mail.splice(0)) this.letter(message, why)
  }

  private rouse(life: LeafLife): void {
    if (life.awake || life.at !== "run" || this.mail.length === 0 || life.handling !== undefined) return
    life.awake = true
    this.world.time.soon(() => {
      life.awake = false
      if (life === this.life) this.work(life)
    })
  }

  private work(life: LeafLife): void {
    while (life.at === "run" && life.handling === undefined) {
      const message = this.mail.shift()
      if (message === undefined) return
      life.handling = message
      const { after } = message.work
      if (after === 0) this.worked(life, message)
      else {
        life.callOffBody = this.world.time.later(after, () => {
          life.callOffBody = undefined
          this.worked(life, message)
          this.work(life)
        })
      }
    }
  }

  private worked(life: LeafLife, message: Message): void {
    life.handling = undefined
    const { how } = message.work
    if (life.interrupted) {
      // What could not be interrupted has done its work, yet nobody hears of it any more.
      if (!life.over) this.letter(message, "interrupted")
      return this.bodyEnds(life, [])
    }
    if (how !== "dies" && how !== "interrupts") return
    this.bodyEnds(life, how === "dies" ? ["bug"] : ["interruption"])
    this.letter(message, "crashed")
  }

  protected override down(_life: Life, reason: Reason): void {
    if (this.spec.onRestart === "fail" && reason !== "Shutdown" && reason !== "Normal") this.clear("crashed")
  }

  override renew(): void {
    super.renew()
    this.closed = this.revoked
  }

  override settle(): void {
    if (this.closed) return
    this.closed = true
    this.clear("stopped")
  }

  override revoke(): void {
    this.revoked = true
    this.settle()
  }

  look(): Picture {
    return this.picture({
      mailbox: this.spec.kind === "actor" ? this.mail.length : undefined,
      left: undefined,
      children: []
    })
  }
}
