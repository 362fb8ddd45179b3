/**
 * Those who say something to a run, or wait to hear whether what they said was taken: its workers and people, here and by word in
 * the journal.
 *
 * **Invariants**
 *
 * - V1. Nobody hears that something was taken before it is written; a refusal that is written down is told when it is.
 * - V2. Word from the journal is taken in once.
 * - V3. What somebody says about a question counts only if somebody has looked whether they may.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import type * as Journal from "../../journal/Journal.ts"
import type { Office } from "../Office.ts"
import type { Of, RunEvent } from "../RunEvent.ts"
import { nextReview } from "./applying/reviews.ts"
import { notHere } from "./inbox.ts"
import type { News } from "./news.ts"
import type { Page } from "./page.ts"
import { termed } from "./proposing.ts"
import { redacted } from "./redacting.ts"
import { type Eligible, type Heard, relayed, submitted, unheard } from "./submitting.ts"
import { asksWho, type Judged, vet } from "./vetting.ts"
import { wordOf } from "./word.ts"

/** Nobody has looked whether who decides may. */
const unvetted: Eligible = {
  _tag: "Refused",
  because: "reviewers-unavailable",
  reason: "nobody has looked whether they may"
}

type Ack = Deferred.Deferred<string | undefined>

/** So much word is looked at at once. */
const atOnce = 16

/** @since 0.1.0 */
export class Voices {
  private readonly page: Page
  private readonly office: Pick<Office, "desk" | "spec">
  private readonly tell: (news: News) => void
  private readonly context: () => Context.Context<never>
  /** Who waits to hear whether an event was taken, and those that were and have to be written first. */
  private readonly askers = new Map<RunEvent, Ack>()
  private acks: Array<{ readonly ack: Ack; readonly refused: string | undefined }> = []
  /** What is known of who decides, and who wants to know what became of it. */
  private readonly deciders = new WeakMap<RunEvent, Pick<News, "eligible" | "heard" | "since">>()
  /** Events that were left in the journal as word, with its number. */
  private readonly words = new Map<RunEvent, number>()
  private readonly commands = new Set<number>()

  /** `context`: of whoever carries the run out, by which it is looked up who may decide. */
  constructor(
    page: Page,
    office: Pick<Office, "desk" | "spec">,
    tell: (news: News) => void,
    context: () => Context.Context<never>
  ) {
    this.page = page
    this.office = office
    this.tell = tell
    this.context = context
  }

  /** The news as events. */
  dated(news: ReadonlyArray<News>, at: number): ReadonlyArray<RunEvent> {
    return news.map((each): RunEvent => {
      if (each.ack === undefined && each.command === undefined) return { ...each, at } as RunEvent
      const { ack, command, eligible, heard, since, ...told } = each
      const event = { ...told, at }
      if (eligible !== undefined || heard !== undefined) this.deciders.set(event, { eligible, heard, since })
      if (ack !== undefined) this.askers.set(event, ack)
      if (command !== undefined) this.words.set(event, command)
      return event
    })
  }

  /** Takes in what somebody says who waits for an answer, or left it as word; whether that is what it was. */
  receive(event: RunEvent): boolean {
    const asker = this.askers.get(event)
    if (asker !== undefined) {
      // A person's word can come too late; who said it is told.
      this.answer(event, asker, this.submit(event))
      return true
    }
    const word = this.words.get(event)
    if (word === undefined) return false
    this.obey(event, word)
    return true
  }

  /** As `receive`, for what is taken in once more after somebody else has written: the reason when it is refused. */
  again(event: RunEvent): string | undefined {
    const asker = this.askers.get(event)
    const refused = this.submit(event)
    if (asker === undefined) return refused
    this.answer(event, asker, refused)
    return undefined
  }

  /** Forgets what was taken and not written. */
  retract(): void {
    this.acks = []
  }

  /** Tells those whose word was taken now that it is written. */
  acknowledge(): void {
    if (this.askers.size === 0) return
    for (const { ack, refused } of this.acks.splice(0)) Deferred.doneUnsafe(ack, Exit.succeed(refused))
    this.askers.clear()
  }

  /** Nobody listens any more: who still waits for an answer has to look elsewhere. */
  dismiss(): void {
    this.acks = []
    for (const ack of this.askers.values()) Deferred.doneUnsafe(ack, Exit.succeed(notHere))
    this.askers.clear()
  }

  /** Word that was left in the journal is news, once. */
  readonly hear = (left: Journal.Left): Effect.Effect<() => void> =>
    Effect.suspend(() => {
      if (this.commands.has(left.id)) return Effect.succeed(() => {})
      return Effect.map(this.read(left), (news) => () => {
        if (this.commands.has(left.id)) return
        this.commands.add(left.id)
        this.tell(news)
      })
    })

  /** Word that is taken in from the start is not heard once more. */
  expect(left: ReadonlyArray<Journal.Left>): void {
    for (const { id } of left) this.commands.add(id)
  }

  /** Word, and whether who left it may decide. */
  readAll(left: ReadonlyArray<Journal.Left>): Effect.Effect<ReadonlyArray<News>> {
    return Effect.forEach(left, (each) => this.read(each), { concurrency: atOnce })
  }

  private read(left: Journal.Left): Effect.Effect<News> {
    const word = wordOf(left)
    if (!asksWho(word)) return Effect.succeed(word)
    return Effect.map(this.eligible(word), (eligible) => ({ ...word, eligible }))
  }

  /** Whether somebody may say what they say. */
  readonly eligible = (said: Judged): Effect.Effect<Eligible> =>
    Effect.suspend(() => Effect.provideContext(vet(this.page.known(), said), this.context()))

  /** Takes what somebody says, or writes down that it does not count; the reason then. */
  private submit(made: RunEvent): string | undefined {
    if (made._tag === "ReviewOpened") return this.openFor(this.asked(made))
    if (made._tag === "ReviewRefused") {
      const { event } = relayed(this.page.known(), made)
      return event === undefined ? undefined : this.page.offer(event)
    }
    const { eligible = unvetted, heard: tell, since } = this.deciders.get(made) ?? {}
    if (made._tag !== "ReviewDecided" || this.page.state === undefined) {
      const refusal =
        this.page.state !== undefined && asksWho(made) ? unheard(this.page.state, made, eligible, since) : undefined
      if (refusal === undefined) return this.page.offer(made)
      tell?.(refusal)
      return refusal.reason
    }
    const { event, heard } = submitted(
      this.page.state,
      redacted(made, this.page.place.rules) as Of<"ReviewDecided">,
      eligible,
      since
    )
    const refused = event === undefined ? undefined : this.page.offer(event)
    const unable: Heard | undefined =
      refused === undefined ? undefined : { _tag: "Refused", because: "invalid", reason: refused }
    tell?.(unable ?? heard)
    return refused ?? (heard._tag === "Refused" ? heard.reason : undefined)
  }

  /** Opens a question of the work of an order; one that a standing grant covers is decided in the same moment. */
  private openFor(opened: Of<"ReviewOpened">): string | undefined {
    const refused = this.page.offer(opened)
    const { at, grant, review } = opened
    const standing = grant === undefined ? undefined : this.page.known().standing.get(grant)
    if (refused !== undefined || grant === undefined || standing === undefined) return refused
    const { by, uses } = standing.grant
    const note = `${grant} of ${by} covers it, use ${standing.used + 1} of ${uses}`
    return this.page.offer({ _tag: "ReviewDecided", at, review, decision: "approve", by, grant, note })
  }

  /** A question of the work of an order, with its name and its terms. */
  private asked(made: Of<"ReviewOpened">): Of<"ReviewOpened"> {
    const state = this.page.known()
    const { spec, desk } = this.office
    const worker = spec.workers.get(state.tasks.get(made.task ?? "")?.dispatch?.worker ?? "")
    return termed(desk.reviews, state, { ...made, review: nextReview(state) }, worker)
  }

  /** Takes word in. What cannot be taken is told, and gone from the journal all the same. */
  private obey(event: RunEvent, word: number): void {
    this.words.delete(event)
    this.page.handle(word)
    const refused = this.submit(event)
    // What somebody decides and does not count says so itself.
    if (refused === undefined || this.page.last?._tag === "ReviewRefused" || this.page.isOver()) return
    const note = `A ${event._tag} that was left in the journal is refused: ${refused}`
    this.page.take({ _tag: "Noticed", at: event.at, subject: "", what: "refused-command", note })
  }

  /** A refusal is told at once, anything else when it is written. */
  private answer(event: RunEvent, asker: Ack, refused: string | undefined): void {
    // What is written down is told when it is.
    if (refused === undefined || (asksWho(event) && this.page.last?._tag === "ReviewRefused")) {
      return void this.acks.push({ ack: asker, refused })
    }
    this.askers.delete(event)
    Deferred.doneUnsafe(asker, Exit.succeed(refused))
    if (event._tag !== "EffectSettled") return
    // Whoever has to decide about it is told nevertheless.
    const { at, note, task } = event
    this.page.take({
      _tag: "Noticed",
      at,
      subject: task,
      what: "late-effect",
      note: `${note}, which came too late: ${refused}`
    })
  }
}
