/**
 * Workers that are language models: their tools, their prompts, what they cost, and what keeps them in bounds.
 *
 * @since 0.1.0
 */
export * as Agent from "./Agent.ts"
export * as ContextWindow from "./ContextWindow.ts"
export * as CostModel from "./CostModel.ts"
export * as DroppedResults from "./DroppedResults.ts"
export * as Evaluation from "./Evaluation.ts"
export * as Gateway from "./Gateway.ts"
export * as Memory from "./Memory.ts"
export * as Meter from "./Meter.ts"
export * as ModelAnswer from "./ModelAnswer.ts"
export * as ModelCall from "./ModelCall.ts"
export * as ModelFailure from "./ModelFailure.ts"
export * as ModelPlanner from "./ModelPlanner.ts"
export * as ModelRouter from "./ModelRouter.ts"
export * as Models from "./Models.ts"
export * as OutputLimit from "./OutputLimit.ts"
export * as PartialUsage from "./PartialUsage.ts"
export * as PromptCheck from "./PromptCheck.ts"
export * as RecordedModel from "./RecordedModel.ts"
export * as Sandbox from "./Sandbox.ts"
export * as ScriptedModel from "./ScriptedModel.ts"
export * as ToolScope from "./ToolScope.ts"
