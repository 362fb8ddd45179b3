/**
 * The shape of declared tasks and of what surrounds them, as far as code goes by it before `Desk.check` can look at it.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"

import { readDuration } from "../../internal/options.ts"
import type { Containment } from "../RunEvent.ts"
import { type Given, isRecord } from "./given.ts"

const functions = ["input", "validate", "label", "decompose", "replan", "followUp", "merge"] as const

const flags = ["acceptMissing", "fresh", "reduceScope"] as const

/** Who may be asked to let a result stand. */
export const acceptances = ["person"] as const

/** Checks one declared task. What its contract says is checked with the desk. */
export const checkTask = (given: Given, path: string, value: unknown, named = true): void => {
  const task = given.record(path, value)
  if (named) given.text(`${path}.id`, task["id"])
  for (const field of ["worker", "capability"] as const) {
    if (task[field] !== undefined) given.text(`${path}.${field}`, task[field])
  }
  if (task["needs"] !== undefined) given.texts(`${path}.needs`, task["needs"])
  for (const field of functions) if (task[field] !== undefined) given.code(`${path}.${field}`, task[field])
  for (const field of flags) if (task[field] !== undefined) given.flag(`${path}.${field}`, task[field])
  const { acceptance, after } = task
  if (acceptance !== undefined) given.oneOf(`${path}.acceptance`, acceptance, acceptances)
  if (after !== undefined && typeof after !== "number" && readDuration(after) === undefined) {
    given.refuse(`${path}.after`, "a duration", after)
  }
  if (task["by"] !== undefined) given.made(`${path}.by`, "a coordinator", isCoordinator(task["by"]), task["by"])
}

/** The longest time that a task can wait: a hundred years. */
const longest = 100 * 365.25 * 86_400_000

/** How long a declared task waits, in whole milliseconds; `undefined` for what nobody can wait for. */
export const millisOf = (after: unknown): number | undefined => {
  const duration = readDuration(after)
  if (duration === undefined) return undefined
  const millis = Duration.toMillis(duration)
  return millis >= 0 && millis <= longest ? Math.ceil(millis) : undefined
}

/** Checks a list of declared tasks. */
export const checkTasks = (given: Given, parameter: string, value: unknown): void =>
  given.list(parameter, value).forEach((task, index) => checkTask(given, `${parameter}[${index}]`, task))

/** Whether a value has what every coordinator has. */
export const isCoordinator = (value: unknown): boolean =>
  isRecord(value) &&
  typeof value["kind"] === "string" &&
  Array.isArray(value["tasks"]) &&
  Array.isArray(value["initial"]) &&
  Predicate.isFunction(value["next"])

/** Checks a containment. Default `"isolate"`. */
export const containmentOf = (given: Given, value: unknown = "isolate"): Containment => {
  if (isRecord(value)) {
    given.record("containment", value, ["quorum"])
    return { quorum: given.whole("quorum", value["quorum"], 1) }
  }
  if (value === "isolate" || value === "fail-fast") return value
  return given.refuse("containment", '"isolate", "fail-fast" or a quorum', value)
}

/** Checks how a group runs: its concurrency, and how it merges. Default 10 orders at once. */
export const concurrencyOf = (given: Given, options: Readonly<Record<string, unknown>>): number => {
  if (options["merge"] !== undefined) given.code("merge", options["merge"])
  return given.whole("concurrency", options["concurrency"] ?? 10, 1)
}

/** Checks how much repetition is too much. */
export const checkRepetition = (given: Given, value: unknown): void => {
  if (value === undefined) return
  const policy = given.record("repetition", value, ["identical", "rounds", "perWorker", "window"])
  const identical = given.whole("repetition.identical", policy["identical"], 2)
  const rounds = given.whole("repetition.rounds", policy["rounds"], 2)
  if (policy["perWorker"] !== undefined) given.whole("repetition.perWorker", policy["perWorker"], 0)
  given.whole("repetition.window", policy["window"], Math.max(identical, 2 * rounds))
}
