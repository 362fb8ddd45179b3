import assert from "node:assert/strict"
import test from "node:test"

import { begin, fresh } from "./keys.js"
import { ada } from "./shop.js"

test("a key that was used sets no second password", async () => {
  const { accounts, ask, reset } = await begin()
  const key = await ask()
  await reset.redeem(key, fresh)
  assert.equal((await reset.redeem(key, "yet another sentence")).ok, false)
  assert.ok(accounts.matches(ada, fresh))
})
