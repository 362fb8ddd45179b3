/**
 * Supervision trees for Effect.
 *
 * @since 0.1.0
 */
export * as Child from "./Child.ts"
export * as Failure from "./Failure.ts"
export * as RestartIntensity from "./RestartIntensity.ts"
export * as Supervisor from "./Supervisor.ts"
export * as Tree from "./Tree.ts"
