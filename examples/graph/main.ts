/**
 * A graph with loops: a search that goes deeper as long as it finds too little, and an article about what it found.
 *
 * Looks for a term in the texts of a folder. When that is too little, it looks for words that stand near what it found as
 * well, and again; when there is nothing, it tries a word that is spelt alike.
 *
 * ```sh
 * npm run example examples/graph/main.ts -- quorum src
 * npm run example examples/graph/main.ts -- quorum src --enough 1       # the first search is enough
 * npm run example examples/graph/main.ts -- quorums-of-all src          # nothing: another spelling is found
 * npm run example examples/graph/main.ts -- quorum src --enough 100000  # never enough: the loop ends at its cap
 * ```
 *
 * Watch for: the outcome of each visit in brackets; at the cap, `loop-detected`: the research is partial, and the article is
 * written all the same, out of what there is, and says so.
 *
 * @since 0.1.0
 */
import { parseArgs } from "node:util"

import { Effect, Schema } from "effect"

import { args, count, main, perform } from "../shared/program.ts"
import { desk } from "./desk.ts"

const parse = () => {
  const { positionals, values } = parseArgs({ options: { enough: { type: "string" } }, allowPositionals: true })
  const [term = "quorum", folder = "src", ...more] = positionals
  if (more.length > 0) throw new RangeError(`a term and a folder are enough, got ${more.join(", ")} as well`)
  if (term.trim() === "") throw new RangeError(`the term must not be empty`)
  return { term: term.trim(), folder, enough: count("--enough", values.enough, 150) }
}

const isArticle = Schema.is(Schema.Array(Schema.String))

process.exitCode = await main(
  "graph",
  Effect.flatMap(args(parse), (input) =>
    perform(desk, input, ({ results }) => {
      const article = results["article"]?.output
      return isArticle(article) ? article : ["There is no article."]
    })
  )
)
