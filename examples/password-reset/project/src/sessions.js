/** Sessions in memory. */
import { randomBytes } from "node:crypto"

export const makeSessions = () => {
  const owners = new Map()
  return {
    open: (email) => {
      const session = randomBytes(16).toString("hex")
      owners.set(session, email)
      return session
    },
    ownerOf: (session) => owners.get(session),
    closeAll: (email) => {
      for (const [session, owner] of owners) if (owner === email) owners.delete(session)
    }
  }
}
