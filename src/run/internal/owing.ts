/**
 * What people are to be told of a run and were not told yet: the journal is the outbox, and this is what it says is in it.
 *
 * A fold over the events of a run. What is owed follows from them alone, so whoever takes a run up owes what was owed before.
 *
 * | event | owes |
 * |---|---|
 * | `ReviewOpened` | `created`; of an open question in whose place it is put, `superseded` |
 * | `ReviewAdvanced` | `reminder`, or `stage-changed` when others are asked, too |
 * | `ReviewChanged` | `stage-changed` when others are asked instead |
 * | `ReviewDecided` `ReviewExpired` `ReviewWithdrawn` | `decided`, `expired`, `withdrawn` |
 * | `GrantStalled` | `grant-stalled` |
 * | `ReviewRefused` of a question that was closed | `late-attempt` |
 * | `Notified` | nothing more of this notice, when it went well on each channel or has failed {@link most} times |
 *
 * **Invariants**
 *
 * - O1. What asks somebody is not owed any more once nobody is asked.
 * - O2. A notice that is sent again has the id that it had before, and goes to no channel that it has reached.
 *
 * @since 0.1.0
 */
import type { Risk } from "../Autonomy.ts"
import * as Ladder from "../Ladder.ts"
import type { Of, RunEvent } from "../RunEvent.ts"
import type { ReviewState, RunState } from "../RunState.ts"
import { type Notice, notice, type NoticeOptions, type What } from "./notices.ts"

/** A notice that has failed so often is not sent any more. */
export const most = 5

/**
 * A notice that is owed.
 *
 * **Details**
 *
 * - `failed`: how often it was sent and did not go out everywhere. `reached`: the channels on which it did.
 * - `written`: how often it was written down what came of it.
 * - `since`: the version of the last event that people were to be told of about this question.
 *
 * @since 0.1.0
 */
export interface Owed {
  readonly notice: Notice
  readonly failed: number
  readonly written: number
  readonly reached: ReadonlySet<string>
  readonly since: number
}

/**
 * Takes the events of a run, each with the state after it, and says what is owed, oldest first.
 *
 * @since 0.1.0
 */
export interface Owing {
  readonly add: (event: RunEvent, state: RunState) => void
  readonly owed: () => ReadonlyArray<Owed>
}

/** What notices say of a question, also when it is closed. */
type About = Pick<NoticeOptions, "due" | "kind" | "risk" | "task" | "to">

/** A notice that is not made yet: nobody may be there to tell. */
interface Entry {
  readonly options: NoticeOptions
  readonly asks: boolean
  made: Notice | undefined
  written: number
  failed: number
  reached: ReadonlySet<string>
}

const noticeOf = (entry: Entry): Notice => (entry.made ??= notice(entry.options))

const asking: ReadonlySet<What> = new Set<What>(["created", "reminder", "stage-changed"])

const late: ReadonlySet<string> = new Set(["already-decided", "expired", "withdrawn", "superseded"])

const aboutOf = ({ kind, stage, steps, task, terms, to }: ReviewState): About => ({
  kind,
  to: to ?? Ladder.named(terms?.stages ?? [["anyone"]], stage),
  ...(task === undefined ? {} : { task }),
  ...(terms === undefined ? {} : { risk: terms.risk satisfies Risk }),
  ...(steps[0] === undefined ? {} : { due: steps[0].at })
})

/** What an event tells people about its own question. */
const whatOf = (event: RunEvent): What | undefined => {
  switch (event._tag) {
    case "ReviewOpened":
      return "created"
    case "ReviewAdvanced":
      return event.what === "reminded" ? "reminder" : event.what === "widened" ? "stage-changed" : undefined
    case "ReviewChanged":
      return event.what === "reassigned" ? "stage-changed" : undefined
    case "ReviewDecided":
      return "decided"
    case "ReviewExpired":
      return "expired"
    case "ReviewWithdrawn":
      return "withdrawn"
    case "GrantStalled":
      return "grant-stalled"
    case "ReviewRefused":
      return late.has(event.because) ? "late-attempt" : undefined
    default:
      return undefined
  }
}

/** @since 0.1.0 */
export const owing = (): Owing => {
  const known = new Map<string, About>()
  const last = new Map<string, number>()
  let open: Array<Entry> = []

  const owe = (state: RunState, review: string, what: What, at: number): void => {
    const about = known.get(review)
    if (about === undefined) return
    const { due, ...rest } = about
    const asks = asking.has(what)
    const options = {
      ...rest,
      ...(due === undefined || !state.reviews.has(review) ? {} : { due }),
      run: state.run,
      desk: state.desk,
      review,
      what,
      at,
      event: state.version
    }
    last.set(review, state.version)
    open.push({ options, asks, made: undefined, written: 0, failed: 0, reached: new Set() })
  }

  /** Of questions that are closed nobody is asked any more. O1 */
  const forget = (state: RunState): void => {
    open = open.filter(({ asks, options }) => !asks || state.reviews.has(options.review))
  }

  const settle = ({ channels, notice: id, ok, review }: Of<"Notified">): void => {
    const entry = open.find((each) => each.options.review === review && noticeOf(each).id === id)
    if (entry === undefined) return
    entry.written += 1
    entry.reached = new Set([...entry.reached, ...channels.flatMap(({ channel, ok }) => (ok ? [channel] : []))])
    if (channels.some(({ attempts, ok }) => !ok && attempts > 0)) entry.failed += 1
    if (ok || entry.failed >= most) open = open.filter((each) => each !== entry)
  }

  return {
    add: (event, state) => {
      if (event._tag === "Notified") return settle(event)
      if (event._tag === "RunFinished") {
        open = open.filter(({ asks }) => !asks)
        return
      }
      const what = whatOf(event)
      if (what === undefined || !("review" in event) || event.review === undefined) return
      const { at, review } = event
      const now = state.reviews.get(review)
      if (now !== undefined) known.set(review, aboutOf(now))
      if (event._tag === "ReviewOpened" && event.supersedes !== undefined) {
        const before = event.supersedes
        const closed = state.closed.get(before)
        if (closed?.as === "superseded" && closed.instead === review) owe(state, before, "superseded", at)
      }
      owe(state, review, what, at)
      forget(state)
    },
    owed: () =>
      open.map((entry) => {
        const { failed, options, reached, written } = entry
        return { notice: noticeOf(entry), failed, written, reached, since: last.get(options.review) ?? options.event }
      })
  }
}
