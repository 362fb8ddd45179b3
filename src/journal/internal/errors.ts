/**
 * The errors of the journal. They are public through `Journal`.
 *
 * No message and no field holds event data: an error says where a value is and what is wrong with it, never the value.
 */
import * as Schema from "effect/Schema"

/** An id as a message shows it: quoted, so that odd characters are seen, and cut. */
export const showId = (id: string): string => JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id)

/**
 * Somebody else appended to the run since the caller last read it. Nothing was written.
 *
 * **Details**
 *
 * - `run`: the run.
 * - `expected`: the version that the caller believed to be the run's last.
 * - `actual`: the version of the run's last event, 0 when it has none.
 *
 * What to do: read from `expected + 1`, decide again, append again.
 *
 * @category errors
 * @since 0.1.0
 */
export class VersionConflict extends Schema.TaggedError<VersionConflict>("espalier/journal/VersionConflict")(
  "VersionConflict",
  { run: Schema.String, expected: Schema.Finite, actual: Schema.Finite }
) {
  override get message(): string {
    return `run ${showId(this.run)} is at version ${this.actual}, not at ${this.expected}`
  }
}

/**
 * The store cannot be reached just now. The same call can be tried again.
 *
 * **Details**
 *
 * - `location`: the file, the database, or `memory`.
 * - `problem`: `busy` (another process held the lock longer than the busy time-out), `io` (the system reported a read
 *   or write error), `cannot-open` (the path cannot be opened or made), `closed` (the layer has been released).
 * - `detail`: what the system said.
 *
 * **Gotchas**
 *
 * After `io` it is not known whether the commit reached the disk. Trying the same append again is safe: if it did, the
 * answer is a {@link VersionConflict}, and reading from `expected + 1` shows the caller's own events.
 *
 * @category errors
 * @since 0.1.0
 */
export class JournalUnavailable extends Schema.TaggedError<JournalUnavailable>("espalier/journal/JournalUnavailable")(
  "JournalUnavailable",
  {
    location: Schema.String,
    problem: Schema.Literals(["busy", "io", "cannot-open", "closed"]),
    detail: Schema.String
  }
) {
  override get message(): string {
    return `the journal ${this.location} is unavailable (${this.problem}): ${this.detail}`
  }
}

/**
 * There is no room for the append: the disk or the file's own limit is full. Nothing was written; the same append can
 * be tried again when there is room.
 *
 * @category errors
 * @since 0.1.0
 */
export class JournalFull extends Schema.TaggedError<JournalFull>("espalier/journal/JournalFull")("JournalFull", {
  location: Schema.String
}) {
  override get message(): string {
    return `there is no room to append to the journal ${this.location}`
  }
}

/**
 * The file, its folder or its file system may not be written.
 *
 * @category errors
 * @since 0.1.0
 */
export class JournalReadOnly extends Schema.TaggedError<JournalReadOnly>("espalier/journal/JournalReadOnly")(
  "JournalReadOnly",
  { location: Schema.String }
) {
  override get message(): string {
    return `the journal ${this.location} may not be written`
  }
}

/**
 * What is stored is not what a journal writes: a broken page, a missing table, a gap in a run, a row that is not JSON.
 *
 * **Details**
 *
 * - `run`, `version`: the event at which it was found, when it was one.
 * - `detail`: what is wrong.
 *
 * @category errors
 * @since 0.1.0
 */
export class JournalCorrupt extends Schema.TaggedError<JournalCorrupt>("espalier/journal/JournalCorrupt")(
  "JournalCorrupt",
  {
    location: Schema.String,
    run: Schema.optionalKey(Schema.String),
    version: Schema.optionalKey(Schema.Finite),
    detail: Schema.String
  }
) {
  override get message(): string {
    const place = this.run === undefined ? "" : ` at run ${showId(this.run)}, version ${this.version}`
    return `the journal ${this.location} is damaged${place}: ${this.detail}`
  }
}

/**
 * The path holds something else, which was not touched.
 *
 * **Details**
 *
 * - `found`: what it holds: a folder, a file that is not an SQLite database, the database of another application.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotAJournal extends Schema.TaggedError<NotAJournal>("espalier/journal/NotAJournal")("NotAJournal", {
  location: Schema.String,
  found: Schema.String
}) {
  override get message(): string {
    return `${this.location} is not a journal: it is ${this.found}`
  }
}

/**
 * The journal was written by a later release than this one, which cannot read it and did not touch it.
 *
 * @category errors
 * @since 0.1.0
 */
export class JournalTooNew extends Schema.TaggedError<JournalTooNew>("espalier/journal/JournalTooNew")(
  "JournalTooNew",
  { location: Schema.String, found: Schema.Finite, supported: Schema.Finite }
) {
  override get message(): string {
    return `the journal ${this.location} has schema version ${this.found}; this release knows versions up to ${this.supported}`
  }
}

/**
 * Another process carries out the runs of this journal: one does at a time. Nothing was written.
 *
 * **Details**
 *
 * - `owner`: that process, as `PID@HOST`. `epoch`: counts the owners that there have been, from 1.
 * - `since`: when it became the owner; `heartbeatAt`: its last sign of life; both in milliseconds since the epoch.
 *
 * What to do: leave word with `command`, or try again later. An owner that died is replaced at once, one that stands still
 * after its lease.
 *
 * @category errors
 * @since 0.1.0
 */
export class JournalOwned extends Schema.TaggedError<JournalOwned>("espalier/journal/JournalOwned")("JournalOwned", {
  location: Schema.String,
  owner: Schema.String,
  epoch: Schema.Finite,
  since: Schema.Finite,
  heartbeatAt: Schema.Finite
}) {
  override get message(): string {
    return (
      `the runs of the journal ${this.location} are carried out by another process, ${this.owner} (owner number ` +
      `${this.epoch}); one does at a time`
    )
  }
}

/**
 * This process was the owner of the journal and is not any more: it stood still for longer than its lease, and another one
 * took over; or its file was removed or replaced. It writes nothing any more until its journal is opened anew. Nothing was written.
 *
 * **Details**
 *
 * - `epoch`: that it held. `current`: that of the owner that there is now, 0 when that is not known.
 *
 * @category errors
 * @since 0.1.0
 */
export class JournalFenced extends Schema.TaggedError<JournalFenced>("espalier/journal/JournalFenced")(
  "JournalFenced",
  { location: Schema.String, epoch: Schema.Finite, current: Schema.Finite }
) {
  override get message(): string {
    return (
      `this process is not the owner of the journal ${this.location} any more: it was owner number ${this.epoch}` +
      (this.current === 0 ? "" : `, now there is number ${this.current}`)
    )
  }
}

/**
 * Word about a review came too late. Nothing was written.
 *
 * **Details**
 *
 * - `found`: `claimed` when somebody has decided it and the owner of the journal has not taken that in yet, `not-open` when
 *   no open review of the run is called so.
 *
 * @category errors
 * @since 0.1.0
 */
export class ReviewTaken extends Schema.TaggedError<ReviewTaken>("espalier/journal/ReviewTaken")("ReviewTaken", {
  run: Schema.String,
  review: Schema.String,
  found: Schema.Literals(["claimed", "not-open"])
}) {
  override get message(): string {
    return this.found === "claimed"
      ? `${showId(this.review)} has been decided already`
      : `there is no open review ${showId(this.review)}`
  }
}

/**
 * An event's data is larger than one row may be. Nothing of the append was written, and trying again does not help.
 *
 * **Details**
 *
 * - `run`, `index`, `type`: which event of the append, counted from 0.
 * - `bytes`: its size as JSON in UTF-8, or what had been counted when the limit was passed.
 * - `limit`: the largest size in bytes.
 *
 * @category errors
 * @since 0.1.0
 */
export class ValueTooLarge extends Schema.TaggedError<ValueTooLarge>("espalier/journal/ValueTooLarge")(
  "ValueTooLarge",
  { run: Schema.String, index: Schema.Finite, type: Schema.String, bytes: Schema.Finite, limit: Schema.Finite }
) {
  override get message(): string {
    return (
      `the data of event ${this.index} (${this.type}) of run ${showId(this.run)} is too large: ` +
      `at least ${this.bytes} bytes, the limit is ${this.limit}`
    )
  }
}

/**
 * An argument has no place in a journal. Nothing was written, and trying again does not help.
 *
 * **Details**
 *
 * - `field`: the argument, such as `run` or `events[1].data.usage.tokens`.
 * - `problem`: what it must be, and the kind of thing it is.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidInput extends Schema.TaggedError<InvalidInput>("espalier/journal/InvalidInput")("InvalidInput", {
  field: Schema.String,
  problem: Schema.String
}) {
  override get message(): string {
    return `${this.field} ${this.problem}`
  }
}

/**
 * Everything that a {@link JournalError} can be about.
 *
 * @category errors
 * @since 0.1.0
 */
export const Reason = Schema.Union([
  JournalUnavailable,
  JournalFull,
  JournalReadOnly,
  JournalCorrupt,
  NotAJournal,
  JournalTooNew,
  JournalOwned,
  JournalFenced,
  ValueTooLarge,
  InvalidInput
])

/**
 * Everything that a {@link JournalError} can be about.
 *
 * @category errors
 * @since 0.1.0
 */
export type Reason = typeof Reason.Type

/**
 * A journal could not do what it was asked, for a `reason` that `Effect.catchReason` can tell apart.
 *
 * @category errors
 * @since 0.1.0
 */
export class JournalError extends Schema.TaggedError<JournalError>("espalier/journal/JournalError")("JournalError", {
  reason: Reason
}) {
  /**
   * Whether the same call may succeed later without anybody changing the call: the store was busy, unreachable or full.
   *
   * @since 0.1.0
   */
  get isRetryable(): boolean {
    return (
      this.reason._tag === "JournalFull" ||
      (this.reason._tag === "JournalUnavailable" && this.reason.problem !== "closed")
    )
  }

  override get message(): string {
    return this.reason.message
  }
}

/** A `JournalError` for a reason. */
export const because = (reason: Reason): JournalError => new JournalError({ reason })
