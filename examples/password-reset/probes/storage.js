/** What is kept of a key is no key: 128 bits go out, a digest stays. */
import assert from "node:assert/strict"

import { makeReset } from "../src/reset.js"
import { ada, makeShop } from "../test/shop.js"

const shop = await makeShop()
const reset = makeReset(shop)
const keyOf = ({ text }) => text.match(/key=([\w-]+)/)?.[1]

await reset.request(ada)
const key = keyOf(shop.mailer.sent[0])
assert.equal(Buffer.from(key, "base64url").length, 16, "a key has 128 bits")
const kept = JSON.stringify(reset.kept())
assert.ok(kept.includes(ada) && !kept.includes(key), "a key is kept as it is")
assert.ok(!kept.includes(Buffer.from(key, "base64url").toString("hex")), "the bytes of a key are kept")
