/**
 * Asks a `LanguageModel` what another one was asked, as that hands it to a provider: without resolving calls of tools.
 */
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"

type Tools = Record<string, Tool.Any>

const optionsOf = ({ prompt, toolChoice, tools }: LanguageModel.ProviderOptions) => ({
  prompt,
  ...(tools.length === 0
    ? {}
    : {
        toolChoice,
        toolkit: {
          tools: Object.fromEntries(tools.map((tool) => [tool.name, tool])),
          handle: () => Effect.die(new Error("a tool is called beside the model that was asked"))
        } as Toolkit.WithHandler<Tools>
      }),
  disableToolCallResolution: true,
  toolCallValidation: "deferred" as const
})

/** The whole answer. */
export const askInside = (
  inside: LanguageModel.LanguageModel,
  asked: LanguageModel.ProviderOptions
): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError> => {
  const options = optionsOf(asked)
  const { responseFormat } = asked
  if (responseFormat.type === "text") {
    return Effect.map(inside.generateText(options as { readonly prompt: typeof asked.prompt }), contentOf)
  }
  const schema = responseFormat.schema as Schema.Codec<unknown, Record<string, unknown>>
  const json = Schema.fromJsonString(schema)
  return Effect.map(
    inside.generateObject({
      ...(options as { readonly prompt: typeof asked.prompt }),
      objectName: responseFormat.objectName,
      schema
    }),
    (response) => {
      const content = contentOf(response)
      if (isJson(json, response.text)) return content
      // A provider may have asked for another shape of the same value; whoever reads the parts knows only the schema.
      const text = Response.makePart("text", { text: Schema.encodeUnknownSync(json)(response.value) })
      const first = content.findIndex(({ type }) => type === "text")
      return content.flatMap((part, index): ReadonlyArray<Response.AnyPart> =>
        part.type !== "text" ? [part] : index === first ? [text] : []
      )
    }
  )
}

const isJson = (json: Schema.Codec<unknown, string>, text: string): boolean =>
  Schema.decodeOption(json)(text)._tag === "Some"

const contentOf = (response: { readonly content: ReadonlyArray<unknown> }): ReadonlyArray<Response.AnyPart> =>
  response.content as ReadonlyArray<Response.AnyPart>

/** The answer as it arrives. */
export const streamInside = (
  inside: LanguageModel.LanguageModel,
  asked: LanguageModel.ProviderOptions
): Stream.Stream<Response.AnyPart, AiError.AiError> =>
  inside.streamText(optionsOf(asked) as { readonly prompt: typeof asked.prompt }) as Stream.Stream<
    Response.AnyPart,
    AiError.AiError
  >
