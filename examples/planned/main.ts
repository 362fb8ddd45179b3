/**
 * A plan that is made when the input is there: a task for each kind of file, side by side, and a synthesis at the end.
 *
 * ```sh
 * npm run example examples/planned/main.ts -- .
 * npm run example examples/planned/main.ts -- . --bad-plan        # refused with all that is wrong, then corrected
 * npm run example examples/planned/main.ts -- . --bad-plan twice  # refused twice: the fallback stands in
 * ```
 *
 * The planner is a rule here. A model takes its place without anything else being changed: it answers with the same list of
 * tasks, which is checked in the same way.
 *
 * Watch for: the line that begins with `! refused`, which names every problem by its path in the plan; the names of the
 * tasks, which the desk does not know; the synthesis, which is a task of the desk's own and works on the outputs by name.
 *
 * @since 0.1.0
 */
import { parseArgs } from "node:util"

import { Effect, Schema } from "effect"

import { args, choice, main, perform } from "../shared/program.ts"
import { desk } from "./desk.ts"

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

process.exitCode = await main(
  "planned",
  Effect.flatMap(args(parse), (input) =>
    perform(desk, input, ({ results }) => {
      const synthesis = results["synthesis"]?.output
      return isSynthesis(synthesis) ? synthesis : ["There is nothing to sum up."]
    })
  )
)
