/**
 * The notes that the desk works from: the Markdown files of one folder, read once and cleaned.
 *
 * **Invariants**
 *
 * - L1. A line is printable: control characters and what turns the direction of writing are gone before any worker sees it.
 * - L2. Nothing is left out silently: a file that is not read is in `unread`, with the reason.
 *
 * @since 0.1.0
 */
import { Context, Effect, FileSystem, Path, Schema } from "effect"

import { oneLine } from "./text.ts"

/**
 * A note.
 *
 * **Details**
 *
 * - `file`: its name in the folder. `title`: its first heading, or its name.
 * - `lines`: the first one is line 1; those that hold no text are empty.
 *
 * @category models
 * @since 0.1.0
 */
export interface Note {
  readonly file: string
  readonly title: string
  readonly lines: ReadonlyArray<string>
}

/**
 * The notes of a folder, by name, and the files that could not be read.
 *
 * @category models
 * @since 0.1.0
 */
export interface Notes {
  readonly notes: ReadonlyArray<Note>
  readonly unread: ReadonlyArray<{ readonly file: string; readonly reason: string }>
}

/**
 * What the workers work from.
 *
 * @category services
 * @since 0.1.0
 */
export class Library extends Context.Service<Library, { readonly notes: Notes }>()("research-desk/Library") {}

/**
 * A folder that cannot be read.
 *
 * @category errors
 * @since 0.1.0
 */
export class FolderUnreadable extends Schema.TaggedError<FolderUnreadable>()("FolderUnreadable", {
  folder: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `--notes: expected a folder of Markdown notes, got ${JSON.stringify(oneLine(this.folder))}: ${oneLine(this.reason)}`
  }
}

/** More than this of one file, of one line and of one folder is not read. */
const most = { bytes: 200_000, line: 600, files: 200 } as const

/**
 * A note out of the bytes of its file, or why it is none.
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse = (file: string, bytes: Uint8Array): Note | string => {
  if (bytes.length > most.bytes) return `it has ${bytes.length} bytes, at most ${most.bytes} are read`
  let text: string
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return "it is not text in UTF-8"
  }
  if (text.includes("\0")) return "it is not text, it holds zero bytes"
  const raw = text.split(/\r\n|\n|\r/)
  const long = raw.findIndex((line) => line.length > most.line)
  if (long >= 0) return `line ${long + 1} has ${raw[long]?.length} characters, at most ${most.line} are read`
  const lines = raw.map((line) => oneLine(line, most.line))
  const title = lines.find((line) => line.startsWith("# "))?.slice(2) ?? file
  return { file, title, lines }
}

const reasonOf = (error: { readonly message: string }): string => oneLine(error.message, 120)

/**
 * Reads the Markdown files of a folder, in the order of their names.
 *
 * @category constructors
 * @since 0.1.0
 */
export const load = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const names = yield* Effect.mapError(
    fs.readDirectory(folder),
    (error) => new FolderUnreadable({ folder, reason: reasonOf(error) })
  )
  const notes: Array<Note> = []
  const unread: Array<{ readonly file: string; readonly reason: string }> = []
  const files = names.filter((name) => name.toLowerCase().endsWith(".md")).toSorted()
  for (const name of files.slice(0, most.files)) {
    const file = oneLine(name, 100)
    // The size is asked for first: a file of gigabytes is not read to be refused.
    const read = Effect.gen(function* () {
      const info = yield* fs.stat(path.join(folder, name))
      if (info.type !== "File") return "it is not a file"
      const bytes = Number(info.size)
      if (bytes > most.bytes) return `it has ${bytes} bytes, at most ${most.bytes} are read`
      return parse(file, yield* fs.readFile(path.join(folder, name)))
    })
    const note = yield* Effect.catch(read, (error) => Effect.succeed(reasonOf(error)))
    if (typeof note === "string") unread.push({ file, reason: note })
    else notes.push(note)
  }
  if (files.length > most.files) {
    const reason = `the folder has ${files.length} notes, at most ${most.files} are read`
    unread.push({ file: `${files.length - most.files} more files`, reason })
  }
  return { notes, unread } satisfies Notes
})

/**
 * The text of a line; `undefined` where there is none.
 *
 * @category accessors
 * @since 0.1.0
 */
export const lineOf = ({ notes }: Notes, file: string, line: number): string | undefined =>
  notes.find((note) => note.file === file)?.lines[line - 1]
