import { assert, describe, it } from "@effect/vitest"
import { Redaction } from "espalier"

import { workOf } from "./meter.ts"

const { text } = Redaction.make({ personal: true })

/** What a hostile text repeats. */
const repeated: ReadonlyArray<string> = [
  "a",
  "A",
  "1",
  " ",
  "-",
  "_",
  ".",
  ":",
  "=",
  "/",
  "@",
  "+",
  "\\",
  '"',
  "{",
  "[",
  "\n",
  "--",
  "a:",
  "a=",
  "::",
  "=>",
  '":"',
  "'='",
  '\\"',
  "a-",
  "a.",
  "a@",
  "1 ",
  "1-",
  "1.",
  "A1",
  "+1",
  "password",
  "password:",
  "password: ",
  "password=",
  'password="',
  "password='\\",
  "password: a ",
  "pass: a ",

  "token:",
  'token:" ',
  "token=1&",
  "auth:",
  "auth: a ",
  "cardnumber:",
  "cardnumber=1",
  "cookie: ",
  "cookie: a=",
  "cookie: a=;",

  "authorization:",
  "authorization: ",
  "Authorization: Bearer ",
  'Authorization: "',
  "--token ",
  "--token --",
  "-u a:",

  "Bearer ",
  "bearer aaaaaaaa ",
  "Basic ",
  "Basic YTpi",
  "eyJ",
  "eyJa.",
  "eyJaaaaaaaa.",
  "a eyJaaaaaaaa.aaaa",
  "sk-",
  " sk-a",
  "ghp_",

  "-----BEGIN PRIVATE KEY-----",
  "-----BEGIN ",
  "-----BEGIN PRIVATE KEY-----\n-----END ",
  "AKIA",
  " AKIAA",
  "AGE-SECRET-KEY-1",

  "://",
  "a://",
  "a://b:",
  "a://b:c",
  "://@",
  "a://b:c@",
  "https://a/?key=",
  "?key=a",
  "&sig=aaaaaa",
  "hooks.slack.com/services/",

  "4111 ",
  "4111-1111 ",
  "41111111 11111111 ",
  "4111111111111112 ",
  "AA11 AA11 ",
  "DE89 3704 ",
  "NL91ABNA",
  "123-45-",
  "BSN ",
  "BSN 1",
  "TIN 11 ",

  "a@a.",
  "a@a.a.a",
  "+1 (",
  "[redacted:",
  "[redacted:a]",
  "password=[redacted:a]",
  "[redacted:a]4111",
  '{"a":',
  '{"password":1}',
  '["--token",'
]

describe("the work of redaction", () => {
  it.each(repeated)("R-305 grows with a text that repeats %j, and no faster", (piece) => {
    const work = (length: number): number => {
      const given = piece.repeat(Math.ceil(length / piece.length))
      return workOf(() => text(given)) / given.length
    }
    const short = work(500)
    const long = work(2_000)
    assert.isAbove(long, 0)
    assert.isAtMost(long, 1.25 * short + 40)
    assert.isAtMost(long, 1_500)
  })

  it("R-305 is counted: a slow expression is found to be slow", () => {
    const slow = Redaction.make({ rules: [Redaction.rule({ name: "slow", pattern: /(?:a|a)+b/ })] })
    const work = (length: number) => workOf(() => slow.text("a".repeat(length)))
    assert.isAbove(work(12), 8 * work(8))
  })

  it.each(["a", ": ", 'token:" ', "cookie: a=", "-----BEGIN PRIVATE KEY-----", "4111-1111 ", "[redacted:", "a://b:c"])(
    "R-305 a megabyte of %j comes out within its bound",
    (piece) => {
      const given = piece.repeat((1024 * 1024) / piece.length)
      assert.isAtMost(text(given).length, 2 * given.length + 256)
    }
  )
})
