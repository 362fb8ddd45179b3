import { execFile, execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"

import { withProcesses } from "../fixtures/real.ts"
import { folder } from "../journal/fixtures/folder.ts"
import { linesOf } from "./command.ts"
import { espalier } from "./inside.ts"

const has = (shell: string): boolean => {
  try {
    execFileSync(shell, ["-c", "exit 0"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** The lines that a program prints; it has to end well. */
const lines = (program: string, args: ReadonlyArray<string>) =>
  Effect.callback<ReadonlyArray<string>, Error>((resume) => {
    const child = execFile(program, args, (error, out, err) =>
      resume(error === null ? Effect.succeed(linesOf(out)) : Effect.fail(new Error(`${error.message} ${err}`)))
    )
    child.stdin?.end()
  })

/** What a shell is asked with to complete a line, after it has read the script. */
const shells: Readonly<Record<string, (script: string, line: string) => ReadonlyArray<string>>> = {
  bash: (script, line) => [
    "--noprofile",
    "--norc",
    "-c",
    `source "$0"; COMP_LINE="$1"; COMP_POINT=\${#COMP_LINE}; read -ra COMP_WORDS <<< "$1"
     [[ "$1" == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
     $(complete -p espalier | sed 's/.*-F \\([^ ]*\\) .*/\\1/') espalier "\${COMP_WORDS[COMP_CWORD]}" ""
     printf '%s\\n' "\${COMPREPLY[@]}"`,
    script,
    line
  ],
  fish: (script, line) => [
    "--no-config",
    "-c",
    `source ${script}; complete -C ${JSON.stringify(line)} | string replace -r '\\t.*' ''`
  ]
}

/** The script of a shell, in a file. */
const scriptOf = Effect.fnUntraced(function* (shell: string) {
  const { code, err, out } = yield* espalier("none", ["--completions", shell])
  assert.deepStrictEqual([code, err], [0, []])
  const file = join(yield* folder, `espalier.${shell}`)
  writeFileSync(file, `${out.join("\n")}\n`)
  return file
})

const completed = [
  ["espalier aud", ["audit"]],
  ["espalier au", ["audit", "autonomy"]],
  ["espalier tr", ["trace", "tree"]],
  ["espalier trace --er", ["--errors"]],
  ["espalier show --jou", ["--journal"]],
  ["espalier runs --status ca", ["cancelled"]],
  ["espalier autonomy s", ["set"]]
] as const

describe("completions", () => {
  for (const [shell, ask] of Object.entries(shells)) {
    withProcesses.skipIf(!has(shell))(`R-503 ${shell} completes commands, flags and their values`, () =>
      Effect.gen(function* () {
        const script = yield* scriptOf(shell)
        for (const [line, expected] of completed) {
          const found = yield* lines(shell, ask(script, line))
          assert.deepStrictEqual([...found].toSorted(), [...expected], line)
        }
      })
    )
  }

  withProcesses.skipIf(!has("zsh"))("R-503 zsh reads the script", () =>
    Effect.gen(function* () {
      const script = yield* scriptOf("zsh")
      assert.deepStrictEqual(yield* lines("zsh", ["-n", script]), [])
      const loaded = `autoload -U compinit; compinit -u -D; source ${script}; print -r -- $_comps[espalier]`
      assert.notDeepEqual(yield* lines("zsh", ["-f", "-c", loaded]), [""])
    })
  )

  withProcesses.each(["bash", "zsh", "fish"])("R-503 the script for %s names every command", (shell) =>
    Effect.gen(function* () {
      const { out } = yield* espalier("none", ["--completions", shell])
      const text = out.join("\n")
      for (const command of [
        "runs",
        "show",
        "tree",
        "trace",
        "audit",
        "autonomy",
        "verify",
        "state",
        "costs",
        "export"
      ]) {
        assert.include(text, command)
      }
    })
  )
})
