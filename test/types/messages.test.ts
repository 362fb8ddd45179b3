/**
 * What the compiler says about a mistake: each file of `messages/` makes one, and names in its first line what a person
 * must be able to read in the answer.
 */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

import { assert, describe, it } from "@effect/vitest"

const folder = fileURLToPath(new URL("./messages/", import.meta.url))
const compiler = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url))

/** What the compiler says, by file. */
const said = (): Map<string, string> => {
  let output = ""
  try {
    execFileSync(process.execPath, [compiler, "-p", folder, "--pretty", "false"], { encoding: "utf8", stdio: "pipe" })
  } catch (error) {
    output = (error as { readonly stdout: string }).stdout
  }
  const messages = new Map<string, string>()
  let file = ""
  for (const line of output.split("\n")) {
    file = /([^/\\]+\.ts)\(\d+,\d+\)/.exec(line)?.[1] ?? file
    if (line !== "") messages.set(file, `${messages.get(file) ?? ""}${line}\n`)
  }
  return messages
}

describe("messages of the compiler", () => {
  const mistakes = readdirSync(folder).filter((name) => name.endsWith(".ts"))
  let messages: Map<string, string> | undefined

  it.each(mistakes)("R-113 %s: the mistake does not compile, and the message can be read", (name) => {
    messages ??= said()
    const expected = /^\/\/ says: (.*)$/m.exec(readFileSync(`${folder}${name}`, "utf8"))?.[1]
    const message = messages.get(name) ?? ""
    assert(expected !== undefined, `${name} must say in its first line what is expected`)
    assert.include(message, expected)
    assert.isAtMost(message.trim().split("\n").length, 4, message)
  })
})
