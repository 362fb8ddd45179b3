import { assert, describe, it } from "@effect/vitest"
import { Duration, Schema } from "effect"
import { Failure } from "espalier"
import { HttpFailure } from "espalier/run"

/** Tuesday, 14 November 2023, 22:13:20 GMT. */
const now = 1_700_000_000_000

describe("HttpFailure", () => {
  describe("classify", () => {
    const table: ReadonlyArray<readonly [HttpFailure.Response, string]> = [
      [{ status: 429 }, "transient"],
      [{ status: 503 }, "transient"],
      [{ status: 529 }, "transient"],
      [{ status: 500 }, "transient"],
      [{ status: 599 }, "transient"],
      [{ status: 408 }, "transient"],
      [{ status: 401 }, "denied"],
      [{ status: 403 }, "denied"],
      [{ status: 413 }, "oversized"],
      [{ status: 400 }, "capability"],
      [{ status: 402 }, "capability"],
      [{ status: 404 }, "capability"],
      [{ status: 405 }, "capability"],
      [{ status: 422 }, "capability"],
      [{ status: 302 }, "transient"],
      [{ status: 418 }, "transient"],
      [{ status: 600 }, "transient"],
      [{ status: 429, body: `{"error":{"code":"insufficient_quota"}}` }, "capability"],
      [{ status: 400, body: "This model's Maximum Context Length is 8192 tokens" }, "oversized"],
      [{ status: 400, body: "prompt is too long: 210000 tokens > 200000 maximum" }, "oversized"],
      [{ status: 403, body: "API Rate Limit exceeded for user" }, "transient"],
      [{ status: 403, headers: { "Retry-After": "60" } }, "transient 60000"],
      [{ status: 429, headers: { "retry-after": "30" } }, "transient 30000"],
      [{ status: 429, headers: new Headers({ "Retry-After": "30" }) }, "transient 30000"],
      [{ status: 529, headers: new Map([["RETRY-AFTER", "1.5"]]) }, "transient 1500"],
      [{ status: 429, headers: { "retry-after-ms": "250", "retry-after": "1" } }, "transient 250"],
      [{ status: 503, headers: { "retry-after": "Tue, 14 Nov 2023 22:13:50 GMT" } }, "transient 30000"],
      [{ status: 503, headers: { "retry-after": "soon" } }, "transient"],
      [{ status: 503, headers: { "retry-after": undefined } }, "transient"],
      [{ status: 404, headers: { "retry-after": "30" } }, "capability"]
    ]
    it.each(table)("D42 reads %j as %s", (response, expected) => {
      const { kind, retryAfterMillis } = HttpFailure.classify(response, now)
      assert.strictEqual([kind, retryAfterMillis].filter((part) => part !== undefined).join(" "), expected)
    })

    it("D42 a row in front overrides one answer and no other", () => {
      const rows: HttpFailure.Table = [{ status: 503, body: "maintenance", kind: "capability" }, ...HttpFailure.table]
      const kinds = (by?: HttpFailure.Table) =>
        [{ status: 503, body: "Maintenance until Monday" }, { status: 503 }, { status: 500, body: "maintenance" }].map(
          (response) => HttpFailure.classify(response, now, by).kind
        )
      assert.deepStrictEqual(kinds(), ["transient", "transient", "transient"])
      assert.deepStrictEqual(kinds(rows), ["capability", "transient", "transient"])
      assert.deepStrictEqual(HttpFailure.classify({ status: 401 }, now, []).kind, "transient")
    })

    it("D42 the table is plain JSON and comes back from it", () => {
      const json: unknown = JSON.parse(JSON.stringify(HttpFailure.table))
      assert.deepStrictEqual(Schema.decodeUnknownSync(HttpFailure.Table)(json), HttpFailure.table)
    })

    it.each([
      [{ status: 99, kind: "denied" }],
      [{ status: 4.5, kind: "denied" }],
      [{ status: [400, 499, 500], kind: "denied" }],
      [{ status: 400, kind: "fatal" }],
      [{ body: "", kind: "denied" }]
    ])("refuses the row %j", (row) => {
      assert.throws(() => Schema.decodeUnknownSync(HttpFailure.Row)(row))
    })
  })

  describe("failure", () => {
    it("is a marked error that says the status and not the body", () => {
      const limited = HttpFailure.failure(
        { status: 429, body: "key sk-1234 is limited", headers: { "retry-after": "2" } },
        now
      )
      assert.strictEqual(limited.message, "transient: HTTP 429")
      assert.deepStrictEqual(
        [Failure.kindOf(limited), Failure.retryAfterOf(limited)],
        ["transient", Duration.millis(2_000)]
      )
      assert.strictEqual(Failure.kindOf(HttpFailure.failure({ status: 404 }, now)), "capability")
    })
  })

  describe("retryAfter", () => {
    const table: ReadonlyArray<readonly [string, number | undefined]> = [
      ["0", 0],
      ["120", 120_000],
      [" 5 ", 5_000],
      ["0.25", 250],
      ["-1", undefined],
      ["1e3", undefined],
      ["0x10", undefined],
      ["9".repeat(400), undefined],
      ["", undefined],
      ["tomorrow", undefined],
      ["Tue, 14 Nov 2023 22:13:20 GMT", 0],
      ["Tue, 14 Nov 2023 22:13:21 GMT", 1_000],
      ["Tue, 14 Nov 2023 22:13:19 GMT", 0],
      ["Sun, 06 Nov 1994 08:49:37 GMT", 0],
      ["Tuesday, 14-Nov-23 22:14:20 GMT", 60_000],
      ["Sunday, 06-Nov-94 08:49:37 GMT", 0],
      ["Tue Nov 14 22:14:20 2023", 60_000],
      ["Sat Dec  2 22:13:20 2023", 18 * 86_400_000],
      ["Tue, 31 Feb 2024 22:13:20 GMT", undefined],
      ["Tue, 14 Foo 2023 22:13:20 GMT", undefined],
      ["Tue, 14 Nov 2023 25:13:20 GMT", undefined],
      ["Tue, 14 Nov 2023 22:13:20 CET", undefined],
      ["2023-11-14T22:14:20Z", undefined]
    ]
    it.each(table)("D42 reads %o as %o", (value, expected) => {
      assert.strictEqual(HttpFailure.retryAfter(value, now), expected)
    })
  })
})
