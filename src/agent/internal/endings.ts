/**
 * The two tools by which a model ends its work: it delivers, or it says that it cannot go on.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import type * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import { decoder, type Problem } from "../../run/internal/problems.ts"

/** @since 0.1.0 */
export const deliver = "deliver"

/** @since 0.1.0 */
export const giveUp = "give_up"

/** The effect by which a turn is asked for. @since 0.1.0 */
export const modelEffect = "model"

/** Names that no tool of a scope may have. @since 0.1.0 */
export const reserved: ReadonlySet<string> = new Set([deliver, giveUp, "result_read", modelEffect])

const Sentence = Schema.NonEmptyString.check(Schema.isMaxLength(2000))

const Missing = Schema.Struct({ part: Sentence, reason: Sentence })

/** What a model delivers. */
export interface Delivery<A> {
  readonly output: A
  readonly confidence: number
  readonly missing?: ReadonlyArray<typeof Missing.Type> | undefined
}

/** Why a model cannot go on. */
export const GivenUp = Schema.Struct({
  reason: Sentence,
  because: Schema.Literals(["not-able", "not-allowed", "too-large", "question"])
})

const deliveryOf = <A, E>(output: Schema.Codec<A, E>) =>
  Schema.Struct({
    output,
    confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })).annotate({
      description: "How sure you are that the output is right, between 0 and 1"
    }),
    missing: Schema.optionalKey(
      Schema.Array(Missing).annotate({
        description: "What of the output is not there, and why. Leave it out when it is whole"
      })
    )
  })

/** The endings of an agent with this output: as tools, and how their arguments are read. */
export interface Endings<A> {
  readonly tools: ReadonlyArray<Tool.Any>
  readonly delivery: (params: unknown) => EffectResult.Result<Delivery<A>, ReadonlyArray<Problem>>
  readonly givenUp: (params: unknown) => EffectResult.Result<typeof GivenUp.Type, ReadonlyArray<Problem>>
}

/** @since 0.1.0 */
export const endings = <A, E>(output: Schema.Codec<A, E>): Endings<A> => {
  const parameters = Schema.toCodecJson(deliveryOf(output))
  return {
    tools: [
      Tool.make(deliver, {
        description: "Delivers the result of your work and ends it. Call it alone, once, when you are done",
        parameters
      }),
      Tool.make(giveUp, {
        description:
          "Ends your work without a result: you are not able to do it, you are not allowed what it takes, it is too large, or a question has to be answered by a person first",
        parameters: GivenUp
      })
    ],
    delivery: decoder(parameters, "error"),
    givenUp: decoder(GivenUp, "error")
  }
}
