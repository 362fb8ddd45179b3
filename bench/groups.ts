/** What is measured: groups of workloads, their metrics, the reference line, the peers, and the targets. */

/**
 * Who observes runs: the hook alone, spans for a tracer that keeps none, the same sent to a collector, metrics, logs for a logger that
 * writes none, and all of it together.
 */
export type Watcher = "nothing" | "spans" | "otlp" | "metrics" | "logs" | "all"

/** A figure of a workload. `target`: over the reference line, at most. `most`: in the unit of the metric, at most. */
export interface Metric {
  readonly workload: string
  /** Where the runs are kept, in workloads of durable runs. */
  readonly store?: string
  /** Who observes them, in workloads of runs that are observed. */
  readonly watcher?: Watcher
  readonly metric: string
  readonly unit: string
  readonly target?: number
  readonly most?: number
  readonly digits?: number
}

export type Peer = "js-direct" | "nact" | "xstate" | "otp" | "raw-grouped" | "langgraph" | "mastra" | "dbos"

export interface Group {
  /** The folder of the contenders. */
  readonly folder: string
  readonly reference: string
  /** How the ratio to the reference line is called in the file. */
  readonly ratio: "raw" | "limit"
  /** Whether what it costs more than the reference line is shown, too. */
  readonly added?: true
  readonly peers: ReadonlyArray<Peer>
  readonly metrics: ReadonlyArray<Metric>
}

/** The packages of peers whose name is not that of their package. */
export const packages: Readonly<Partial<Record<Peer, ReadonlyArray<string>>>> = {
  langgraph: [
    "@langchain/langgraph",
    "@langchain/langgraph-checkpoint-sqlite",
    "@langchain/langgraph-checkpoint-postgres"
  ],
  dbos: ["@dbos-inc/dbos-sdk"],
  mastra: ["@mastra/core", "@mastra/libsql"]
}

interface Targets {
  readonly task: number
  readonly fanOut?: number
  readonly openResume: number
}

const w6 = (store: string, { fanOut, openResume, task }: Targets): ReadonlyArray<Metric> =>
  (
    [
      { metric: "task", unit: "ms", target: task },
      { metric: "fan-out", unit: "ms", ...(fanOut === undefined ? {} : { target: fanOut }) },
      { metric: "at-once", unit: "ms" },
      { metric: "at-once-of-one", unit: "×", most: 0.2 },
      { metric: "statements", unit: "", most: 7, digits: 1 },
      { metric: "commits", unit: "", most: 4, digits: 1 },
      { metric: "disk", unit: "B", target: 1.4, digits: 0 },
      { metric: "import", unit: "ms", digits: 1 },
      { metric: "open", unit: "ms", digits: 1 },
      { metric: "resume", unit: "ms", digits: 1 },
      { metric: "open-resume", unit: "ms", most: openResume, digits: 1 },
      { metric: "resume-total", unit: "ms", most: 150, digits: 1 },
      { metric: "resume-10000", unit: "ms", most: 150, digits: 1 }
    ] as const
  ).map((metric) => ({ workload: "W6", store, ...metric }))

/** Bytes of a step with a payload. */
const bytes = (payload: number): number => payload * 1.05 + 400

const w7 = (store: string): ReadonlyArray<Metric> =>
  (
    [
      { metric: "step-10", unit: "µs", digits: 0 },
      { metric: "step-100", unit: "µs", target: 1.5, digits: 0 },
      { metric: "step-1000", unit: "µs", target: 1.5, digits: 0 },
      { metric: "step-2500", unit: "µs", target: 1.5, digits: 0 },
      { metric: "growth-1000", unit: "×", most: 1.2 },
      { metric: "growth-2500", unit: "×", most: 1.2 },
      { metric: "disk-1000", unit: "B", most: bytes(1_024), digits: 0 },
      { metric: "disk-2500", unit: "B", most: bytes(1_024), digits: 0 },
      { metric: "large-100", unit: "µs", target: 1.25, digits: 0 },
      { metric: "large-1000", unit: "µs", target: 1.25, digits: 0 },
      { metric: "large-growth-100", unit: "×", most: 1.2 },
      { metric: "large-growth-1000", unit: "×", most: 1.2 },
      { metric: "large-disk-1000", unit: "B", most: bytes(102_400), digits: 0 }
    ] as const
  ).map((metric) => ({ workload: "W7", store, ...metric }))

const w9 = (watcher: Watcher, more: ReadonlyArray<Omit<Metric, "workload" | "watcher">> = []): ReadonlyArray<Metric> =>
  [{ metric: "dispatch", unit: "µs" }, { metric: "fan-out", unit: "µs" }, ...more].map((metric) => ({
    workload: "W9",
    watcher,
    ...metric
  }))

export const groups: Readonly<Record<string, Group>> = {
  tree: {
    folder: "",
    reference: "effect-raw",
    ratio: "raw",
    peers: ["nact", "xstate", "otp"],
    metrics: [
      { workload: "W1", metric: "start", unit: "µs", target: 0.5 },
      { workload: "W1", metric: "stop", unit: "µs", target: 0.5 },
      { workload: "W1", metric: "heap", unit: "B", target: 0.4 },
      { workload: "W2", metric: "tell-plain", unit: "ns", target: 0.35 },
      { workload: "W2", metric: "tell-effect", unit: "ns", target: 0.65 },
      { workload: "W2", metric: "fan-in-plain", unit: "ns", target: 0.35 },
      { workload: "W2", metric: "fan-in-effect", unit: "ns", target: 0.65 },
      { workload: "W3", metric: "ask", unit: "µs", target: 0.35 },
      { workload: "W3", metric: "ask-p50", unit: "µs", target: 0.35 },
      { workload: "W3", metric: "ask-effect", unit: "µs" },
      { workload: "W3", metric: "ask-100", unit: "µs", target: 0.25 },
      { workload: "W3", metric: "ask-100-effect", unit: "µs" },
      { workload: "W4", metric: "restart", unit: "µs", target: 0.5 },
      { workload: "W4", metric: "restart-among-1000", unit: "µs", target: 0.5 },
      { workload: "W4", metric: "restart-depth-50", unit: "µs", target: 0.5 },
      { workload: "W4", metric: "all-100", unit: "µs", target: 0.15 }
    ]
  },
  runs: {
    folder: "",
    reference: "effect-raw",
    ratio: "raw",
    peers: ["js-direct", "nact", "otp"],
    metrics: [
      { workload: "W5", metric: "dispatch", unit: "µs", target: 0.4 },
      { workload: "W5", metric: "dispatch-spans", unit: "µs", target: 0.7 },
      { workload: "W5", metric: "fan-out", unit: "µs", target: 0.4 }
    ]
  },
  journal: {
    folder: "durable/",
    reference: "raw",
    ratio: "limit",
    peers: ["raw-grouped", "langgraph", "mastra", "dbos"],
    metrics: [
      ...w6("full", { task: 1.25, fanOut: 0.25, openResume: 10 }),
      ...w6("normal", { task: 1.5, openResume: 10 }),
      ...w6("postgres", { task: 1.25, fanOut: 1, openResume: 30 }),
      ...w7("full"),
      ...w7("normal"),
      ...w7("postgres")
    ]
  },
  agents: {
    folder: "agents/",
    reference: "raw",
    ratio: "raw",
    peers: [],
    metrics: [
      { workload: "W8", metric: "turn", unit: "µs", digits: 0 },
      { workload: "W8", metric: "turn-normal", unit: "µs", digits: 0 },
      { workload: "W8", metric: "heap", unit: "B", digits: 0 },
      { workload: "W8", metric: "estimate", unit: "µs", digits: 0 },
      { workload: "W8", metric: "fit", unit: "µs", digits: 0 },
      { workload: "W8", metric: "check", unit: "µs", digits: 0 }
    ]
  },
  observe: {
    folder: "observe/",
    reference: "raw",
    ratio: "raw",
    added: true,
    peers: [],
    metrics: [
      ...w9("nothing"),
      ...w9("spans", [{ metric: "spans", unit: "", digits: 1 }]),
      ...w9("otlp", [{ metric: "dropped", unit: "", digits: 1 }]),
      ...w9("metrics"),
      ...w9("logs"),
      ...w9("all", [{ metric: "dropped", unit: "", digits: 1 }]),
      { workload: "W10", metric: "fold-500", unit: "µs" },
      { workload: "W10", metric: "fold-2000", unit: "µs" },
      { workload: "W10", metric: "fold-growth", unit: "×" },
      { workload: "W11", metric: "span", unit: "µs" },
      { workload: "W11", metric: "span-bare", unit: "µs" }
    ]
  }
}
