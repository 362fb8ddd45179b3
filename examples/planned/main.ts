/**
 * A plan that is made when the input is there: a task for each kind of file, side by side, and a synthesis at the end.
 *
 * ```sh
 * npm run example examples/planned/main.ts -- .
 * npm run example examples/planned/main.ts -- . --bad-plan        # refused with all that is wrong, then corrected
 * npm run example examples/planned/main.ts -- . --bad-plan twice  # refused twice: the fallback stands in
 * ```
 *
 * Who plans is a language model: Claude where `ANTHROPIC_API_KEY` is in the environment, else, and with `--bad-plan`, a scripted
 * one. Either answers with calls of tools, one for each task; nothing is done before all of them are decoded and checked.
 *
 * Watch for: the line that begins with `! refused`, which names every problem by its path in the plan; the names of the
 * tasks, which the desk does not know; the synthesis, which is a task of the desk's own and works on the outputs by name.
 *
 * @since 0.1.0
 */
import { parseArgs } from "node:util"

import { Effect, Layer, Option, Schema } from "effect"
import { Dependency } from "espalier/run"

import * as Claude from "../shared/claude.ts"
import * as Prices from "../shared/prices.ts"
import { args, choice, main, perform } from "../shared/program.ts"
import { Folder, make } from "./desk.ts"
import * as Script from "./script.ts"

const often = { never: 0, once: 1, twice: 2 } as const

/** `--bad-plan` alone is once. */
const spelledOut = (argv: ReadonlyArray<string>): Array<string> =>
  argv.flatMap((word, at) =>
    word === "--bad-plan" && !Object.hasOwn(often, argv[at + 1] ?? "") ? ["--bad-plan=once"] : [word]
  )

const parse = () => {
  const { positionals, values } = parseArgs({
    args: spelledOut(process.argv.slice(2)),
    options: { "bad-plan": { type: "string" } },
    allowPositionals: true
  })
  const [folder = ".", ...more] = positionals
  if (more.length > 0) throw new RangeError(`one folder is enough, got ${more.join(", ")} as well`)
  return { folder, badPlans: often[choice("--bad-plan", values["bad-plan"], ["never", "once", "twice"])] }
}

const isSynthesis = Schema.is(Schema.Array(Schema.String))

const modelsFor = Effect.fnUntraced(function* (badPlans: 0 | 1 | 2) {
  const key = yield* Claude.key
  if (badPlans > 0 || Option.isNone(key)) return Script.make(badPlans)
  return (yield* Claude.make(key.value)).cheap
})

process.exitCode = await main(
  "planned",
  Effect.gen(function* () {
    const { badPlans, folder } = yield* args(parse)
    const desk = make(yield* modelsFor(badPlans))
    return yield* perform(desk, {}, ({ results }) => {
      const synthesis = results["synthesis"]?.output
      return isSynthesis(synthesis) ? synthesis : ["There is nothing to sum up."]
    }).pipe(Effect.provideService(Folder, folder), Effect.provide(Layer.merge(Dependency.layer(), Prices.layer)))
  })
)
