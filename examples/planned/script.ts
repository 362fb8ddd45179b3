/**
 * The model that plans without a key: a task for each kind of file that it is told of.
 *
 * @since 0.1.0
 */
import { Models, ScriptedModel } from "espalier/agent"

const nothing = { needs: [], acceptMissing: false, constraints: [], done: [], permissions: [] }

/** A task as a model gives it: a call of the tool that stands for the worker. */
const task = (id: string, worker: string, objective: string, needs: ReadonlyArray<string> = []) => ({
  name: `survey__${worker}`,
  params: { ...nothing, id, objective, needs, inputs: { kinds: [id] } }
})

/** What a model might come up with on a bad day: somebody who does not exist, and a circle. */
const bad = [task("prose", "poetry", "Count the verses", ["code"]), task("code", "code", "Count the lines", ["prose"])]

/**
 * The models. `badPlans`: how often in a row the plan is a bad one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (badPlans: 0 | 1 | 2 = 0): Models.Models => {
  const script = ScriptedModel.fromFunction(({ said }) => {
    const number = said.includes("Your last answer could not be used") ? 2 : 1
    const kinds = [...said.matchAll(/\b(prose|code|data|plain) \(\d+\)/g)].map(([, kind = ""]) => kind)
    const plan = number <= badPlans ? bad : kinds.map((kind) => task(kind, kind, `Measure the files of ${kind}`))
    const usage = { inputTokens: Math.ceil(said.length / 4), outputTokens: Math.ceil(JSON.stringify(plan).length / 4) }
    return ScriptedModel.tools(plan, { usage })
  })
  return Models.make([{ provide: script.model }])
}
