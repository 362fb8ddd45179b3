/**
 * What can be wrong with the domains and workers of a desk.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

import * as RestartIntensity from "../../../RestartIntensity.ts"
import type { ContractPolicy } from "../../ContractPolicy.ts"
import type { Desk, Seat } from "../../Desk.ts"
import { knownAs } from "../closest.ts"
import { thrown } from "../problems.ts"
import type { Findings } from "./findings.ts"
import { above } from "./limits.ts"

/** More workers than this under one supervisor are hard to tell apart. */
const crowd = 8

/** Adds what is wrong with the domains and the workers. */
export const checkStaff = (desk: Desk, seats: ReadonlyArray<Seat>, findings: Findings): void => {
  if (desk.domains.length === 0) findings.error("no-domain", desk.name, `the desk ${desk.name} has no domains`)
  const domains = new Set<string>()
  for (const { intensity, name, workers } of desk.domains) {
    if (domains.has(name)) findings.error("duplicate-domain", name, `two domains are called ${name}`)
    domains.add(name)
    if (workers.length === 0) findings.error("no-worker", name, `the domain ${name} has no workers`)
    if (workers.length > crowd) {
      const message = `the domain ${name} has ${workers.length} workers; above ${crowd} they are hard to tell apart`
      findings.warning("crowded", name, message)
    }
    try {
      RestartIntensity.make(intensity)
    } catch (error) {
      findings.error("out-of-range", name, `the domain ${name}: ${thrown(error)}`)
    }
  }
  const descriptions = new Map<string, string>()
  const names = new Set<string>()
  for (const seat of seats) {
    const { name, worker } = seat
    if (names.has(name)) findings.error("duplicate-worker", name, `two workers are called ${name}`)
    names.add(name)
    const description = worker.description.trim()
    const twin = descriptions.get(description)
    if (twin === undefined) descriptions.set(description, name)
    else {
      const message = `${twin} and ${name} have the same description, so nobody can choose between them`
      findings.error("same-description", name, message)
    }
    if (!Duration.isFinite(worker.attemptTimeout)) {
      findings.error("infinite-timeout", name, `the attempt time-out of ${name} is infinite`)
    }
    checkPermissions(seat, desk.contracts, findings)
    for (const account of [`worker:${name}`, `domain:${seat.domain}`]) {
      checkEstimate(seat, desk.budgets[account], account, findings)
    }
    checkEstimate(seat, desk.limits, "a run", findings)
  }
}

/** Whether a policy lets anything at all be touched in an area. */
export const grants = (policy: ContractPolicy, area: string): boolean => {
  const allowed = Object.hasOwn(policy.areas, area) ? policy.areas[area] : undefined
  return allowed !== undefined && (allowed._tag === "Paths" ? allowed.roots : allowed.names).length > 0
}

/** The areas in which something may be touched. */
export const granted = (policy: ContractPolicy): ReadonlyArray<string> =>
  Object.keys(policy.areas).filter((area) => grants(policy, area))

const checkPermissions = ({ name, worker }: Seat, policy: ContractPolicy | undefined, findings: Findings): void => {
  if (policy === undefined) return
  for (const area of worker.permissions) {
    if (grants(policy, area)) continue
    const message = `${name} needs the permission ${area}, which the contract policy never grants${knownAs(area, granted(policy))}`
    findings.error("ungranted-permission", name, message)
  }
}

const checkEstimate = (
  { name, worker }: Seat,
  limit: Desk["limits"] | undefined,
  whose: string,
  findings: Findings
): void => {
  for (const { amount, measure, most } of above(worker.estimate, limit)) {
    const message = `${name} can never run: it is expected to use ${amount} ${measure}, above the ${most} of ${whose}`
    findings.error("unaffordable", name, message)
  }
}
