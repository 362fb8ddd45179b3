import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { Breaker } from "espalier/run"

const minute = 60_000
const healthy = (...failures: ReadonlyArray<number>): Breaker.State => ({ status: "healthy", failures })
const degraded = (until: number): Breaker.State => ({ status: "degraded", until })
const ready: Breaker.State = { status: "ready-for-probe" }
const probing: Breaker.State = { status: "probing", dispatch: "p" }

/** What a caller without types could pass. */
const untyped = (value: unknown): never => value as never

describe("Breaker", () => {
  describe("make", () => {
    it("R-209 says 3 failures in 5 minutes and 10 minutes of pause unless told otherwise", () => {
      const settings = { failures: 3, withinMillis: 5 * minute, cooldownMillis: 10 * minute }
      assert.deepStrictEqual([Breaker.make(), Breaker.settings], [settings, settings])
      assert.deepStrictEqual(Breaker.make({ failures: 1, within: "1 second", cooldown: 5 }), {
        failures: 1,
        withinMillis: 1_000,
        cooldownMillis: 5
      })
    })

    it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "3"])("refuses %o as failures", (failures) => {
      assert.throws(
        () => Breaker.make({ failures: untyped(failures) }),
        RangeError,
        `Breaker.make: failures must be a whole number >= 1, got ${JSON.stringify(failures) === '"3"' ? '"3"' : failures}`
      )
    })

    it.each([
      ["within", 0, "> 0"],
      ["within", "Infinity", "finite"],
      ["cooldown", -1, "> 0"],
      ["cooldown", "soon", "> 0"],
      ["cooldown", Number.NaN, "> 0"],
      ["cooldown", "Infinity", "finite"]
    ] as const)("refuses %s of %o", (name, value, expected) => {
      assert.throws(() => Breaker.make({ [name]: untyped(value) }), RangeError, `Breaker.make: ${name} must be`)
      assert.throws(() => Breaker.make({ [name]: untyped(value) }), expected)
    })
  })

  describe("failed, succeeded, interrupted", () => {
    const m5 = 5 * minute
    const m10 = 10 * minute
    const table: ReadonlyArray<
      readonly [string, Breaker.State, "failed" | "succeeded" | "interrupted", string, number, Breaker.State]
    > = [
      ["a first failure is remembered", healthy(), "failed", "a", 7, healthy(7)],
      ["a second one too", healthy(7), "failed", "a", 9, healthy(7, 9)],
      ["the third degrades", healthy(7, 9), "failed", "a", 11, degraded(11 + m10)],
      ["a failure aged exactly the window counts", healthy(0, 9), "failed", "a", m5, degraded(m5 + m10)],
      ["a millisecond older it does not", healthy(0, 9), "failed", "a", m5 + 1, healthy(9, m5 + 1)],
      ["a success forgives nothing", healthy(7, 9), "succeeded", "a", 10, healthy(7, 9)],
      ["an interruption counts for nothing", healthy(7, 9), "interrupted", "a", 10, healthy(7, 9)],
      ["a late failure does not make the pause longer", degraded(500), "failed", "a", 400, degraded(500)],
      ["a late success does not end the pause", degraded(500), "succeeded", "a", 400, degraded(500)],
      ["a late interruption does not end it either", degraded(500), "interrupted", "a", 400, degraded(500)],
      ["a late failure does not take the chance of a probe", ready, "failed", "a", 600, ready],
      ["a late success does not replace the probe", ready, "succeeded", "a", 600, ready],
      ["a probe that fails begins another pause", probing, "failed", "p", 600, degraded(600 + m10)],
      ["a probe that succeeds heals", probing, "succeeded", "p", 600, healthy()],
      ["a probe that is interrupted gives its place back", probing, "interrupted", "p", 600, ready],
      ["another's failure is not the probe's", probing, "failed", "a", 600, probing],
      ["another's success is not the probe's", probing, "succeeded", "a", 600, probing],
      ["another's interruption is not the probe's", probing, "interrupted", "a", 600, probing]
    ]
    it.each(table)("R-209 %s", (_, state, end, dispatch, at, after) => {
      const next = {
        failed: () => Breaker.failed(state, at, dispatch),
        succeeded: () => Breaker.succeeded(state, dispatch),
        interrupted: () => Breaker.interrupted(state, dispatch)
      }
      assert.deepStrictEqual(next[end](), after)
    })
  })

  describe("tick and admit", () => {
    const admitted = (state: Breaker.State, probe: boolean): Breaker.Admission => ({ _tag: "Admitted", state, probe })
    const refused = (state: Breaker.State, reason: "degraded" | "probing", until?: number): Breaker.Admission => ({
      _tag: "Refused",
      state,
      reason,
      ...(until === undefined ? {} : { until })
    })
    const mine: Breaker.State = { status: "probing", dispatch: "a" }
    const table: ReadonlyArray<readonly [string, Breaker.State, Breaker.State, Breaker.Admission]> = [
      ["a healthy worker is given everything", healthy(7), healthy(7), admitted(healthy(7), false)],
      ["a degraded one nothing, until", degraded(501), degraded(501), refused(degraded(501), "degraded", 501)],
      ["whose time is over, one probe", degraded(500), ready, admitted(mine, true)],
      ["a ready one, one probe", ready, ready, admitted(mine, true)],
      ["a probed one nothing else", probing, probing, refused(probing, "probing")],
      ["but the probe once more, after a crash", mine, mine, admitted(mine, true)]
    ]
    it.each(table)("R-209 %s", (_, state, ticked, admission) => {
      assert.deepStrictEqual(Breaker.tick(state, 500), ticked)
      assert.deepStrictEqual(Breaker.admit(state, 500, "a"), admission)
    })
  })

  describe("tripped", () => {
    it.each([
      ["healthy", healthy(1, 2), degraded(600_007)],
      ["degraded", degraded(8), degraded(600_007)],
      ["ready for its probe", ready, degraded(600_007)],
      ["being probed, which decides", probing, probing]
    ] as const)("R-209 degrades a worker at once that is %s", (_, before, after) => {
      assert.deepStrictEqual(Breaker.tripped(before, 7), after)
    })
  })

  /** The rules once more, without a window that is kept tidy: everything that ever happened is looked at each time. */
  const naive = (settings: Breaker.Settings) => {
    const failures: Array<number> = []
    let since = 0
    let mode: "up" | "down" | "probe" = "up"
    let until = 0
    let probe = ""
    const down = (at: number) => {
      mode = "down"
      until = at + settings.cooldownMillis
    }
    return {
      ask: (at: number, dispatch: string): string => {
        if (mode === "up") return "yes"
        if (mode === "probe") return probe === dispatch ? "probe" : "no"
        if (at < until) return `no until ${until}`
        mode = "probe"
        probe = dispatch
        return "probe"
      },
      end: (at: number, dispatch: string, end: "failed" | "succeeded" | "interrupted") => {
        if (mode === "probe" && probe === dispatch) {
          if (end === "failed") down(at)
          else if (end === "interrupted") [mode, until] = ["down", 0]
          else [mode, since] = ["up", failures.length]
        } else if (mode === "up" && end === "failed") {
          failures.push(at)
          const counted = failures.slice(since).filter((time) => time >= at - settings.withinMillis)
          if (counted.length >= settings.failures) down(at)
        }
      }
    }
  }

  const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
  const int = (minimum: number, maximum: number) => Arbitrary.schema(whole(minimum, maximum))
  const step = Arbitrary.schema(Schema.Struct({ wait: whole(0, 12), act: whole(0, 3), dispatch: whole(0, 5) }))

  it.prop(
    "R-209 D08 agrees with a naive model, keeps little, and never has two probes",
    { failures: int(1, 4), within: int(1, 30), cooldown: int(1, 30), steps: Arbitrary.array(step, { maxLength: 200 }) },
    ({ cooldown, failures, steps, within }) => {
      const settings = Breaker.make({ failures, within, cooldown })
      const model = naive(settings)
      let state = Breaker.healthy
      let at = 0
      for (const { act, dispatch, wait } of steps) {
        at += wait
        const id = `d${dispatch}`
        if (act === 0) {
          const admission = Breaker.admit(state, at, id)
          state = admission.state
          const until = admission._tag === "Refused" && admission.until !== undefined ? ` until ${admission.until}` : ""
          const answer = admission._tag === "Refused" ? `no${until}` : admission.probe ? "probe" : "yes"
          assert.strictEqual(answer, model.ask(at, id))
        } else if (act === 1) {
          state = Breaker.failed(state, at, id, settings)
          model.end(at, id, "failed")
        } else {
          const before = state
          state = act === 2 ? Breaker.succeeded(state, id) : Breaker.interrupted(state, id)
          model.end(at, id, act === 2 ? "succeeded" : "interrupted")
          // A cancelled dispatch is no failure, and no other end can degrade.
          if (state.status === "degraded") assert.strictEqual(state, before)
        }
        if (state.status === "healthy") assert.isBelow(state.failures.length, failures)
      }
    },
    { arbitrary: { runs: 500, size: 200, seed: "espalier" } }
  )

  it.each([healthy(), healthy(1, 2), degraded(7), ready, probing])("R-209 keeps %j as plain JSON", (state) => {
    const json: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(Breaker.State)(state)))
    assert.deepStrictEqual(Schema.decodeUnknownSync(Breaker.State)(json), state)
  })
})
