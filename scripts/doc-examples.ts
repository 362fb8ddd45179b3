/**
 * Turns every `ts` fence of the sources' doc comments and of the README into a module under `.docs/`.
 *
 * A trailing `// => value` becomes an assertion. A fence marked `ts no-run` is type-checked only; every other one is
 * imported by `.docs/run.ts`, one after the other, each under a limit of ten seconds.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"

const outDir = ".docs"
const limitMillis = 10_000
rmSync(outDir, { recursive: true, force: true })
mkdirSync(outDir)

const fence = /^```ts\b([^\n]*)\n([\s\S]*?)^```$/gm
const assertion = /^(.*\S)\s+\/\/ => (.+)$/
const runnable: Array<string> = []
let checkedOnly = 0

for (const file of [...globSync("src/**/*.ts").toSorted(), "README.md"]) {
  const text = readFileSync(file, "utf8")
  const plain = file.endsWith(".md") ? text : text.replaceAll(/^[ \t]*\/?\*+[ \t]?/gm, "")
  for (const match of plain.matchAll(fence)) {
    const line = plain.slice(0, match.index).split("\n").length
    const body = match[2]!.split("\n").map((row) => {
      const hit = assertion.exec(row)
      return hit ? `assert.deepStrictEqual(${hit[1]}, ${hit[2]})` : row
    })
    const name = `${file.replaceAll(/[/.]/g, "-")}-${line}.ts`
    writeFileSync(`${outDir}/${name}`, [`import assert from "node:assert/strict"`, ...body, "export {}", ""].join("\n"))
    if (match[1]!.includes("no-run")) checkedOnly += 1
    else runnable.push(name)
  }
}

writeFileSync(
  `${outDir}/run.ts`,
  [
    `const within = (name: string, module: Promise<unknown>) => {`,
    `  let timer: NodeJS.Timeout | undefined`,
    `  const limit = new Promise((_, reject) => {`,
    `    timer = setTimeout(() => reject(new Error(name + " did not finish within ${limitMillis} ms")), ${limitMillis})`,
    `  })`,
    `  return Promise.race([module, limit]).finally(() => clearTimeout(timer))`,
    `}`,
    ...runnable.map((name) => `await within("${name}", import("./${name}"))`),
    `console.log("${runnable.length} documentation examples ran, ${checkedOnly} were type-checked only")`,
    "export {}",
    ""
  ].join("\n")
)
