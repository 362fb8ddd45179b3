/** What the tests of the examples share: a run of a desk, and the program as a reader starts it. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"

import { NodeServices } from "@effect/platform-node"
import { Effect, Stream } from "effect"
import { Journal } from "espalier/journal"
import { type Desk, Run, type RunEvent } from "espalier/run"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The outcome and the history of a run. */
export const carryOut = <Input, R>(desk: Desk.Desk<Input, R>, input: Input) =>
  Effect.gen(function* () {
    const outcome = yield* Run.start(desk, { id: "r1", input, log: false })
    return { outcome, events: yield* Stream.runCollect(Run.events("r1")) }
  }).pipe(Effect.provide(Journal.layerMemory), Effect.provide(NodeServices.layer))

/** The tasks of an outcome with how they ended. */
export const ends = ({ results }: { readonly results: Readonly<Record<string, { readonly status: string }>> }) =>
  Object.entries(results).map(([task, { status }]) => `${task} ${status}`)

export const tagged = <Tag extends RunEvent.RunEvent["_tag"]>(events: ReadonlyArray<RunEvent.RunEvent>, tag: Tag) =>
  events.filter((event): event is RunEvent.Of<Tag> => event._tag === tag)

/** The program as a process. */
export const program = (example: string, args: ReadonlyArray<string>) =>
  Effect.callback<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resume) => {
    const child = execFile(
      process.execPath,
      ["--conditions=@espalier/source", `examples/${example}/main.ts`, ...args],
      { cwd: root },
      (_, stdout, stderr) => resume(Effect.succeed({ code: child.exitCode ?? -1, stdout, stderr }))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })
