import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Prompt } from "effect/ai"
import { CostModel, Meter, ModelCall, Models, ScriptedModel } from "espalier/agent"
import { Dependency, Result, Run, type RunEvent } from "espalier/run"

import { desk, elapse, history, memory, task, worker } from "../run/desks.ts"
import { resume } from "../run/living.ts"
import { killed, tagged } from "../run/outside.ts"
import { delivers, deskWith, options, services } from "./agents.ts"

type Spent = RunEvent.Of<"Spent">

const usual: ModelCall.Call = {
  provider: "a",
  model: "one",
  step: 0,
  attempt: 1,
  end: "answered",
  usage: { input: 10, output: 5 },
  durationMillis: 7
}

const spent = (worker: string, call: Partial<ModelCall.Call> = {}, more: Partial<Spent> = {}): Spent => {
  const whole = { ...usual, ...call }
  return {
    _tag: "Spent",
    at: 1,
    task: "t",
    dispatch: "r/t/1",
    worker,
    what: "model",
    usage: ModelCall.usageOf(whole),
    facts: { ...whole },
    note: "",
    ...more
  }
}

const usd = (cost: number) => ({ cost, currency: "USD" })

describe("Meter", () => {
  it.effect("R-406 has the calls, their workers, their domains and the run", () =>
    Effect.sync(() => {
      const { calls, domains, run, workers } = Meter.fold([
        spent("docs.links", {
          ...usd(0.1),
          usage: { input: 10, output: 5, cacheRead: 100, cacheWrite: 1, reasoning: 2 }
        }),
        { _tag: "RunResumed", at: 2, note: "" },
        spent("docs.links", { end: "transient" }),
        spent("docs.prose", { ...usd(0.2), step: 1, attempt: 2, end: "interrupted", estimated: true }),
        spent("code.tests", { end: "defect" }),
        spent("", usd(0.4)),
        spent("docs.links", {}, { what: "tool" })
      ])
      assert.strictEqual(calls.length, 5)
      assert.deepStrictEqual(run, {
        calls: 5,
        answered: 2,
        failed: 2,
        interrupted: 1,
        unread: 0,
        cutOff: 0,
        swaps: 1,
        unpriced: 2,
        estimated: 1,
        tokens: { input: 50, output: 25, cacheRead: 100, cacheWrite: 1, reasoning: 2, total: 176 },
        costs: [{ currency: "USD", cost: 0.7 }]
      })
      const short = ({ calls, costs, name }: Meter.Row) => `${name}: ${calls}, ${costs.map(({ cost }) => cost).join()}`
      assert.deepStrictEqual(workers.map(short), [
        ": 1, 0.4",
        "code.tests: 1, ",
        "docs.links: 2, 0.1",
        "docs.prose: 1, 0.2"
      ])
      assert.deepStrictEqual(domains.map(short), [": 1, 0.4", "code: 1, ", "docs: 3, 0.3"])
    })
  )

  it.effect("R-406 keeps currencies apart", () =>
    Effect.sync(() => {
      const { run } = Meter.fold([
        spent("a.b", usd(1)),
        spent("a.b", { cost: 2, currency: "EUR" }),
        spent("a.b", usd(0.5)),
        spent("a.b", { cost: 3 })
      ])
      assert.deepStrictEqual(run.costs, [
        { currency: "EUR", cost: 2 },
        { currency: "USD", cost: 1.5 }
      ])
      assert.strictEqual(run.unpriced, 1)
    })
  )

  it.effect("R-406 a call whose record cannot be read still counts, with its tokens", () =>
    Effect.sync(() => {
      const { calls, run } = Meter.fold([
        spent("a.b", {}, { facts: { end: "no end" } }),
        { _tag: "Spent", at: 1, task: "t", dispatch: "d", worker: "a.b", what: "model", usage: {}, note: "" }
      ])
      assert.deepStrictEqual([run.calls, run.unread, run.unpriced, run.tokens.total], [2, 2, 2, 15])
      assert.deepStrictEqual(
        calls.map(({ call, tokens }) => [call, tokens]),
        [
          [undefined, 15],
          [undefined, 0]
        ]
      )
    })
  )

  const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
  const Called = Schema.Struct({
    worker: Schema.Literals(["", "docs.links", "docs.prose", "code.tests", "lonely"]),
    end: ModelCall.End,
    attempt: Schema.Literals([1, 2, 3]),
    input: Count,
    output: Count,
    cacheRead: Schema.optionalKey(Count),
    // Millionths, so that sums of doubles would drift.
    cost: Schema.optionalKey(Count),
    currency: Schema.Literals(["USD", "EUR"])
  })

  it.effect.prop(
    "R-406 the run is the sum of its calls, of its workers and of its domains, in any order",
    { list: Schema.Array(Called) },
    ({ list }) =>
      Effect.sync(() => {
        const events = list.map(({ attempt, cacheRead, cost, currency, end, input, output, worker }) =>
          spent(worker, {
            end,
            attempt,
            usage: { input, output, ...(cacheRead === undefined ? {} : { cacheRead }) },
            ...(cost === undefined ? {} : { cost: cost / 1e6, currency })
          })
        )
        const { calls, domains, run, workers } = Meter.fold(events)
        assert.deepStrictEqual(Meter.fold(events.toReversed()).run, run)

        const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((all, each) => all + each, 0)
        const costIn = (wanted: string) =>
          sum(list.map(({ cost, currency }) => (currency === wanted ? (cost ?? 0) : 0))) / 1e6
        const of = ({ costs }: Meter.Totals, wanted: string) =>
          costs.find(({ currency }) => currency === wanted)?.cost ?? 0
        for (const currency of ["USD", "EUR"]) {
          assert.strictEqual(of(run, currency), costIn(currency))
          for (const rows of [workers, domains]) {
            assert.strictEqual(sum(rows.map((row) => Math.round(of(row, currency) * 1e6))) / 1e6, costIn(currency))
          }
        }
        const counted = (totals: Meter.Totals) => [
          totals.calls,
          totals.answered,
          totals.failed,
          totals.interrupted,
          totals.cutOff,
          totals.swaps,
          totals.unpriced,
          ...Object.values(totals.tokens)
        ]
        for (const rows of [workers, domains]) {
          assert.deepStrictEqual(
            counted(run).map((_, index) => sum(rows.map((row) => counted(row)[index]!))),
            counted(run)
          )
        }
        assert.strictEqual(run.calls, list.length)
        assert.strictEqual(run.answered + run.failed + run.interrupted, list.length)
        assert.strictEqual(run.tokens.total, sum(calls.map(({ tokens }) => tokens)))
        assert.strictEqual(run.tokens.total, sum(list.map((call) => call.input + call.output + (call.cacheRead ?? 0))))
        assert.strictEqual(run.unpriced, list.filter(({ cost }) => cost === undefined).length)
        assert.isTrue(events.every(({ usage }) => Schema.is(Result.Usage)(usage)))
      }),
    { arbitrary: { runs: 100, seed: "espalier" } }
  )

  it.effect("R-406 is a table for people, in which no terminal obeys a name", () =>
    Effect.sync(() => {
      const table = Meter.fold([
        spent("docs.links", { ...usd(0.000_000_1), usage: { input: 900, output: 100 } }),
        spent("docs.links", { cost: 2, currency: "EUR" }),
        spent("\u001b[31mred.one"),
        spent("", usd(1))
      ])
      assert.deepStrictEqual(Meter.render(table).split("\n"), [
        "               calls  answered  failed  interrupted  swaps  input  output  reasoning  cache read  cache write  total  cost                   unpriced",
        "run            4      4         0       0            0      930    115     0          0           0            1045   2 EUR + 1.0000001 USD  1",
        "choices        1      1         0       0            0      10     5       0          0           0            15     1 USD                  0",
        "[31mred        1      1         0       0            0      10     5       0          0           0            15     not known              1",
        "  [31mred.one  1      1         0       0            0      10     5       0          0           0            15     not known              1",
        "docs           2      2         0       0            0      910    105     0          0           0            1015   2 EUR + 0.0000001 USD  0",
        "  docs.links   2      2         0       0            0      910    105     0          0           0            1015   2 EUR + 0.0000001 USD  0"
      ])
    })
  )

  it.effect("R-406 counts a call once that was under way when its process died, however often it was cut", () => {
    const built = () => deskWith(ScriptedModel.fromFunction(() => delivers("Fram")))
    const cut = Effect.map(Meter.ofRun("r1"), ({ domains, run, workers }) => [
      run.calls,
      run.cutOff,
      ...[...domains, ...workers].map(({ cutOff, name }) => `${name}: ${cutOff}`)
    ])
    return Effect.gen(function* () {
      yield* elapse(killed(Run.start(built(), options), tagged("EffectIntended"), "after"), "5 minutes")
      // As far as anybody knows, it is still under way.
      assert.deepStrictEqual(yield* cut, [0, 0])
      yield* elapse(killed(resume(built()), tagged("EffectSettled"), "before"), "5 minutes")
      assert.deepStrictEqual(yield* cut, [0, 1, "d: 1", "d.one: 1"])
      yield* elapse(killed(resume(built()), tagged("EffectSettled"), "after"), "5 minutes")
      assert.deepStrictEqual(yield* cut, [1, 1, "d: 1", "d.one: 1"])
      assert.strictEqual((yield* elapse(resume(built()), "5 minutes")).status, "completed")
      assert.deepStrictEqual(yield* cut, [1, 1, "d: 1", "d.one: 1"])
      const lines = Meter.render(yield* Meter.ofRun("r1")).split("\n")
      assert.match(lines[0] ?? "", /interrupted +cut off +swaps/)
      assert.match(lines[1] ?? "", /^run +1 +1 +0 +0 +1 +0 +10 /)
    }).pipe(Effect.provide(services))
  })

  const at = 1
  const note = ""
  const given = (number: number): RunEvent.RunEvent => ({
    _tag: "Dispatched",
    at,
    task: "t",
    dispatch: `r/t/${number}`,
    worker: `docs.${number}`,
    contract: 1,
    note
  })
  const intended = (number: number, name = "model"): RunEvent.RunEvent => ({
    _tag: "EffectIntended",
    at,
    task: "t",
    dispatch: `r/t/${number}`,
    effect: `${name} ${number}`,
    name,
    digest: "",
    occurrence: 1,
    recovery: "repeat",
    note
  })
  const settled: RunEvent.RunEvent = {
    _tag: "EffectSettled",
    at,
    task: "t",
    effect: "model 1",
    outcome: "failed",
    by: "run",
    note
  }
  const resumed: RunEvent.RunEvent = { _tag: "RunResumed", at, note }
  const swap: RunEvent.RunEvent = { _tag: "Noticed", at, subject: "t", what: "model-swap", note }
  const paid = spent("docs.1", { end: "transient" })
  const histories: ReadonlyArray<readonly [string, ReadonlyArray<RunEvent.RunEvent>, ReadonlyArray<string>]> = [
    ["that has ended", [intended(1), settled, resumed], []],
    ["of another effect", [intended(1, "mail"), resumed], []],
    ["that was paid for", [intended(1), paid, resumed], []],
    ["of another model after one that failed", [intended(1), paid, swap, resumed], ["docs.1"]],
    ["that is under way in an order that is given anew", [intended(1), given(2), resumed], ["docs.1"]],
    ["that is made anew", [intended(1), intended(1), resumed, resumed], ["docs.1", "docs.1"]],
    ["that is made anew after it was cut off", [intended(1), resumed, intended(1), settled, resumed], ["docs.1"]]
  ]
  it.effect.each(histories)("R-406 a call %s is cut off as often as the journal tells", ([, events, cut]) =>
    Effect.sync(() => {
      const { run, workers } = Meter.fold([given(1), ...events])
      assert.strictEqual(run.cutOff, cut.length)
      assert.deepStrictEqual(
        workers.flatMap(({ cutOff, name }) => Array.from({ length: cutOff }, () => name)),
        cut
      )
    })
  )

  it.effect(
    "R-406 D45 a run of ten orders whose first model is limited: nobody tries again, and all is accounted for",
    () =>
      Effect.gen(function* () {
        const limited = Array.from({ length: 10 }, () => ScriptedModel.fault("rate-limit"))
        const answers = Array.from({ length: 10 }, () =>
          ScriptedModel.text("Hello", { usage: { inputTokens: 10, outputTokens: 5 } })
        )
        const a = ScriptedModel.make(limited, { provider: "a", model: "one" })
        const b = ScriptedModel.make(answers, { provider: "b", model: "two" })
        const models = Models.make([{ provide: a.model }, { provide: b.model }])
        const agent = worker("one", (order) =>
          order.spend({ tokens: 50 }, (record) =>
            Effect.map(
              Models.call(
                models,
                { prompt: Prompt.make("Say hello"), tools: [] },
                { onCall: (call) => record({ what: "model", usage: ModelCall.usageOf(call), facts: { ...call } }) }
              ),
              ({ response }) => response.text
            )
          )
        )
        const tasks = Array.from({ length: 10 }, (_, index) => task(`t${index}`))
        const prices = { "a/one": { input: 1, output: 2 }, "b/two": { input: 1, output: 2 } }
        const outcome = yield* Run.start(desk([agent], tasks), { id: "r1", input: "in" }).pipe(
          Effect.provide([Dependency.layer(), CostModel.layer({ currency: "USD", prices })])
        )
        assert.strictEqual(outcome.status, "completed", outcome.note)
        const events = yield* history("r1")
        assert.isFalse(events.some(({ _tag }) => _tag === "AttemptFailed" || _tag === "HealthChanged"))
        const { domains, run } = yield* Meter.ofRun("r1")
        // The breaker lets no more than five through.
        assert.deepStrictEqual([run.calls, run.answered, run.failed, run.swaps], [15, 10, 5, 10])
        assert.strictEqual(run.tokens.total, 150)
        assert.strictEqual(outcome.usage.tokens, 150)
        assert.deepStrictEqual(run.costs, [{ currency: "USD", cost: 0.0002 }])
        assert.deepStrictEqual(
          domains.map(({ calls, name }) => [name, calls]),
          [["d", 15]]
        )
        assert.strictEqual((yield* Meter.ofRun("unheard")).run.calls, 0)
      }).pipe(memory)
  )
})
