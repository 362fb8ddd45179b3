import assert from "node:assert/strict"
import test from "node:test"

import { begin, fresh } from "./keys.js"
import { ada, old } from "./shop.js"

test("a weak password is refused, and does not use up the key", async () => {
  const { accounts, ask, reset } = await begin()
  const key = await ask()
  for (const weak of ["", "short", "eleven char", ada, undefined, 123456789012]) {
    assert.equal((await reset.redeem(key, weak)).ok, false, String(weak))
  }
  assert.ok(accounts.matches(ada, old))
  assert.equal((await reset.redeem(key, fresh)).ok, true)
})
