/**
 * The tools of a worker, as it declares them.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import { Risk } from "../Autonomy.ts"
import type * as ToolGate from "../ToolGate.ts"
import type { Tool } from "../Worker.ts"
import { applyEdits, editableProblems } from "./editing.ts"
import { recordable } from "./fitting.ts"
import { Given } from "./given.ts"
import { decoder, type Problem, sentences, shortened } from "./problems.ts"

/**
 * A tool as it is called.
 *
 * **Details**
 *
 * - `worker`: who calls it. `gated`: whether a call of it is ever looked at.
 * - `read`: arguments as its `input` decodes them. `schema`: of the arguments, as it is recorded with a question.
 *
 * @since 0.1.0
 */
export interface Declared extends ToolGate.Tool {
  readonly _tag: "Declared"
  readonly version: string
  readonly idempotent: boolean
  readonly editable: ReadonlyArray<string>
  readonly schema?: Schema.Json | undefined
  readonly worker: ToolGate.Call["worker"]
  readonly gated: boolean
  readonly read: (args: Schema.Json) => EffectResult.Result<unknown, ReadonlyArray<Problem>>
  readonly sentence: (args: unknown) => string | undefined
}

/** A tool that the worker has not declared, beside those that it has. */
export interface Undeclared {
  readonly _tag: "Undeclared"
  readonly known: ReadonlyArray<string>
}

/** @since 0.1.0 */
export type Called = Declared | Undeclared

/** By name, in the order in which they are declared. */
export type Tools = ReadonlyMap<string, Declared>

const given = new Given("Worker.make")

const fields: ReadonlyArray<keyof Tool> = [
  "name",
  "idempotent",
  "risk",
  "irreversible",
  "gate",
  "input",
  "editable",
  "describe",
  "version"
]

/** A tool of which only the name is known. */
const plain = (name: string, worker: Declared["worker"]): Declared => ({
  _tag: "Declared",
  name,
  version: "1",
  risk: "low",
  irreversible: false,
  gate: "never",
  idempotent: false,
  editable: [],
  worker,
  gated: false,
  read: EffectResult.succeed,
  sentence: () => undefined
})

/** What is wrong with the editable places, or the schema by which changes are checked. */
const editing = (at: string, { editable = [], input }: Tool): Schema.Json | undefined => {
  given.texts(`${at}.editable`, editable)
  const [problem] = editableProblems(editable)
  if (problem !== undefined) {
    throw new RangeError(`Worker.make: ${sentences([{ ...problem, path: `${at}.${problem.path}` }])}`)
  }
  const schema = input === undefined ? undefined : recordable(Schema.toCodecJson(input))
  if (editable.length > 0 && schema === undefined) {
    const why = input === undefined ? "an input beside it" : "an input that JSON Schema has words for"
    throw new RangeError(`Worker.make: ${at}.editable must have ${why}, by which changes are checked`)
  }
  return schema
}

const declare = (at: string, tool: Tool, worker: Declared["worker"]): Declared => {
  given.record(at, tool, fields)
  const { describe, editable = [], gate = "never", idempotent = false, input, name } = tool
  const { irreversible = false, risk = "low", version = "1" } = tool
  given.flag(`${at}.idempotent`, idempotent)
  given.oneOf(`${at}.risk`, risk, Risk.literals)
  given.flag(`${at}.irreversible`, irreversible)
  if (typeof gate !== "function" && gate !== "always" && gate !== "never") {
    given.refuse(`${at}.gate`, `"always", "never" or a function of the arguments`, gate)
  }
  if (input !== undefined) given.schema(`${at}.input`, input)
  if (describe !== undefined) given.code(`${at}.describe`, describe)
  if (typeof version !== "string" || version.trim() === "") {
    given.refuse(`${at}.version`, "a text that is not empty", version)
  }
  const schema = editing(at, tool)
  const riskier = Risk.literals.indexOf(risk) > Risk.literals.indexOf(worker.risk)
  const read = input === undefined ? undefined : decoder(Schema.toCodecJson(input), "error")
  return {
    ...plain(name, worker),
    version,
    risk,
    irreversible,
    gate,
    idempotent,
    editable,
    ...(schema === undefined ? {} : { schema }),
    gated: gate !== "never" || input !== undefined || riskier || (irreversible && !worker.irreversible),
    ...(read === undefined ? {} : { read }),
    sentence: (args) => {
      try {
        const said: unknown = describe === undefined ? undefined : (describe as (args: unknown) => unknown)(args)
        return typeof said === "string" && said.trim() !== "" ? shortened(said, 500) : undefined
      } catch {
        return undefined
      }
    }
  }
}

/** The tools of a worker, or a `RangeError` that names what is wrong with them. */
export const toolsOf = (tools: ReadonlyArray<string | Tool>, worker: Declared["worker"]): Tools => {
  const list = given.list("tools", tools) as ReadonlyArray<string | Tool>
  const declared = list.map((tool, index) =>
    typeof tool === "object" && tool !== null ? declare(`tools[${index}]`, tool, worker) : plain(tool, worker)
  )
  given.names(
    "tools",
    declared.map(({ name }) => name)
  )
  return new Map(declared.map((tool) => [tool.name, tool]))
}

/** What of arguments does not fit the tool. */
export const misfit = (tool: Declared, args: Schema.Json): string | undefined => {
  const read = tool.read(args)
  return EffectResult.isSuccess(read) ? undefined : sentences(read.failure, "args")
}

/** The arguments with what somebody has changed, or why they cannot be changed so. */
export const edited = (
  tool: Declared,
  args: Schema.Json,
  edits: Readonly<Record<string, Schema.Json>>
): EffectResult.Result<Schema.Json, string> => {
  const changed = applyEdits(args, edits, tool.editable)
  if (EffectResult.isFailure(changed)) return EffectResult.fail(sentences(changed.failure, "the changes"))
  const wrong = misfit(tool, changed.success)
  return wrong === undefined ? EffectResult.succeed(changed.success) : EffectResult.fail(wrong)
}
