/**
 * Asks whether somebody listens on a TCP port. A Node module: uses `node:net`.
 *
 * **When to use**
 *
 * Use it as the readiness probe of a `Child.process` that serves a port.
 *
 * **Example** (A server that is ready when it accepts connections)
 *
 * ```ts
 * import { ChildProcess } from "effect/process"
 * import { Child } from "espalier"
 * import * as NodePort from "espalier/NodePort"
 *
 * const postgres = Child.process("postgres", ChildProcess.make("postgres", ["-D", "data"]), {
 *   ready: { probe: NodePort.accepts(5432), every: "250 millis" }
 * })
 * postgres.id // => "postgres"
 * ```
 *
 * @since 0.1.0
 */

import * as Net from "node:net"

import * as Effect from "effect/Effect"

/**
 * Whether a connection to the port is accepted. The connection is closed at once.
 *
 * **Details**
 *
 * - `port`: a whole number from 1 to 65535.
 * - `host`: a name or an address. Default `"127.0.0.1"`.
 * - Refused, unreachable or unknown is `false`. It waits as long as the operating system tries to connect; interrupt it
 *   to end the try.
 *
 * **Gotchas**
 *
 * - It cannot tell who listens. A port that an older process still holds is open.
 * - Dies with a `RangeError` when `port` is out of range.
 *
 * @category probes
 * @since 0.1.0
 */
export const accepts = (port: number, host = "127.0.0.1"): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      return resume(
        Effect.die(new RangeError(`NodePort.accepts: port must be a whole number from 1 to 65535, got ${port}`))
      )
    }
    const socket = Net.connect({ port, host })
    const answer = (open: boolean): void => {
      socket.destroy()
      resume(Effect.succeed(open))
    }
    socket.once("connect", () => answer(true))
    socket.on("error", () => answer(false))
    return Effect.sync(() => socket.destroy())
  })
