/**
 * What the desk finds outside: the orders of a shop, its warehouse, and its till.
 *
 * The till is a file with a line for each payment, so that everybody can count them. Like a bank, it is handed a key with each
 * payment, and pays under one key once.
 *
 * @since 0.1.0
 */
import { fileURLToPath } from "node:url"

import { NodeServices } from "@effect/platform-node"
import { Effect, FileSystem, Path, Schema } from "effect"
import { Failure } from "espalier"

import { oneLine, read } from "../shared/files.ts"

/**
 * An order, its price in whole euros. `parcel`: how it came back.
 *
 * @category models
 * @since 0.1.0
 */
export const Order = Schema.Struct({
  order: Schema.String,
  customer: Schema.String,
  price: Schema.Int,
  parcel: Schema.Literals(["whole", "damaged"])
})

/**
 * @category models
 * @since 0.1.0
 */
export type Order = typeof Order.Type

/**
 * Money for somebody, in whole euros.
 *
 * @category models
 * @since 0.1.0
 */
export const Payment = Schema.Struct({
  order: Schema.String,
  to: Schema.String,
  amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 }))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Payment = typeof Payment.Type

/** A line of the till: a payment, and the key under which it was made. */
const Line = Schema.fromJsonString(Schema.Struct({ key: Schema.String, ...Payment.fields }))

const orders = fileURLToPath(new URL("orders.json", import.meta.url))

/** Where the till is, from the folder in which the program was started. */
const till = ".espalier/payments.jsonl"

/** How long the warehouse and the bank take to answer. */
const patience = "2 seconds"

const decodeOrders = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(Order)))

/**
 * Looks an order up.
 *
 * @category effects
 * @since 0.1.0
 */
export const find = (order: string) =>
  Effect.gen(function* () {
    const text = yield* read(orders)
    const known = yield* Effect.orDie(decodeOrders(text))
    const found = known.find((each) => each.order === order)
    if (found !== undefined) return found
    return yield* Failure.capability(`there is no order ${oneLine(order, 20)}`)
  }).pipe(Effect.provide(NodeServices.layer))

/**
 * Asks the warehouse for the shelf of a parcel that came back. It takes its time.
 *
 * @category effects
 * @since 0.1.0
 */
export const shelf = (order: string) => Effect.delay(Effect.succeed(`A-${order.slice(-2)}`), patience)

/**
 * Pays, once under a key. The money is gone at once; the answer takes its time.
 *
 * @category effects
 * @since 0.1.0
 */
export const pay = (key: string, payment: Payment) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    yield* files.makeDirectory(path.dirname(till), { recursive: true })
    const before = (yield* files.exists(till)) ? yield* files.readFileString(till) : ""
    const lines = yield* Effect.forEach(before.split("\n").filter(Boolean), (line) => Schema.decodeEffect(Line)(line))
    const done = lines.find((line) => line.key === key)
    if (done !== undefined) return done
    const line = { key, ...payment }
    yield* files.writeFileString(till, `${yield* Schema.encodeEffect(Line)(line)}\n`, { flag: "a" })
    return yield* Effect.delay(Effect.succeed(line), patience)
  }).pipe(
    // Nobody knows then whether it was paid; it is asked again under the same key.
    Effect.orDie,
    Effect.provide(NodeServices.layer)
  )
