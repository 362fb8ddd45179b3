/** No key in the log, on any way through the code; what is printed here is looked through once more from outside. */
import assert from "node:assert/strict"

import { makeReset } from "../src/reset.js"
import { ada, makeShop } from "../test/shop.js"

const shop = await makeShop()
const reset = makeReset(shop)
const keyOf = ({ text }) => text.match(/key=([\w-]+)/)?.[1]

const printed = []
const write = process.stdout.write.bind(process.stdout)
process.stdout.write = (chunk, ...rest) => {
  printed.push(String(chunk))
  return write(chunk, ...rest)
}
await reset.request(ada)
await reset.request("nobody@example.test")
const keys = [keyOf(shop.mailer.sent[0])]
await reset.redeem(keys[0], "weak")
await reset.redeem(`${keys[0]}A`, "a new sentence of Ada")
await reset.redeem(keys[0], "a new sentence of Ada")
await reset.redeem(keys[0], "a new sentence of Ada")
await reset.request(ada)
keys.push(keyOf(shop.mailer.sent.at(-1)))
shop.pass(16 * 60_000)
await reset.redeem(keys[1], "a new sentence of Ada")
for (let count = 0; count < 6; count++) await reset.request(ada)
keys.push(...shop.mailer.sent.map(keyOf).filter(Boolean))
assert.ok(printed.length > 0, "nothing was logged at all")
for (const line of printed) assert.ok(!keys.some((key) => line.includes(key)), `a key stands in the log: ${line}`)
