import assert from "node:assert/strict"
import test from "node:test"

import { begin } from "./keys.js"

test("of many who come with one key at the same time one gets through", async () => {
  const { ask, mailer, reset } = await begin()
  const key = await ask()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => reset.redeem(key, `the sentence number ${index}`))
  )
  assert.equal(answers.filter(({ ok }) => ok).length, 1)
  assert.equal(mailer.sent.filter(({ subject }) => /was changed/.test(subject)).length, 1)
})
