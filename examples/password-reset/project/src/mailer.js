/** Test mail: a line of JSON in a file, and nothing that leaves this folder. */
import { appendFileSync } from "node:fs"

export const makeMailer = (file = "outbox.jsonl") => {
  const sent = []
  return {
    sent,
    send: (to, subject, text) => {
      const mail = { to, subject, text }
      sent.push(mail)
      appendFileSync(file, `${JSON.stringify(mail)}\n`)
    }
  }
}
