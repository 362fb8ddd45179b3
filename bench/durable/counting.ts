/** How many statements and commits some work takes: seen from outside the contender, whatever driver it uses. */
import { readFileSync } from "node:fs"
import { createServer, connect as dial, type AddressInfo, type Socket } from "node:net"
import { DatabaseSync, StatementSync } from "node:sqlite"

import type { Place } from "./engine.ts"

export interface Counts {
  readonly statements: number
  readonly commits: number
}

/** Counts what is done with a place while it is in use; `place` stands for it. */
export interface Counter {
  readonly place: Place
  readonly counts: () => Counts
  readonly close: () => Promise<void>
}

/** Classes of other drivers of SQLite whose methods are statements. */
export const drivers = new Set<object>()

const methods = ["run", "get", "all", "iterate", "exec"] as const

/** Has calls of the methods that are statements counted; the answer puts everything back. */
const watch = (prototype: object, seen: () => void): (() => void) => {
  const back: Array<() => void> = []
  for (const name of methods) {
    const method: unknown = Reflect.get(prototype, name)
    if (typeof method !== "function" || !Object.hasOwn(prototype, name)) continue
    back.push(() => void Reflect.set(prototype, name, method))
    Reflect.set(prototype, name, function (this: unknown, ...args: ReadonlyArray<unknown>) {
      seen()
      return Reflect.apply(method, this, args)
    })
  }
  return () => back.forEach((undo) => undo())
}

/**
 * The commits in a write-ahead log: the frames that say how large the database is after them. Frames of an older
 * generation of the log have another salt.
 */
export const commitsIn = (log: Uint8Array): number => {
  const view = new DataView(log.buffer, log.byteOffset, log.byteLength)
  if (log.byteLength < 32) return 0
  const frame = 24 + view.getUint32(8)
  let commits = 0
  for (let at = 32; at + frame <= log.byteLength; at += frame) {
    if (view.getUint32(at + 8) !== view.getUint32(16) || view.getUint32(at + 12) !== view.getUint32(20)) break
    if (view.getUint32(at + 4) !== 0) commits += 1
  }
  return commits
}

const countSqlite = (place: Place): Counter => {
  let statements = 0
  const back = [StatementSync.prototype, DatabaseSync.prototype, ...drivers].map((prototype) =>
    watch(prototype, () => (statements += 1))
  )
  return {
    place,
    counts: () => ({ statements, commits: commitsIn(readFileSync(`${place.where}-wal`)) }),
    close: async () => back.forEach((undo) => undo())
  }
}

/** A statement that changes something. */
const writes = /\b(INSERT|UPDATE|DELETE|MERGE|COPY|CREATE|ALTER)\b/i

/**
 * Reads what one side of a connection says: each message is a letter, its length, and its body. What a client begins with
 * has no letter: `bare`.
 */
export const makeReader = (
  seen: (type: string, body: Uint8Array) => void,
  bare = false
): ((chunk: Uint8Array) => void) => {
  let rest = new Uint8Array(0)
  let letter = bare ? 0 : 1
  return (chunk) => {
    const bytes = new Uint8Array(rest.length + chunk.length)
    bytes.set(rest)
    bytes.set(chunk, rest.length)
    const view = new DataView(bytes.buffer)
    let at = 0
    while (at + letter + 4 <= bytes.length) {
      const end = at + letter + view.getUint32(at + letter)
      if (end > bytes.length) break
      if (letter === 1) seen(String.fromCharCode(view.getUint8(at)), bytes.subarray(at + 5, end))
      letter = 1
      at = end
    }
    rest = bytes.slice(at)
  }
}

/** The texts that a message begins with, each ended by a zero. */
const textsOf = (body: Uint8Array): ReadonlyArray<string> =>
  new TextDecoder().decode(body.subarray(0, 8_192)).split("\0")

/** Statements that a server has completed, and transactions in which something was to be changed. */
export const makeConversation = (counted: { statements: number; commits: number }) => {
  /** The statements of this connection that write, by their names. */
  const writing = new Map<string, boolean>()
  /** For each answer that the server owes, whether something in it writes. */
  const owed: Array<boolean> = []
  let now = false
  let changed = false
  return {
    fromClient: makeReader((type, body) => {
      if (type === "P") {
        const [name = "", text = ""] = textsOf(body)
        writing.set(name, writes.test(text))
      } else if (type === "B") {
        const [, name = ""] = textsOf(body)
        now ||= writing.get(name) === true
      } else if (type === "Q") owed.push(writes.test(textsOf(body)[0] ?? ""))
      else if (type === "S") {
        owed.push(now)
        now = false
      }
    }, true),
    fromServer: makeReader((type, body) => {
      if (type === "C") counted.statements += 1
      if (type !== "Z") return
      if (owed.shift() === true) changed = true
      if (body[0] !== "I".charCodeAt(0)) return
      if (changed) counted.commits += 1
      changed = false
    })
  }
}

const countPostgres = async (place: Place): Promise<Counter> => {
  const target = new URL(place.where)
  const counted = { statements: 0, commits: 0 }
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = dial(Number(target.port === "" ? 5432 : target.port), target.hostname)
    const conversation = makeConversation(counted)
    for (const socket of [client, server]) {
      sockets.add(socket.setNoDelay(true))
      socket.on("error", () => {})
      socket.on("close", () => [client, server].forEach((each) => each.destroy()))
    }
    client.on("data", (chunk: Buffer) => {
      conversation.fromClient(chunk)
      server.write(chunk)
    })
    server.on("data", (chunk: Buffer) => {
      conversation.fromServer(chunk)
      client.write(chunk)
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
  const url = new URL(place.where)
  url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return {
    place: { ...place, where: url.href },
    counts: () => ({ ...counted }),
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    }
  }
}

/** Counts from now on. */
export const count = (place: Place): Promise<Counter> =>
  place.store === "postgres" ? countPostgres(place) : Promise.resolve(countSqlite(place))
