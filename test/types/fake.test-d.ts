/**
 * What the compiler must say about fakes. Nothing here runs: `tsc` is the test, and an expected error that does not come
 * is an error.
 */
import { type Effect, Schema, type Scope } from "effect"
import type { Worker } from "espalier/run"
import { Fake } from "espalier/testing"
import { test } from "vitest"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : ["types differ", A, B]): void => {}

interface Disk {
  readonly disk: unique symbol
}
declare const disk: Effect.Effect<string, never, Disk | Scope.Scope>

test("R-701 a fake's answers are those of its output schema, any plain JSON without one, and its needs are inferred", () => {
  const plain = Fake.worker("plain", { answers: [Fake.die(), { dead: ["a.md"] }, { other: 1 }] })
  same<typeof plain, Fake.Fake<unknown, Schema.Json, never>>()
  const text = Fake.worker("text", { output: Schema.String, answers: ["x", Fake.empty], otherwise: Fake.never })
  same<typeof text, Fake.Fake<unknown, string, never>>()
  const reading = Fake.worker("reading", {
    input: Schema.Struct({ path: Schema.String }),
    answers: ({ input }) => (input.path === "" ? Fake.fail("denied") : disk)
  })
  same<Worker.Requires<typeof reading>, Disk>()
  // @ts-expect-error a number is not a text
  Fake.worker("text", { output: Schema.String, answers: [1] })
  // @ts-expect-error nor is it one when a function answers
  Fake.worker("text", { output: Schema.String, answers: () => 1 })
  // @ts-expect-error nor when it is given in the end
  Fake.worker("text", { output: Schema.String, otherwise: 1 })
  // @ts-expect-error there is no such kind
  Fake.fail("slow")
})
