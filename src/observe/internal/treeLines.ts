/**
 * What is told of what happens in a tree, and how loud.
 *
 * | level | events |
 * |---|---|
 * | error | a supervisor that gave up or escalated, a child that is not started again, one that was abandoned |
 * | warn | a crash, a restart that failed, a message that nobody handles, a spec that is unlikely to work, events that were missed |
 * | info | restarts, and what they wait for; a supervisor that ends because its significant child has |
 * | debug | all the rest |
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"

import { errorTypeOfKind } from "../../agent/internal/errorTypes.ts"
import * as Failure from "../../Failure.ts"
import { reasonOf } from "../../run/internal/reasons.ts"
import type { Event, ExitReason } from "../../Tree.ts"
import type { Place } from "./levels.ts"
import { type Line, lineOf, type Manner } from "./logLines.ts"
import { type Fields, word } from "./logNames.ts"
import type { ErrorOf, Said } from "./logSaid.ts"
import { events } from "./ownNames.ts"

type Of<Tag extends Event["_tag"]> = Extract<Event, { readonly _tag: Tag }>

type Table = { readonly [Tag in Event["_tag"]]: (event: Of<Tag>, node: string) => Said }

const errorOf = (cause: Cause.Cause<unknown> | undefined): ErrorOf | undefined => {
  if (cause === undefined || cause.reasons.length === 0 || Cause.hasInterruptsOnly(cause)) return undefined
  const kind = Failure.classify(cause).kind ?? "defect"
  return { kind, reason: reasonOf(Cause.squash(cause)), type: errorTypeOfKind({ kind }) }
}

const causeOf = (reason: ExitReason): Cause.Cause<unknown> | undefined =>
  reason._tag === "Normal" ? undefined : reason.cause

const exits: { readonly [Tag in ExitReason["_tag"]]: string } = {
  Normal: "ended",
  Shutdown: "was shut down",
  GaveUp: "gave up",
  Error: "crashed",
  Killed: "was killed"
}

const exited: Table["Exited"] = ({ incarnation, ordered, reason }, node) => {
  const error = errorOf(causeOf(reason))
  const unclean = reason._tag === "Error" || reason._tag === "Killed" || reason._tag === "GaveUp"
  return {
    level: error !== undefined || (unclean && !ordered) ? "Warn" : "Debug",
    name: events.childExit,
    message: ordered && error !== undefined ? `${node} failed while it stopped` : `${node} ${exits[reason._tag]}`,
    more: () => ({ incarnation, ordered, exit: reason._tag.toLowerCase() }),
    error
  }
}

const gaveUp: Table["GaveUp"] = ({ cause, child, intensity, restarts, why }, node) => ({
  level: "Error",
  name: why === "intensity" ? events.intensityExceeded : events.escalated,
  message:
    why === "intensity"
      ? `${node} gave up on ${child}: more than ${intensity.restarts} restarts within ${Duration.format(intensity.within)}`
      : `${node} gave up on ${child}, which escalated`,
  more: () => ({ child, why, restarts: restarts.length }),
  error: errorOf(cause)
})

const quiet = (name: string, message: string, more?: () => Fields): Said => ({ level: "Debug", name, message, more })

/** The whole table. An event without a line is a type error. */
const table: Table = {
  Starting: ({ incarnation }, node) =>
    quiet("espalier.supervisor.child_starting", `${node} starts`, () => ({ incarnation })),
  Started: ({ incarnation }, node) =>
    quiet("espalier.supervisor.child_started", `${node} is ready`, () => ({ incarnation })),
  Ignored: ({ incarnation }, node) =>
    quiet("espalier.supervisor.child_ignored", `${node} has nothing to do`, () => ({ incarnation })),
  // Whoever asked for the first start is told how it failed.
  StartFailed: ({ cause, incarnation }, node) => ({
    level: incarnation > 1 ? "Warn" : "Debug",
    name: "espalier.supervisor.start_failed",
    message: `${node} failed to start`,
    more: () => ({ incarnation }),
    error: errorOf(cause)
  }),
  Exited: exited,
  BackingOff: ({ delay }, node) => ({
    level: "Info",
    name: "espalier.supervisor.backing_off",
    message: `${node} is restarted in ${Duration.format(delay)}`,
    more: () => ({ wait_ms: Duration.toMillis(delay) })
  }),
  Restarting: ({ left, strategy }, node) => ({
    level: "Info",
    name: events.restart,
    message: `${node} is restarted`,
    more: () => ({ left, strategy: word(strategy) })
  }),
  Stopping: (_, node) => quiet("espalier.supervisor.child_stopping", `${node} was asked to stop`),
  Failed: ({ reason }, node) => ({
    level: "Error",
    name: "espalier.supervisor.child_failed",
    message: `${node} is not started again`,
    more: () => ({ exit: reason._tag.toLowerCase() }),
    error: errorOf(causeOf(reason))
  }),
  GaveUp: gaveUp,
  AutoShutdown: ({ child }, node) => ({
    level: "Info",
    name: "espalier.supervisor.auto_shutdown",
    message: `${node} ends, as ${child} has ended`,
    more: () => ({ child })
  }),
  Leaked: ({ incarnation }, node) => ({
    level: "Error",
    name: "espalier.supervisor.child_leaked",
    message: `${node} did not stop in its grace time and was abandoned`,
    more: () => ({ incarnation })
  }),
  LeakEnded: ({ incarnation }, node) => ({
    level: "Info",
    name: "espalier.supervisor.leak_ended",
    message: `${node}, which had been abandoned, has ended`,
    more: () => ({ incarnation })
  }),
  Replaced: ({ incarnation }, node) =>
    quiet("espalier.supervisor.child_replaced", `${node} has another spec`, () => ({ incarnation })),
  Removed: (_, node) => quiet("espalier.supervisor.child_removed", `${node} is gone`),
  DeadLetter: ({ message, reason }, node) => ({
    level: "Warn",
    name: "espalier.mailbox.dead_letter",
    message: `nobody handles a message of ${node}: ${reason}`,
    more: () => ({ message_name: message, reason: word(reason) })
  }),
  Missed: ({ count }, node) => ({
    level: "Warn",
    name: "espalier.telemetry.missed",
    message: `${count} events of ${node} were missed`,
    more: () => ({ count })
  }),
  Warning: ({ warning }, node) => ({
    level: "Warn",
    name: "espalier.supervisor.warning",
    message: `${node} is unlikely to work as it is meant`,
    note: warning
  })
}

/** The place of a node: the root is the desk, the first below it the domain, the next one the worker. */
const placeOf = ([desk, domain, worker]: ReadonlyArray<string>): Place => ({
  desk,
  domain,
  worker: worker === undefined ? undefined : `${domain}.${worker}`
})

/** The line of an event of a tree. */
export const treeLine = (event: Event, manner: Manner): Line => {
  const node = event.path.join("/")
  const place = placeOf(event.path)
  const said = table[event._tag](event as never, node)
  return lineOf(event.at, said, place, { node, domain: place.domain, worker: place.worker }, manner)
}
