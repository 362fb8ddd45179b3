import { describe, expect, it } from "vitest"

import { commitsIn, makeConversation, makeReader } from "../../bench/durable/counting.ts"
import { makeTexts } from "../../bench/durable/engine.ts"
import type { Group, Metric } from "../../bench/groups.ts"
import { figuresOf, headOf, lineOf, recordOf, targetOf } from "../../bench/report.ts"

const metric: Metric = { workload: "W6", store: "full", metric: "task", unit: "ms", target: 1.25 }
const rounds = [
  { raw: { task: 2 }, espalier: { task: 2 }, peer: { task: 20 } },
  { raw: { task: 4 }, espalier: { task: 6 }, peer: {} },
  { raw: { task: 1 }, espalier: { task: 3 }, peer: { task: 10 } }
]
const group: Group = { folder: "durable/", reference: "raw", ratio: "limit", peers: ["dbos"], metrics: [metric] }

describe("figures of a metric", () => {
  it("ratios are those inside a repetition, not of the medians", () => {
    const { cost, ratio } = figuresOf(rounds, "task", "raw").get("espalier")!
    expect(cost).toEqual({ median: 3, min: 2, max: 6 })
    expect(ratio).toEqual({ median: 1.5, min: 1, max: 3 })
  })

  it("what is added is the difference inside a repetition, also where it is none", () => {
    const { added } = figuresOf(rounds, "task", "raw").get("espalier")!
    expect(added).toEqual({ median: 2, min: 0, max: 2 })
  })

  it("who misses a repetition has no figures", () => {
    expect([...figuresOf(rounds, "task", "raw").keys()]).toEqual(["raw", "espalier"])
  })

  it("a contender that stands alone has costs and no ratio", () => {
    const { added, cost, ratio } = figuresOf([{ raw: {}, espalier: { task: 3 } }], "task", "raw").get("espalier")!
    expect([cost.median, ratio, added]).toEqual([3, undefined, undefined])
  })

  it("the record of the file names the ratio as the group does", () => {
    const figure = figuresOf(rounds, "task", "raw").get("espalier")!
    expect(recordOf(metric, "espalier", figure, group)).toEqual({
      workload: "W6",
      store: "full",
      contender: "espalier",
      metric: "task",
      unit: "ms",
      median: 3,
      min: 2,
      max: 6,
      ratio: { limit: 1.5 }
    })
  })

  it("the record of what is observed has who observes it, and what that adds", () => {
    const figure = figuresOf(rounds, "task", "raw").get("espalier")!
    const watched: Metric = { workload: "W9", watcher: "spans", metric: "task", unit: "ms" }
    expect(recordOf(watched, "espalier", figure, { ...group, added: true })).toMatchObject({
      watcher: "spans",
      added: 2
    })
    expect(recordOf(watched, "espalier", figure, group)).not.toHaveProperty("added")
  })
})

describe("the table", () => {
  const figures = figuresOf(rounds, "task", "raw")

  it("a line has a cell for each column, an empty one for who did not take part", () => {
    const line = lineOf(metric, figures, group, ["peer"], true)!
    expect(line).toEqual([
      "W6 full",
      "task",
      "ms",
      "2.00 [1.00-4.00]",
      "3.00 [2.00-6.00]",
      "1.50 [1.00-3.00]",
      "≤ 1.25 × !",
      ""
    ])
    expect(lineOf(metric, figures, group, [], false)).toContain("≤ 1.25 ×")
    expect(line).toHaveLength(headOf(group, ["peer"]).length)
  })

  it("a group that shows what is added has a column of it", () => {
    const adding: Group = { ...group, added: true }
    const watched: Metric = { workload: "W9", watcher: "spans", metric: "task", unit: "ms", digits: 1 }
    const line = lineOf(watched, figures, adding, ["peer"], true)!
    expect(line).toEqual([
      "W9 spans",
      "task",
      "ms",
      "2.0 [1.0-4.0]",
      "3.0 [2.0-6.0]",
      "1.50 [1.00-3.00]",
      "2.0 [0.0-2.0]",
      "",
      ""
    ])
    expect(line).toHaveLength(headOf(adding, ["peer"]).length)
  })

  it("a metric that nobody has figures of has no line", () => {
    expect(lineOf(metric, new Map(), group, [], true)).toBeUndefined()
  })

  it("a target is over the limit or in the unit of the metric, and marked when it is missed", () => {
    const ours = figures.get("espalier")
    const absolute = { workload: "W6", metric: "open-resume", unit: "ms" }
    expect(targetOf({ ...metric, target: 1.5 }, ours)).toBe("≤ 1.5 ×")
    expect(targetOf({ ...metric, target: 1.4 }, ours)).toBe("≤ 1.4 × !")
    expect(targetOf({ ...absolute, most: 3 }, ours)).toBe("≤ 3 ms")
    expect(targetOf({ ...absolute, most: 2 }, ours)).toBe("≤ 2 ms !")
    expect(targetOf(absolute, ours)).toBe("")
  })
})

describe("what is counted", () => {
  /** A write-ahead log of 512-byte pages: for each frame its salt, and how large the database is after it. */
  const logOf = (frames: ReadonlyArray<{ readonly salt: number; readonly size: number }>): Uint8Array => {
    const log = new Uint8Array(32 + frames.length * 536)
    const view = new DataView(log.buffer)
    view.setUint32(8, 512)
    view.setUint32(16, 7)
    frames.forEach(({ salt, size }, i) => {
      view.setUint32(32 + i * 536 + 4, size)
      view.setUint32(32 + i * 536 + 8, salt)
    })
    return log
  }

  it("commits are the frames that end one, up to the remains of an older log", () => {
    const current = [0, 3, 0, 0, 5].map((size) => ({ salt: 7, size }))
    expect(commitsIn(logOf([...current, { salt: 6, size: 9 }]))).toBe(2)
    expect(commitsIn(new Uint8Array(0))).toBe(0)
  })

  it("messages of a server are read however they are cut", () => {
    const bytes = Uint8Array.from([67, 0, 0, 0, 6, 79, 75, 90, 0, 0, 0, 5, 73])
    for (let cut = 0; cut <= bytes.length; cut++) {
      const seen: Array<string> = []
      const read = makeReader((type, body) => seen.push(`${type} ${String.fromCharCode(...body)}`))
      read(bytes.subarray(0, cut))
      read(bytes.subarray(cut))
      expect(seen).toEqual(["C OK", "Z I"])
    }
  })

  it("a transaction that was to change something is a commit, also one that ends in a selection", () => {
    const message = (type: string, ...body: ReadonlyArray<string>): Uint8Array => {
      const bytes = new TextEncoder().encode(`${type}....${body.join("")}`)
      new DataView(bytes.buffer).setUint32(1, bytes.length - 1)
      return bytes
    }
    const counted = { statements: 0, commits: 0 }
    const { fromClient, fromServer } = makeConversation(counted)
    fromClient(Uint8Array.from([0, 0, 0, 8, 0, 3, 0, 0]))
    fromServer(message("Z", "I")) // the connection is ready: nobody had asked for anything
    fromClient(message("P", "w\0", "WITH a AS (INSERT INTO t VALUES ($1)) SELECT 1\0"))
    for (let i = 0; i < 2; i++) {
      fromClient(message("B", "\0", "w\0"))
      fromClient(message("S"))
    }
    for (let i = 0; i < 2; i++) {
      fromServer(message("C", "SELECT 1\0"))
      fromServer(message("Z", "I"))
    }
    expect(counted).toEqual({ statements: 2, commits: 2 })
    for (const [text, status] of [
      ["BEGIN", "T"],
      ["update t set a = 1", "T"],
      ["COMMIT", "I"],
      ["SELECT updated FROM t", "I"]
    ] as const) {
      fromClient(message("Q", `${text}\0`))
      fromServer(message("C", `${text}\0`))
      fromServer(message("Z", status))
    }
    expect(counted).toEqual({ statements: 6, commits: 3 })
  })

  it("answers of workers have the bytes that are asked for, and no two are the same", () => {
    const text = makeTexts(1_024)
    const texts = Array.from({ length: 70_000 }, text)
    expect(new Set(texts).size).toBe(texts.length)
    expect(new Set(texts.map(({ length }) => length))).toEqual(new Set([1_024]))
  })
})
