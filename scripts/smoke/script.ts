/**
 * A model that says what the smoke run is after, each answer by what it is asked.
 */
import { ScriptedModel } from "espalier/agent"

/** The plan that is asked for. */
export const planned = {
  id: "count",
  objective: "Count the words",
  needs: [],
  acceptMissing: false,
  inputs: { text: "Fram is a ship of wood" },
  constraints: [],
  done: [],
  permissions: []
}

/** The model. */
export const scripted = () =>
  ScriptedModel.fromFunction((request, turn) => {
    const usage = { inputTokens: Math.ceil(request.said.length / 4), outputTokens: 20 }
    const call = (name: string, params: unknown) => ScriptedModel.tools([{ name, params }], { usage })
    const offered = new Set(request.tools.map(({ name }) => name))
    if (offered.has("search")) {
      if (turn === 1) return call("search", { word: "ship" })
      return call("deliver", { output: { ship: "Fram" }, confidence: 0.9 })
    }
    if (offered.has("finish")) {
      return request.said.includes("not asked yet")
        ? call("words", { reason: "They are to be counted" })
        : call("finish", { reason: "They are counted" })
    }
    if (offered.has("smoke__counter")) return call("smoke__counter", planned)
    if (request.method === "streamText") return ScriptedModel.stream(["one\n", "two\n", "three\n"], { usage })
    return ScriptedModel.object({ sentence: "Where is the ship?", isQuestion: true }, { usage })
  })
