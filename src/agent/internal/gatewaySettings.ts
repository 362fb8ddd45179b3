/**
 * What a gateway is given, as it is checked.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

import { Given } from "../../run/internal/given.ts"
import { shortened } from "../../run/internal/problems.ts"
import type { HostSettings, Options, Rate, Switch, ToolSettings } from "../Gateway.ts"
import { patternOf } from "./gatewayHosts.ts"
import type { Rate as Checked } from "./gatewayLane.ts"

const given = new Given("Gateway.layer")

const longestText = 500

/** Options that hold. */
export type Settings = ReturnType<typeof check>

const rateOf = (where: string, rate: Rate): Checked => {
  given.record(where, rate, ["calls", "per"])
  const millis = Duration.toMillis(given.duration(`${where}.per`, rate.per, "more"))
  if (!Number.isFinite(millis)) given.refuse(`${where}.per`, "finite", rate.per)
  return { calls: given.whole(`${where}.calls`, rate.calls, 1), millis }
}

const patternIn = (where: string, host: unknown): string =>
  patternOf(host) ?? given.refuse(where, 'a host, or "*." and a domain with a dot', host)

/** What was switched, as it is compared. */
export const switchOf = (given: Given, where: string, { by, host, tool, why }: Switch): Switch => {
  const said = {
    by: shortened(text(given, `${where}by`, by), longestText),
    why: shortened(text(given, `${where}why`, why), longestText)
  }
  if ((tool === undefined) === (host === undefined))
    given.refuse(`${where}target`, "either a tool or a host", "both or none")
  if (tool !== undefined) return { tool: text(given, `${where}tool`, tool), ...said }
  return {
    host: patternOf(host) ?? given.refuse(`${where}host`, 'a host, or "*." and a domain with a dot', host),
    ...said
  }
}

/** A text that says something. */
export const text = (given: Given, where: string, value: unknown): string =>
  typeof value === "string" && value.trim() !== "" ? value : given.refuse(where, "a text that is not empty", value)

/** Checks the options of a gateway. */
export const check = (options: Options) => {
  given.record("options", options, ["tools", "hosts", "off", "timeout", "wait", "concurrency", "queue"])
  const timeout = given.duration("timeout", options.timeout ?? "60 seconds", "more")
  const concurrency = given.whole("concurrency", options.concurrency ?? 8, 1)
  const queue = given.whole("queue", options.queue ?? 100, 1)
  const tools = Object.entries(given.record("tools", options.tools ?? {})).map(([name, value]) => {
    const where = `tools.${name}`
    given.record(where, value, ["hosts", "rate", "timeout"])
    const own = value as ToolSettings
    const hosts = own.hosts && given.list(`${where}.hosts`, own.hosts)
    return [
      name,
      {
        hosts: hosts?.map((host, index) => patternIn(`${where}.hosts[${index}]`, host)),
        rate: own.rate && rateOf(`${where}.rate`, own.rate),
        timeout: own.timeout === undefined ? timeout : given.duration(`${where}.timeout`, own.timeout, "more")
      }
    ] as const
  })
  const hosts = Object.entries(given.record("hosts", options.hosts ?? {})).map(([name, value]) => {
    const where = `hosts.${name}`
    given.record(where, value, ["rate", "concurrency", "queue"])
    const own = value as HostSettings
    return [
      patternIn(where, name),
      {
        rate: own.rate && rateOf(`${where}.rate`, own.rate),
        concurrency: given.whole(`${where}.concurrency`, own.concurrency ?? concurrency, 1),
        queue: given.whole(`${where}.queue`, own.queue ?? queue, 1)
      }
    ] as const
  })
  return {
    timeout,
    wait: given.duration("wait", options.wait ?? "60 seconds", "more"),
    concurrency,
    queue,
    tools: new Map(tools),
    hosts: new Map(hosts),
    off: given.list("off", options.off ?? []).map((each, index) => {
      given.record(`off[${index}]`, each, ["tool", "host", "by", "why"])
      return switchOf(given, `off[${index}].`, each as Switch)
    })
  }
}
