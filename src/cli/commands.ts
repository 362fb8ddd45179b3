/**
 * The commands, and how they are understood.
 *
 * @since 0.1.0
 */
import * as Argument from "effect/cli/Argument"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as TerminalCapabilities from "effect/cli/TerminalCapabilities"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

import type { Row } from "../run/Audit.ts"
import { Tier } from "../run/Autonomy.ts"
import { DispatchEnd } from "../run/RunEvent.ts"
import { RunStatus } from "../run/RunState.ts"
import * as autonomous from "./autonomy.ts"
import { espalier, on, oneOf, present, runId, text, within } from "./base.ts"
import { costs } from "./costs.ts"
import { peopleOf } from "./deciding.ts"
import { doctor } from "./doctor.ts"
import { endingsText, Misused } from "./failures.ts"
import { forPeople, people } from "./people.ts"
import { platform } from "./platform.ts"
import { here } from "./printing.ts"
import * as reading from "./reading.ts"
import * as carrying from "./running.ts"
import { trace } from "./trace.ts"
import * as drawn from "./tree.ts"
import * as writing from "./writing.ts"

const version = "0.1.0"

/** A time as people write it: with a date, as ISO 8601 has it; or milliseconds since 1970. */
const timeOf = (flag: string, given: Option.Option<string>): Effect.Effect<number | undefined, Misused> =>
  Option.match(given, {
    onNone: () => Effect.succeed(undefined),
    onSome: (text) => {
      const millis = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
      // A day is as long as it lasts: until a day is until its end.
      const day = flag === "until" && /^\d{4}-\d{2}-\d{2}$/.test(text) ? 86_400_000 - 1 : 0
      const at = Number.isFinite(millis) ? millis : Option.map(DateTime.make(text), DateTime.toEpochMillis)
      if (typeof at === "number") return Effect.succeed(at)
      return Option.match(at, {
        onNone: () => {
          const reason = `--${flag} must be a time such as 2026-11-30T08:00:00Z, or milliseconds since 1970, is ${text}`
          return Effect.fail(new Misused({ reason }))
        },
        onSome: (at) => Effect.succeed(at + day)
      })
    }
  })

const running = Command.make(
  "run",
  {
    module: Argument.String("module").pipe(
      Argument.withDescription(
        "Whose default export is the desk, or an effect of one: a path, or the name of a package, as seen from here"
      )
    ),
    input: Flag.String("input").pipe(
      Flag.withMetavar("JSON|@FILE|-"),
      Flag.withDescription(
        "What the run begins with: JSON, a file that holds it, or - for standard input. Default: {}"
      ),
      Flag.withDefault("{}")
    ),
    id: text("id", "The id of the run. Default: a new one"),
    tier: oneOf("tier", Tier.literals, "How much it may do without a person. Default: as the desk says"),
    as: text("as", "Who asks for it, and does not approve what is of high risk. Default: the user of this system"),
    people
  },
  ({ as, id, input, module, people, tier }) =>
    within(
      (json, named) =>
        carrying.start(
          module,
          {
            input,
            id: Option.getOrUndefined(id),
            tier: Option.getOrUndefined(tier),
            as: Option.getOrUndefined(as),
            people: peopleOf(Option.getOrUndefined(people))
          },
          { ...named, people: Option.getOrUndefined(people) },
          json
        ),
      true
    )
).pipe(
  Command.withDescription(
    `Carries a run of a desk out, in the journal, which is made when it is not there. Exit codes beside the usual ones: ${endingsText}`
  ),
  Command.withShortDescription("Carries a run of a desk out, in the journal, which is made when it is not there"),
  Command.withExamples([
    { command: `espalier run ./desk.ts --input '{"root":"."}'`, description: "A desk of this folder" },
    { command: "espalier run @acme/desks/release --input @release.json", description: "A desk of a package" }
  ])
)

const resuming = Command.make(
  "resume",
  {
    run: runId,
    module: text("module", "Where its desk is from. Default: what the run began with, as seen from here"),
    people
  },
  ({ module, people, run }) =>
    within((json, named) =>
      carrying.resume(
        run,
        { module: Option.getOrUndefined(module), people: peopleOf(Option.getOrUndefined(people)) },
        { ...named, module: Option.getOrUndefined(module), people: Option.getOrUndefined(people) },
        json
      )
    )
).pipe(
  Command.withDescription(
    `Takes a run up that was cut off, was suspended, or waits for what has come. Exit codes beside the usual ones: ${endingsText}`
  ),
  Command.withShortDescription("Takes a run up that was cut off, was suspended, or waits for what has come")
)

const cancelling = Command.make(
  "cancel",
  {
    run: runId,
    by: text("by", "Who asks for it. Default: the user of this system"),
    note: text("note", "Why")
  },
  ({ by, note, run }) =>
    within((json, named) =>
      carrying.cancel(run, { by: Option.getOrUndefined(by), note: Option.getOrUndefined(note) }, named, json)
    )
).pipe(Command.withDescription("Asks for the end of a run: whoever carries it out calls back what is under way"))

const runs = Command.make(
  "runs",
  {
    status: oneOf("status", RunStatus.literals, "Only runs with this status"),
    desk: text("desk", "Only runs of this desk"),
    limit: Flag.Int("limit").pipe(
      Flag.withDescription("At most so many"),
      Flag.filter(
        (limit) => limit >= 0,
        (limit) => `must be >= 0, is ${limit}`
      ),
      Flag.optional
    )
  },
  ({ desk, limit, status }) => within((json) => reading.runs(present({ status, desk, limit }), json))
).pipe(Command.withDescription("Lists the runs, newest first"))

const show = Command.make("show", { run: runId }, ({ run }) => within((json) => reading.show(run, json))).pipe(
  Command.withDescription(
    "Shows a run: its tasks, where its results come from, what is to be decided, what may happen next"
  )
)

const outcomes: ReadonlyArray<Row["outcome"]> = [...DispatchEnd.literals, "open"]

const audit = Command.make(
  "audit",
  {
    run: runId.pipe(Argument.optional),
    worker: text("worker", "Only dispatches to this worker"),
    task: text("task", "Only dispatches of this task"),
    outcome: oneOf("outcome", outcomes, "Only dispatches that ended so"),
    since: text(
      "since",
      "Only dispatches that were given not before this time; a date alone is the start of that day in UTC"
    ),
    until: text(
      "until",
      "Only dispatches that were given not after this time; a date alone is the end of that day in UTC"
    ),
    lines: on("lines", "Print a line of JSON for each dispatch, run by run, or for each step"),
    trail: on("trail", "Print every step of the run instead")
  },
  ({ lines, outcome, run, since, task, trail, until, worker }) =>
    within((json) =>
      Effect.gen(function* () {
        const from = yield* timeOf("since", since)
        const to = yield* timeOf("until", until)
        const filters = {
          ...present({ worker, task, outcome }),
          ...(from === undefined ? {} : { since: from }),
          ...(to === undefined ? {} : { until: to })
        }
        const form = json ? "json" : lines ? "lines" : "table"
        if (!trail) return yield* reading.audit(Option.getOrUndefined(run), filters, form)
        if (Option.isNone(run)) return yield* new Misused({ reason: "--trail is of one run: name it" })
        if (Object.keys(filters).length > 0) {
          return yield* new Misused({ reason: "--trail tells every step: it takes no filters" })
        }
        yield* reading.trail(run.value, form)
      })
    )
).pipe(
  Command.withDescription(
    "Prints who was asked what, when and why, and what came of it: of a run, or of all of them by time"
  ),
  Command.withExamples([
    { command: "espalier audit r1 --trail", description: "Every step of a run, one line each" },
    {
      command: "espalier audit --worker docs.links --since 2026-11-30 --lines",
      description: "A worker, as lines of JSON"
    }
  ])
)

const verify = Command.make(
  "verify",
  {
    run: runId.pipe(Argument.optional),
    head: text(
      "head",
      "A head that was kept, as verify prints it: VERSION:HASH, or HASH alone. The run has to come by it"
    )
  },
  ({ head, run }) =>
    within((json) =>
      Option.isSome(head) && Option.isNone(run)
        ? Effect.fail(new Misused({ reason: "--head is of one run: name it" }))
        : reading.verify(Option.getOrUndefined(run), Option.getOrUndefined(head), json)
    )
).pipe(
  Command.withDescription(
    "Checks the store, the chains of its runs, their artefacts and the lists, and prints their heads"
  )
)

const state = Command.make(
  "state",
  {
    run: runId,
    at: Flag.Int("at").pipe(Flag.withDescription("After this event, from 1 on. Default: the last one"), Flag.optional)
  },
  ({ at, run }) => within((json) => reading.state(run, Option.getOrUndefined(at), json))
).pipe(Command.withDescription("Prints the state of a run as JSON, as it is or as it was"))

const tree = Command.make(
  "tree",
  {
    run: runId,
    at: Flag.Int("at").pipe(Flag.withDescription("After this event, from 1 on. Default: the last one"), Flag.optional)
  },
  ({ at, run }) => within((json) => drawn.tree(run, Option.getOrUndefined(at), json))
).pipe(
  Command.withDescription(
    "Draws a run: its domains and workers as far as its events name them, and its tasks with what they wait for"
  )
)

const tracing = Command.make(
  "trace",
  {
    run: runId,
    depth: Flag.Int("depth").pipe(
      Flag.withDescription("Only so many levels below the run. Default: all of them"),
      Flag.filter(
        (depth) => depth >= 0,
        (depth) => `must be >= 0, is ${depth}`
      ),
      Flag.optional
    ),
    errors: on("errors", "Only branches in which something went wrong")
  },
  ({ depth, errors, run }) => within((json) => trace(run, { depth: Option.getOrUndefined(depth), errors }, json))
).pipe(
  Command.withDescription(
    "Prints who was asked what in a run, over time: orders, attempts, calls of models and tools, with what each took and " +
      "cost, and what went wrong first. With --json the tree of it"
  ),
  Command.withShortDescription("Prints who was asked what in a run, over time, and what went wrong first"),
  Command.withExamples([
    { command: "espalier trace r1 --errors", description: "Only where something went wrong" },
    { command: "espalier trace r1 --depth 4", description: "Down to the domains" }
  ])
)

const setting = Command.make(
  "set",
  {
    run: runId,
    tier: Argument.Literals("tier", Tier.literals).pipe(Argument.withDescription("The tier that it is to have")),
    by: Flag.String("by").pipe(Flag.withMetavar("NAME"), Flag.withDescription("Who changes it")),
    why: Flag.String("why").pipe(Flag.withMetavar("TEXT"), Flag.withDescription("The reason, in a sentence"))
  },
  ({ by, run, tier, why }) => within((json) => autonomous.setTier(run, tier, { by, why }, json))
).pipe(Command.withDescription("Changes the tier of a run; whoever carries it out takes that in"))

const autonomy = Command.make(
  "autonomy",
  {
    run: runId.pipe(Argument.optional),
    desk: text("desk", "Only this desk"),
    baseline: text("baseline", "A file with recorded baselines, with which runs that came after are compared"),
    record: text("record", "Record what is measured now as baselines in this file, which must not be there")
  },
  ({ baseline, desk, record, run }) =>
    within((json) =>
      autonomous.autonomy(
        {
          run: Option.getOrUndefined(run),
          desk: Option.getOrUndefined(desk),
          baseline: Option.getOrUndefined(baseline),
          record: Option.getOrUndefined(record)
        },
        json
      )
    )
).pipe(
  Command.withDescription(
    "Prints how well desks do at the tiers that they have, or a run, against a baseline, and who changed a tier and why"
  ),
  Command.withExamples([
    { command: "espalier autonomy --record before.json", description: "Keeps what is measured now" },
    { command: "espalier autonomy --baseline before.json", description: "Whether that supports a higher tier" },
    { command: 'espalier autonomy set r1 low --by ann --why "A bad day"', description: "Lowers the tier of a run" }
  ]),
  Command.withSubcommands([setting])
)

const costing = Command.make("costs", { run: runId }, ({ run }) => within((json) => costs(run, json))).pipe(
  Command.withDescription(
    "Prints what the models of a run have used and cost, by domain and worker; with --json also call by call. What is " +
      "not known is counted, not guessed"
  ),
  Command.withShortDescription("Prints what the models of a run have used and cost, by domain and worker")
)

const size = Command.make("size", { run: runId.pipe(Argument.optional) }, ({ run }) =>
  within((json) => reading.size(Option.getOrUndefined(run), json))
).pipe(Command.withDescription("Prints how much a run, or the whole journal, holds"))

const exporting = Command.make(
  "export",
  {
    run: runId,
    out: text("out", "The file to write, which must not be there. Default: standard output"),
    artefacts: on("artefacts", "Put the artefacts that it refers to into it")
  },
  ({ artefacts, out, run }) => within(() => writing.exportRun(run, Option.getOrUndefined(out), artefacts))
).pipe(Command.withDescription("Writes a run as lines of JSON"))

const importing = Command.make(
  "import",
  { file: Argument.String("file").pipe(Argument.withDescription("An export of a run; - is standard input")) },
  ({ file }) => within((json) => writing.importRun(file, json), true)
).pipe(Command.withDescription("Takes a run out of an export into the journal, which is made when it is not there"))

const rebuild = Command.make(
  "rebuild",
  {
    dryRun: on("dry-run", "Only tell what differs"),
    force: on("force", "Also list a run as unfinished that is listed as finished: it may be carried out again then")
  },
  ({ dryRun, force }) => within((json) => writing.rebuild({ dryRun, force }, json))
).pipe(Command.withDescription("Makes the lists of runs and of open reviews anew from the events"))

const doctoring = Command.make(
  "doctor",
  {
    module: Argument.String("module").pipe(
      Argument.withDescription("A module whose desk is to be checked, too, as of run"),
      Argument.optional
    )
  },
  ({ module }) =>
    Effect.flatMap(espalier, ({ journal, json, schema }) =>
      doctor(Option.getOrUndefined(module), { journal, schema }, json)
    )
).pipe(
  Command.withDescription(
    "Checks what runs need, and says what to do: Node, packages, the journal, its disk and owner, the clock, a " +
      "desk. Exit codes: 0 nothing fails, 3 something does, 4 the journal cannot be used"
  ),
  Command.withShortDescription("Checks what runs need, and says what to do")
)

const all = espalier.pipe(
  Command.withSubcommands([
    running,
    resuming,
    cancelling,
    runs,
    show,
    ...forPeople,
    tree,
    tracing,
    audit,
    autonomy,
    verify,
    state,
    costing,
    size,
    exporting,
    importing,
    rebuild,
    doctoring
  ])
)

/** Help goes to standard output, where it was asked for; what was used wrongly is told by whoever ends the process. */
const presenter: CliOutput.Presenter = {
  present: (event) => (event._tag === "InvalidInvocation" ? Effect.void : CliOutput.defaultPresenter.present(event))
}

/** Understands arguments and does what they say. */
export const run = (args: ReadonlyArray<string>) =>
  Effect.suspend(() => {
    const { colour, columns } = here()
    return Command.runWith(all, { version })(args).pipe(
      Effect.provide(
        Layer.mergeAll(
          platform,
          CliOutput.layerPresenter(presenter),
          Layer.succeed(TerminalCapabilities.TerminalCapabilities, {
            canColor: colour,
            canAnimate: columns !== undefined,
            canPrompt: false
          }),
          CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
        )
      )
    )
  })
