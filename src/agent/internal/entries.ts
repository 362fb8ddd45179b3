/**
 * A tool as it is in scope, out of a tool of Effect's and its terms.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import { canonical, digest } from "../../run/internal/canonical.ts"
import { Given } from "../../run/internal/given.ts"
import { decoder, encoder } from "../../run/internal/problems.ts"
import type * as ToolGate from "../../run/ToolGate.ts"
import type * as Worker from "../../run/Worker.ts"
import type { Entry, Options } from "../ToolScope.ts"

/** @since 0.1.0 */
export const TypeId = "~espalier/agent/ToolScope"

/** Of whoever puts a tool into scope. @since 0.1.0 */
export const given = new Given("ToolScope.tool")

/** Tools are called by the same names everywhere: in prompts, in the journal, by people. */
const namePattern = /^[A-Za-z][\w-]{0,63}$/

const known: ReadonlyArray<keyof Options<unknown, unknown, unknown, unknown>> = [
  "handle",
  "risk",
  "irreversible",
  "gate",
  "editable",
  "describe",
  "idempotent",
  "parallel",
  "timeout",
  "onFailure",
  "recorded",
  "host",
  "version"
]

type Codec = Schema.Codec<unknown, unknown>

/** Arguments of a tool that is known by its JSON schema alone: any record. */
const plain = decoder(Schema.Record(Schema.String, Schema.Json))

const resultSchema = ({ successSchema }: Tool.Any): unknown => {
  try {
    return Tool.getJsonSchemaFromSchema(successSchema)
  } catch {
    return null
  }
}

/** @since 0.1.0 */
export const entryOf = <T extends Tool.Any, E, R>(
  tool: T,
  options: Options<Tool.Parameters<T>, Tool.Success<T>, E, R>
): Entry<R> => {
  given.record("options", options, known)
  const { name } = tool
  given.made("tool", "a tool with a handler of yours", !Tool.isProviderDefined(tool), name)
  if (typeof name !== "string" || !namePattern.test(name)) given.refuse("name", "letters, digits, '_' and '-'", name)
  given.code("handle", options.handle)
  const { annotations } = tool
  const readonly = Context.get(annotations, Tool.Readonly)
  const { idempotent = readonly || Context.get(annotations, Tool.Idempotent), parallel = readonly } = options
  const { host, onFailure = "return", recorded = "call", risk = "low", version = "1" } = options
  given.flag("idempotent", idempotent)
  given.flag("parallel", parallel)
  given.oneOf("onFailure", onFailure, ["return", "fail"])
  if (host !== undefined) given.text("host", host)
  given.oneOf("recorded", recorded, ["call", "handler"])
  const ungated = options.gate === undefined && tool.needsApproval === undefined && risk === "low"
  given.made("recorded", `"call" for a tool with a gate or a risk`, recorded === "call" || ungated, recorded)
  const timeout = given.duration("timeout", options.timeout ?? "60 seconds", "more")
  if (!Duration.isFinite(timeout)) given.refuse("timeout", "finite", options.timeout)
  const gate = options.gate ?? (tool.needsApproval === true ? "always" : "never")
  if (typeof tool.needsApproval === "function" && options.gate === undefined) {
    given.refuse("gate", "a gate in the place of the tool's own needsApproval", undefined)
  }
  // What the schemas of a tool need is part of what its author provides; what is decoded here needs nothing.
  const parameters = Schema.isSchema(tool.parametersSchema) ? (tool.parametersSchema as unknown as Codec) : undefined
  const success = Schema.toCodecJson(tool.successSchema as unknown as Codec)
  const reads = decoder(success)
  const fingerprint = digest(
    canonical([name, tool.description ?? "", Tool.getJsonSchema(tool), resultSchema(tool)] as unknown as Schema.Json)
  ).slice(0, 16)
  const input = parameters === undefined ? undefined : Schema.toCodecJson(parameters)
  return {
    [TypeId]: "entry",
    tool,
    name,
    fingerprint,
    worker: {
      name,
      idempotent,
      risk,
      irreversible: options.irreversible,
      gate: gate as ToolGate.Gate,
      input: parameters,
      editable: options.editable,
      describe: options.describe as Worker.Tool["describe"],
      version: `${version}-${fingerprint}`
    },
    idempotent,
    parallel,
    timeout,
    onFailure,
    recorded,
    host,
    read: input === undefined ? (params) => plain(params) : decoder(input, "error"),
    encode: encoder(success),
    result: Schema.Json.check(
      Schema.makeFilter((json) => EffectResult.isSuccess(reads(json)) || `must be a result of the tool ${name}`)
    ),
    handle: options.handle as Entry<R>["handle"]
  }
}
