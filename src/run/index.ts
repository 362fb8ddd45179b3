/**
 * Durable, auditable runs: tasks for typed workers, supervised, recovered by kind of failure, and resumable after a
 * crash.
 *
 * @since 0.1.0
 */
export * as Acceptance from "./Acceptance.ts"
export * as Aggregate from "./Aggregate.ts"
export * as Allowance from "./Allowance.ts"
export * as Audit from "./Audit.ts"
export * as Autonomy from "./Autonomy.ts"
export * as Baseline from "./Baseline.ts"
export * as Breaker from "./Breaker.ts"
export * as Budget from "./Budget.ts"
export * as Confidence from "./Confidence.ts"
export * as Contract from "./Contract.ts"
export * as ContractPolicy from "./ContractPolicy.ts"
export * as Coordinator from "./Coordinator.ts"
export * as Decider from "./Decider.ts"
export * as Dependency from "./Dependency.ts"
export * as Desk from "./Desk.ts"
export * as Domain from "./Domain.ts"
export * as Health from "./Health.ts"
export * as HttpFailure from "./HttpFailure.ts"
export * as Office from "./Office.ts"
export * as Outcome from "./Outcome.ts"
export * as Plan from "./Plan.ts"
export * as Recovery from "./Recovery.ts"
export * as Repetition from "./Repetition.ts"
export * as Result from "./Result.ts"
export * as Run from "./Run.ts"
export * as RunEvent from "./RunEvent.ts"
export * as RunState from "./RunState.ts"
export * as Worker from "./Worker.ts"
