import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { describeWithPostgres, startServer } from "../fixtures/postgresServer.ts"
import { withProcesses } from "../fixtures/real.ts"
import { crashTest, folder, toTheEnd, undisturbed } from "./harness.ts"
import { liveOn, makeWorld } from "./world.ts"

describeWithPostgres("R-302 a run in PostgreSQL", () => {
  withProcesses(
    "loses nothing and repeats nothing when its process is killed",
    () =>
      Effect.gen(function* () {
        const report = yield* crashTest({ points: 4, seed: 3, server: yield* startServer() })
        assert.deepStrictEqual(report.found, [])
        assert.strictEqual(report.kills, 4)
      }),
    300_000
  )

  withProcesses(
    "D64 goes on when its connections are cut, and when the server dies and is away for a while, also as it is taken up",
    () =>
      Effect.gen(function* () {
        const [parent, cache, server] = [yield* folder, yield* folder, yield* startServer()]
        const inSchema = (schema: string) => makeWorld(parent, schema, { postgres: { url: server.url, schema } })
        const { end } = yield* undisturbed(inSchema("undisturbed"), { cache })
        const point = { _tag: "acknowledged", events: 60 } as const
        // Real time: a real server is away for so long, longer than one try of a commit.
        const away = Effect.orDie(server.restart(Effect.sleep("2 seconds")))

        const cut = inSchema("cut")
        const through = yield* liveOn(cut, { cache, onSignal: Effect.orDie(server.cut) }, { point, signal: "nothing" })
        assert.include(["over", "waiting"], through._tag)
        assert.deepStrictEqual(yield* toTheEnd(cut, { cache }, end), [])

        const died = inSchema("died")
        assert.deepStrictEqual(yield* liveOn(died, { cache }, { point }), { _tag: "killed" })
        const takingUp = { _tag: "boundary", name: "before append RunResumed", nth: 2 } as const
        const ending = yield* liveOn(died, { cache, onSignal: away }, { point: takingUp, signal: "nothing" })
        assert.include(["over", "waiting"], ending._tag)
        assert.deepStrictEqual(yield* toTheEnd(died, { cache }, end), [])
      }),
    300_000
  )
})
