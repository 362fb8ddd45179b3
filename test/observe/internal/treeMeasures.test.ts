import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration } from "effect"
import { Failure, type Tree } from "espalier"

import { TreeMeasures } from "../../../src/observe/internal/treeMeasures.ts"
import { treeSamples } from "../../../src/observe/internal/treeSamples.ts"

const node = (path: string, fields: Partial<Tree.Snapshot> = {}): Tree.Snapshot => {
  const ids = path.split("/")
  return {
    id: ids.at(-1)!,
    path: ids,
    kind: "worker",
    state: "running",
    restart: "always",
    incarnation: 1,
    restarts: 0,
    leaked: 0,
    children: [],
    ...fields
  }
}

const pool = (...children: ReadonlyArray<Tree.Snapshot>) =>
  node("root", { kind: "supervisor", children: [node("root/pool", { kind: "supervisor", children })] })

const one = (id: string) => node(`root/pool/${id}`, { instance: true, kind: "actor", since: 0 })

const event = (path: string, at: number, body: object): Tree.Event =>
  ({ path: path.split("/"), at, ...body }) as unknown as Tree.Event

const exited = (path: string, at: number, reason: Tree.ExitReason) =>
  event(path, at, { _tag: "Exited", incarnation: 1, reason, ordered: false })

const error = (cause: Cause.Cause<unknown>): Tree.ExitReason => ({ _tag: "Error", cause })

describe("TreeMeasures", () => {
  it("R-502 forgets what is removed: children that come and go need no more memory than there are", () => {
    const gone: ReadonlyArray<string> = []
    const measures = new TreeMeasures(pool(), (path) => (gone.includes(path.join("/")) ? undefined : one(path.at(-1)!)))
    for (let n = 0; n < 1000; n++) {
      measures.happened(event(`root/pool/n${n}`, n, { _tag: "Started", incarnation: 1 }))
      assert.isAtMost(measures.size, 3)
      measures.happened(event(`root/pool/n${n}`, n, { _tag: "Removed" }))
    }
    assert.strictEqual(measures.size, 2)
  })

  it("R-502 forgets what came at run time when its supervisor ends", () => {
    const measures = new TreeMeasures(pool(one("a"), one("b")), () => undefined)
    assert.strictEqual(measures.size, 4)
    measures.happened(exited("root/pool", 5, error(Cause.die("x"))))
    assert.strictEqual(measures.size, 2)
  })

  it("R-502 tells of the first of a kind and of the last, and of none between", () => {
    const measures = new TreeMeasures(pool(), (path) => one(path.at(-1)!))
    const changes = (...events: ReadonlyArray<Tree.Event>) => {
      for (const each of events) measures.happened(each)
      return measures.takeChanged()
    }
    const starting = (id: string) => event(`root/pool/${id}`, 1, { _tag: "Starting", incarnation: 1 })
    const removed = (id: string) => event(`root/pool/${id}`, 1, { _tag: "Removed" })
    assert.isFalse(changes())
    assert.isTrue(changes(starting("a")))
    assert.isFalse(changes(starting("b"), starting("c"), removed("a"), removed("b")))
    assert.isTrue(changes(removed("c")))
    // Of what was not known it is not known either what it leaves behind.
    assert.isTrue(changes(removed("d")))
    assert.isTrue(changes(starting("e"), exited("root/pool", 2, { _tag: "Normal" })))
  })

  it("R-502 a lifetime is from when a child became ready to its end, and unknown to whoever came late", () => {
    const measures = new TreeMeasures(pool(one("a")), () => node("root/pool/a", { since: 90_000 }))
    const lives = (at: number, reason: Tree.ExitReason = { _tag: "Normal" }) =>
      measures
        .happened(exited("root/pool/a", at, reason))
        .map(({ attributes, value }) => [value, ...Object.values(attributes)])
    assert.deepStrictEqual(lives(4000), [[4, "actor", "normal"]])
    assert.deepStrictEqual(lives(5000), [])
    measures.happened(event("root/pool/a", 9000, { _tag: "Started", incarnation: 2 }))
    assert.deepStrictEqual(lives(9500, { _tag: "Killed", cause: Cause.interrupt() }), [[0.5, "actor", "killed"]])
  })

  it.each([
    ["crash", error(Cause.die("bug"))],
    ["denied", error(Cause.fail(Failure.denied("no")))],
    ["transient", error(Cause.fail(Failure.transient("slow")))],
    ["_OTHER", error(Cause.fail("something that may say anything"))],
    ["restart_intensity", { _tag: "GaveUp", path: ["root"], cause: Cause.die("x") }],
    ["cancelled", { _tag: "Killed", cause: Cause.interrupt() }]
  ] as ReadonlyArray<readonly [string, Tree.ExitReason]>)(
    "R-502 a restart says that it was for a %s",
    (type, reason) => {
      const measures = new TreeMeasures(pool(one("a")), () => undefined)
      measures.happened(exited("root/pool/a", 1, reason))
      const [restart] = measures.happened(
        event("root/pool/a", 1, { _tag: "Restarting", left: 2, strategy: "rest-for-one" })
      )
      assert.deepStrictEqual(restart?.attributes, {
        "espalier.supervisor": "root/pool",
        "espalier.node.kind": "actor",
        "espalier.supervisor.strategy": "rest_for_one",
        "error.type": type
      })
    }
  )

  it("R-502 a letter to one that is gone is counted under its supervisor, not under its id", () => {
    const measures = new TreeMeasures(pool(), () => undefined)
    const [dead] = measures.happened(
      event("root/pool/n17", 1, { _tag: "DeadLetter", message: "Note", reason: "stopped" })
    )
    assert.deepStrictEqual(Object.values(dead?.attributes ?? {}), ["root/pool/*", "stopped"])
  })

  it("R-502 what a slow reader has missed is counted", () => {
    const measures = new TreeMeasures(pool(), () => undefined)
    const [missed] = measures.happened(event("root", 1, { _tag: "Missed", count: 7 }))
    assert.deepStrictEqual([missed?.metric, missed?.value], ["espalier.telemetry.dropped", 7])
  })
})

describe("treeSamples", () => {
  it("R-502 instances are put together by kind: mail as the most and the sum, children as a count", () => {
    const mailbox = (id: string, depth: number) => ({ ...one(id), mailbox: depth, capacity: 10 })
    const intensity = { restarts: 3, within: Duration.seconds(5), left: 1 }
    const samples = treeSamples({ ...pool(mailbox("a", 2), mailbox("b", 5)), intensity })
    const of = (metric: string) =>
      samples
        .filter((each) => each.metric === metric)
        .map(({ attributes, value }) => [...Object.values(attributes), value])
    assert.deepStrictEqual(of("espalier.mailbox.usage"), [
      ["root/pool/*", "max", 5],
      ["root/pool/*", "sum", 7]
    ])
    assert.deepStrictEqual(of("espalier.mailbox.limit"), [
      ["root/pool/*", "max", 10],
      ["root/pool/*", "sum", 20]
    ])
    assert.deepStrictEqual(of("espalier.supervisor.restart.usage"), [["root", 2]])
    assert.deepInclude(of("espalier.supervisor.child.count"), ["root/pool", "running", 2])
    assert.deepInclude(of("espalier.supervisor.child.count"), ["root/pool", "gave_up", 0])
  })
})
