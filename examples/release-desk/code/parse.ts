/**
 * The program of the process in which files are parsed: a question a line on standard input, an answer a line on
 * standard output. It ends with its input, so it does not outlive the desk.
 *
 * @since 0.1.0
 */
import { functionsOf } from "./functions.ts"
import { languageOf } from "./languages.ts"

const answer = (question: string): string => {
  const { path, text }: { readonly path: string; readonly text: string } = JSON.parse(question)
  const language = languageOf(path)
  return JSON.stringify(language === undefined ? undefined : functionsOf(path, text, language))
}

// Split by hand: `readline` breaks lines at U+2028 too, which JSON does not escape.
let begun: Array<string> = []
for await (const chunk of process.stdin.setEncoding("utf8")) {
  const pieces = String(chunk).split("\n")
  for (const piece of pieces.slice(0, -1)) {
    process.stdout.write(`${answer(begun.join("") + piece)}\n`)
    begun = []
  }
  begun.push(pieces.at(-1) ?? "")
}
