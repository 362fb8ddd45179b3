/** Accounts in memory, with passwords that are kept as salted hashes. */
import { randomBytes, scryptSync, timingSafeEqual } from "node:crypto"

const hash = (password, salt) => scryptSync(password, salt, 32, { N: 1024 })

export const makeAccounts = () => {
  const byEmail = new Map()
  const setPassword = async (email, password) => {
    const salt = randomBytes(16)
    byEmail.set(email, { salt, hash: hash(password, salt) })
  }
  return {
    create: setPassword,
    setPassword,
    has: (email) => byEmail.has(email),
    matches: (email, password) => {
      const known = byEmail.get(email)
      return known !== undefined && timingSafeEqual(known.hash, hash(password, known.salt))
    }
  }
}
