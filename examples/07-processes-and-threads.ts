/**
 * A tree supervises more than fibers: a process and a thread, each with a readiness of its own and a true end.
 *
 * A printer is a process that jams, is started anew, and is given up when it jams again. A press is a thread that never
 * lets go: it is terminated when the shop closes.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { Child, Supervisor, Tree } from "espalier"
import * as ThreadChild from "espalier/ThreadChild"

let jams = 0

const printer = Child.process("printer", ChildProcess.make("sh", ["-c", "echo ready; echo jam >&2; exit 7"]), {
  ready: { output: "ready" },
  output: "ignore",
  onFailure: (error) => {
    console.log(error.message.replace(/pid \d+/, "pid"))
    jams += 1
    return jams === 1 ? "restart" : "stop"
  }
})

const press = ThreadChild.make("press", new URL("data:text/javascript,for(;;);"), { shutdown: "50 millis" })

const shop = Supervisor.make("shop", { children: [press, printer] })

const program = Effect.gen(function* () {
  const tree = yield* Tree.Tree
  const given = tree.events.pipe(Stream.filter((event) => event._tag === "Failed"))
  yield* Stream.runHead(given)
  const { leaked } = yield* tree.stop
  console.log(`closed, ${leaked.length} left behind`)
})

const main = program.pipe(Effect.provide(Supervisor.layer(shop, { log: false })), Effect.provide(NodeServices.layer))
await Effect.runPromise(main)
