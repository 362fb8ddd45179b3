/**
 * A gateway at work: its switches, its lanes, and what it counts.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as RateLimiter from "effect/persistence/RateLimiter"
import * as Scope from "effect/Scope"

import { tellable, tellDebug, tellInfo, tellWarning } from "../../internal/telling.ts"
import { Redaction } from "../../Redaction.ts"
import * as Dependency from "../../run/Dependency.ts"
import { Given } from "../../run/internal/given.ts"
import { Listeners } from "../../run/internal/listeners.ts"
import type { Call, Change, Counts, GatewayError, State, Switch } from "../Gateway.ts"
import { GatewayBusy, GatewayDenied, GatewayOff, GatewayTimeout } from "./gatewayErrors.ts"
import { closest, fits, hostOf, isPrivate } from "./gatewayHosts.ts"
import { Kept, Lane, Turnstile } from "./gatewayLane.ts"
import { type Settings, switchOf, text } from "./gatewaySettings.ts"

/** The most tools, and the most hosts, of which something is kept. */
const most = 1_000

/** What was counted of a tool or a host. */
class Tally {
  calls = 0
  refused = 0
  failed = 0
  timedOut = 0
  underWay = 0
  waiting = 0
}

const tallies = () =>
  new Kept(
    () => new Tally(),
    ({ underWay, waiting }) => underWay === 0 && waiting === 0,
    most
  )

const countsOf = (kept: Kept<Tally>): ReadonlyArray<Counts> =>
  kept.entries().map(([name, tally]) => ({ name, ...tally }))

/** Who goes where. */
interface Going {
  readonly tool: string
  readonly host?: string
}

type Outcome = "success" | "failure" | "timed-out" | "interrupted" | "refused"

/** The gateway of one layer. */
export class Making {
  private readonly settings: Settings
  private readonly tools = tallies()
  private readonly hosts = tallies()
  private readonly lanes: Kept<Lane>
  private readonly turnstiles = new Map<string, Turnstile>()
  private readonly off = new Map<string, Switch & { readonly at: number }>()
  private readonly thrown: Array<unknown> = []
  readonly listeners = new Listeners<Change>((error) => this.thrown.push(error))

  constructor(settings: Settings, limiter: RateLimiter.RateLimiter, at: number) {
    this.settings = settings
    this.lanes = new Kept(
      (name) => {
        const { concurrency, queue } = settings.hosts.get(name.replace(/^host:/, "")) ?? settings
        return new Lane(concurrency, queue)
      },
      (lane) => lane.idle,
      most
    )
    for (const [kind, all] of [
      ["tool", settings.tools],
      ["host", settings.hosts]
    ] as const) {
      for (const [name, { rate }] of all) {
        if (rate === undefined) continue
        const key = `${kind}:${name}`
        this.turnstiles.set(key, new Turnstile(limiter, `espalier/gateway/${key}`, rate))
      }
    }
    for (const each of settings.off) this.off.set(keyOf(each), { ...each, at })
  }

  /** Where a call goes, or why it may not. G2 */
  private going({ host: given, tool, url }: Call<never>): Going | GatewayDenied {
    const allowed = this.settings.tools.get(tool)?.hosts
    if (url === undefined) {
      if (given === undefined) return { tool }
      const host = hostOf(given)
      if (host === undefined) return new GatewayDenied({ tool, reason: "invalid" })
      if (allowed === undefined || allowed.some((each) => fits(host, each))) return { tool, host }
      return new GatewayDenied({ tool, host, reason: "unlisted" })
    }
    if (!URL.canParse(url)) return new GatewayDenied({ tool, reason: "invalid" })
    const { hostname, protocol } = new URL(url)
    if (protocol !== "https:" && protocol !== "http:") return new GatewayDenied({ tool, reason: "scheme" })
    const host = hostOf(hostname)
    if (host === undefined) return new GatewayDenied({ tool, reason: "invalid" })
    const fitting = (allowed ?? []).filter((each) => fits(host, each))
    if (isPrivate(host) && !fitting.includes(host)) return new GatewayDenied({ tool, host, reason: "private" })
    return fitting.length > 0 ? { tool, host } : new GatewayDenied({ tool, host, reason: "unlisted" })
  }

  private offOf({ host, tool }: Going): GatewayOff | undefined {
    const own = this.off.get(keyOf({ tool }))
    const at = host === undefined ? {} : { host }
    if (own !== undefined) return new GatewayOff({ tool, ...at, off: "tool", by: own.by, why: own.why })
    if (host === undefined) return undefined
    for (const { by, host: pattern, why } of this.off.values()) {
      if (pattern !== undefined && fits(host, pattern)) return new GatewayOff({ tool, host, off: "host", by, why })
    }
    return undefined
  }

  /** The place for a call, once it is its turn. G1, G3 */
  private admitted(
    going: Going,
    lane: Lane,
    key: string | undefined
  ): Effect.Effect<void, GatewayOff | GatewayBusy, Scope.Scope> {
    const busy = (reason: GatewayBusy["reason"]) => new GatewayBusy({ ...going, reason })
    const before = this.turnstiles.get(keyOf({ tool: going.tool }))?.pass ?? Effect.void
    const after = key === undefined ? Effect.void : (this.turnstiles.get(keyOf({ host: key }))?.pass ?? Effect.void)
    const tallies = this.talliesOf(going)
    const count = (by: number) => {
      lane.waiting += by
      for (const tally of tallies) tally.waiting += by
    }
    const turn = Effect.andThen(before, Effect.andThen(lane.place, after)).pipe(
      Effect.mapError(() => busy("limiter")),
      Effect.timeoutOrElse({ duration: this.settings.wait, orElse: () => Effect.fail(busy("wait")) })
    )
    return Effect.suspend((): Effect.Effect<void, GatewayOff | GatewayBusy, Scope.Scope> => {
      const refused = this.offOf(going) ?? (lane.full ? busy("queue") : undefined)
      if (refused !== undefined) return Effect.fail(refused)
      return Effect.acquireUseRelease(
        Effect.sync(() => count(1)),
        () => turn,
        () => Effect.sync(() => count(-1))
      )
    }).pipe(
      Effect.andThen(
        Effect.suspend(() => {
          const late = this.offOf(going)
          return late === undefined ? Effect.void : Effect.fail(late)
        })
      )
    )
  }

  private talliesOf({ host, tool }: Going): ReadonlyArray<Tally> {
    return host === undefined ? [this.tools.get(tool)] : [this.tools.get(tool), this.hosts.get(host)]
  }

  call<A, E, R>(
    options: Call<E>,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | GatewayError | Dependency.DependencyOpen, R> {
    return Effect.suspend(() => {
      const { tool } = options
      const given = new Given("Gateway.call")
      text(given, "tool", tool)
      const timeout =
        options.timeout === undefined
          ? (this.settings.tools.get(tool)?.timeout ?? this.settings.timeout)
          : given.duration("timeout", options.timeout, "more")
      const going = this.going(options as Call<never>)
      if (going instanceof GatewayDenied) {
        // Of hosts where nothing may go, nothing is kept.
        this.tools.get(tool).refused++
        return Effect.andThen(this.refused(going, 0), Effect.fail(going))
      }
      return this.out(going, timeout, options, effect)
    })
  }

  private out<A, E, R>(
    going: Going,
    timeout: Duration.Duration,
    { classify }: Call<E>,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | GatewayError | Dependency.DependencyOpen, R> {
    const { host, tool } = going
    const key = host === undefined ? undefined : (closest(host, this.settings.hosts.keys()) ?? host)
    const lane = this.lanes.get(key === undefined ? `tool:${tool}` : `host:${key}`)
    const late = new GatewayTimeout({ ...going, millis: Duration.toMillis(timeout) })
    const tallies = this.talliesOf(going)
    let begun = false
    // G4
    const timed: Effect.Effect<A, E | GatewayTimeout, R> = Effect.suspend(() => {
      begun = true
      lane.underWay++
      for (const tally of tallies) {
        tally.calls++
        tally.underWay++
      }
      return effect
    }).pipe(
      Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(late) }),
      Effect.onExit(() =>
        Effect.sync(() => {
          lane.underWay--
          for (const tally of tallies) tally.underWay--
        })
      )
    )
    const guarded = Effect.flatMap(Effect.serviceOption(Dependency.Dependency), (dependency) =>
      host === undefined || Option.isNone(dependency)
        ? timed
        : dependency.value.call(`host:${host}`, timed, {
            classify: (error, at) => (error === late ? "transient" : classify?.(error as E, at))
          })
    )
    const whole = Effect.acquireUseRelease(
      Scope.make(),
      (scope) => Effect.andThen(Scope.provide(this.admitted(going, lane, key), scope), guarded),
      Scope.close
    )
    return Clock.clockWith((clock) => {
      const from = clock.currentTimeMillisUnsafe()
      return Effect.onExit(whole, (exit) => {
        const millis = clock.currentTimeMillisUnsafe() - from
        const error = Exit.isFailure(exit) ? Option.getOrUndefined(Exit.findErrorOption(exit)) : undefined
        if (!begun && error !== undefined) {
          for (const tally of tallies) tally.refused++
          return this.refused({ ...going, ...of(error) }, millis)
        }
        const outcome: Outcome = Exit.isSuccess(exit)
          ? "success"
          : error === late
            ? "timed-out"
            : Exit.hasInterrupts(exit)
              ? "interrupted"
              : "failure"
        if (outcome !== "success") for (const tally of tallies) tally.failed++
        if (outcome === "timed-out") for (const tally of tallies) tally.timedOut++
        return this.log(going, outcome, millis)
      })
    }).pipe(Effect.withSpan("Gateway.call", { kind: "client", attributes: { ...going } }, { captureStackTrace: false }))
  }

  /** A refusal is told to whoever listens, and logged. */
  private refused(
    { _tag, host, message, tool }: Going & { readonly _tag: string; readonly message: string },
    millis: number
  ): Effect.Effect<void> {
    const at = host === undefined ? {} : { host }
    const change = { _tag: "Refused", tool, ...at, reason: _tag, note: message } as const
    return Effect.andThen(this.tell(change), this.log({ tool, ...at }, "refused", millis, message))
  }

  /** What came of a call: what went well is for whoever looks closely. */
  private log(
    going: Going,
    outcome: Outcome,
    millis: number,
    note = `the tool ${going.tool} ${said[outcome]}${going.host === undefined ? "" : ` at ${going.host}`}`
  ): Effect.Effect<void> {
    return annotated(levels[outcome](`Gateway: ${note}`), { ...going, outcome, millis })
  }

  private tell(change: Omit<Change, "at">): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (at) => {
      this.listeners.tell({ ...change, at })
      return Effect.forEach(
        this.thrown.splice(0),
        (error) => tellWarning("Gateway: a listener threw and is not called again", error),
        { discard: true }
      )
    })
  }

  /** A switch is told to whoever listens, and logged. */
  private switched(_tag: "SwitchedOff" | "SwitchedOn", made: Switch, note: string): Effect.Effect<void> {
    const about = { ...targetOf(made), by: made.by }
    return Effect.andThen(this.tell({ _tag, ...about, note }), annotated(tellInfo(`Gateway: ${note}`), about))
  }

  switchOff(options: Switch): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (at) => {
      const made = switchOf(new Given("Gateway.switchOff"), "", options)
      this.off.set(keyOf(made), { ...made, at })
      const { by, why } = made
      return this.switched("SwitchedOff", made, `${nameOf(made)} is switched off by ${by}: ${why}`)
    })
  }

  switchOn(options: Switch): Effect.Effect<void> {
    return Effect.suspend(() => {
      const made = switchOf(new Given("Gateway.switchOn"), "", options)
      if (!this.off.delete(keyOf(made))) return Effect.void
      const { by, why } = made
      return this.switched("SwitchedOn", made, `${nameOf(made)} is switched on by ${by}: ${why}`)
    })
  }

  get state(): State {
    return { off: [...this.off.values()], tools: countsOf(this.tools), hosts: countsOf(this.hosts) }
  }
}

const said: Readonly<Record<Outcome, string>> = {
  success: "was called",
  failure: "failed",
  "timed-out": "did not answer in time",
  interrupted: "was interrupted",
  refused: "was not called"
}

const levels: Readonly<Record<Outcome, typeof tellInfo>> = {
  success: tellDebug,
  failure: tellInfo,
  "timed-out": tellWarning,
  interrupted: tellInfo,
  refused: tellWarning
}

/** A line of the log with what it is about beside it, by the rules around. */
const annotated = (log: Effect.Effect<void>, annotations: Readonly<Record<string, unknown>>): Effect.Effect<void> =>
  Effect.flatMap(Redaction, (by) =>
    Effect.annotateLogs(
      log,
      Object.fromEntries(Object.entries(annotations).map(([name, value]) => [name, tellable(value, by)]))
    )
  )

type Target = { readonly tool?: string | undefined; readonly host?: string | undefined }

const keyOf = ({ host, tool }: Target): string => (tool === undefined ? `host:${host}` : `tool:${tool}`)

const targetOf = ({ host, tool }: Switch) => (tool === undefined ? { host } : { tool })

const nameOf = ({ host, tool }: Target): string => (tool === undefined ? `the host ${host}` : `the tool ${tool}`)

/** What of an error is told. */
const of = (error: unknown) => {
  const { _tag, message } = error as GatewayError
  return { _tag, message }
}
