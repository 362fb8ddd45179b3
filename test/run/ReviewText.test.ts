import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ReviewText } from "espalier/run"

type Row = readonly [resolution: ReviewText.Resolution, person: string, advice: string]

const change: ReviewText.Change = { pointer: "/to", before: "all", after: null }

const approved: ReadonlyArray<Row> = [
  [{ _tag: "Approved", by: "ada" }, `The call of "mail" was approved by "ada".`, ""],
  [
    { _tag: "Approved", by: "ada", reason: "Fine", outcome: "executed" },
    `The call of "mail" was approved by "ada". Reason, quoted as data: "Fine". It was executed.`,
    ""
  ],
  [
    { _tag: "Approved", by: "ada", outcome: "failed" },
    `The call of "mail" was approved by "ada". It was begun and failed.`,
    ""
  ],
  [
    { _tag: "Approved", by: "ada", outcome: "unknown" },
    `The call of "mail" was approved by "ada". It was begun, and nobody knows whether it was executed.`,
    "Do not repeat it to find out."
  ],
  [
    { _tag: "Approved", by: "ada", outcome: "lapsed" },
    `The call of "mail" was approved by "ada". The approval lapsed before it was used, so it was not executed.`,
    "Ask again only if it is still needed."
  ],
  [
    { _tag: "ApprovedWithEdits", by: "ada", changes: [change] },
    `The call of "mail" was approved by "ada" with changes. The original call was not executed. Changed by the reviewer: "/to" from "all" to null.`,
    "Do not repeat the original call."
  ],
  [
    {
      _tag: "ApprovedWithEdits",
      by: "ada",
      changes: [
        { pointer: "/amount/value", before: 10, after: "10" },
        { pointer: "/bcc", after: ["bob"] },
        { pointer: "/cc", before: null }
      ],
      reason: "Too dear",
      outcome: "executed"
    },
    `The call of "mail" was approved by "ada" with changes. The original call was not executed. Changed by the reviewer: "/amount/value" from 10 to "10"; "/bcc" added as ["bob"]; "/cc" removed, it was null. Reason, quoted as data: "Too dear". The call with these changes was executed.`,
    "Do not repeat the original call."
  ],
  [
    { _tag: "ApprovedWithEdits", by: "ada", changes: [change], outcome: "lapsed" },
    `The call of "mail" was approved by "ada" with changes. The original call was not executed. Changed by the reviewer: "/to" from "all" to null. The approval lapsed before it was used, so the call with these changes was not executed.`,
    "Do not repeat the original call. Ask again only if it is still needed."
  ],
  [
    { _tag: "ApprovedByPolicy", cause: "expired", outcome: "executed" },
    `Nobody decided about the call of "mail" in time. Its policy approved it, and no person did. It was executed.`,
    ""
  ],
  [
    { _tag: "ApprovedByPolicy", cause: "no-reviewer" },
    `There was nobody who may decide about the call of "mail". Its policy approved it, and no person did.`,
    ""
  ]
]

const others: ReadonlyArray<Row> = [
  [
    { _tag: "Rejected", by: "ada", reason: "Too dear", doNotRetry: true },
    `The call of "mail" was rejected by "ada". It was not executed. Reason, quoted as data: "Too dear".`,
    "Do not try it again, in this form or in another."
  ],
  [
    { _tag: "Rejected", by: "ada", reason: "Too dear", doNotRetry: false },
    `The call of "mail" was rejected by "ada". It was not executed. Reason, quoted as data: "Too dear".`,
    "Do not repeat it as it is."
  ],
  [
    { _tag: "RejectedRepeat", reason: "Too dear" },
    `The call of "mail" is the same as one that was rejected before. It was not executed. The reason that was given then, quoted as data: "Too dear".`,
    "Do not try it again."
  ],
  [
    { _tag: "Expired", action: "reject" },
    `Nobody decided about the call of "mail" in time. It was not executed, and nobody rejected it.`,
    "Ask again only if it is still needed."
  ],
  [
    { _tag: "Expired", action: "halt" },
    `Nobody decided about the call of "mail" in time. It was not executed, and nobody rejected it. The rule for this is to end the task.`,
    ""
  ],
  [
    { _tag: "Expired", action: "hold" },
    `Nobody decided about the call of "mail" in time. It was not executed, and nobody rejected it. The question is still open.`,
    "Do not ask again."
  ],
  ...(["reject", "halt", "hold"] as const).map((action): Row => [
    { _tag: "NoReviewer", action },
    `There was nobody who may decide about the call of "mail". It was not executed, and nobody rejected it.${
      { reject: "", halt: " The rule for this is to end the task.", hold: " The question is still open." }[action]
    }`,
    { reject: "Ask again only if it is still needed.", halt: "", hold: "Do not ask again." }[action]
  ]),
  [
    { _tag: "Withdrawn", reason: "The run was cancelled" },
    `The question about the call of "mail" was withdrawn. The call was not executed, and nobody rejected it. Reason, quoted as data: "The run was cancelled".`,
    "Ask again only if it is still needed."
  ],
  [
    { _tag: "Superseded", by: "r1/review/2", reason: "The arguments changed" },
    `The question about the call of "mail" was replaced by "r1/review/2". The call was not executed, and nobody rejected it. Reason, quoted as data: "The arguments changed".`,
    "Do not ask again."
  ],
  [
    { _tag: "Superseded", by: "r1/review/2" },
    `The question about the call of "mail" was replaced by "r1/review/2". The call was not executed, and nobody rejected it.`,
    "Do not ask again."
  ]
]

/** What a text says beside what it quotes. */
const unquoted = (text: string) => text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "…")

const future = /\b(?:will|shall|going to|soon|once|about to|next)\b/i

describe("ReviewText", () => {
  it.each([...approved, ...others])("R-306 tells people and workers of %j", (resolution, person, advice) => {
    assert.strictEqual(ReviewText.forPerson(resolution, "mail"), person)
    assert.strictEqual(ReviewText.forWorker(resolution, "mail"), advice === "" ? person : `${person} ${advice}`)
    assert.deepStrictEqual(Schema.decodeUnknownSync(ReviewText.Resolution)(resolution), resolution)
    for (const text of [person, advice, ReviewText.forWorker(resolution)]) assert.notMatch(unquoted(text), future)
    assert.include(ReviewText.forPerson(resolution), "he call")
  })

  it("R-306 has a row for each way to be settled", () => {
    const tags = new Set([...approved, ...others].map(([{ _tag }]) => _tag))
    assert.deepStrictEqual(
      [...tags].toSorted(),
      ReviewText.Resolution.members.map(({ fields }) => fields._tag.schema.literal).toSorted()
    )
  })

  it.each(others)("R-306 says of no action that was not approved that it was done: %j", (resolution) => {
    for (const text of [ReviewText.forPerson(resolution, "mail"), ReviewText.forWorker(resolution, "mail")]) {
      const rest = unquoted(text).replace("was not executed", "")
      assert.notStrictEqual(rest, unquoted(text))
      assert.notMatch(rest, /\b(?:executed|done|performed|begun|made|completed|approved|ran|is running|succeeded)\b/i)
    }
  })

  it("R-306 says of an approved action that it was executed only if it was", () => {
    for (const [resolution] of approved) {
      const text = unquoted(ReviewText.forWorker(resolution)).replace("The original call was not executed", "")
      const claimed = /(?<!whether it )was executed/.test(text)
      assert.strictEqual(claimed, "outcome" in resolution && resolution.outcome === "executed", text)
    }
  })

  it.prop(
    "R-306 quotes what people give, whatever it is: it changes nothing of what is said",
    { by: Schema.String, reason: Schema.String, value: Schema.Json, key: Schema.String },
    ({ by, key, reason, value }) => {
      const pointer = `/x${key.replaceAll("~", "~0").replaceAll("/", "~1")}`
      for (const [resolution] of [...approved, ...others]) {
        const hostile = {
          ...resolution,
          ...("by" in resolution ? { by } : {}),
          ...("reason" in resolution ? { reason } : {})
        } as ReviewText.Resolution
        const text = ReviewText.forWorker(hostile, key)
        assert.strictEqual(unquoted(text), unquoted(ReviewText.forWorker(resolution, "mail")))
        assert.notMatch(text, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
      }
      const edit = { _tag: "ApprovedWithEdits", by, changes: [{ pointer, before: 1, after: value }] } as const
      const text = unquoted(ReviewText.forWorker(edit))
      assert.match(text, /^The call was approved by … with changes\. .* Do not repeat the original call\.$/)
      assert.notMatch(text, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
    }
  )

  it("R-306 is short, whatever was given", () => {
    const long = 'a "b\\\n'.repeat(10_000)
    const changes = Array.from({ length: 100 }, (_, index) => ({
      pointer: `/${index}${long}`,
      before: long,
      after: [long]
    }))
    const text = ReviewText.forWorker({
      _tag: "ApprovedWithEdits",
      by: long,
      reason: long,
      changes: [change, ...changes]
    })
    assert.isBelow(text.length, 20_000)
    assert.include(text, "; and 91 more changes.")
    assert.include(text, "to JSON that begins with ")
  })

  it("R-306 shows no secret", () => {
    const key = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGh"
    const text = ReviewText.forWorker({
      _tag: "ApprovedWithEdits",
      by: "ada",
      reason: `Use ${key}`,
      changes: [
        { pointer: "/password", before: "hunter2!", after: "hunter3!" },
        { pointer: "/credentials/password", after: "hunter4!" },
        { pointer: "/login", after: { user: "ada", password: "hunter5!" } },
        { pointer: "/note", before: key, after: "none" }
      ]
    })
    assert.notMatch(text, /hunter|AbCdEf/)
    assert.include(text, `"user":"ada"`)
    assert.include(text, `to "none"`)
  })

  it("R-306 is of what has its fields, and of nothing else", () => {
    const is = Schema.is(ReviewText.Resolution)
    assert.isFalse(is({ _tag: "Rejected", by: "ada", reason: " ", doNotRetry: true }))
    assert.isFalse(is({ _tag: "Rejected", by: "ada", doNotRetry: true }))
    assert.isFalse(is({ _tag: "Approved", by: "" }))
    assert.isFalse(is({ _tag: "ApprovedWithEdits", by: "ada", changes: [] }))
    assert.isFalse(is({ _tag: "ApprovedWithEdits", by: "ada", changes: [{ pointer: "to" }] }))
    assert.isFalse(is({ _tag: "Expired", action: "approve" }))
  })
})
