/**
 * A server that speaks as much of the Messages API as a client can tell, by a script: one answer for each request.
 */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { clearInterval, setInterval } from "node:timers"

import { Deferred, Effect, Queue, type Scope } from "effect"

/** What is done with one request. */
export interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as events, one after the other. A text is sent as it is. */
  readonly events?: ReadonlyArray<object | string>
  /** Milliseconds between two events. Default none: they are sent at once. */
  readonly every?: number
  /** Sent as it is, instead of events. */
  readonly body?: string
  /** What comes after that: the end, a broken connection, or nothing more. `hang` says nothing at all. Default `end`. */
  readonly after?: "end" | "cut" | "silence" | "hang"
}

export interface Request {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

export interface MessagesServer {
  readonly url: string
  readonly requests: ReadonlyArray<Request>
  /** Takes the next request that has come: its number. */
  readonly asked: Effect.Effect<number>
  /** Takes the next answer whose connection the client has closed before it was over: the number of its request. */
  readonly closed: Effect.Effect<number>
}

const frame = (event: object | string): string =>
  typeof event === "string" ? event : `event: ${(event as { type?: string }).type}\ndata: ${JSON.stringify(event)}\n\n`

/** Serves the answers, one for each request. A request beyond them is answered with the status 418. */
export const serve = (...answers: ReadonlyArray<Answer>): Effect.Effect<MessagesServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests: Array<Request> = []
    const asked = yield* Queue.unbounded<number>()
    const closed = yield* Queue.unbounded<number>()
    const server = createServer((incoming, outgoing) => {
      const pieces: Array<Buffer> = []
      incoming.on("data", (piece: Buffer) => pieces.push(piece))
      incoming.on("end", () => {
        const number = requests.length
        const answer = answers[number] ?? { status: 418, body: "{}" }
        const body = JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>
        requests.push({ path: incoming.url ?? "", headers: incoming.headers, body })
        Queue.offerUnsafe(asked, number)
        outgoing.on("close", () => {
          if (!outgoing.writableFinished) Queue.offerUnsafe(closed, number)
        })
        if (answer.after === "hang") return
        const type = answer.body === undefined ? "text/event-stream" : "application/json"
        outgoing.writeHead(answer.status ?? 200, {
          "content-type": type,
          "request-id": `req_${number + 1}`,
          ...answer.headers
        })
        const finish = () => {
          if ((answer.after ?? "end") === "end") outgoing.end()
          else if (answer.after === "cut") outgoing.destroy()
        }
        if (answer.every === undefined) {
          outgoing.write(answer.body ?? (answer.events ?? []).map(frame).join("") + ": sent\n", finish)
          return
        }
        const left = [...(answer.events ?? [])]
        // Real time: what comes over a socket piece by piece comes in its own time.
        const timer = setInterval(() => {
          const event = left.shift()
          if (event !== undefined) {
            outgoing.write(frame(event))
          } else {
            clearInterval(timer)
            finish()
          }
        }, answer.every)
        outgoing.on("close", () => clearInterval(timer))
      })
    })
    yield* Effect.acquireRelease(listen(server), () => shut(server))
    const { port } = server.address() as AddressInfo
    return { url: `http://127.0.0.1:${port}`, requests, asked: Queue.take(asked), closed: Queue.take(closed) }
  })

const listen = (server: Server) =>
  Effect.gen(function* () {
    const ready = yield* Deferred.make<void>()
    server.listen(0, "127.0.0.1", () => Deferred.doneUnsafe(ready, Effect.void))
    yield* Deferred.await(ready)
  })

const shut = (server: Server) =>
  Effect.sync(() => {
    server.closeAllConnections()
    server.close()
  })

/** The events of an answer. */
export const start = (usage: object = { input_tokens: 10, output_tokens: 1 }) => ({
  type: "message_start",
  message: { id: "msg_1", type: "message", role: "assistant", model: "claude-test", content: [], usage }
})
export const block = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block })
export const delta = (index: number, delta: object) => ({ type: "content_block_delta", index, delta })
export const stop = (index: number) => ({ type: "content_block_stop", index })
export const end = (stop_reason: string | null = "end_turn", usage: object = { output_tokens: 5 }) => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
  { type: "message_stop" }
]
export const says = (index: number, ...pieces: ReadonlyArray<string>) => [
  block(index, { type: "text", text: "" }),
  ...pieces.map((text) => delta(index, { type: "text_delta", text }))
]
export const calls = (index: number, name: string, ...pieces: ReadonlyArray<string>) => [
  block(index, { type: "tool_use", id: `toolu_${index}`, name, input: {} }),
  ...pieces.map((partial_json) => delta(index, { type: "input_json_delta", partial_json })),
  stop(index)
]
/** A whole answer of one text. */
export const text = (...pieces: ReadonlyArray<string>): Answer => ({
  events: [start(), ...says(0, ...pieces), stop(0), ...end()]
})
/** An error as the API says it. */
export const error = (
  status: number,
  type: string,
  message = "",
  headers: Readonly<Record<string, string>> = {}
): Answer => ({
  status,
  headers,
  body: JSON.stringify({ type: "error", error: { type, message } })
})
