/**
 * What the compiler must say about graphs and peers. Nothing here runs: the compiler is the test, and an expected error
 * that does not come is an error.
 */
import { Effect, type Schema } from "effect"
import { type Coordinator, Graph, Plan, Router, Swarm } from "espalier/run"
import { test } from "vitest"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : ["types differ", A, B]): void => {}
/** The type of a value that is never made. */
declare const of: <A>() => A

interface Model {
  readonly model: unique symbol
}

const draft = {
  worker: "docs.draft",
  objective: "Draft",
  outcomes: ["drafted"],
  outcome: () => "drafted" as const
} as const

const check = {
  worker: "docs.check",
  objective: "Check",
  outcomes: ["fine", "wrong"],
  outcome: (output: Schema.Json) => (output === true ? "fine" : "wrong")
} as const

test("R-205 a graph with an edge for every outcome compiles, and its nodes are written in place", () => {
  const graph = () =>
    Graph.make({
      start: "draft",
      nodes: {
        draft: { worker: "docs.draft", objective: "Draft", outcomes: ["drafted"], outcome: () => "drafted" },
        check: {
          worker: "docs.check",
          objective: "Check",
          outcomes: ["fine", "wrong"],
          outcome: (output) => (output === true ? "fine" : "wrong"),
          input: (accepted) => ({ text: accepted["draft"] })
        }
      },
      edges: {
        draft: { drafted: ["check", "draft"], failed: "finish" },
        check: { fine: "finish", wrong: "draft" }
      },
      result: "draft"
    })
  same<ReturnType<typeof graph>, Graph.Graph<unknown, never>>()
})

test("R-205 a missing or unknown outcome, target, node, start or result does not compile", () => {
  const nodes = { draft, check }
  const edges = { draft: { drafted: "check" }, check: { fine: "finish", wrong: "draft" } } as const
  Graph.make({ start: "draft", nodes, edges })
  // @ts-expect-error -- an outcome without an edge
  Graph.make({ start: "draft", nodes, edges: { draft: { drafted: "check" }, check: { fine: "finish" } } })
  // @ts-expect-error -- a node without edges
  Graph.make({ start: "draft", nodes, edges: { draft: { drafted: "check" } } })
  Graph.make({
    start: "draft",
    nodes,
    // @ts-expect-error -- an edge for an outcome that is not declared
    edges: { draft: { drafted: "check", late: "finish" }, check: { fine: "finish", wrong: "draft" } }
  })
  Graph.make({
    start: "draft",
    nodes,
    // @ts-expect-error -- a target that is no node
    edges: { draft: { drafted: "cheque" }, check: { fine: "finish", wrong: "draft" } }
  })
  Graph.make({
    start: "draft",
    nodes,
    // @ts-expect-error -- one of several targets that is no node
    edges: { draft: { drafted: ["check", "cheque"] }, check: { fine: "finish", wrong: "draft" } }
  })
  Graph.make({
    start: "draft",
    nodes,
    // @ts-expect-error -- the end is not a branch beside others
    edges: { draft: { drafted: ["check", "finish"] }, check: { fine: "finish", wrong: "draft" } }
  })
  // @ts-expect-error -- a start that is no node
  Graph.make({ start: "begin", nodes, edges })
  // @ts-expect-error -- a result that is no node
  Graph.make({ start: "draft", nodes, edges, result: "end" })
})

test("R-205 a node only comes out as it declares", () => {
  Graph.make({
    start: "check",
    nodes: {
      check: {
        worker: "docs.check",
        objective: "Check",
        outcomes: ["fine", "wrong"],
        // @ts-expect-error -- an outcome that is not declared
        outcome: (output) => (output === true ? "fine" : "bad")
      }
    },
    edges: { check: { fine: "finish", wrong: "check" } }
  })
})

test("R-205 what a node's own coordinator needs, and what the graph begins with, is inferred", () => {
  const inner = of<Coordinator.Coordinator<never, Model>>()
  const graph = () =>
    Graph.make({
      start: "all",
      nodes: {
        all: {
          by: inner,
          objective: "All",
          outcomes: ["done"],
          outcome: () => "done",
          input: (_: Coordinator.Accepted, input: number) => ({ input })
        }
      },
      edges: { all: { done: "finish" } }
    })
  same<Coordinator.Requires<ReturnType<typeof graph>>, Model>()
  // Nodes that were annotated keep what they begin with and need, too.
  const annotated = () =>
    Graph.make({
      start: "a",
      nodes: { a: of<Graph.Node<{ a: 1 }, Model, "ok">>(), b: of<Graph.Node<{ b: 2 }, never, "ok">>() },
      edges: { a: { ok: "b" }, b: { ok: "finish" } }
    })
  same<ReturnType<typeof annotated>, Graph.Graph<{ a: 1 } & { b: 2 }, Model>>()
  same<ReturnType<typeof graph> extends Graph.Graph<infer Input, never | Model> ? Input : never, number>()
})

test("R-205 a peer hands over to a peer or is done", () => {
  const peer = { worker: "d.one", objective: "One" }
  Swarm.make({
    start: "one",
    peers: { one: { ...peer, handOver: () => "two" }, two: { ...peer, handOver: () => "done" } }
  })
  Swarm.make({
    start: "one",
    peers: {
      // @ts-expect-error -- a peer that is not in the group
      one: { ...peer, handOver: () => "three" },
      two: { ...peer, handOver: () => "done" }
    }
  })
  // @ts-expect-error -- a start that is no peer
  Swarm.make({ start: "three", peers: { one: { ...peer, handOver: () => "done" } } })
})

test("R-204 a router's fallback is one of its tasks or a review, and its needs are those of who chooses", () => {
  const tasks = [
    { id: "one", worker: "d.one", objective: "One" },
    { id: "two", worker: "d.two", objective: "Two" }
  ] as const
  const choose = () => of<Effect.Effect<string, "offline", Model>>()
  const router = () => Router.make({ tasks, choose, fallback: "two" })
  same<Coordinator.Requires<ReturnType<typeof router>>, Model>()
  Router.make({ tasks, choose: () => Effect.succeed("one"), fallback: "review" })
  // @ts-expect-error -- a fallback that is not one of the tasks
  Router.make({ tasks, choose: () => Effect.succeed("one"), fallback: "three" })
  Plan.make([
    {
      id: "routed",
      by: Router.make({ tasks, choose: () => Effect.succeed("one"), fallback: "one" }),
      objective: "Routed"
    }
  ])
})
