/**
 * Prompts that pass from one model to another. Public through `Models`.
 *
 * What a model has made says whose it is: its parts are marked when they are answered, so the next prompt tells it.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Predicate from "effect/Predicate"

const mark = "espalier"

/** A model by its names. */
export interface Target {
  readonly provider: string
  readonly model: string
}

/** Who made a part, when it says so. */
const makerOf = (options: Prompt.ProviderOptions): Target | undefined => {
  const own: unknown = options[mark]
  return Predicate.isObject(own) &&
    "provider" in own &&
    "model" in own &&
    typeof own.provider === "string" &&
    typeof own.model === "string"
    ? { provider: own.provider, model: own.model }
    : undefined
}

/**
 * Marks parts of an answer that may carry what only their model understands.
 *
 * @since 0.1.0
 */
export const marked = <
  P extends { readonly type: string; readonly metadata?: unknown; readonly providerExecuted?: unknown }
>(
  part: P,
  { model, provider }: Target
): P => {
  const metadata = Predicate.isObject(part.metadata) ? part.metadata : {}
  const own: unknown = Predicate.hasProperty(metadata, mark) ? metadata[mark] : undefined
  const bound = part.type === "reasoning" || part.providerExecuted === true || Object.keys(metadata).length > 0
  return bound
    ? { ...part, metadata: { ...metadata, [mark]: { ...(Predicate.isObject(own) ? own : {}), provider, model } } }
    : part
}

type Fit = "whole" | "plain" | "none"

/** Calls of tools that the provider carries out itself: nobody else knows them. */
const foreignCalls = (prompt: Prompt.Prompt, isForeign: (options: Prompt.ProviderOptions) => boolean): Set<string> => {
  const ids = new Set<string>()
  for (const message of prompt.content) {
    if (message.role !== "assistant") continue
    for (const part of message.content) {
      if (part.type === "tool-call" && part.providerExecuted && isForeign(part.options)) ids.add(part.id)
    }
  }
  return ids
}

/** See `Models.portable`. */
export const portable = (prompt: Prompt.Prompt, to: Target, from?: Target | undefined): Prompt.Prompt => {
  const isOther = (maker: Target | undefined): boolean =>
    maker !== undefined && (maker.provider !== to.provider || maker.model !== to.model)
  const isForeign = (options: Prompt.ProviderOptions): boolean => isOther(makerOf(options) ?? from)
  const ids = foreignCalls(prompt, isForeign)

  const fit = (part: Prompt.AssistantMessagePart | Prompt.ToolMessagePart): Fit => {
    if ((part.type === "tool-call" || part.type === "tool-result") && ids.has(part.id)) return "none"
    const maker = makerOf(part.options)
    // Options that a person wrote hold for all models of a provider; what a model made holds for that model.
    const foreign = maker === undefined ? from !== undefined && from.provider !== to.provider : isOther(maker)
    if (part.type === "reasoning") return isForeign(part.options) ? "none" : "whole"
    return foreign ? "plain" : "whole"
  }

  const fitted = <P extends Prompt.AssistantMessagePart | Prompt.ToolMessagePart | Prompt.UserMessagePart>(
    parts: ReadonlyArray<P>
  ): ReadonlyArray<P> =>
    parts.flatMap((part) => {
      const how = fit(part)
      return how === "none" ? [] : how === "whole" ? [part] : [{ ...part, options: {} }]
    })

  const ofMessage = (options: Prompt.ProviderOptions): Prompt.ProviderOptions =>
    from !== undefined && from.provider !== to.provider ? {} : options

  const messages: Array<Prompt.Message> = []
  for (const message of prompt.content) {
    const options = ofMessage(message.options)
    if (message.role === "system") messages.push(Prompt.systemMessage({ content: message.content, options }))
    else if (message.role === "user") {
      messages.push(Prompt.userMessage({ content: fitted(message.content), options }))
    } else if (message.role === "assistant") {
      const content = fitted(message.content)
      // A message of which nothing is left says nothing.
      if (content.length > 0 || message.content.length === 0)
        messages.push(Prompt.assistantMessage({ content, options }))
    } else {
      const content = fitted(message.content)
      if (content.length > 0 || message.content.length === 0) messages.push(Prompt.toolMessage({ content, options }))
    }
  }
  return Prompt.fromMessages(messages)
}
