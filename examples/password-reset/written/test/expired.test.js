import assert from "node:assert/strict"
import test from "node:test"

import { begin, fresh } from "./keys.js"
import { ada, old } from "./shop.js"

test("a key is good for 15 minutes, and not for longer", async () => {
  const { accounts, ask, pass, reset } = await begin()
  const late = await ask()
  pass(15 * 60_000)
  assert.equal((await reset.redeem(late, fresh)).ok, false, "an expired key was accepted")
  assert.ok(accounts.matches(ada, old))
  const early = await ask()
  pass(15 * 60_000 - 1)
  assert.equal((await reset.redeem(early, fresh)).ok, true)
})
