import assert from "node:assert/strict"
import test from "node:test"

import { begin, fresh } from "./keys.js"
import { ada, old } from "./shop.js"

test("a key that was never given out is refused", async () => {
  const { accounts, ask, reset } = await begin()
  await ask()
  assert.equal((await reset.redeem("A".repeat(22), fresh)).ok, false)
  assert.ok(accounts.matches(ada, old))
})
