/**
 * Supervision trees for Effect.
 *
 * @since 0.1.0
 */
export * as Actor from "./Actor.ts"
export * as Child from "./Child.ts"
export * as Failure from "./Failure.ts"
export * as Mailbox from "./Mailbox.ts"
export * as Redaction from "./Redaction.ts"
export * as Registry from "./Registry.ts"
export * as RestartIntensity from "./RestartIntensity.ts"
export * as Supervisor from "./Supervisor.ts"
export * as Tasks from "./Tasks.ts"
export * as Tree from "./Tree.ts"
export * as Watch from "./Watch.ts"
