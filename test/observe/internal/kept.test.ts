import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { Kept } from "../../../src/observe/internal/kept.ts"

const Change = Schema.Struct({
  key: Schema.Literals(["a", "b", "c", "__proto__", ""]),
  value: Schema.optionalKey(Schema.Int)
})

const entriesOf = (kept: Kept<number>, keys: ReadonlyArray<string>) => keys.map((key) => kept.get(key))

describe("Kept", () => {
  it.prop(
    "is what a Map is, and leaves what was there before as it was",
    { changes: Schema.Array(Change) },
    ({ changes }) => {
      const map = new Map<string, number>()
      let kept = Kept.none<number>()
      for (const { key, value } of changes) {
        const keys = [...map.keys(), key]
        const [before, seen] = [kept, entriesOf(kept, keys)]
        kept = value === undefined ? kept.without(key) : kept.with(key, value)
        if (value === undefined) map.delete(key)
        else map.set(key, value)
        assert.deepStrictEqual(entriesOf(before, keys), seen)
        assert.deepStrictEqual([...kept.values()].toSorted(), [...map.values()].toSorted())
        assert.strictEqual(kept.size, map.size)
        assert.deepStrictEqual(
          [...kept.map((each) => each + 1).values()].toSorted(),
          [...map.values()].map((each) => each + 1).toSorted()
        )
      }
    }
  )
})
