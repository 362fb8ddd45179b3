/** Passwords that were forgotten: a mail with a link, and a new password for whoever comes with it. */
import { createHash, randomBytes } from "node:crypto"

const minute = 60_000
const lifetime = 15 * minute
const hour = 60 * minute
const mostPerHour = 5
const shortest = 12

/** 128 bits as base64url. */
const shape = /^[\w-]{22}$/

const digest = (key) => createHash("sha256").update(key).digest("hex")

const refused = { ok: false, reason: "this link is not valid" }

const answer = { message: "If there is such an account, a mail is on its way." }

export const makeReset = ({ accounts, clock, log, mailer, sessions }) => {
  /** What is kept of a key is its digest. */
  const kept = new Map()
  const asked = new Map()

  /** Whether somebody may ask once more in this hour; unknown accounts are counted as known ones are. */
  const counts = (email) => {
    const now = clock()
    for (const [each, times] of asked) {
      const recent = times.filter((at) => now - at < hour)
      if (recent.length === 0) asked.delete(each)
      else asked.set(each, recent)
    }
    const times = asked.get(email) ?? []
    if (times.length >= mostPerHour) return false
    asked.set(email, [...times, now])
    return true
  }

  return {
    kept: () => [...kept].map(([digest, { email, expires }]) => ({ digest, email, expires })),

    request: async (email) => {
      log("reset asked for")
      if (!counts(email)) log("reset held back")
      else if (accounts.has(email)) {
        const key = randomBytes(16).toString("base64url")
        // A new link makes the ones before it void.
        for (const [digest, entry] of kept) if (entry.email === email) kept.delete(digest)
        kept.set(digest(key), { email, expires: clock() + lifetime })
        mailer.send(email, "Your new password", `https://shop.example.test/reset?key=${key}`)
      }
      return answer
    },

    redeem: async (key, password) => {
      if (typeof key !== "string" || !shape.test(key)) return refused
      const entry = kept.get(digest(key))
      if (entry === undefined) return refused
      if (entry.expires <= clock()) {
        kept.delete(digest(key))
        return refused
      }
      if (typeof password !== "string" || password.length < shortest || password === entry.email) {
        return { ok: false, reason: "this password is too weak" }
      }
      // Gone before anything is waited for: whoever comes at the same time finds nothing.
      kept.delete(digest(key))
      await accounts.setPassword(entry.email, password)
      sessions.closeAll(entry.email)
      mailer.send(entry.email, "Your password was changed", "If that was not you, write to us.")
      log("reset done")
      return { ok: true }
    }
  }
}
