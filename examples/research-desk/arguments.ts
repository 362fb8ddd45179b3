/**
 * The command line of the research desk, as data.
 *
 * Every argument that cannot be obeyed is refused in one line that names it, what it got and what it expects. A flag takes
 * its value as `--flag value` or `--flag=value`; `--` ends the flags.
 *
 * @since 0.1.0
 */
import { Result, Schema } from "effect"
import type { RunEvent } from "espalier/run"

import { defaults } from "../shared/claude.ts"
import { split, type Words } from "../shared/words.ts"
import { type Fail, failures, type Force, forces } from "./forced.ts"
import { oneLine, words } from "./text.ts"

/**
 * The answers that can be given to a question.
 *
 * @category models
 * @since 0.1.0
 */
export const answers = [
  "approve",
  "reject",
  "retry",
  "accept-partial"
] as const satisfies ReadonlyArray<RunEvent.Decision>

/** @since 0.1.0 */
export type Answer = (typeof answers)[number]

/**
 * What was asked for. `notes`: the folder; `undefined` = the notes of the example. `resume`: the run to take up. `cheap`, `strong`:
 * ids of models.
 *
 * @category models
 * @since 0.1.0
 */
export interface Arguments {
  readonly topic: string
  readonly notes: string | undefined
  readonly force: Force | undefined
  readonly fail: Fail | undefined
  readonly answer: Answer | undefined
  readonly cheap: string | undefined
  readonly strong: string | undefined
  readonly resume: string | undefined
  readonly json: boolean
  readonly help: boolean
}

/**
 * An argument that cannot be obeyed. `value`: what was given; missing when nothing was.
 *
 * @category errors
 * @since 0.1.0
 */
export class ArgumentError extends Schema.TaggedError<ArgumentError>()("ArgumentError", {
  argument: Schema.String,
  value: Schema.optionalKey(Schema.String),
  expected: Schema.String
}) {
  override get message(): string {
    const got = this.value === undefined ? "nothing" : JSON.stringify(oneLine(this.value, 80))
    return `${oneLine(this.argument, 80)}: expected ${this.expected}, got ${got}`
  }
}

/** @since 0.1.0 */
export const defaultTopic = "grafting apple trees: scion wood and rootstocks"

/**
 * What `--help` prints.
 *
 * @category models
 * @since 0.1.0
 */
export const help = `Researches a topic in a folder of notes, writes a short article, and checks every statement of it.

  npm run example examples/research-desk/main.ts -- [TOPIC] [options]

  TOPIC               by default "${defaultTopic}"
  --notes DIR         a folder of Markdown notes, by default those of the example
  --force STEP        make the run take this step of recovery, by a fault, a limit or a policy:
                      ${forces.slice(0, 7).join(", ")},
                      ${forces.slice(7, 13).join(", ")},
                      ${forces.slice(13).join(", ")}
  --fail WORK         let every worker of a kind fail for good: ${failures.join(", ")}
  --answer DECISION   answer what the run asks a person: ${answers.join(", ")};
                      by default the run ends waiting and its questions are printed
  --cheap MODEL       with a key, the model that researches, by default ${defaults.cheap}
  --strong MODEL      with a key, the model that writes and checks, by default ${defaults.strong}
  --resume RUN        take up a run that waits or was interrupted
  --json              print the report as JSON, and the progress on the error stream
  --help              print this

With ANTHROPIC_API_KEY in the environment the workers are Claude, which costs money; each model stands in for the other.
Without it, and with --force and --fail, they are scripted models, which cost nothing and answer the same each time.
Attempts are repeated after 50 ms and 100 ms here, so that nobody waits; the desk's own waits are 1 s and 2 s.
Exit codes: 0 done, or waiting for a person, 1 done and the check asks for a revision, 2 partial, cancelled or nothing,
3 could not run, 130 interrupted.
`

const switches: ReadonlyArray<string> = ["--json", "--help"]
const expectations: Readonly<Record<string, string>> = {
  "--notes": "a folder of Markdown notes",
  "--force": `one of ${forces.join(", ")}`,
  "--fail": `one of ${failures.join(", ")}`,
  "--answer": `one of ${answers.join(", ")}`,
  "--cheap": "the id of a model",
  "--strong": "the id of a model",
  "--resume": "the id of a run, letters, digits, dots, dashes and underscores"
}
const known: ReadonlyArray<string> = [...Object.keys(expectations), ...switches]

const wrong = (argument: string, value: string | undefined, expected: string): Result.Result<never, ArgumentError> =>
  Result.fail(new ArgumentError({ argument, ...(value === undefined ? {} : { value }), expected }))

/**
 * Reads the arguments after the program's name. `--help` before a `--` wins over everything else, mistakes included.
 *
 * @category parsing
 * @since 0.1.0
 */
export const parse = (argv: ReadonlyArray<string>): Result.Result<Arguments, ArgumentError> => {
  const end = argv.indexOf("--")
  const flagged = end < 0 ? argv : argv.slice(0, end)
  if (flagged.includes("--help") || flagged.includes("-h")) return Result.succeed({ ...nothing, help: true })
  return Result.flatMap(split(argv, { known, switches, expectation, wrong }), interpret)
}

const nothing: Arguments = {
  topic: defaultTopic,
  notes: undefined,
  force: undefined,
  fail: undefined,
  answer: undefined,
  cheap: undefined,
  strong: undefined,
  resume: undefined,
  json: false,
  help: false
}

const expectation = (flag: string): string => expectations[flag] ?? "a value"

/** One of the names, or `undefined` where nothing was given, or a refusal. */
const choice = <A extends string>(
  values: Words["values"],
  flag: string,
  among: ReadonlyArray<A>
): Result.Result<A | undefined, ArgumentError> => {
  const [value] = values.get(flag) ?? []
  if (value === undefined) return Result.succeed(undefined)
  const found = among.find((each) => each === value)
  return found === undefined ? wrong(flag, value, expectations[flag] ?? "") : Result.succeed(found)
}

const isModel = (id: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/.test(id)

const longestTopic = 200

/** What can be answered to the question that a forced step leads to. */
const allowed: Partial<Readonly<Record<Force, ReadonlyArray<Answer>>>> = {
  escalate: ["retry", "accept-partial", "reject"],
  "reduce-scope": ["approve", "reject"]
}

const interpret = ({ positionals, values }: Words): Result.Result<Arguments, ArgumentError> =>
  Result.gen(function* () {
    const [topic, second] = positionals
    if (second !== undefined) return yield* wrong("TOPIC", second, "one topic; put more words into quotes")
    const expected = `a topic of at most ${longestTopic} characters with a word that can be looked for`
    if (topic !== undefined && (words(topic).length === 0 || topic.length > longestTopic)) {
      return yield* wrong("TOPIC", topic, expected)
    }
    const force = yield* choice(values, "--force", forces)
    const fail = yield* choice(values, "--fail", failures)
    const answer = yield* choice(values, "--answer", answers)
    const notes = values.get("--notes")?.[0]
    if (notes !== undefined && (notes.trim() === "" || notes.includes("\0"))) {
      return yield* wrong("--notes", notes, expectations["--notes"] ?? "")
    }
    const [cheap, strong] = ["--cheap", "--strong"].map((flag) => values.get(flag)?.[0])
    if (cheap !== undefined && !isModel(cheap)) return yield* wrong("--cheap", cheap, expectations["--cheap"] ?? "")
    if (strong !== undefined && !isModel(strong))
      return yield* wrong("--strong", strong, expectations["--strong"] ?? "")
    const resume = values.get("--resume")?.[0]
    if (resume !== undefined) {
      if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(resume) || resume.includes("..")) {
        return yield* wrong("--resume", resume, expectations["--resume"] ?? "")
      }
      const beside = "nothing beside --resume: a run is taken up as it was begun"
      if (topic !== undefined) return yield* wrong("TOPIC", topic, beside)
      for (const flag of ["--notes", "--force", "--fail"]) {
        const [value] = values.get(flag) ?? []
        if (value !== undefined) return yield* wrong(flag, value, beside)
      }
    }
    const may = force === undefined ? undefined : allowed[force]
    if (answer !== undefined && may !== undefined && !may.includes(answer)) {
      return yield* wrong("--answer", answer, `one of ${may.join(", ")}, which is what --force ${force} asks`)
    }
    const json = values.has("--json")
    return { ...nothing, topic: topic ?? defaultTopic, notes, force, fail, answer, cheap, strong, resume, json }
  })
