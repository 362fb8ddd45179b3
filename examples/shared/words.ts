/**
 * The arguments of a program as flags with their values, and the rest. Each mistake is told with what was expected.
 *
 * @since 0.1.0
 */
import { Result } from "effect"

/**
 * What was given: the values of each flag in their order, a switch with an empty one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Words {
  readonly values: ReadonlyMap<string, ReadonlyArray<string>>
  readonly positionals: ReadonlyArray<string>
}

/**
 * Splits arguments. Nothing after `--` is a flag.
 *
 * **Details**
 *
 * - `known`: all flags. `switches`: those without a value. `repeated`: those that may be given more than once. Default none.
 * - `expectation`: what a flag wants. `wrong`: makes the refusal.
 *
 * @category parsing
 * @since 0.1.0
 */
export const split = <E>(
  argv: ReadonlyArray<string>,
  flags: {
    readonly known: ReadonlyArray<string>
    readonly switches: ReadonlyArray<string>
    readonly repeated?: ReadonlyArray<string> | undefined
    readonly expectation: (flag: string) => string
    readonly wrong: (flag: string, value: string | undefined, expected: string) => Result.Result<never, E>
  }
): Result.Result<Words, E> => {
  const { expectation, known, repeated = [], switches, wrong } = flags
  const values = new Map<string, Array<string>>()
  const positionals: Array<string> = []
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? ""
    if (word === "--") {
      positionals.push(...argv.slice(at + 1))
      break
    }
    if (!word.startsWith("-")) {
      positionals.push(word)
      continue
    }
    const equals = word.indexOf("=")
    const flag = equals < 0 ? word : word.slice(0, equals)
    const attached = equals < 0 ? undefined : word.slice(equals + 1)
    if (!known.includes(flag)) return wrong("flag", word, `one of ${known.join(", ")}`)
    const earlier = values.get(flag)
    if (earlier !== undefined && !repeated.includes(flag)) return wrong(flag, word, "to be given once")
    let value = attached ?? ""
    if (switches.includes(flag)) {
      if (attached !== undefined) return wrong(flag, attached, "no value")
    } else if (attached === undefined) {
      const next = argv[at + 1]
      if (next === undefined) return wrong(flag, undefined, expectation(flag))
      if (next.startsWith("-")) return wrong(flag, next, `${expectation(flag)} (a value with a dash: ${flag}=VALUE)`)
      value = next
      at++
    }
    if (earlier === undefined) values.set(flag, [value])
    else earlier.push(value)
  }
  return Result.succeed({ values, positionals })
}
