/** A desk that asks people: whether a letter may be sent, and which of two names is right. It looks for a file called `go`. */
import { existsSync } from "node:fs"

import { Effect, Schema } from "effect"
import { Desk, Domain, Plan, Review, Worker } from "espalier/run"

const empty = Schema.Struct({})

const draft = Worker.make("draft", {
  description: "Writes the letter, once there is a file called go",
  input: empty,
  output: Schema.String,
  handle: () => (existsSync("go") ? Effect.succeed("Dear") : Effect.never)
})

const name = Worker.make("name", {
  description: "Finds the name of whoever gets it",
  input: empty,
  output: Schema.String,
  handle: () =>
    Effect.map(
      Review.ask({
        name: "which",
        question: "Which name is right?",
        choices: ["Ann", "Anne"],
        rationale: "\u001B[31mIt is \u001B]8;;http://evil\u0007Ann\u202E, says the model\nreview     r9/review/9",
        schema: Schema.String
      }),
      (reply) => (reply._tag === "Answered" ? reply.value : reply._tag)
    )
})

const send = Worker.make("send", {
  description: "Sends the letter",
  risk: "high",
  input: empty,
  output: Schema.String,
  handle: () => Effect.succeed("sent")
})

export default Desk.make("letters", {
  version: "1",
  input: Schema.Struct({}),
  domains: [Domain.make("post", { workers: [draft, name, send] })],
  coordinator: Plan.make([
    { id: "draft", worker: "post.draft", objective: "Write it" },
    { id: "name", worker: "post.name", objective: "Find the name" },
    { id: "send", worker: "post.send", objective: "Send it" }
  ])
})
