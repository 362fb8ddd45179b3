/**
 * The models of the desk without a key: what a model would say, worked out by rules from what it is asked.
 *
 * Each answer follows from its request alone, so that a run that was cut off goes on with another process. The faults that
 * were ordered are those of these models.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"
import { Models, ScriptedModel } from "espalier/agent"

import * as Checking from "./checking.ts"
import * as Faults from "./faults.ts"
import type { Notes } from "./Library.ts"
import { Draft, place, Research } from "./model.ts"
import * as Finding from "./research.ts"
import * as Text from "./text.ts"
import { Found, LookedUp } from "./tools.ts"
import * as Writing from "./writing.ts"

type Request = ScriptedModel.Request

/** What the order says, as an agent tells its model. */
const Task = Schema.Struct({
  inputs: Schema.Record(Schema.String, Schema.Json),
  definition_of_done: Schema.optionalKey(Schema.Array(Schema.Struct({ id: Schema.String }))),
  from_tasks_before: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})

type Task = typeof Task.Type

const read = <A>(schema: Schema.Codec<A, unknown>, json: unknown): A => Schema.decodeUnknownSync(schema)(json)

const taskText = ({ prompt }: Request): string => {
  const first = prompt.content.find(({ role }) => role === "user")
  const [part] = typeof first?.content === "string" || first === undefined ? [] : first.content
  return part?.type === "text" ? part.text : ""
}

const taskOf = (text: string): Task => read(Task, JSON.parse(text.slice(text.indexOf("{"))))

/** What a tool said last. */
const resultOf = <A>({ prompt }: Request, name: string, schema: Schema.Codec<A, unknown>): A => {
  for (const message of prompt.content.toReversed()) {
    if (message.role !== "tool") continue
    const part = message.content.find((each) => each.type === "tool-result" && each.name === name)
    if (part?.type === "tool-result") return read(schema, part.result)
  }
  throw new Error(`${name} has no result`)
}

/** Somebody's guess, as everywhere: four characters are a token. */
const tokens = (text: string): number => Math.ceil(text.length / 4)

/** Calls one tool, and says what that takes. */
const call = (request: Request, name: string, params: unknown): ScriptedModel.Step =>
  ScriptedModel.tools([{ name, params }], {
    usage: { inputTokens: tokens(request.said), outputTokens: tokens(JSON.stringify(params)) }
  })

interface Delivery<A> {
  readonly output: A
  readonly confidence: number
  readonly missing?: ReadonlyArray<{ readonly part: string; readonly reason: string }>
}

const giveUp = (request: Request, because: "not-able" | "too-large", reason: string) =>
  call(request, "give_up", { reason, because })

type Bent = Exclude<Faults.Bend, "unsure">

/** A role: what its model says in a turn where nothing is wrong with it, and how its deliveries can be bent. */
interface Role<A> {
  readonly say: (task: Task, request: Request, turn: number) => ScriptedModel.Step | Delivery<A>
  readonly bend: (kind: Bent, delivery: Delivery<A>, task: Task) => Delivery<A>
}

const Topic = Schema.Struct({ topic: Schema.String })

const researcher = (search: string): Role<Research> => ({
  say: ({ inputs }, request, turn) => {
    const { topic } = read(Topic, inputs)
    if (turn === 1) return call(request, search, { topic })
    const { searched, ...found } = resultOf(request, search, Found)
    if (found.passages.length === 0) {
      return giveUp(request, "not-able", `none of ${searched} notes bears on “${Text.oneLine(topic, 80)}”`)
    }
    return { output: found, confidence: Finding.confidence(topic, found) }
  },
  // The first half of what was found, said to be no more.
  bend: (_, delivery) => {
    const { passages } = delivery.output
    const kept = passages.slice(0, Math.ceil(passages.length / 2))
    return {
      ...delivery,
      output: { ...delivery.output, passages: kept, contradictions: Finding.contradictions(kept) },
      missing: [{ part: `${passages.length - kept.length} passages`, reason: "it stopped half way" }]
    }
  }
})

const WriteInput = Schema.Struct({ topic: Schema.String, research: Research })

const writer = (write: (topic: string, research: Research) => Draft): Role<Draft> => ({
  say: ({ inputs }) => {
    const { research, topic } = read(WriteInput, inputs)
    const output = write(topic, research)
    const statements = output.paragraphs.flatMap((each) => each.statements)
    const files = new Set(statements.flatMap(({ sources }) => sources.map(({ file }) => file)))
    return { output, confidence: Text.share(0.6 + 0.1 * files.size) }
  },
  bend: (kind, delivery, task) => {
    const wanted = (task.definition_of_done ?? []).some(({ id }) => id === "figures")
    return { ...delivery, output: bent(kind, delivery.output, wanted) }
  }
})

/** A draft with one thing wrong. */
const bent = (kind: Bent, draft: Draft, wanted: boolean): Draft => {
  let done = false
  const changed = (
    change: (statement: Draft["paragraphs"][number]["statements"][number]) => typeof statement
  ): Draft => ({
    ...draft,
    paragraphs: draft.paragraphs.map(({ heading, statements }) => ({
      heading,
      statements: statements.map((statement) => (done ? statement : change(statement)))
    }))
  })
  switch (kind) {
    case "misquote":
      return changed((statement) => {
        done = true
        return { ...statement, sources: statement.sources.map((source) => ({ ...source, line: source.line + 1 })) }
      })
    case "misstate":
      return changed((statement) => {
        const [number] = Text.numbers(statement.text)
        if (number === undefined) return statement
        done = true
        return { ...statement, text: statement.text.replace(number, `${Number(number) * 10 + 7}`) }
      })
    case "no-figures": {
      if (!wanted) return draft
      const paragraphs = draft.paragraphs.map(({ heading, statements }) => ({
        heading,
        statements: statements.filter(({ text }) => Text.numbers(text).size === 0)
      }))
      return { ...draft, paragraphs: paragraphs.filter((each) => each.statements.length > 0) }
    }
    default:
      return draft
  }
}

/** Notes that hold nothing but what was looked up. */
const seen = (places: typeof LookedUp.Type): Notes => {
  const notes = [...Map.groupBy(places, ({ file }) => file)].map(([file, all]) => {
    const lines: Array<string> = Array.from({ length: Math.max(0, ...all.map(({ line }) => line)) }, () => "")
    for (const { line, text } of all) if (text !== null && line >= 1) lines[line - 1] = text
    return { file, title: file, lines }
  })
  return { notes, unread: [] }
}

const checker = (check: (notes: Notes, draft: Draft) => Checking.Checked): Role<Checking.Checked["check"]> => ({
  say: ({ from_tasks_before: before = {}, inputs }, request, turn) => {
    // After a follow-up it is the mended article that is checked.
    const mended = before["mend"]
    const draft = read(Draft, mended ?? inputs["draft"])
    if (turn === 1) {
      const sources = draft.paragraphs.flatMap(({ statements }) => statements.flatMap((each) => each.sources))
      const places = new Map(sources.map(({ file, line }) => [place({ file, line }), { file, line }]))
      return call(request, "look_up", { places: [...places.values()] })
    }
    const { draft: checked, ...output } = check(seen(resultOf(request, "look_up", LookedUp)), draft).check
    return {
      output: mended === undefined || checked === undefined ? output : { ...output, draft: checked },
      confidence: Text.share(1 - output.unsupported.length / Math.max(1, output.checked))
    }
  },
  bend: (_, delivery) => delivery
})

/** What a model says in a turn, with the fault that strikes it. */
type Speaker = (kind: Faults.Fault["kind"] | undefined, request: Request, turn: number) => ScriptedModel.Step

const speaker =
  <A>(role: Role<A>): Speaker =>
  (kind, request, turn) => {
    switch (kind) {
      case "crash":
        throw new Error(Faults.reason)
      case "hang":
        return ScriptedModel.hang
      case "transient":
        return ScriptedModel.fault("overloaded")
      case "capability":
        return giveUp(request, "not-able", Faults.reason)
      case "oversized":
        return giveUp(request, "too-large", Faults.reason)
      case "malformed":
        return call(request, "deliver", { output: "not what was asked for", confidence: 1 })
    }
    const task = taskOf(taskText(request))
    const answer = role.say(task, request, turn)
    if (!("output" in answer)) return answer
    if (kind === "unsure") return call(request, "deliver", { ...answer, confidence: 0.4 })
    return call(request, "deliver", kind === undefined ? answer : role.bend(kind, answer, task))
  }

const speakers: Readonly<Record<string, Speaker>> = {
  "library.keywords": speaker(researcher("search_words")),
  "library.outliner": speaker(researcher("search_titles")),
  "reading.sections": speaker(researcher("search_letters")),
  "writing.composer": speaker(writer(Writing.byNotes)),
  "writing.digest": speaker(writer(Writing.byTopic)),
  "checking.figures": speaker(checker(Checking.byFigures)),
  "checking.wording": speaker(checker(Checking.byWording))
}

/**
 * The model of a worker, by `domain.worker`, with these faults.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (faults: ReadonlyArray<Faults.Fault>): ((worker: string) => Models.Models) => {
  const strike = Faults.make(faults)
  return (worker) => {
    const speak = speakers[worker]
    if (speak === undefined) throw new RangeError(`there is no script for ${worker}`)
    const script = ScriptedModel.fromFunction((request, turn) =>
      speak(strike(worker, taskText(request), turn), request, turn)
    )
    return Models.make([{ provide: script.model }])
  }
}
