/**
 * A desk that pays money back, with three kinds of question to people.
 *
 * ```text
 * order ─┬─ refund ── payment ── letter
 *        └─ shelf
 * ```
 *
 * | task | worker | people |
 * |---|---|---|
 * | `order` | `shop.orders` | none: it reads |
 * | `shelf` | `shop.warehouse` | none: it reads, and takes its time |
 * | `refund` | `service.clerk` | are asked how much, where the parcel came back damaged (`Review.ask`) |
 * | `payment` | `money.payer` | let it be paid, and not the one who asked for it; may lower the amount (a gate of the tool `transfer`) |
 * | `letter` | `service.writer` | read the letter before it goes out (`acceptance: "person"`) |
 *
 * Watch for: no handler waits for anybody. What comes before a question is done once more after it, so it is pure, or goes
 * through `Effects`. Nothing but the schema, the gate and the policy says what people may change.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import { Failure } from "espalier"
import { Desk, Domain, Effects, Ladder, Plan, Review, ReviewPolicy, Worker } from "espalier/run"

import { find, Order, pay, Payment, shelf } from "./shop.ts"

const orders = Worker.make("orders", {
  description: "Looks an order up",
  input: Schema.Struct({ order: Schema.String }),
  output: Order,
  handle: ({ input }) => find(input.order)
})

const warehouse = Worker.make("warehouse", {
  description: "Finds the shelf of a parcel that came back",
  input: Schema.Struct({ order: Schema.String }),
  output: Schema.Struct({ shelf: Schema.String }),
  handle: ({ input }) => Effect.map(shelf(input.order), (shelf) => ({ shelf }))
})

const shares = { all: 1, half: 1 / 2 } as const

const clerk = Worker.make("clerk", {
  description: "Says how much is paid back",
  input: Schema.Struct({ order: Order }),
  output: Payment,
  handle: ({ input: { order } }) =>
    Effect.gen(function* () {
      const { customer, parcel, price } = order
      const payment = { order: order.order, to: customer, amount: price }
      if (parcel === "whole") return payment
      const reply = yield* Review.ask({
        name: "share",
        question: `The parcel of ${customer} came back damaged. How much of ${price} € is paid back?`,
        choices: ["all", "half"],
        schema: Schema.Literals(["all", "half"])
      })
      // Nobody says so much: the task ends, and nothing is paid.
      if (reply._tag !== "Answered") return yield* Failure.denied("nobody has said how much")
      return { ...payment, amount: Math.round(price * shares[reply.value]) }
    })
})

const payer = Worker.make("payer", {
  description: "Pays money back",
  tools: [
    {
      name: "transfer",
      risk: "high",
      irreversible: true, // a person is asked at every tier
      idempotent: true, // the till knows the key
      input: Payment,
      editable: ["/amount"],
      describe: ({ amount, order, to }: Payment) => `${amount} € go to ${to} for order ${order}`,
      // What is dear is a matter of two people.
      gate: ({ amount }: Payment) => (amount > 500 ? { decision: "ask", rule: "over-500", risk: "critical" } : "allow")
    }
  ],
  input: Payment,
  output: Payment,
  handle: ({ input }) =>
    Effects.perform({
      name: "transfer",
      args: input,
      schema: Payment,
      // The arguments are those that were approved, and not those that were asked for.
      run: (key, args) => Effect.flatMap(Effect.orDie(Schema.decodeUnknownEffect(Payment)(args)), (it) => pay(key, it))
    })
})

const writer = Worker.make("writer", {
  description: "Writes to the customer",
  input: Schema.Struct({ paid: Payment }),
  output: Schema.Struct({ letter: Schema.String }),
  handle: ({ input: { paid } }) =>
    Effect.succeed({ letter: `Dear ${paid.to}, we have paid back ${paid.amount} € for your order ${paid.order}.` })
})

/** Whom money is a matter of, and then who is above the one who asked. After a day of silence it is a no. */
const finance = { primary: ["group:finance"], escalation: ["manager-of-requester"] }

type Input = { readonly order: string }

const desk = Desk.make("refunds", {
  version: "1",
  input: Schema.Struct({ order: Schema.String }),
  reviews: ReviewPolicy.make({
    ladders: {
      high: Ladder.defaults("high", "approval", finance),
      critical: Ladder.defaults("critical", "approval", finance)
    }
  }),
  domains: [
    Domain.make("shop", { workers: [orders, warehouse] }),
    Domain.make("service", { workers: [clerk, writer] }),
    Domain.make("money", { workers: [payer] })
  ],
  coordinator: Plan.make<Input>([
    { id: "order", worker: "shop.orders", objective: "Look the order up", input: (_, { order }) => ({ order }) },
    {
      id: "shelf",
      worker: "shop.warehouse",
      objective: "Find the parcel",
      needs: ["order"],
      input: (_, { order }) => ({ order })
    },
    {
      id: "refund",
      worker: "service.clerk",
      objective: "Say how much is paid back",
      needs: ["order"],
      input: ({ order }) => ({ order })
    },
    {
      id: "payment",
      worker: "money.payer",
      objective: "Pay it back",
      needs: ["refund"],
      input: ({ refund }) => refund as Payment
    },
    {
      id: "letter",
      worker: "service.writer",
      objective: "Write to the customer",
      needs: ["payment"],
      acceptance: "person",
      input: ({ payment }) => ({ paid: payment })
    }
  ])
})

/**
 * The desk, as `espalier run` takes it.
 *
 * @category desks
 * @since 0.1.0
 */
export default desk
