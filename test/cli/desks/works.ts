/** A desk of two tasks, each of which goes as the input says: well, badly, or not before there is a file called `go`. */
import { existsSync } from "node:fs"

import { Effect, Schema } from "effect"
import { Failure } from "espalier"
import { Desk, Domain, Plan, Worker } from "espalier/run"

const Way = Schema.Literals(["well", "badly", "hangs"])
const Input = Schema.Struct({ one: Way, other: Way })

const hand = Worker.make("hand", {
  description: "Does what it is told",
  size: 2,
  input: Schema.Struct({ way: Way }),
  output: Schema.String,
  handle: ({ input: { way } }) =>
    way === "badly"
      ? Effect.fail(Failure.capability("this goes badly"))
      : way === "hangs" && !existsSync("go")
        ? Effect.never
        : Effect.succeed("done")
})

export default Desk.make("works", {
  version: "1",
  input: Input,
  domains: [Domain.make("hands", { workers: [hand] })],
  coordinator: Plan.make<typeof Input.Type>([
    { id: "one", worker: "hands.hand", objective: "Do one", input: (_, { one }) => ({ way: one }) },
    { id: "other", worker: "hands.hand", objective: "Do the other", input: (_, { other }) => ({ way: other }) }
  ])
})
