/** After a reset no session of the account is left, and those of others are. */
import assert from "node:assert/strict"

import { makeReset } from "../src/reset.js"
import { ada, makeShop } from "../test/shop.js"

const shop = await makeShop()
const reset = makeReset(shop)
const keyOf = ({ text }) => text.match(/key=([\w-]+)/)?.[1]

import { bob, old } from "../test/shop.js"

const mine = [shop.login(ada, old), shop.login(ada, old)]
const other = shop.login(bob, "an old sentence of Bob")
await reset.request(ada)
assert.equal(shop.sessions.ownerOf(mine[0]), ada)
await reset.redeem(keyOf(shop.mailer.sent[0]), "a new sentence of Ada")
for (const session of mine) assert.equal(shop.sessions.ownerOf(session), undefined, "a session has outlived the reset")
assert.equal(shop.sessions.ownerOf(other), bob)
