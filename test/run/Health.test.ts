import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Health } from "espalier/run"

import { settle } from "./desks.ts"

const minute = 60_000

/** A health, and what its listener was told: worker, state, until. */
const told = (options?: Health.Options) =>
  Effect.map(Health.make(options), (health) => {
    const changes: Array<Health.Change> = []
    health.changes((change) => changes.push(change))
    const short = () => changes.map(({ state, until, worker }) => `${worker} ${state}${until ?? ""}`)
    return { health, changes, short }
  })

const degrade = (health: Health.Health, worker: string, at = 0) => {
  for (const number of [1, 2, 3]) health.report(worker, at, "failed", `${worker}/${number}`)
}

describe("Health", () => {
  it.effect("R-209 trip degrades a worker at once and says why; the first probe decides again", () =>
    Effect.gen(function* () {
      const { changes, health, short } = yield* told()
      health.trip("d.one", 5, "the domain d gave up")
      health.trip("d.one", 5, "the domain d gave up")
      assert.strictEqual(health.admit("d.one", 6, "r/a/1")._tag, "Refused")
      assert.deepStrictEqual(health.admit("d.one", 10 * minute + 5, "r/a/2"), { _tag: "Admitted", probe: true })
      health.trip("d.one", 10 * minute + 6, "the domain d gave up")
      health.report("d.one", 10 * minute + 7, "succeeded", "r/a/2")
      assert.deepStrictEqual(short(), [
        "d.one degraded600005",
        "d.one ready-for-probe",
        "d.one probing",
        "d.one healthy"
      ])
      assert.strictEqual(changes[0]?.note, "d.one is degraded for 10m: the domain d gave up")
    })
  )

  describe("report and admit", () => {
    it.effect("R-209 goes from healthy over degraded and a probe back to healthy, and tells each change once", () =>
      Effect.gen(function* () {
        const { changes, health, short } = yield* told({ workers: ["d.one", "d.two"] })
        const before = health.facts()
        degrade(health, "d.one")
        assert.deepStrictEqual(health.admit("d.one", 1, "r/a/4"), {
          _tag: "Refused",
          reason: "degraded",
          until: 10 * minute,
          note: "d.one is degraded for another 9m 59s 999ms"
        })
        assert.deepStrictEqual(health.admit("d.two", 1, "r/a/4"), { _tag: "Admitted", probe: false })
        assert.deepStrictEqual(health.admit("d.one", 10 * minute, "r/a/5"), { _tag: "Admitted", probe: true })
        assert.deepStrictEqual(health.admit("d.one", 10 * minute, "r/a/6"), {
          _tag: "Refused",
          reason: "probing",
          note: "d.one is being probed"
        })
        assert.deepStrictEqual(Health.standing(health.facts(), "d.one"), { status: "probing", dispatch: "r/a/5" })
        health.report("d.one", 10 * minute + 1, "succeeded", "r/a/5")
        assert.deepStrictEqual(short(), [
          "d.one degraded600000",
          "d.one ready-for-probe",
          "d.one probing",
          "d.one healthy"
        ])
        assert.deepStrictEqual(
          changes.map(({ note }) => note),
          [
            "d.one is degraded for 10m: 3 failed dispatches within 5m, the last one d.one/3",
            "d.one may be probed: its pause is over",
            "r/a/5 is the probe of d.one",
            "d.one is healthy again: its probe r/a/5 succeeded"
          ]
        )
        assert.deepStrictEqual(
          changes.map(({ version }) => version),
          [1, 2, 3, 4]
        )
        // Facts are a value: who holds an old one still sees the old one.
        assert.deepStrictEqual([before.version, before.workers.get("d.one")?.status], [0, "healthy"])
        assert.deepStrictEqual([health.facts().version, health.facts().workers.get("d.two")?.status], [4, "healthy"])
      })
    )

    it.effect("R-209 a probe that fails begins another pause, one that is interrupted gives its place back", () =>
      Effect.gen(function* () {
        const { changes, health, short } = yield* told({ breaker: { failures: 1, within: "1 minute", cooldown: 100 } })
        health.report("w", 0, "failed", "a")
        health.admit("w", 100, "b")
        health.report("w", 110, "interrupted", "b")
        health.admit("w", 120, "c")
        health.report("w", 130, "failed", "b")
        health.report("w", 140, "failed", "c")
        assert.deepStrictEqual(short(), [
          "w degraded100",
          "w ready-for-probe",
          "w probing",
          "w ready-for-probe",
          "w probing",
          "w degraded240"
        ])
        assert.deepStrictEqual(
          [changes[0]?.note, changes[3]?.note, changes[5]?.note],
          [
            "w is degraded for 100ms: 1 failed dispatch within 1m, the last one a",
            "w is ready for another probe: b was interrupted",
            "w is degraded for 100ms: its probe c failed"
          ]
        )
      })
    )

    it.effect("D08 six interrupted dispatches in a row change nothing", () =>
      Effect.gen(function* () {
        const { health, short } = yield* told()
        const before = health.facts()
        for (let number = 0; number < 6; number++) {
          assert.strictEqual(health.admit("w", number, `r/a/${number}`)._tag, "Admitted")
          health.report("w", number, "interrupted", `r/a/${number}`)
        }
        health.report("w", 7, "failed", "r/b/1")
        health.report("w", 8, "failed", "r/b/2")
        assert.deepStrictEqual(short(), [])
        assert.strictEqual(health.facts(), before)
      })
    )
  })

  describe("the clock", () => {
    it.effect("R-209 tells when a pause is over though nobody asks, for each worker at its time", () =>
      Effect.gen(function* () {
        const { changes, health } = yield* told()
        const seen = () => changes.map(({ at, state, worker }) => `${at / minute} ${worker} ${state}`).splice(0)
        yield* settle
        degrade(health, "a")
        yield* TestClock.adjust("4 minutes")
        degrade(health, "b", 4 * minute)
        yield* TestClock.adjust("5 minutes")
        assert.deepStrictEqual(seen(), ["0 a degraded", "4 b degraded"])
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(seen().slice(2), ["10 a ready-for-probe"])
        assert.strictEqual(health.facts().version, 3)
        // The second pause of a worker ends by the clock too.
        health.admit("a", 10 * minute, "r/a/9")
        health.report("a", 10 * minute, "failed", "r/a/9")
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(seen().slice(5), ["14 b ready-for-probe", "20 a ready-for-probe"])
      })
    )

    it.effect("wakes for a pause that ends before the one it waits for", () =>
      Effect.gen(function* () {
        const { health, short } = yield* told({ breaker: { failures: 1, cooldown: "1 minute" } })
        health.report("late", 5 * minute, "failed", "a")
        yield* settle
        health.report("early", 0, "failed", "b")
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(short().at(-1), "early ready-for-probe")
      })
    )

    it.effect("rests with its scope", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const { health, short } = yield* Scope.provide(told(), scope)
        degrade(health, "w")
        yield* settle
        yield* Scope.close(scope, Exit.void)
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(short(), ["w degraded600000"])
      })
    )
  })

  describe("withdraw and restore", () => {
    it.effect("a withdrawn worker is given nothing until everybody who withdrew it restores it", () =>
      Effect.gen(function* () {
        const { changes, health, short } = yield* told()
        health.withdraw("w", 1, { by: "configuration", reason: "declared unavailable" })
        health.withdraw("w", 2, { by: "domain", reason: "the domain d gave up" })
        assert.deepStrictEqual(health.admit("w", 3, "r/a/1"), {
          _tag: "Refused",
          reason: "unavailable",
          note: "w is unavailable: declared unavailable"
        })
        health.restore("w", 4, "configuration")
        assert.deepStrictEqual(Health.standing(health.facts(), "w"), {
          status: "unavailable",
          reason: "the domain d gave up"
        })
        health.restore("w", 5, "nobody")
        health.restore("w", 6, "domain")
        assert.strictEqual(health.admit("w", 7, "r/a/1")._tag, "Admitted")
        assert.deepStrictEqual(short(), ["w unavailable", "w unavailable", "w healthy"])
        assert.deepStrictEqual(
          changes.map(({ note }) => note),
          [
            "w is unavailable: declared unavailable",
            "w is unavailable: the domain d gave up",
            "w is available again, and healthy"
          ]
        )
      })
    )

    it.effect("a worker that comes back stands where its breaker says", () =>
      Effect.gen(function* () {
        const { health, short } = yield* told()
        health.withdraw("w", 0, { by: "domain", reason: "gave up" })
        degrade(health, "w", 1)
        assert.deepStrictEqual(short(), ["w unavailable"])
        health.restore("w", 2, "domain")
        health.withdraw("w", 3, { by: "domain", reason: "gave up" })
        yield* TestClock.adjust("1 hour")
        health.restore("w", 60 * minute, "domain")
        assert.deepStrictEqual(short(), ["w unavailable", "w degraded600001", "w unavailable", "w ready-for-probe"])
      })
    )
  })

  describe("changes", () => {
    it.effect("tells in order, also when a listener causes the next change", () =>
      Effect.gen(function* () {
        const health = yield* Health.make({ breaker: { failures: 1 } })
        const seen: Array<string> = []
        health.changes(({ worker }) => {
          if (worker === "a") health.withdraw("b", 0, { by: "a", reason: "a is down" })
        })
        health.changes(({ state, version, worker }) => {
          seen.push(`${version} ${worker} ${state}`)
          assert.isAtLeast(health.facts().version, version)
        })
        health.report("a", 0, "failed", "r/a/1")
        assert.deepStrictEqual(seen, ["1 a degraded", "2 b unavailable"])
      })
    )

    it.effect("tells nobody who left, also when another listener took him out", () =>
      Effect.gen(function* () {
        const health = yield* Health.make({ breaker: { failures: 1 } })
        const seen: Array<string> = []
        const leave = [
          health.changes(() => leave[1]?.()),
          health.changes(() => seen.push("second")),
          health.changes(() => seen.push("third"))
        ]
        health.report("a", 0, "failed", "r/a/1")
        leave[2]?.()
        health.report("b", 0, "failed", "r/a/1")
        assert.deepStrictEqual(seen, ["third"])
      })
    )

    it.effect("drops a listener that throws, tells the others, and logs it", () => {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => logged.push(message))
      return Effect.gen(function* () {
        const health = yield* Health.make({ breaker: { failures: 1 } })
        const seen: Array<string> = []
        health.changes(({ worker }) => {
          seen.push(`bad ${worker}`)
          throw new Error("oops")
        })
        health.changes(({ worker }) => seen.push(worker))
        health.report("a", 0, "failed", "r/a/1")
        health.report("b", 0, "failed", "r/a/1")
        assert.deepStrictEqual(seen, ["bad a", "a", "b"])
        yield* settle
        assert.deepStrictEqual(logged, [["Health: a listener threw and is not called again", new Error("oops")]])
      }).pipe(Effect.provide(Logger.layer([logger])))
    })
  })

  it.effect("dies with the setting that is out of range", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Health.make({ breaker: { failures: 0 } }))
      assert.match(String(Exit.isFailure(exit) ? exit.cause : ""), /failures must be a whole number >= 1, got 0/)
    })
  )
})
