/** A shop with two synthetic accounts, a clock that stands until it is moved, and test mail. */
import { makeAccounts } from "../src/accounts.js"
import { makeLog } from "../src/log.js"
import { makeLogin } from "../src/login.js"
import { makeMailer } from "../src/mailer.js"
import { makeSessions } from "../src/sessions.js"

export const ada = "ada@example.test"
export const bob = "bob@example.test"
export const old = "an old sentence of Ada"

export const makeShop = async () => {
  let now = 1_800_000_000_000
  const shop = {
    accounts: makeAccounts(),
    clock: () => now,
    log: makeLog(),
    mailer: makeMailer(),
    sessions: makeSessions(),
    pass: (millis) => {
      now += millis
    }
  }
  await shop.accounts.create(ada, old)
  await shop.accounts.create(bob, "an old sentence of Bob")
  return { ...shop, login: makeLogin(shop) }
}
