/**
 * Whether the artefacts of an answer are there and are what their references say.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

import * as Artefacts from "../../journal/Artefacts.ts"
import { type Envelope, ResultInvalid } from "../Result.ts"
import { pathOf, type Problem } from "./problems.ts"

const problem = (name: string, expectation: string): Problem => ({
  path: pathOf(["artefacts", name]),
  expectation,
  actual: ""
})

/**
 * Succeeds when every artefact of the answer holds in the store around the run. Without a store none does.
 *
 * @since 0.1.0
 */
export const delivered = ({
  artefacts = {}
}: Envelope): Effect.Effect<void, ResultInvalid | Artefacts.ArtefactsError> => {
  const names = Object.keys(artefacts)
  if (names.length === 0) return Effect.void
  return Effect.gen(function* () {
    const store = yield* Effect.serviceOption(Artefacts.Artefacts)
    const problems = Option.isNone(store)
      ? names.map((name) => problem(name, "does not hold: the run has no store of artefacts"))
      : (yield* Effect.provideService(Artefacts.broken(artefacts), Artefacts.Artefacts, store.value)).map(
          ({ name, reason }) => problem(name, `does not hold: ${reason.message}`)
        )
    if (problems.length > 0) return yield* new ResultInvalid({ problems })
  })
}
