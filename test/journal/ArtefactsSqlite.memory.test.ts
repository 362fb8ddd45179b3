import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

import { assert, describe } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { Artefacts, ArtefactsSqlite } from "espalier/journal"

import { withCollector } from "../fixtures/real.ts"
import { freshPath } from "./fixtures/folder.ts"

const mebi = 1024 * 1024

describe("putStream and getStream", () => {
  withCollector("D71 hold a few pieces at a time, however large the content is", () =>
    Effect.gen(function* () {
      setFlagsFromString("--expose-gc")
      const collect = runInNewContext("gc") as () => void
      const filename = yield* freshPath
      const parts = 64
      /** The bytes in use, when what is not in use any more has been collected. */
      const inUse = Effect.sync(() => {
        collect()
        const { arrayBuffers, heapUsed } = process.memoryUsage()
        return arrayBuffers + heapUsed
      })
      yield* Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const before = yield* inUse
        let most = 0
        const measured = Effect.map(inUse, (bytes) => {
          most = Math.max(most, bytes - before)
        })
        const source = Stream.range(1, parts).pipe(
          Stream.rechunk(1),
          Stream.mapEffect((n) => Effect.as(n % 4 === 0 ? measured : Effect.void, new Uint8Array(mebi).fill(n)))
        )
        const reference = yield* artefacts.putStream(source)
        assert.strictEqual(reference.bytes, parts * mebi)
        let pieces = 0
        yield* Stream.runForEach(artefacts.getStream(reference), () =>
          (pieces += 1) % 8 === 0 ? measured : Effect.void
        )
        assert.strictEqual(pieces, 4 * parts)
        assert.isBelow(most, 12 * mebi)
      }).pipe(Effect.provide(ArtefactsSqlite.layerSqlite({ filename, synchronous: "normal" })))
    })
  )
})
