import assert from "node:assert/strict"
import test from "node:test"

import { ada, bob, makeShop, old } from "./shop.js"

test("who says the right password gets a session, and nobody else does", async () => {
  const { login, sessions } = await makeShop()
  assert.equal(sessions.ownerOf(login(ada, old)), ada)
  assert.equal(login(bob, old), undefined)
  assert.equal(login("nobody@example.test", old), undefined)
})
