import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { describeWithPostgres } from "../fixtures/postgresServer.ts"
import { withCommand } from "../fixtures/real.ts"
import { freshSchema, opened, serverOfThisFile } from "../journal/fixtures/postgres.ts"
import { espalier } from "./inside.ts"

describeWithPostgres("espalier and a journal in PostgreSQL", () => {
  const server = serverOfThisFile()

  withCommand(
    "R-304 looks into the schema that its URL or its flag names, and into no other one",
    () =>
      Effect.gen(function* () {
        const schema = yield* freshSchema
        const journal = yield* opened(server(), { schema })
        const data = { run: "r1", desk: "release", version: "1", definition: "", input: null, tasks: [], note: "" }
        yield* journal.append({
          run: "r1",
          expected: 0,
          events: [{ type: "RunStarted", at: 5, data }],
          listing: { status: "running", desk: "release", startedAt: 5 }
        })
        const { url } = server()
        const named = `${url}${url.includes("?") ? "&" : "?"}schema=${schema}`
        const size = "1 event, "
        assert.include((yield* espalier(named, ["size"])).out[0], size)
        assert.include((yield* espalier(url, ["size", "--schema", schema])).out[0], size)
        assert.include((yield* espalier(`${named}_not`, ["size", "--schema", schema])).out[0], size)
        assert.include((yield* espalier(url, ["size"])).out[0], "0 events, ")
        const { code, out } = yield* espalier(named, ["verify"])
        assert.deepStrictEqual([code, out.at(-1)], [0, "1 run checked, none damaged"])
        const looked = (yield* espalier(named, ["doctor"])).out.join("\n")
        assert.match(looked, /^format +ok +\d+, on a server that answers$/m)
        assert.match(looked, /^clock +ok .* from the server's$/m)
      }),
    120_000
  )
})
