/**
 * Workers that are language models: their tools, their prompts, what they cost, and what keeps them in bounds.
 *
 * @since 0.1.0
 */
export * as OutputLimit from "./OutputLimit.ts"
export * as PromptCheck from "./PromptCheck.ts"
export * as ScriptedModel from "./ScriptedModel.ts"
