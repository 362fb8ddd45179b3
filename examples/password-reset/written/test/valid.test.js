import assert from "node:assert/strict"
import test from "node:test"

import { begin, fresh } from "./keys.js"
import { ada, old } from "./shop.js"

test("a valid key sets the password", async () => {
  const { accounts, ask, reset } = await begin()
  assert.deepEqual(await reset.redeem(await ask(), fresh), { ok: true })
  assert.ok(accounts.matches(ada, fresh))
  assert.ok(!accounts.matches(ada, old))
})
