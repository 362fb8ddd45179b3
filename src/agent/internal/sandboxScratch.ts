// @effect-diagnostics nodeBuiltinImport:off -- the folder belongs to a process of this host, whatever else has files.
/**
 * The scratch folder of one run: made, filled, measured, read and removed. A Node file: uses `node:buffer`,
 * `node:fs`, `node:os`, `node:path` and `node:process`.
 *
 * What lies in it was written by code that nobody trusts: no link is followed.
 */
import { isUtf8 } from "node:buffer"
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  opendirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  type Stats,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, posix } from "node:path"
import process from "node:process"

import { SandboxFilesRefused } from "./sandboxErrors.ts"

/** A file that was changed or added. */
export interface Changed {
  readonly path: string
  readonly bytes: number
  readonly content: Uint8Array
}

const refuse = (problem: "path" | "entry" | "size", detail: string): never => {
  throw new SandboxFilesRefused({ problem, detail })
}

const shown = (path: string): string => JSON.stringify(path.length > 120 ? `${path.slice(0, 120)}…` : path)

/** The files with plain relative paths, or throws `SandboxFilesRefused`. */
export const planOf = (
  files: Readonly<Record<string, string>>,
  entry: string,
  limits: { readonly bytes: number; readonly files: number }
): ReadonlyMap<string, Uint8Array> => {
  const plan = new Map<string, Uint8Array>()
  const folders = new Set<string>()
  const encoder = new TextEncoder()
  let bytes = 0
  for (const [path, text] of Object.entries(files)) {
    const parts = path.split("/")
    const sound =
      Buffer.byteLength(path) <= 1024 &&
      parts.every((part) => part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= 200) &&
      // oxlint-disable-next-line no-control-regex -- a name with control characters is refused
      !/[\\:\u0000-\u001f]/.test(path)
    if (!sound) refuse("path", `the path ${shown(path)} is not one of a file below the scratch folder`)
    const content = encoder.encode(text)
    plan.set(path, content)
    bytes += content.length
    for (let folder = posix.dirname(path); folder !== "."; folder = posix.dirname(folder)) folders.add(folder)
  }
  for (const path of plan.keys()) {
    if (folders.has(path)) refuse("path", `the path ${shown(path)} is that of a file and of a folder`)
  }
  if (!plan.has(entry)) refuse("entry", `the entry ${shown(entry)} is not among the files`)
  if (bytes > limits.bytes)
    refuse("size", `the files have ${bytes} bytes, more than the ${limits.bytes} of the disk limit`)
  if (plan.size + folders.size > limits.files) {
    refuse("size", `there are ${plan.size + folders.size} files and folders, more than the limit of ${limits.files}`)
  }
  return plan
}

/** A fresh folder that only its owner may enter. Throws what the system says. */
export const make = (root: string | undefined): string =>
  realpathSync(mkdtempSync(join(root ?? tmpdir(), `espalier-sandbox-${process.pid}-`)))

/** Writes the files into a fresh folder. Throws what the system says. */
export const fill = (folder: string, plan: ReadonlyMap<string, Uint8Array>): void => {
  for (const [path, content] of plan) {
    const whole = join(folder, path)
    mkdirSync(dirname(whole), { recursive: true, mode: 0o700 })
    writeFileSync(whole, content, { mode: 0o600, flag: "wx" })
  }
}

const slash = Buffer.from("/")

const below = (folder: Buffer, name: Buffer): Buffer => Buffer.concat([folder, slash, name])

/** Code that goes down folder by folder gets deeper than any path leads. */
const isTooDeep = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENAMETOOLONG"

/**
 * Visits what lies below a folder until `visit` says to stop; what is gone meanwhile is passed over, and so is what is too deep
 * to look at, unless that stops it. Names are bytes: one that is no text is a file like others.
 */
const walk = (
  folder: Buffer,
  visit: (path: Buffer, stat: Stats) => boolean,
  deep: "passed-over" | "stops" = "passed-over"
): boolean => {
  const goesOn = (error: unknown): boolean => deep === "passed-over" || !isTooDeep(error)
  let open
  try {
    open = opendirSync(folder, { encoding: "buffer" as BufferEncoding })
  } catch (error) {
    return goesOn(error)
  }
  try {
    for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
      // The types know no names of bytes.
      const path = below(folder, entry.name as unknown as Buffer)
      let stat: Stats
      try {
        stat = lstatSync(path)
      } catch (error) {
        if (goesOn(error)) continue
        return false
      }
      if (!visit(path, stat)) return false
      if (stat.isDirectory() && !walk(path, visit, deep)) return false
    }
    return true
  } finally {
    open.closeSync()
  }
}

/** Whether more lies in the folder than is allowed, or something too deep to look at; it looks no further than that. */
export const isOver = (folder: string, limits: { readonly bytes: number; readonly files: number }): boolean => {
  let bytes = 0
  let files = 0
  const isWithin = (_path: Buffer, stat: Stats): boolean => {
    // A file with holes counts as if it had none.
    if (!stat.isDirectory()) bytes += Math.max(stat.size, stat.blocks * 512)
    files += 1
    return bytes <= limits.bytes && files <= limits.files
  }
  return !walk(Buffer.from(folder), isWithin, "stops")
}

const contentOf = (path: Buffer, most: number): Uint8Array | undefined => {
  let file: number | undefined
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stat = fstatSync(file)
    return stat.isFile() && stat.size <= most ? readFileSync(file) : undefined
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** The name as a text, when it is one. */
const textOf = (name: Buffer): string | undefined => (isUtf8(name) ? name.toString("utf8") : undefined)

/** The regular files that are not as they were given, within bounds, and how many others there are. */
export const changed = (
  folder: string,
  plan: ReadonlyMap<string, Uint8Array>,
  most: { readonly files: number; readonly bytes: number }
): { readonly files: ReadonlyArray<Changed>; readonly leftOut: number } => {
  const files: Array<Changed> = []
  let leftOut = 0
  let room = most.bytes
  const root = Buffer.from(folder)
  walk(root, (whole, stat) => {
    if (stat.isDirectory()) return true
    const path = textOf(whole.subarray(root.length + 1))
    const regular = stat.isFile() && path !== undefined
    const given = path === undefined ? undefined : plan.get(path)
    if (given !== undefined && regular && stat.size === given.length) {
      const now = contentOf(whole, stat.size)
      if (now !== undefined && Buffer.compare(now, given) === 0) return true
    }
    const content = regular && files.length < most.files && stat.size <= room ? contentOf(whole, room) : undefined
    if (content === undefined || path === undefined) leftOut += 1
    else {
      files.push({ path, bytes: content.length, content: new Uint8Array(content) })
      room -= content.length
    }
    return true
  })
  files.sort((one, other) => (one.path < other.path ? -1 : 1))
  return { files, leftOut }
}

/** Removes the folder, also where the code took away the right to look into its own folders. */
export const remove = (folder: string): void => {
  const once = (): boolean => {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
      return true
    } catch {
      return false
    }
  }
  if (once()) return
  const open = (path: string | Buffer): void => {
    try {
      chmodSync(path, 0o700)
    } catch {
      // It is gone.
    }
  }
  open(folder)
  // Opened on the way down: a folder is visited before what lies in it.
  walk(Buffer.from(folder), (path, stat) => {
    if (stat.isDirectory()) open(path)
    return true
  })
  once()
}

/** How old a folder must be to be nobody's: twice as old as a run can become. */
const abandoned = 2 * 86_400_000

/** Removes the folders that processes left behind which were killed. */
export const sweep = (root: string | undefined, nowMillis: number): void => {
  const where = root ?? tmpdir()
  let names: ReadonlyArray<string>
  try {
    names = readdirSync(where)
  } catch {
    return
  }
  for (const name of names) {
    if (!name.startsWith("espalier-sandbox-")) continue
    try {
      const stat = lstatSync(join(where, name))
      const own = process.getuid === undefined || stat.uid === process.getuid()
      if (stat.isDirectory() && own && nowMillis - stat.mtimeMs > abandoned) remove(join(where, name))
    } catch {
      // Somebody else was quicker.
    }
  }
}
