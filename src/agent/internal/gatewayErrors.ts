/**
 * Why a call does not go out, or does not come back. Public through `Gateway`.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"

const at = (host: string | undefined): string => (host === undefined ? "" : ` at ${host}`)

/**
 * A tool, or a host, is switched off. It counts as `capability`: another worker may have another way.
 *
 * **Details**
 *
 * - `off`: which of the two is. `by`, `why`: of whoever has switched it off.
 *
 * @category errors
 * @since 0.1.0
 */
export class GatewayOff extends Schema.TaggedError<GatewayOff>("espalier/agent/Gateway/GatewayOff")("GatewayOff", {
  tool: Schema.String,
  host: Schema.optionalKey(Schema.String),
  off: Schema.Literals(["tool", "host"]),
  by: Schema.String,
  why: Schema.String
}) {
  /** @since 0.1.0 */
  readonly [Failure.kind] = "capability"

  override get message(): string {
    const what = this.off === "tool" ? `the tool ${this.tool}` : `the host ${this.host}`
    return `${what} is switched off by ${this.by}: ${this.why}`
  }
}

const denials = {
  unlisted: "it may not go there",
  private: "it is an address of a private network",
  scheme: "only http and https go out",
  invalid: "it is no host"
} as const

/**
 * A tool may not go to a host. It counts as `denied`.
 *
 * **Details**
 *
 * - `reason`: `unlisted`: the host is not among those of the tool. `private`: it is this machine or in a private network.
 *   `scheme`: the URL is neither `http` nor `https`. `invalid`: it is no host at all, and is not told.
 *
 * @category errors
 * @since 0.1.0
 */
export class GatewayDenied extends Schema.TaggedError<GatewayDenied>("espalier/agent/Gateway/GatewayDenied")(
  "GatewayDenied",
  {
    tool: Schema.String,
    host: Schema.optionalKey(Schema.String),
    reason: Schema.Literals(["unlisted", "private", "scheme", "invalid"])
  }
) {
  /** @since 0.1.0 */
  readonly [Failure.kind] = "denied"

  override get message(): string {
    return `the tool ${this.tool} is not let out${at(this.host)}: ${denials[this.reason]}`
  }
}

const crowds = {
  queue: "too many calls wait already",
  wait: "it was not its turn in time",
  limiter: "how many calls there were cannot be found out"
} as const

/**
 * A call did not get its turn. It counts as `transient`.
 *
 * **Details**
 *
 * - `reason`: `queue`: as many wait as may. `wait`: its turn did not come in time. `limiter`: the limiter of rates has failed.
 *
 * @category errors
 * @since 0.1.0
 */
export class GatewayBusy extends Schema.TaggedError<GatewayBusy>("espalier/agent/Gateway/GatewayBusy")("GatewayBusy", {
  tool: Schema.String,
  host: Schema.optionalKey(Schema.String),
  reason: Schema.Literals(["queue", "wait", "limiter"])
}) {
  /** @since 0.1.0 */
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `the tool ${this.tool} is not called${at(this.host)}: ${crowds[this.reason]}`
  }
}

/**
 * A tool has not answered in time. It counts as `transient`, and as a time-out for `Effects.perform`: it may have happened.
 *
 * @category errors
 * @since 0.1.0
 */
export class GatewayTimeout extends Schema.TaggedError<GatewayTimeout>("espalier/agent/Gateway/GatewayTimeout")(
  "GatewayTimeout",
  { tool: Schema.String, host: Schema.optionalKey(Schema.String), millis: Schema.Finite }
) {
  /** @since 0.1.0 */
  readonly [Failure.kind] = "transient"

  /** @since 0.1.0 */
  readonly [Cause.TimeoutErrorTypeId] = Cause.TimeoutErrorTypeId

  override get message(): string {
    return `the tool ${this.tool} has not answered${at(this.host)} within ${Duration.format(Duration.millis(this.millis))}`
  }
}
