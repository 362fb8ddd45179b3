/**
 * What the workers may call: they search the notes, read them, and look places up. None of it changes anything.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import { Tool } from "effect/ai"
import { Failure } from "espalier"
import { ToolScope } from "espalier/agent"

import { Library, lineOf, type Note } from "./Library.ts"
import { Research } from "./model.ts"
import { oneLine } from "./text.ts"

/** The files that an order is about; without a list, all of them. */
const Scope = Schema.Struct({ files: Schema.optionalKey(Schema.Array(Schema.String)) })

const notesOf = (inputs: unknown) =>
  Library.useSync(({ notes }) => {
    const { files } = Schema.decodeUnknownSync(Scope)(inputs)
    return files === undefined ? notes.notes : notes.notes.filter(({ file }) => files.includes(file))
  })

/**
 * What a search finds. `searched`: in how many notes.
 *
 * @category models
 * @since 0.1.0
 */
export const Found = Schema.Struct({ searched: Schema.Int, ...Research.fields })

/**
 * A way to search the notes of an order.
 *
 * **Details**
 *
 * - `window`: how many characters of notes it can take in. More is a failure of the order, which can be split then.
 *
 * @category tools
 * @since 0.1.0
 */
export const search = (
  name: string,
  description: string,
  window: number,
  find: (topic: string, notes: ReadonlyArray<Note>) => Research
) =>
  ToolScope.tool(
    Tool.make(name, {
      description,
      parameters: Schema.Struct({ topic: Schema.String }),
      success: Found
    }).annotate(Tool.Readonly, true),
    {
      onFailure: "fail",
      handle: Effect.fnUntraced(function* ({ topic }, { order }) {
        const notes = yield* notesOf(order.contract.inputs)
        const size = notes.reduce((sum, { lines }) => sum + lines.reduce((sum, line) => sum + line.length, 0), 0)
        if (size > window) {
          return yield* Failure.oversized(`the notes have ${size} characters, ${name} takes in ${window}`)
        }
        return { searched: notes.length, ...find(topic, notes) }
      })
    }
  )

/** More lines than this are not read at once. */
const most = 100

/**
 * Reads lines of a note.
 *
 * @category tools
 * @since 0.1.0
 */
export const readNote = ToolScope.tool(
  Tool.make("read_note", {
    description: `Reads lines of a note, at most ${most}. The first line is line 1`,
    parameters: Schema.Struct({ file: Schema.String, from: Schema.Int, to: Schema.Int }),
    success: Schema.Array(Schema.Struct({ line: Schema.Int, text: Schema.String }))
  }).annotate(Tool.Readonly, true),
  {
    handle: Effect.fnUntraced(function* ({ file, from, to }, { order }) {
      const note = (yield* notesOf(order.contract.inputs)).find((each) => each.file === file)
      if (note === undefined) return yield* Failure.capability(`there is no note ${JSON.stringify(oneLine(file, 80))}`)
      const first = Math.max(1, from)
      const lines = note.lines.slice(first - 1, Math.min(to, first + most - 1))
      return lines.map((text, index) => ({ line: first + index, text }))
    })
  }
)

/**
 * A place that was looked up. `text`: what stands there; `null` where nothing does.
 *
 * @category models
 * @since 0.1.0
 */
export const LookedUp = Schema.Array(
  Schema.Struct({ file: Schema.String, line: Schema.Int, text: Schema.NullOr(Schema.String) })
)

/**
 * Looks up what stands at some places.
 *
 * @category tools
 * @since 0.1.0
 */
export const lookUp = ToolScope.tool(
  Tool.make("look_up", {
    description: "Looks up what stands at places in the notes, all of them in one call",
    parameters: Schema.Struct({ places: Schema.Array(Schema.Struct({ file: Schema.String, line: Schema.Int })) }),
    success: LookedUp
  }).annotate(Tool.Readonly, true),
  {
    handle: ({ places }) =>
      Library.useSync(({ notes }) =>
        places.map(({ file, line }) => ({ file, line, text: lineOf(notes, file, line) ?? null }))
      )
  }
)
