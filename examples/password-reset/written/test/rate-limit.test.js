import assert from "node:assert/strict"
import test from "node:test"

import { begin } from "./keys.js"
import { bob } from "./shop.js"

test("an account has 5 requests in an hour, and others have theirs", async () => {
  const { ask, mailer, pass, reset } = await begin()
  for (let count = 0; count < 5; count++) assert.ok(await ask())
  const answer = await reset.request(bob)
  assert.equal(await ask(), undefined)
  assert.deepEqual(await reset.request("ada@example.test"), answer)
  assert.equal(mailer.sent.filter(({ to }) => to === bob).length, 1)
  pass(60 * 60_000)
  assert.ok(await ask())
})
