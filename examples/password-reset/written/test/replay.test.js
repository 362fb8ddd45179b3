import assert from "node:assert/strict"
import test from "node:test"

import { begin, fresh } from "./keys.js"
import { ada } from "./shop.js"

test("a request that is sent again, word for word, does nothing, and a newer key makes an older one void", async () => {
  const { ask, mailer, login, reset, sessions } = await begin()
  const key = await ask()
  await reset.redeem(key, fresh)
  const session = login(ada, fresh)
  const mails = mailer.sent.length
  assert.equal((await reset.redeem(key, fresh)).ok, false)
  assert.equal(sessions.ownerOf(session), ada)
  assert.equal(mailer.sent.length, mails)
  const older = await ask()
  await ask()
  assert.equal((await reset.redeem(older, fresh)).ok, false)
})
