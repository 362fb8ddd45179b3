/**
 * Seeing what runs: traces, metrics and logs of trees, runs and agents, by the names of OpenTelemetry.
 *
 * @since 0.1.0
 */
export * as Delegation from "./Delegation.ts"
