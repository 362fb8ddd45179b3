import assert from "node:assert/strict"
import test from "node:test"

import { begin, fresh } from "./keys.js"

test("what has not the form of a key is refused, whatever it is", async () => {
  const { ask, reset } = await begin()
  const key = await ask()
  for (const bad of [
    "",
    key.slice(1),
    `${key}A`,
    ` ${key}`,
    `${key}\n`,
    "../../etc",
    "%00",
    7,
    null,
    undefined,
    {},
    [key]
  ]) {
    assert.equal((await reset.redeem(bad, fresh)).ok, false, String(bad))
  }
})
