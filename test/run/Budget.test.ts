import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Failure } from "espalier"
import { Budget } from "espalier/run"

import { dice } from "./simulate.ts"

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const Json = Schema.toCodecJson(Budget.Ledger)
const encode = Schema.encodeSync(Json)
const snapshot = (ledger: Budget.Ledger): string => JSON.stringify(encode(ledger))
const restart = (ledger: Budget.Ledger): Budget.Draft =>
  Budget.copy(Schema.decodeUnknownSync(Json)(JSON.parse(snapshot(ledger))))

const path = ["run", "domain:docs", "worker:docs.links", "task:links"]

/** What a caller without types could pass. */
const untyped = (value: unknown): never => value as never

const bad: ReadonlyArray<readonly [measure: Budget.Measure, value: unknown, expected: string]> = [
  ["tokens", -1, "a whole number >= 0 as tokens, got -1"],
  ["tokens", 1.5, "a whole number >= 0 as tokens, got 1.5"],
  ["steps", Number.NaN, "a whole number >= 0 as steps, got NaN"],
  ["toolCalls", Number.POSITIVE_INFINITY, "a whole number >= 0 as toolCalls, got Infinity"],
  ["toolCalls", "3", 'a whole number >= 0 as toolCalls, got "3"'],
  ["cost", -0.1, "an amount >= 0 and at most 1e15 as cost, got -0.1"],
  ["cost", 1.1e15, "an amount >= 0 and at most 1e15 as cost, got 1100000000000000"],
  ["tokens", 2 ** 53, "a whole number >= 0 as tokens, got 9007199254740992"],
  ["cost", null, "an amount >= 0 and at most 1e15 as cost, got null"]
]

describe("Budget", () => {
  describe("reserve", () => {
    it("D32 refuses the third call of 400 under a cap of 1000, and allows it once a person has raised the cap", () => {
      const ledger = Budget.make({ run: { tokens: 1_000 } })
      const called: Array<string> = []
      const call = (id: string): Budget.BudgetExceeded | undefined => {
        const refused = Budget.reserve(ledger, { id, accounts: ["run"], amount: { tokens: 400 } })
        if (refused !== undefined) return refused
        called.push(id)
        Budget.settle(ledger, { id, used: { tokens: 400 } })
        return undefined
      }
      assert.deepStrictEqual([call("1"), call("2")], [undefined, undefined])
      const refused = call("3")
      assert.deepStrictEqual(
        { ...refused },
        {
          ...new Budget.BudgetExceeded({
            account: "run",
            measure: "tokens",
            limit: 1_000,
            settled: 800,
            reserved: 0,
            asked: 400,
            closed: false
          })
        }
      )
      assert.strictEqual(Failure.kindOf(refused), "exhausted")
      assert.deepStrictEqual(called, ["1", "2"])

      Budget.raise(ledger, "run", { tokens: 200 })
      assert.isUndefined(call("3"))
      assert.deepStrictEqual(called, ["1", "2", "3"])
    })

    it.each([0, 1, 5])("D30 lets exactly %d steps happen when that is the limit", (steps) => {
      const ledger = Budget.make({ run: { steps } })
      let done = 0
      while (done < 100) {
        const id = `${done}`
        if (Budget.reserve(ledger, { id, accounts: path, amount: { steps: 1 } }) !== undefined) break
        Budget.settle(ledger, { id, used: { steps: 1 } })
        done += 1
      }
      assert.strictEqual(done, steps)
    })

    it.each(path)("R-210 is refused when only %s has too little, and changes nothing", (account) => {
      const ledger = Budget.make({ [account]: { tokens: 99, steps: 5 } })
      const before = snapshot(ledger)
      const refused = Budget.reserve(ledger, { id: "a", accounts: path, amount: { steps: 1, tokens: 100 } })
      assert.deepStrictEqual([refused?.account, refused?.measure, refused?.asked], [account, "tokens", 100])
      assert.strictEqual(snapshot(ledger), before)
      assert.isUndefined(Budget.reserve(ledger, { id: "a", accounts: path, amount: { steps: 1, tokens: 99 } }))
    })

    it.each(Budget.measures)("R-210 holds a limit of %s, and no other measure to it", (measure) => {
      const ledger = Budget.make({ run: { [measure]: 1 } })
      const ask = (id: string, amount: Budget.Amount) =>
        Budget.reserve(ledger, { id, accounts: ["run"], amount })?.measure
      const others = Budget.measures.filter((other) => other !== measure)
      assert.isUndefined(ask("others", Object.fromEntries(others.map((other) => [other, 1_000]))))
      assert.isUndefined(ask("first", { [measure]: 1 }))
      assert.strictEqual(ask("second", { [measure]: 1 }), measure)
    })

    it("R-210 has one budget for a task, whoever gets it", () => {
      const ledger = Budget.make()
      const dispatch = (id: string, worker: string) => {
        Budget.allot(ledger, "task:links", { steps: 2 })
        const accounts = ["run", `worker:${worker}`, "task:links"]
        const refused = Budget.reserve(ledger, { id, accounts, amount: { steps: 1 } })
        if (refused === undefined) Budget.settle(ledger, { id })
        return refused?.account
      }
      const given = [dispatch("1", "docs.links"), dispatch("2", "docs.spare"), dispatch("3", "docs.third")]
      assert.deepStrictEqual(given, [undefined, undefined, "task:links"])
    })

    it("R-210 grants anything where nothing is limited, and keeps the totals", () => {
      const ledger = Budget.make()
      assert.isUndefined(Budget.reserve(ledger, { id: "a", accounts: path, amount: { tokens: 1e15, cost: 1e6 } }))
      assert.deepStrictEqual(Budget.settle(ledger, { id: "a", used: { tokens: 5e15, cost: 2e6 } }), [])
      for (const account of path) {
        assert.deepStrictEqual(ledger.accounts.get(account), {
          limit: {},
          settled: { tokens: 5e15, cost: 2e6 },
          reserved: {}
        })
      }
      assert.deepStrictEqual(Budget.left(ledger, path), {})
    })

    it("reserves an id that is open no second time", () => {
      const ledger = Budget.make({ run: { tokens: 100 } })
      const request = { id: "a", accounts: ["run"], amount: { tokens: 80 } }
      assert.isUndefined(Budget.reserve(ledger, request))
      assert.isUndefined(Budget.reserve(ledger, request))
      assert.deepStrictEqual(Budget.left(ledger, ["run"]), { tokens: 20 })
    })

    it("counts an account that is named twice once", () => {
      const ledger = Budget.make({ run: { tokens: 100 } })
      Budget.reserve(ledger, { id: "a", accounts: ["run", "run"], amount: { tokens: 80 } })
      assert.deepStrictEqual(Budget.left(ledger, ["run"]), { tokens: 20 })
      Budget.settle(ledger, { id: "a" })
      assert.deepStrictEqual(ledger.accounts.get("run"), {
        limit: { tokens: 100 },
        settled: { tokens: 80 },
        reserved: {}
      })
    })

    it("adds costs without the noise of binary fractions", () => {
      const ledger = Budget.make({ run: { cost: 0.3 } })
      const ids = ["a", "b", "c"]
      const asked = ids.map((id) => Budget.reserve(ledger, { id, accounts: ["run"], amount: { cost: 0.1 } }))
      assert.deepStrictEqual(asked, [undefined, undefined, undefined])
      for (const id of ids) Budget.settle(ledger, { id })
      assert.deepStrictEqual(ledger.accounts.get("run"), { limit: { cost: 0.3 }, settled: { cost: 0.3 }, reserved: {} })
    })

    it.each(bad)("throws and changes nothing when the amount of %s is %o", (measure, value, expected) => {
      const ledger = Budget.make({ run: { tokens: 100 } })
      const before = snapshot(ledger)
      const amount = { steps: 1, [measure]: untyped(value) }
      assert.throws(
        () => Budget.reserve(ledger, { id: "a", accounts: ["run"], amount }),
        RangeError,
        `Budget: the amount must have ${expected}`
      )
      assert.strictEqual(snapshot(ledger), before)
    })
  })

  describe("a ledger without limits", () => {
    const ask = (ledger: Budget.Draft, id: string) =>
      Budget.reserve(ledger, { id, accounts: path, amount: { tokens: 1_000 } })?.account

    it("refuses nothing until an account has its first limit", () => {
      const ledger = Budget.make()
      assert.isUndefined(ask(ledger, "a"))
      Budget.allot(ledger, "task:links", {})
      assert.isUndefined(ask(ledger, "b"))
      Budget.allot(ledger, "task:links", { tokens: 2_500 })
      assert.strictEqual(ask(ledger, "c"), "task:links")
      assert.strictEqual(Budget.check(ledger, path, { tokens: 1_000 })?.account, "task:links")
    })

    it("is told from its copies, and from what was written down", () => {
      const ledger = Budget.make()
      const copy = Budget.copy(ledger)
      Budget.allot(copy, "run", { tokens: 10 })
      assert.strictEqual(ask(copy, "a"), "run")
      assert.isUndefined(ask(ledger, "a"))
      assert.strictEqual(ask(Budget.copy(copy), "b"), "run")
      assert.strictEqual(ask(restart(copy), "b"), "run")
      assert.isUndefined(ask(restart(ledger), "b"))
    })

    it("keeps its books all the same", () => {
      const ledger = Budget.make()
      Budget.reserve(ledger, { id: "a", accounts: ["run"], amount: {} })
      Budget.reserve(ledger, { id: "b", accounts: ["run"], amount: { tokens: 7 } })
      assert.deepStrictEqual(ledger.accounts.get("run"), { limit: {}, settled: {}, reserved: { tokens: 7 } })
      Budget.settle(ledger, { id: "a", used: { steps: 1 } })
      Budget.settle(ledger, { id: "b", used: {} })
      assert.deepStrictEqual(ledger.accounts.get("run"), {
        limit: {},
        settled: { steps: 1, tokens: 7 },
        reserved: {}
      })
    })
  })

  describe("settle", () => {
    const open = (amount: Budget.Amount, limits: Budget.Amount = { tokens: 1_000 }): Budget.Draft => {
      const ledger = Budget.make({ run: limits })
      assert.isUndefined(Budget.reserve(ledger, { id: "a", accounts: path, amount }))
      return ledger
    }

    it("frees what was not used", () => {
      const ledger = open({ tokens: 400 })
      assert.deepStrictEqual(Budget.left(ledger, ["run"]), { tokens: 600 })
      assert.deepStrictEqual(Budget.settle(ledger, { id: "a", used: { tokens: 150 } }), [])
      assert.deepStrictEqual(Budget.left(ledger, ["run"]), { tokens: 850 })
    })

    it("D35 charges a call that was cancelled with what is known of it, else with its reservation, and leaves nothing open", () => {
      for (const [used, settled] of [
        [undefined, { tokens: 400, toolCalls: 2 }],
        [{}, { tokens: 400, toolCalls: 2 }],
        [{ tokens: 90 }, { tokens: 90, toolCalls: 2 }],
        [
          { tokens: 0, toolCalls: 0 },
          { tokens: 0, toolCalls: 0 }
        ]
      ] as const) {
        const ledger = open({ tokens: 400, toolCalls: 2 })
        Budget.settle(ledger, { id: "a", used })
        for (const account of path) assert.deepStrictEqual(ledger.accounts.get(account)?.settled, settled)
        assert.strictEqual(ledger.reservations.size, 0)
      }
    })

    it("charges once, however often it is settled", () => {
      const ledger = open({ tokens: 400 })
      Budget.settle(ledger, { id: "a", used: { tokens: 300 } })
      const once = snapshot(ledger)
      assert.deepStrictEqual(Budget.settle(ledger, { id: "a", used: { tokens: 9_999 } }), [])
      assert.deepStrictEqual(Budget.settle(ledger, { id: "never" }), [])
      assert.strictEqual(snapshot(ledger), once)
    })

    it.each([Number.NaN, -5, Number.POSITIVE_INFINITY, "12", null])(
      "charges the reservation when %o is reported",
      (tokens: unknown) => {
        const ledger = open({ tokens: 400 })
        assert.deepStrictEqual(Budget.settle(ledger, { id: "a", used: { tokens: untyped(tokens) } }), [])
        assert.deepStrictEqual(ledger.accounts.get("run")?.settled, { tokens: 400 })
      }
    )

    it("R-210 closes an account by a use above its reservation, though its limit is not reached", () => {
      const ledger = open({ tokens: 400 })
      assert.deepStrictEqual(Budget.settle(ledger, { id: "a", used: { tokens: 401 } }), [
        { account: "run", measure: "tokens", limit: 1_000, settled: 401, reserved: 400, used: 401 }
      ])
      const refused = Budget.reserve(ledger, { id: "b", accounts: path, amount: { steps: 1 } })
      assert.deepStrictEqual([refused?.account, refused?.measure, refused?.closed], ["run", "tokens", true])
      assert.strictEqual(
        refused?.message,
        "run is closed since its tokens were overrun: limit 1000, settled 401, reserved 0"
      )
      assert.deepStrictEqual(Budget.left(ledger, path), { steps: 0, tokens: 0, toolCalls: 0, cost: 0 })
      assert.isUndefined(Budget.reserve(ledger, { id: "c", accounts: ["task:links"], amount: { tokens: 1 } }))
    })

    it("overruns every account that limits the measure, and no other", () => {
      const ledger = Budget.make({
        run: { tokens: 1_000 },
        "domain:docs": { steps: 10 },
        "task:links": { tokens: 500 }
      })
      Budget.reserve(ledger, { id: "a", accounts: path, amount: { tokens: 100 } })
      const overruns = Budget.settle(ledger, { id: "a", used: { tokens: 2_000 } })
      assert.deepStrictEqual(
        overruns.map(({ account }) => account),
        ["run", "task:links"]
      )
      assert.deepStrictEqual(
        path.map((account) => ledger.accounts.get(account)?.closed),
        ["tokens", undefined, undefined, "tokens"]
      )
    })

    it.each([
      [600, []],
      [601, [{ account: "run", measure: "tokens", limit: 1_000, settled: 601, reserved: 0, used: 601 }]]
    ] as const)(
      "a measure that was not reserved may come to what is left beside the others: %d",
      (tokens, overruns) => {
        const ledger = open({ steps: 1 })
        Budget.reserve(ledger, { id: "b", accounts: path, amount: { tokens: 400 } })
        assert.deepStrictEqual(Budget.settle(ledger, { id: "a", used: { steps: 1, tokens } }), overruns)
      }
    )

    it("stops counting at the largest amount there is, and stays plain JSON", () => {
      const ledger = Budget.make()
      for (const id of ["a", "b", "c"]) {
        Budget.reserve(ledger, { id, accounts: ["run"], amount: {} })
        Budget.settle(ledger, { id, used: { tokens: Number.MAX_SAFE_INTEGER, cost: Number.MAX_VALUE, steps: 0.5 } })
      }
      assert.deepStrictEqual(restart(ledger), ledger)
      assert.deepStrictEqual(ledger.accounts.get("run")?.settled, {
        steps: 3,
        tokens: Number.MAX_SAFE_INTEGER,
        cost: 1e15
      })
    })
  })

  describe("raise", () => {
    it("opens a closed account, and lifts the limits that it has", () => {
      const ledger = Budget.make({ run: { tokens: 100, steps: 0 } })
      Budget.reserve(ledger, { id: "a", accounts: ["run"], amount: { tokens: 10 } })
      Budget.settle(ledger, { id: "a", used: { tokens: 150 } })
      Budget.raise(ledger, "run", { tokens: 100, steps: 1, cost: 5 })
      assert.deepStrictEqual(ledger.accounts.get("run"), {
        limit: { tokens: 200, steps: 1 },
        settled: { tokens: 150 },
        reserved: {}
      })
      const ask = (id: string, tokens: number) => Budget.reserve(ledger, { id, accounts: ["run"], amount: { tokens } })
      assert.isDefined(ask("b", 51))
      assert.isUndefined(ask("c", 50))
    })

    it("opens an account that stays too small for anything", () => {
      const ledger = Budget.make({ run: { tokens: 100 } })
      Budget.reserve(ledger, { id: "a", accounts: ["run"], amount: { tokens: 10 } })
      Budget.settle(ledger, { id: "a", used: { tokens: 150 } })
      Budget.raise(ledger, "run", {})
      const refused = Budget.reserve(ledger, { id: "b", accounts: ["run"], amount: { steps: 1 } })
      assert.deepStrictEqual([refused?.closed, refused?.measure, refused?.asked], [false, "tokens", 0])
    })

    it("does not open an account that nobody knows", () => {
      const ledger = Budget.make()
      Budget.raise(ledger, "run", { tokens: 1 })
      assert.strictEqual(ledger.accounts.size, 0)
    })

    it("is not undone by saying the old limit again", () => {
      const ledger = Budget.make({ "task:links": { tokens: 100 } })
      Budget.raise(ledger, "task:links", { tokens: 100 })
      Budget.allot(ledger, "task:links", { tokens: 100, steps: 3 })
      assert.deepStrictEqual(Budget.left(ledger, ["task:links"]), { steps: 3, tokens: 200 })
    })

    it.each(bad)("throws and changes nothing when it raises %s by %o", (measure, value, expected) => {
      const ledger = Budget.make({ run: { tokens: 100 } })
      const before = snapshot(ledger)
      assert.throws(
        () => Budget.raise(ledger, "run", { [measure]: untyped(value) }),
        RangeError,
        `Budget: the raise of run must have ${expected}`
      )
      assert.strictEqual(snapshot(ledger), before)
    })
  })

  describe("make", () => {
    it.each(bad)("throws when the limit of %s is %o", (measure, value, expected) => {
      assert.throws(
        () => Budget.make({ run: { [measure]: untyped(value) } }),
        RangeError,
        `Budget: the limit of run must have ${expected}`
      )
    })
  })

  describe("left", () => {
    it("D33 is the least of all accounts, measure by measure, and nothing is said of what is not limited", () => {
      const ledger = Budget.make({
        run: { tokens: 1_000, steps: 3 },
        "task:links": { tokens: 300, cost: 2 },
        "task:other": { tokens: 1 }
      })
      Budget.reserve(ledger, { id: "a", accounts: ["run"], amount: { tokens: 800, steps: 1 } })
      Budget.settle(ledger, { id: "a", used: { tokens: 750 } })
      Budget.reserve(ledger, { id: "b", accounts: ["run", "task:links"], amount: { tokens: 40, cost: 0.5 } })
      assert.deepStrictEqual(Budget.left(ledger, path), { steps: 2, tokens: 210, cost: 1.5 })
      assert.deepStrictEqual(Budget.left(ledger, ["task:links"]), { tokens: 260, cost: 1.5 })
      assert.deepStrictEqual(Budget.left(ledger, ["nobody"]), {})
    })
  })

  describe("merge", () => {
    const table: ReadonlyArray<
      readonly [
        levels: ReadonlyArray<number | undefined>,
        tokens: number | undefined,
        from: string | undefined,
        tooWide: number
      ]
    > = [
      [[undefined, undefined, undefined, undefined], undefined, undefined, 0],
      [[100, undefined, undefined, undefined], 100, "run", 0],
      [[undefined, 100, undefined, undefined], 100, "domain", 0],
      [[undefined, undefined, undefined, 100], 100, "task", 0],
      [[0, undefined, undefined, undefined], 0, "run", 0],
      [[undefined, undefined, 0, undefined], 0, "worker", 0],
      [[100, 50, undefined, undefined], 50, "domain", 0],
      [[100, 50, 20, 10], 10, "task", 0],
      [[100, undefined, undefined, 0], 0, "task", 0],
      [[0, undefined, undefined, 100], 0, "run", 1],
      [[100, 50, undefined, 70], 50, "domain", 1],
      [[50, 100, 50, 80], 50, "worker", 2]
    ]
    it.each(table)("D31 of %j holds %s, from %s, and %d are too wide", (levels, tokens, from, tooWide) => {
      const names = ["run", "domain", "worker", "task"]
      const merged = Budget.merge(
        levels.map((level, index) => [names[index]!, level === undefined ? undefined : { tokens: level }] as const)
      )
      assert.deepStrictEqual(merged.limit, tokens === undefined ? {} : { tokens })
      assert.deepStrictEqual(merged.from, from === undefined ? {} : { tokens: from })
      assert.strictEqual(merged.tooWide.length, tooWide)
      // The ledger keeps to the same number.
      const ledger = Budget.make(
        Object.fromEntries(levels.map((level, index) => [names[index]!, level === undefined ? {} : { tokens: level }]))
      )
      assert.deepStrictEqual(Budget.left(ledger, names), merged.limit)
    })

    it("D31 takes a measure that is undefined, or a level that says nothing, as inherited", () => {
      const merged = Budget.merge([
        ["run", { tokens: 7, cost: 0 }],
        ["domain", { tokens: untyped(undefined), cost: untyped(undefined) }],
        ["task", {}]
      ])
      assert.deepStrictEqual(merged, {
        limit: { tokens: 7, cost: 0 },
        from: { tokens: "run", cost: "run" },
        tooWide: []
      })
    })

    it.each(bad)("throws when a limit of %s is %o", (measure, value, expected) => {
      assert.throws(
        () => Budget.merge([["task", { [measure]: untyped(value) }]]),
        RangeError,
        `Budget: the limit of task must have ${expected}`
      )
    })
  })

  describe("laws", () => {
    const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

    it("D34 the root's total is the sum of all receipts, four levels deep, three wide, over a restart in the middle", () => {
      let ledger = Budget.make({ root: { tokens: 1_000_000 } })
      let receipts = 0
      let calls = 0
      const visit = (accounts: ReadonlyArray<string>): number => {
        let below = 0
        if (accounts.length === 4) {
          calls += 1
          const id = `call ${calls}`
          assert.isUndefined(Budget.reserve(ledger, { id, accounts, amount: { tokens: 100 } }))
          if (calls % 9 === 5) ledger = restart(ledger)
          Budget.settle(ledger, { id, used: { tokens: calls } })
          receipts += calls
          below = calls
        } else for (const child of ["a", "b", "c"]) below += visit([...accounts, `${accounts.at(-1)}/${child}`])
        assert.strictEqual(ledger.accounts.get(accounts.at(-1)!)?.settled.tokens, below)
        return below
      }
      assert.strictEqual(visit(["root"]), receipts)
      assert.strictEqual(calls, 27)
    })

    it.prop(
      "B1 to B5 R-210 whatever is reserved, settled and raised, the ledger says what a naive one says",
      { seed },
      ({ seed }) => {
        const { below, next, pick } = dice(seed)
        const amountOf = (most: number, likely: number): Budget.Amount => {
          const amount: Writable<Budget.Amount> = {}
          for (const measure of Budget.measures) {
            if (next() < likely) amount[measure] = measure === "cost" ? below(most) / 100 : below(most)
          }
          return amount
        }
        /** In whole hundredths, so that nothing needs rounding. */
        const cents = (amount: Budget.Amount, measure: Budget.Measure) => Math.round((amount[measure] ?? 0) * 100)

        const names = ["run", "d0", "d1", "w0", "w1", "w2", "t0", "t1", "t2"]
        const limits = new Map(names.map((name) => [name, amountOf(name === "run" ? 400 : 200, 0.4)]))
        const closed = new Set<string>()
        const opened = new Map<string, { accounts: ReadonlyArray<string>; amount: Budget.Amount }>()
        const receipts: Array<{ accounts: ReadonlyArray<string>; used: Budget.Amount }> = []
        const sum = (
          of: Iterable<readonly [ReadonlyArray<string>, Budget.Amount]>,
          name: string,
          measure: Budget.Measure
        ) => {
          let total = 0
          for (const [accounts, amount] of of) if (accounts.includes(name)) total += cents(amount, measure)
          return total
        }
        const settledAt = (name: string, measure: Budget.Measure) =>
          sum(
            receipts.map((each) => [each.accounts, each.used] as const),
            name,
            measure
          )
        const reservedAt = (name: string, measure: Budget.Measure) =>
          sum(
            [...opened.values()].map((each) => [each.accounts, each.amount] as const),
            name,
            measure
          )

        let ledger = Budget.make(Object.fromEntries(limits))
        for (let step = 0; step < 40; step++) {
          const roll = next()
          if (roll < 0.5) {
            const id = `${step}`
            const accounts = ["run", pick(["d0", "d1"]), pick(["w0", "w1", "w2"]), pick(["t0", "t1", "t2"])]
            const amount = amountOf(60, 0.6)
            const fits = accounts.every(
              (name) =>
                !closed.has(name) &&
                Budget.measures.every((measure) => {
                  const limit = limits.get(name)![measure]
                  const total = settledAt(name, measure) + reservedAt(name, measure) + cents(amount, measure)
                  return limit === undefined || total <= Math.round(limit * 100)
                })
            )
            const before = snapshot(ledger)
            const refused = Budget.reserve(ledger, { id, accounts, amount })
            assert.strictEqual(refused === undefined, fits)
            if (fits) opened.set(id, { accounts, amount })
            else assert.strictEqual(snapshot(ledger), before) // B2
          } else if (roll < 0.9 && opened.size > 0) {
            const id = pick([...opened.keys()])
            const { accounts, amount } = opened.get(id)!
            opened.delete(id)
            const reported = next() < 0.2 ? undefined : amountOf(50, 0.6)
            const used = { ...amount, ...reported }
            receipts.push({ accounts, used })
            const expected: Array<string> = []
            for (const name of accounts) {
              for (const measure of Budget.measures) {
                const limit = limits.get(name)![measure]
                if (limit === undefined || cents(used, measure) === 0) continue
                const over =
                  amount[measure] === undefined
                    ? settledAt(name, measure) + reservedAt(name, measure) > Math.round(limit * 100)
                    : cents(used, measure) > cents(amount, measure)
                if (over) expected.push(`${name} ${measure}`)
              }
            }
            const overruns = Budget.settle(ledger, { id, used: reported })
            assert.deepStrictEqual(
              overruns.map(({ account, measure }) => `${account} ${measure}`),
              expected
            )
            for (const { account } of overruns) closed.add(account)
            assert.deepStrictEqual(Budget.settle(ledger, { id, used: reported }), []) // B3
          } else if (roll < 0.95) {
            const name = pick(names)
            const by = amountOf(50, 0.5)
            Budget.raise(ledger, name, by)
            closed.delete(name)
            const limit: Writable<Budget.Amount> = { ...limits.get(name) }
            for (const measure of Budget.measures) {
              if (limit[measure] !== undefined) limit[measure] = (limit[measure] * 100 + cents(by, measure)) / 100
            }
            limits.set(name, limit)
          } else ledger = restart(ledger)

          for (const name of names) {
            const account = ledger.accounts.get(name)!
            assert.strictEqual(account.closed !== undefined, closed.has(name))
            for (const measure of Budget.measures) {
              assert.strictEqual(cents(account.settled, measure), settledAt(name, measure)) // B3
              assert.strictEqual(cents(account.reserved, measure), reservedAt(name, measure)) // B4
            }
          }
        }
        for (const id of opened.keys()) Budget.settle(ledger, { id })
        assert.strictEqual(ledger.reservations.size, 0)
        for (const { reserved } of ledger.accounts.values()) assert.deepStrictEqual(reserved, {}) // B4
      }
    )

    it("a copy lives a life of its own", () => {
      const ledger = Budget.make({ run: { tokens: 100 } })
      Budget.reserve(ledger, { id: "a", accounts: ["run"], amount: { tokens: 10 } })
      const before = snapshot(ledger)
      const other = Budget.copy(ledger)
      Budget.settle(other, { id: "a", used: { tokens: 50 } })
      Budget.raise(other, "run", { tokens: 5 })
      Budget.allot(other, "run", { steps: 1 })
      assert.strictEqual(snapshot(ledger), before)
    })
  })
})
