/**
 * Text from files that nobody vouches for: read within bounds, and made fit for a terminal.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, Path, Schema } from "effect"
import { Failure } from "espalier"

/** The largest file that is read, in bytes. */
export const maxBytes = 1_000_000

/** The most files of one folder that are looked at. */
export const maxFiles = 2000

const maxDepth = 12

/**
 * A file or folder that cannot be read, in one line.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", {
  path: Schema.String,
  reason: Schema.String
}) {
  /** Nobody else can read it either, but trying again is of no use at all. */
  readonly [Failure.kind] = "capability"

  override get message(): string {
    return `${oneLine(this.path)} cannot be read: ${oneLine(this.reason)}`
  }
}

/**
 * Text as one printable line of at most `limit` characters, without control characters, with `…` where it was cut.
 *
 * @category text
 * @since 0.1.0
 */
export const oneLine = (text: string, limit = 200): string => {
  // The slice comes first: a line can be megabytes long.
  const flat = text
    .slice(0, limit * 4)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim()
  const cut = flat.length > limit || text.length > limit * 4 ? `${flat.slice(0, limit - 1)}…` : flat
  return cut.toWellFormed()
}

/**
 * The text of a file. Fails with {@link Unreadable} when it is not there, not a file, too large or binary.
 *
 * @category reading
 * @since 0.1.0
 */
export const read = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const no = (reason: string) => new Unreadable({ path: file, reason })
  const info = yield* Effect.mapError(fs.stat(file), ({ reason }) => no(reason._tag))
  if (info.type !== "File") return yield* no(`it is no file but a ${info.type}`)
  if (info.size > maxBytes) return yield* no(`it has ${info.size} bytes, more than ${maxBytes}`)
  const text = yield* Effect.mapError(fs.readFileString(file), ({ reason }) => no(reason._tag))
  if (text.includes("\0")) return yield* no("it is not text")
  return text
})

/**
 * The files of a folder whose names end so, by their paths below it, in a stable order.
 *
 * **Details**
 *
 * Names that begin with a dot, `node_modules` and links to folders are passed over. Fails with {@link Unreadable} when the
 * folder cannot be listed, or holds more than {@link maxFiles}.
 *
 * @category reading
 * @since 0.1.0
 */
export const list = Effect.fnUntraced(function* (root: string, endings: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const found: Array<string> = []
  const visit = (below: string, depth: number): Effect.Effect<void, Unreadable> =>
    Effect.gen(function* () {
      const folder = path.join(root, below)
      const names = yield* Effect.mapError(
        fs.readDirectory(folder),
        ({ reason }) => new Unreadable({ path: folder, reason: reason._tag })
      )
      for (const name of names.toSorted()) {
        if (name.startsWith(".") || name === "node_modules") continue
        const here = path.join(below, name)
        if (endings.some((ending) => name.endsWith(ending))) found.push(here)
        if (found.length > maxFiles) {
          return yield* new Unreadable({ path: root, reason: `it holds more than ${maxFiles} files` })
        }
        const isFolder = depth < maxDepth && (yield* Effect.isSuccess(fs.readDirectory(path.join(root, here))))
        const isLink = isFolder && (yield* Effect.isSuccess(fs.readLink(path.join(root, here))))
        if (isFolder && !isLink) yield* visit(here, depth + 1)
      }
    })
  yield* visit("", 0)
  return found
})
