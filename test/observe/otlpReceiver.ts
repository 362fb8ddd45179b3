/**
 * A collector for tests: takes OTLP/HTTP as JSON on a port of this machine, and has the faults of real ones.
 *
 * Its sockets are real, so a test with it runs in real time (`withNetwork`), and waits with `until`, never for a delay.
 */
import * as http from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { gunzipSync } from "node:zlib"

import { Effect, Latch, type Scope } from "effect"

import { logsOf, pointsOf, type ReceivedLog, type ReceivedPoint, type ReceivedSpan, spansOf } from "./otlpDecode.ts"

export type * from "./otlpDecode.ts"

/**
 * How a request is answered.
 *
 * - a status: with that, and `headers`. Only 200 takes what was sent; `body` is what a collector says about a part of it.
 * - `hang`: never. `cut`: 200 and a half of the body, then the connection is cut. `drop`: the connection is cut at once.
 * - `held`: once `release` is called: a slow collector, without a clock.
 */
export type Answer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
  | "hang"
  | "cut"
  | "drop"
  | "held"

export interface ReceivedRequest {
  readonly signal: "traces" | "metrics" | "logs"
  readonly headers: http.IncomingHttpHeaders
  /** The body as it came, unpacked. */
  readonly text: string
  readonly answered: Answer
}

export interface Receiver {
  /** `http://127.0.0.1:…`; the signals are below, at `/v1/traces` and so on. */
  readonly url: string
  /** All that was taken so far. */
  readonly spans: ReadonlyArray<ReceivedSpan>
  readonly points: ReadonlyArray<ReceivedPoint>
  readonly logs: ReadonlyArray<ReceivedLog>
  /** All that came, taken or not. */
  readonly requests: ReadonlyArray<ReceivedRequest>
  /** Bodies that are no OTLP: a test fails on them. */
  readonly problems: ReadonlyArray<unknown>
  /** How it answers from here on: at first `{ status: 200 }`. */
  readonly answer: (answer: Answer) => void
  /** Answers what is held, and from here on 200. */
  readonly release: () => void
  /** Closes the port, so that connections are refused, and opens the same again. */
  readonly close: Effect.Effect<void>
  readonly open: Effect.Effect<void>
  /** Waits until something holds, looked at after each request. */
  readonly until: (holds: () => boolean) => Effect.Effect<void>
  /** How many connections are open. */
  readonly connections: () => number
}

const signalOf = (url: string | undefined): ReceivedRequest["signal"] | undefined =>
  (["traces", "metrics", "logs"] as const).find((signal) => url?.split("?")[0]?.endsWith(`/v1/${signal}`))

/** Starts a receiver, which ends with the scope. */
export const otlpReceiver: Effect.Effect<Receiver, never, Scope.Scope> = Effect.gen(function* () {
  const spans: Array<ReceivedSpan> = []
  const points: Array<ReceivedPoint> = []
  const logs: Array<ReceivedLog> = []
  const requests: Array<ReceivedRequest> = []
  const problems: Array<unknown> = []
  const sockets = new Set<Socket>()
  const held: Array<() => void> = []
  const waiting = new Set<() => void>()
  let answer: Answer = { status: 200 }

  const take = (signal: ReceivedRequest["signal"], text: string) => {
    try {
      const body: unknown = JSON.parse(text)
      if (signal === "traces") spans.push(...spansOf(body))
      else if (signal === "metrics") points.push(...pointsOf(body))
      else logs.push(...logsOf(body))
    } catch (problem) {
      problems.push(problem)
    }
  }

  const respond = (
    response: http.ServerResponse,
    now: Exclude<Answer, string> | "cut",
    signal: ReceivedRequest["signal"],
    text: string
  ) => {
    const status = now === "cut" ? 200 : now.status
    if (status === 200) take(signal, text)
    const body = JSON.stringify((now === "cut" ? undefined : now.body) ?? {})
    if (now === "cut") {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" })
      return void response.write(body, () => response.socket?.destroy())
    }
    response.writeHead(status, { "content-type": "application/json", ...now.headers })
    response.end(body)
  }

  const server = http.createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const signal = signalOf(request.url)
      if (request.method !== "POST" || signal === undefined) return void response.writeHead(404).end()
      const raw = Buffer.concat(chunks)
      const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString("utf8")
      const now = answer
      requests.push({ signal, headers: request.headers, text, answered: now })
      if (now === "drop") request.socket.destroy()
      else if (now === "held") {
        held.push(() => {
          respond(response, { status: 200 }, signal, text)
          for (const wake of waiting) wake()
        })
      } else if (now !== "hang") respond(response, now, signal, text)
      for (const wake of waiting) wake()
    })
  })
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("close", () => {
      sockets.delete(socket)
      for (const wake of waiting) wake()
    })
  })

  const listen = (port: number) =>
    Effect.callback<number>((resume) => {
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    })
  const close = Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    for (const socket of sockets) socket.destroy()
  })

  const port = yield* Effect.acquireRelease(listen(0), () => close)
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    points,
    logs,
    requests,
    problems,
    answer: (next) => {
      answer = next
    },
    release: () => {
      answer = { status: 200 }
      for (const go of held.splice(0)) go()
    },
    close,
    open: Effect.asVoid(listen(port)),
    until: (holds) =>
      Effect.suspend(() => {
        const latch = Latch.makeUnsafe(false)
        const look = () => {
          if (holds()) latch.openUnsafe()
        }
        waiting.add(look)
        look()
        return Effect.ensuring(
          latch.await,
          Effect.sync(() => waiting.delete(look))
        )
      }),
    connections: () => sockets.size
  }
})
