/**
 * Seeing what runs: traces, metrics and logs of trees, runs and agents, by the names of OpenTelemetry.
 *
 * @since 0.1.0
 */
export * as Bulkhead from "./Bulkhead.ts"
export * as Delegation from "./Delegation.ts"
export * as EspalierTracer from "./EspalierTracer.ts"
export * as Logs from "./Logs.ts"
export * as Metrics from "./Metrics.ts"
export * as Otlp from "./Otlp.ts"
export * as PrettyLogger from "./PrettyLogger.ts"
export * as Prometheus from "./Prometheus.ts"
export * as RoutingQuality from "./RoutingQuality.ts"
export * as SemConv from "./SemConv.ts"
export * as Telemetry from "./Telemetry.ts"
export * as Tracing from "./Tracing.ts"
