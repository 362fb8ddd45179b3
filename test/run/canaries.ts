/** Secrets to look for, and what may be left of them nowhere. */
import { inspect } from "node:util"

import { assert } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Logger, Tracer } from "effect"
import { Notifier } from "espalier/run"

import { collecting } from "../observe/spans.ts"

/** Twelve kinds of secrets, none of which looks like one by itself. */
export const canaries = {
  password: "canary correct horse battery",
  "api-token": "Canary1aB3dE5gH7jK9mN1pQ2rS4",
  "url-with-user": "postgres://canary:s3cr3t/pw@db.internal:5432/app?x=1&y=2",
  "json-credentials": JSON.stringify({ type: "canary", private: 'can"ary\\quoted', n: 1 }),
  "pem-key": "-----BEGIN CANARY-----\nMIIcanaryA/b+c\nqrst==\n-----END CANARY-----\n",
  cookie: "sid=canary31d4%20d96e; theme=dark",
  "bearer-header": "Bearer-canary.aaa.bbb",
  pin: "48151623",
  regular: "canary.*(a|b)+[^c]$",
  unicode: "canäry-pässwörd-✓-🦜",
  short: "c4n@ry",
  brackets: "[canary]:{x}"
}

export const names = Object.keys(canaries)

export const encodings: ReadonlyArray<readonly [name: string, encode: (text: string) => string]> = [
  ["as it is", (text) => text],
  ["within a sentence", (text) => `before ${text} after`],
  ["as JSON", (text) => JSON.stringify({ a: text })],
  ["as JSON in JSON", (text) => JSON.stringify({ a: JSON.stringify({ b: text }) })],
  ["in a path", (text) => `https://a.example/${encodeURIComponent(text)}/b`],
  ["in a URL", (text) => encodeURI(`https://a.example/${text}`)],
  ["in a form", (text) => new URLSearchParams({ a: text }).toString()],
  ["with small percent signs", (text) => encodeURIComponent(text).replaceAll(/%../g, (each) => each.toLowerCase())],
  ["in base64", (text) => Buffer.from(text).toString("base64")],
  ["in base64 after one byte", (text) => Buffer.from(`:${text}`).toString("base64")],
  ["in base64 after a name", (text) => Buffer.from(`ad:${text}:x`).toString("base64").slice(0)],
  ["in base64 for URLs", (text) => Buffer.from(`u:${text}`).toString("base64url")],
  ["in hexadecimal", (text) => Buffer.from(`a${text}`).toString("hex")]
]

/** What may be nowhere: each value, and the middle of each of its forms. */
export const traces = (value: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(value)
  const base64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64")
    return text.slice(before === 0 ? 0 : before + 1, Math.floor(((before + bytes.length) * 8) / 6))
  })
  return [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), bytes.toString("hex"), ...base64]
}

export const assertClean = (text: string, where: string): void => {
  for (const [name, value] of Object.entries(canaries)) {
    for (const trace of traces(value)) assert.isFalse(text.includes(trace), `${where} holds ${name} as ${trace}`)
  }
}

/** Hears whatever is said of a run: what it is told to print, logs, spans and notices. */
export const ear = () => {
  const printed: Array<string> = []
  const print = (value: unknown) =>
    void printed.push(inspect(value, { depth: 20, maxStringLength: null }), JSON.stringify(value) ?? "")
  const logger = Logger.make((entry) => {
    printed.push(Logger.formatLogFmt.log(entry), Logger.formatJson.log(entry), inspect(entry.message, { depth: 9 }))
  })
  const { spans, tracer } = collecting()
  const channel: Notifier.Channel = { name: "chat", send: (notice) => Effect.sync(() => print(notice)) }
  /** Prints the spans so far, and answers with their names. */
  const printSpans = (): ReadonlyArray<string> => {
    for (const { attributes, events, links, name, status } of spans) {
      print([name, [...attributes], events, links])
      if (status._tag === "Ended")
        print(Exit.isSuccess(status.exit) ? status.exit.value : Cause.pretty(status.exit.cause))
    }
    return spans.map(({ name }) => name)
  }
  const layer = Layer.mergeAll(Logger.layer([logger]), Notifier.layer([channel]), Layer.succeed(Tracer.Tracer, tracer))
  return { printed, print, printSpans, layer }
}
