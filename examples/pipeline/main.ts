/**
 * A pipeline: research → analysis → article, each of which works on what the one before it put out.
 *
 * Reads a text with headings and bullets, such as a changelog, counts what it lists, and writes a few lines about it.
 *
 * ```sh
 * npm run example examples/pipeline/main.ts -- CHANGELOG.md
 * npm run example examples/pipeline/main.ts -- --fault sloppy    # a wrong number is found and handed back, once
 * npm run example examples/pipeline/main.ts -- --fault analysis  # a stage gives nothing: the article says what it lacks
 * npm run example examples/pipeline/main.ts -- --fault research  # the first stage gives nothing: there is no article
 * ```
 *
 * Watch for: one stage at a time; `validate` of the last stage, which knows the numbers; `acceptMissing`, which lets it run
 * without them.
 *
 * @since 0.1.0
 */
import { parseArgs } from "node:util"

import { Effect, Schema } from "effect"

import { oneLine } from "../shared/files.ts"
import { args, choice, main, perform } from "../shared/program.ts"
import { desk } from "./desk.ts"

const parse = () => {
  const { positionals, values } = parseArgs({ options: { fault: { type: "string" } }, allowPositionals: true })
  const [file = "CHANGELOG.md", ...more] = positionals
  if (more.length > 0) throw new RangeError(`one file is enough, got ${more.join(", ")} as well`)
  return { file, fault: choice("--fault", values.fault, ["none", "research", "analysis", "sloppy"]) }
}

const isArticle = Schema.is(Schema.Array(Schema.String))

process.exitCode = await main(
  "pipeline",
  Effect.flatMap(args(parse), (input) =>
    perform(desk, input, ({ results }) => {
      const article = results["article"]?.output
      return isArticle(article) ? article.map((line) => oneLine(line, 400)) : ["There is no article."]
    })
  )
)
