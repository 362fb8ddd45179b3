/**
 * The journal as a service over a store: arguments are checked, appends are placed, chained and gathered, the journal is
 * claimed when it is first written, and whoever listens is told of what is left.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

import type { Journal } from "../Journal.ts"
import { Appending } from "./appending.ts"
import { because, type JournalError } from "./errors.ts"
import * as Ownership from "./ownership.ts"
import { pages } from "./pages.ts"
import { checkFilter, checkNumbers, checkRange, checkRelist, commandOf, pageOf, rawPageOf, rowsOf } from "./row.ts"
import type { Store } from "./store.ts"

/** The service of a store, which ends with the scope. */
export const service = (
  store: Store,
  options: { readonly heartbeat?: Duration.Duration | undefined } = {}
): Effect.Effect<Journal["Service"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.Scope
    const ownership = Ownership.make(store, scope, options.heartbeat ?? Ownership.usualHeartbeat)
    const appending = new Appending(store, ownership)
    const listeners = new Set<() => void>()
    const pump = yield* FiberHandle.make<void>()
    const notify = (): void => {
      for (const listener of listeners) listener()
    }

    const { location } = store

    /** A write that needs the epoch. */
    const owned = <A>(write: (epoch: number) => Effect.Effect<A, JournalError>): Effect.Effect<A, JournalError> =>
      Effect.uninterruptible(
        Effect.tapError(Effect.flatMap(ownership.epoch, write), (error) => Effect.sync(() => ownership.noticed(error)))
      )

    const checked = <A, E>(
      problem: Parameters<typeof because>[0] | undefined,
      then: () => Effect.Effect<A, E>
    ): Effect.Effect<A, E | JournalError> => (problem === undefined ? then() : Effect.fail(because(problem)))

    const append: Journal["Service"]["append"] = (append) =>
      Effect.suspend(() => {
        const rows = rowsOf(append)
        return Result.isFailure(rows) ? Effect.fail(because(rows.failure)) : appending.append(append, rows.success)
      })

    const version: Journal["Service"]["version"] = (run) =>
      Effect.suspend(() => checked(checkRange(run), () => Effect.map(store.head(run), ({ version }) => version)))

    const read: Journal["Service"]["read"] = (run, range = {}) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const invalid = checkRange(run, range)
          if (invalid !== undefined) return yield* because(invalid)
          const last = Math.min(range.to ?? Number.MAX_SAFE_INTEGER, yield* version(run))
          return pages(range.from ?? 1, last, (from) =>
            Effect.flatMap(
              store.page(run, from, last, (rows) => pageOf(location, run, from, last, rows)),
              (page) => Effect.fromResult(Result.mapError(page, because))
            )
          )
        })
      )

    const rows: Journal["Service"]["rows"] = (run, range = {}) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const invalid = checkRange(run, range)
          if (invalid !== undefined) return yield* because(invalid)
          const last = Math.min(range.to ?? Number.MAX_SAFE_INTEGER, yield* version(run))
          return pages(range.from ?? 1, last, (from) => store.page(run, from, last, (rows) => rawPageOf(last, rows)))
        })
      )

    const ids: Journal["Service"]["ids"] = Stream.paginate("", (after) =>
      Effect.map(store.ids(after), (found) => [found, Option.fromUndefinedOr(found.at(-1))] as const)
    )

    const own: Journal["Service"]["own"] = Effect.flatMap(ownership.epoch, (epoch) =>
      Effect.flatMap(store.owner, (owner) =>
        owner === undefined || owner.epoch !== epoch
          ? Effect.fail(Ownership.fencedOff(location, epoch, owner?.epoch ?? 0))
          : Effect.succeed(owner)
      )
    )

    const command: Journal["Service"]["command"] = (command) =>
      Effect.suspend(() => {
        const left = commandOf(command)
        if (Result.isFailure(left)) return Effect.fail(because(left.failure))
        return Effect.uninterruptible(Effect.tap(store.command(left.success), () => Effect.sync(notify)))
      })

    const changes: Journal["Service"]["changes"] = Stream.callback<void>(
      (queue) =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            const listener = (): void => void Queue.offerUnsafe(queue, undefined)
            listeners.add(listener)
            // What was left before somebody listened is not told of by anything else.
            listener()
            return Effect.as(
              listeners.size === 1
                ? FiberHandle.run(
                    pump,
                    Stream.runForEach(store.changes, () => Effect.sync(notify))
                  )
                : Effect.void,
              listener
            )
          }),
          (listener) =>
            Effect.suspend(() => {
              listeners.delete(listener)
              return listeners.size === 0 ? FiberHandle.clear(pump) : Effect.void
            })
        ),
      { bufferSize: 1, strategy: "dropping" }
    )

    const relist: Journal["Service"]["relist"] = (run, listing, open) =>
      Effect.suspend(() =>
        checked(checkRelist(run, listing, open), () =>
          owned((epoch) =>
            Effect.flatMap(store.reviews(run), (listed) => {
              const stay = new Set(open.map(({ review }) => review))
              const closed = listed.flatMap(({ review }) => (stay.has(review) ? [] : [review]))
              return Effect.asVoid(store.write(epoch, [{ run, rows: [], listing, reviews: { opened: open, closed } }]))
            })
          )
        )
      )

    const remove: Journal["Service"]["remove"] = (run) =>
      Effect.suspend(() =>
        checked(checkRange(run), () =>
          owned((epoch) => {
            const forget = (): void => appending.forget(run)
            forget()
            // An append that was written meanwhile is removed, too.
            return Effect.tap(store.remove(epoch, run), () => Effect.sync(forget))
          })
        )
      )

    const optional = <A>(
      run: string | undefined,
      then: (run: string | undefined) => Effect.Effect<A, JournalError>
    ): Effect.Effect<A, JournalError> =>
      Effect.suspend(() => checked(run === undefined ? undefined : checkRange(run), () => then(run)))

    return {
      append,
      digest: store.digest,
      read,
      rows,
      ids,
      version,
      head: (run) => Effect.suspend(() => checked(checkRange(run), () => store.head(run))),
      runs: (filter = {}) => Effect.suspend(() => checked(checkFilter(filter), () => store.runs(filter))),
      reviews: (run) => optional(run, store.reviews),
      own,
      owns: Effect.sync(() => ownership.held() !== undefined),
      fenced: ownership.lost,
      owner: store.owner,
      command,
      commands: (run) => optional(run, store.commands),
      discard: (handled) =>
        Effect.suspend(() =>
          handled.length === 0
            ? Effect.void
            : checked(checkNumbers(handled), () =>
                owned((epoch) => Effect.asVoid(store.write(epoch, [{ run: "", rows: [], handled }])))
              )
        ),
      changes,
      announce: Effect.sync(notify),
      relist,
      remove,
      size: (run) => optional(run, store.size),
      check: store.check
    }
  })
