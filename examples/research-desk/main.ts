/**
 * The research desk: researches a topic in a folder of notes, writes a short article, and checks every statement of it.
 *
 * `npm run example examples/research-desk/main.ts -- [TOPIC] [options]`, see `--help`. With ANTHROPIC_API_KEY in the
 * environment its workers are Claude; without it they are scripted models, and nothing leaves the machine. This file is the
 * edge: arguments, folder, terminal, exit code.
 *
 * @since 0.1.0
 */
import { Effect, Layer, Option, Path, Schema } from "effect"
import { Meter } from "espalier/agent"
import { Dependency, Run } from "espalier/run"

import * as Claude from "../shared/claude.ts"
import { CouldNotRun, runProgram, write } from "../shared/edge.ts"
import * as Prices from "../shared/prices.ts"
import * as Arguments from "./arguments.ts"
import { begun, conduct } from "./conduct.ts"
import { settingOf, takenUp } from "./forced.ts"
import { Library, load } from "./Library.ts"
import { Input } from "./model.ts"
import * as Print from "./print.ts"
import { oneLine } from "./text.ts"

/** Any typed failure on the way is a reason not to run. */
const orNot = <A, E extends { readonly message: string }, R>(self: Effect.Effect<A, E, R>) =>
  Effect.mapError(self, ({ message }) => new CouldNotRun({ reason: oneLine(message, 500) }))

/** Claude where there is a key and no fault is asked for: faults are those of scripted models. */
const modelsFor = Effect.fnUntraced(function* ({ cheap, strong }: Arguments.Arguments, faulty: boolean) {
  const key = yield* Claude.key
  if (faulty || Option.isNone(key)) return undefined
  const claude = yield* Claude.make(key.value, { cheap, strong })
  return (worker: string) => (/^(writing|checking)\./.test(worker) ? claude.strong : claude.cheap)
})

const services = Layer.merge(Dependency.layer(), Prices.layer)

const job = Effect.fnUntraced(function* (args: Arguments.Arguments) {
  const path = yield* Path.Path
  const { resume } = args
  const run = resume ?? (yield* Run.makeId)
  const shipped = yield* orNot(path.fromFileUrl(new URL("notes", import.meta.url)))
  const fresh = {
    topic: args.topic,
    folder: args.notes === undefined ? shipped : path.resolve(args.notes),
    ...(args.force === undefined ? {} : { force: args.force })
  }
  const input =
    resume === undefined
      ? fresh
      : yield* orNot(Effect.flatMap(begun(resume), (known) => Schema.decodeUnknownEffect(Input)(known)))
  const notes = yield* orNot(load(input.folder))
  const setting = resume === undefined ? settingOf(args.force, args.fail) : takenUp(input.force)
  const progress = args.json ? process.stderr : process.stdout
  const print = (line: string | undefined): void => {
    if (line !== undefined) progress.write(`${line}\n`)
  }
  const models = yield* orNot(modelsFor(args, input.force !== undefined || args.fail !== undefined))
  print(`run ${run}`)
  const outcome = yield* conduct({
    run,
    input: resume === undefined ? input : undefined,
    setting,
    answer: args.answer,
    desk: { models, waitsMillis: [50, 100], jitter: 0 },
    onEvent: (event) => print(Print.eventLine(event)),
    onTreeEvent: (event) => print(Print.treeLine(event))
  }).pipe(Effect.provideService(Library, { notes }), Effect.provide(services), orNot)
  const used = yield* orNot(Meter.ofRun(run))

  if (args.json) yield* write(process.stdout, Print.json(outcome, used))
  else {
    const report = Print.reportOf(outcome)
    const said = report === undefined ? Print.questionText(outcome) : Print.reportText(report)
    const table = Print.auditTable(outcome, process.stdout.columns ?? 160)
    yield* write(process.stdout, `\n${said}\n\n${table}\n${Print.endText(outcome)}\n\n${Meter.render(used)}\n`)
  }
  return Print.exitCode(outcome)
})

runProgram("research-desk", { help: Arguments.help, parse: Arguments.parse, job })
