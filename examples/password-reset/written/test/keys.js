/** What all tests of the reset begin with: a shop, its reset, and the key of the latest mail. */
import { makeReset } from "../src/reset.js"
import { ada, makeShop } from "./shop.js"

export const fresh = "a new sentence of Ada"

export const begin = async () => {
  const shop = await makeShop()
  const reset = makeReset(shop)
  const ask = async (email = ada) => {
    const before = shop.mailer.sent.length
    await reset.request(email)
    const mail = shop.mailer.sent.slice(before).find(({ to }) => to === email)
    return mail?.text.match(/key=([\w-]+)/)?.[1]
  }
  return { ...shop, ask, reset }
}
