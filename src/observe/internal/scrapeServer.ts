// @effect-diagnostics nodeBuiltinImport:off -- Effect itself has no server, and its Node package is no dependency.
/**
 * A server that answers one path. A Node file: uses `node:http`.
 *
 * @since 0.1.0
 */
import { createServer, type Server } from "node:http"

import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"

import { type Answer, notFound } from "./scrape.ts"

const pathOf = (url: string | undefined): string => (url ?? "/").replace(/[?#].*$/s, "")

/** So long a connection may take to ask for something, in milliseconds. */
const patience = 10_000

/** So many connections there may be: those who do not ask make room for those who do. */
const most = 64

const serverFor = ({ path, waits = patience }: Place, answer: (method: string) => Answer): Server => {
  const times = { headersTimeout: waits, requestTimeout: waits, connectionsCheckingInterval: Math.min(waits, 1_000) }
  const server = createServer(times, (request, response) => {
    const { body, headers, status } = pathOf(request.url) === path ? answer(request.method ?? "GET") : notFound
    // What is sent along is not read.
    request.resume()
    response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) })
    response.end(request.method === "HEAD" ? undefined : body)
  })
  server.maxConnections = most
  server.setTimeout(waits, (socket) => socket.destroy())
  return server
}

/** Where it listens. `waits`: how long for a request, in milliseconds. */
interface Place {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly waits?: number
}

/**
 * Listens for as long as the scope is open. Answers with the port.
 *
 * @since 0.1.0
 */
export const listen = (at: Place, answer: (method: string) => Answer): Effect.Effect<number, string, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Server, string>((resume) => {
      const server = serverFor(at, answer)
      server.once("error", (error) =>
        resume(Effect.fail(Predicate.hasProperty(error, "code") ? String(error.code) : "cannot listen"))
      )
      server.listen(at.port, at.host, () => {
        // From here on, what fails is one connection.
        server.on("error", () => {})
        resume(Effect.succeed(server))
      })
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return Predicate.isObject(address) && "port" in address ? Number(address.port) : at.port
    })
  )
