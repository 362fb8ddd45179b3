/**
 * A swarm: a drafter, a shortener and a critic hand a text to each other until it is short and has all its facts.
 *
 * Facts are numbers, names and code. The shortener leaves sentences out, the critic says which facts went with them, and when
 * nothing more can be left out, the drafter writes it denser.
 *
 * ```sh
 * npm run example examples/swarm/main.ts                            # a notice of a bakery, in 55 words
 * npm run example examples/swarm/main.ts -- notice.txt --words 60   # a text of yours
 * npm run example examples/swarm/main.ts -- --stubborn              # a shortener that does not listen
 * npm run example examples/swarm/main.ts -- --words 10              # the facts alone are longer than that
 * ```
 *
 * Watch for: who hands over to whom; with `--stubborn`, how the same critique of the same text is found to be a ping-pong
 * after three rounds, and the run ends as `loop-detected` with the last text.
 *
 * @since 0.1.0
 */
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

import { Effect } from "effect"

import { read } from "../shared/files.ts"
import { args, count, main, perform } from "../shared/program.ts"
import { desk, isCritique } from "./desk.ts"

const parse = () => {
  const { positionals, values } = parseArgs({
    options: { words: { type: "string" }, stubborn: { type: "boolean", default: false } },
    allowPositionals: true
  })
  const [file = fileURLToPath(new URL("notice.txt", import.meta.url)), ...more] = positionals
  if (more.length > 0) throw new RangeError(`one text is enough, got ${more.join(", ")} as well`)
  return { file, limit: count("--words", values.words, 55), stubborn: values.stubborn }
}

process.exitCode = await main(
  "swarm",
  Effect.gen(function* () {
    const { file, limit, stubborn } = yield* args(parse)
    const text = yield* read(file)
    return yield* perform(desk, { text, limit, stubborn }, ({ results }) => {
      const last = Object.values(results).findLast(({ output }) => isCritique(output))?.output
      if (!isCritique(last)) return ["There is no text."]
      return [last.text, `(${last.words} words${last.next === "done" ? "" : `, and ${last.next} would be next`})`]
    })
  })
)
