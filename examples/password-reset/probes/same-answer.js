/** Nobody learns from an answer whether there is an account. */
import assert from "node:assert/strict"

import { makeReset } from "../src/reset.js"
import { ada, makeShop } from "../test/shop.js"

const shop = await makeShop()
const reset = makeReset(shop)

const known = await reset.request(ada)
const unknown = await reset.request("nobody@example.test")
assert.deepEqual(unknown, known)
assert.equal(shop.mailer.sent.length, 1)
for (let count = 0; count < 6; count++) {
  assert.deepEqual(await reset.request(ada), known)
  assert.deepEqual(await reset.request("nobody@example.test"), known)
}
assert.ok(!shop.mailer.sent.some(({ to }) => to === "nobody@example.test"))
