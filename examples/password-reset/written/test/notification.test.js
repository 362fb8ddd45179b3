import assert from "node:assert/strict"
import test from "node:test"

import { begin, fresh } from "./keys.js"
import { ada } from "./shop.js"

test("the owner is told that the password was changed, without a key and without the password", async () => {
  const { ask, mailer, reset } = await begin()
  const key = await ask()
  await reset.redeem(key, fresh)
  const { subject, text, to } = mailer.sent.at(-1)
  assert.equal(to, ada)
  assert.match(subject, /was changed/)
  assert.ok(!text.includes(key) && !text.includes(fresh))
})
