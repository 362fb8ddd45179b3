import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"

import { Inbox, notHere } from "../../../src/run/internal/inbox.ts"
import type { News } from "../../../src/run/internal/news.ts"

const noticed = (note: string): News => ({ _tag: "Noticed", subject: "", what: "stale", note })
const notes = (news: ReadonlyArray<News>) => news.map(({ note }) => note)

describe("Inbox", () => {
  it.effect("gives all that was told, in order and once", () =>
    Effect.gen(function* () {
      const inbox = new Inbox(queueMicrotask)
      inbox.tell(noticed("a"))
      inbox.tell(noticed("b"))
      assert.deepStrictEqual(notes(yield* inbox.take), ["a", "b"])
      assert.deepStrictEqual(inbox.clear(), [])
    })
  )

  it.effect("gives whoever waits all that is told until it has its turn", () =>
    Effect.gen(function* () {
      const inbox = new Inbox(queueMicrotask)
      const fiber = yield* Effect.forkChild(inbox.take, { startImmediately: true })
      inbox.tell(noticed("a"))
      inbox.tell(noticed("b"))
      assert.deepStrictEqual(notes(yield* Fiber.join(fiber)), ["a", "b"])
    })
  )

  it.effect("keeps for the next one what came when nobody waited any more", () =>
    Effect.gen(function* () {
      const turns: Array<() => void> = []
      const inbox = new Inbox((f) => void turns.push(f))
      const fiber = yield* Effect.forkChild(inbox.take, { startImmediately: true })
      inbox.tell(noticed("a"))
      yield* Fiber.interrupt(fiber)
      for (const turn of turns) turn()
      assert.deepStrictEqual(notes(yield* inbox.take), ["a"])
    })
  )

  it.effect("tells whoever waits for an acknowledgement that the end came before it", () =>
    Effect.gen(function* () {
      const inbox = new Inbox(queueMicrotask)
      const before = Deferred.makeUnsafe<string | undefined>()
      const after = Deferred.makeUnsafe<string | undefined>()
      inbox.tell({ ...noticed("a"), ack: before })
      inbox.close()
      inbox.tell({ ...noticed("b"), ack: after })
      assert.deepStrictEqual([yield* Deferred.await(before), yield* Deferred.await(after)], [notHere, notHere])
      assert.deepStrictEqual(inbox.clear(), [])
    })
  )
})
