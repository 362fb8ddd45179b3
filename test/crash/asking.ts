/**
 * The desk that asks people, and is killed: questions between effects, several at once, one at depth, and what may only be
 * done when somebody has approved it.
 */
import { Effect, Schema } from "effect"
import { Desk, Domain, Effects, Pipeline, Plan, Review, Worker } from "espalier/run"

import { Outside } from "./desk.ts"

type Order = Worker.Order<unknown>

/** Does something outside, as the desk beside this one does. Answers with the length of the receipt. */
const act = (name: "book" | "mark" | "publish", order: Pick<Order, "run" | "task">) =>
  Effect.gen(function* () {
    const outside = yield* Outside
    const receipt = yield* Effects.perform({
      name,
      args: { task: order.task },
      run: (key) => outside.act({ name, key, order, once: name === "mark" }),
      idempotent: name === "mark",
      ...(name === "publish" ? { probe: outside.find } : {})
    })
    return receipt.length
  })

const ask = (name: string, occurrence = 0) =>
  Effect.map(
    Review.ask({ name, occurrence, question: `Which is the ${name} ${occurrence}?`, choices: ["left", "right"] }),
    (reply) => (reply._tag === "Answered" ? `${name} ${String(reply.value)}` : `${name} ${reply._tag}`)
  )

const options = { input: Schema.Unknown, output: Schema.String, size: 3 }

/** Asks before, between and after what it does. */
const clerk = Worker.make("clerk", {
  ...options,
  description: "Does what it is told, and asks",
  handle: (order) =>
    Effect.gen(function* () {
      yield* (yield* Outside).begun(order)
      const booked = yield* act("book", order)
      const both = yield* Effect.forEach([1, 2], (n) => ask("side", n), { concurrency: "unbounded" })
      const marked = yield* act("mark", order)
      const last = yield* ask("end")
      const published = yield* act("publish", order)
      return [booked, marked, published, ...both, last].join(" ")
    })
})

/** Nobody can take back what it does. */
const sender = Worker.make("sender", {
  ...options,
  description: "Sends something",
  risk: "high",
  irreversible: true,
  handle: (order) =>
    Effect.gen(function* () {
      yield* (yield* Outside).begun(order)
      return `sent ${yield* act("book", order)}`
    })
})

/** Its runs begin with a number. */
export const asking = Desk.make("asking", {
  version: "1",
  input: Schema.Int,
  domains: [Domain.make("office", { workers: [clerk, sender] })],
  coordinator: Plan.make<number, never>([
    { id: "offer", worker: "office.clerk", objective: "Offer it" },
    { id: "send", worker: "office.sender", objective: "Send it" },
    {
      id: "deep",
      by: Pipeline.make<unknown>([
        { id: "ask", worker: "office.clerk", objective: "Ask about it" },
        { id: "send", worker: "office.sender", objective: "Send it, too" }
      ]),
      objective: "Ask, and send"
    },
    { id: "close", worker: "office.clerk", objective: "Close it", needs: ["offer", "send", "deep"] }
  ]),
  policy: { waitsMillis: [20] }
})
