/** A desk that counts words. */
import { Effect, Schema } from "effect"
import { Desk, Domain, Plan, Worker } from "espalier/run"

const Input = Schema.Struct({ text: Schema.String })

const count = Worker.make("count", {
  description: "Counts the words of a text",
  input: Input,
  output: Schema.Struct({ words: Schema.Int }),
  handle: ({ input }) =>
    Effect.sync(() => {
      // What a desk prints is not the command's output.
      console.log(`counting ${input.text.length} characters`)
      return { words: input.text.split(" ").length }
    })
})

export default Desk.make("counting", {
  version: "1",
  input: Input,
  domains: [Domain.make("words", { workers: [count] })],
  coordinator: Plan.make<typeof Input.Type>([
    { id: "count", worker: "words.count", objective: "Count", input: (_, { text }) => ({ text }) }
  ])
})
