/**
 * Which level holds where: by worker, by domain, by desk, the nearest first.
 *
 * @since 0.1.0
 */
import * as LogLevel from "effect/LogLevel"

import { candidates } from "../../run/internal/closest.ts"
import { Given } from "../../run/internal/given.ts"
import { domainOf } from "./logNames.ts"

/** Where something is logged. */
export interface Place {
  readonly desk?: string | undefined
  readonly domain?: string | undefined
  readonly worker?: string | undefined
}

/** The names that places can have. */
export interface Names {
  readonly desk: string
  /** `DOMAIN.WORKER` each. */
  readonly workers: ReadonlyArray<string>
}

const shape = /^(?:desk:)?[\w*-][\w.*-]*$/

interface Rule {
  readonly kind: "desk" | "domain" | "worker"
  readonly pattern: string
  readonly test: (name: string) => boolean
  readonly level: LogLevel.LogLevel
}

const ruleOf = (key: string, level: LogLevel.LogLevel): Rule => {
  const kind = key.startsWith("desk:") ? "desk" : key.includes(".") ? "worker" : "domain"
  const pattern = kind === "desk" ? key.slice("desk:".length) : key
  if (!pattern.includes("*")) return { kind, pattern, test: (name) => name === pattern, level }
  const parts = pattern.split("*").map((part) => part.replaceAll(".", "\\."))
  const form = new RegExp(`^${parts.join(".*")}$`, "u")
  return { kind, pattern, test: (name) => form.test(name), level }
}

const order = { worker: 0, domain: 1, desk: 2 }

const isExact = ({ pattern }: Rule): number => (pattern.includes("*") ? 1 : 0)

/** The nearest first: a worker before its domain before its desk, a name before a pattern, a longer one before a shorter. */
const nearest = (one: Rule, other: Rule): number =>
  order[one.kind] - order[other.kind] ||
  isExact(one) - isExact(other) ||
  other.pattern.length - one.pattern.length ||
  (one.pattern < other.pattern ? -1 : 1)

const named = ({ kind }: Rule, place: Place): string | undefined =>
  place[kind] ?? (kind === "domain" && place.worker !== undefined ? domainOf(place.worker) : undefined)

/**
 * Levels by place, checked: `desk:NAME`, `DOMAIN` or `DOMAIN.WORKER`, with `*` for any characters.
 *
 * @since 0.1.0
 */
export class LevelRules {
  private readonly rules: ReadonlyArray<Rule>
  private readonly keys: ReadonlyArray<string>
  private readonly where: string
  readonly level: LogLevel.LogLevel | undefined
  /** Places are few: what was found for one is kept. */
  private readonly found = new Map<string, LogLevel.LogLevel | undefined>()

  constructor(where: string, level: unknown, levels: unknown = {}) {
    const check = new Given(where)
    const isLevel = (name: string, value: unknown): LogLevel.LogLevel => {
      check.oneOf(name, value, LogLevel.values)
      return value as LogLevel.LogLevel
    }
    this.where = where
    this.level = level === undefined ? undefined : isLevel("level", level)
    const given = check.record("levels", levels)
    this.keys = Object.keys(given)
    this.rules = Object.entries(given)
      .map(([key, value]) => {
        if (!shape.test(key)) {
          check.refuse("each name of levels", "DOMAIN, DOMAIN.WORKER or desk:NAME, with * for any characters", key)
        }
        return ruleOf(key, isLevel(`levels[${JSON.stringify(key)}]`, value))
      })
      .toSorted(nearest)
  }

  /** The level that holds at a place; nothing where nobody said any. */
  at(place: Place): LogLevel.LogLevel | undefined {
    const key = `${place.desk ?? ""}\n${place.domain ?? ""}\n${place.worker ?? ""}`
    if (this.found.has(key)) return this.found.get(key)
    const rule = this.rules.find((each) => {
      const name = named(each, place)
      return name !== undefined && each.test(name)
    })
    const level = rule?.level ?? this.level
    if (this.found.size < most) this.found.set(key, level)
    return level
  }

  /** Each name that none of these places has, with what is wrong with it. */
  strangers(all: ReadonlyArray<Names>): ReadonlyArray<readonly [name: string, why: string]> {
    const workers = all.flatMap((each) => each.workers)
    const domains = [...new Set(workers.map(domainOf))]
    const desks = all.map(({ desk }) => desk)
    return this.keys.flatMap((key) => {
      const rule = ruleOf(key, "Info")
      const names = { worker: workers, domain: domains, desk: desks }[rule.kind]
      if (names.some(rule.test)) return []
      const why = `${this.where}: each name of levels must be one of ${candidates(rule.pattern, names)}, got ${key}`
      return [[key, why] as const]
    })
  }
}

/** Places that are kept. */
const most = 1_000
