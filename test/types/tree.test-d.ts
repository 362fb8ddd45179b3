/**
 * What the compiler must say about trees. Nothing here runs: the compiler is the test, and an expected error
 * that does not come is an error.
 */
import { Effect, type Layer, Schedule, type Scope } from "effect"
import { Child, Supervisor, type Tree } from "espalier"
import { test } from "vitest"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : ["types differ", A, B]): void => {}

interface Disk {
  readonly disk: unique symbol
}
interface Net {
  readonly net: unique symbol
}
declare const openDisk: Effect.Effect<void, "no disk", Disk>
declare const useNet: Effect.Effect<void, "no net", Net>
declare const inScope: Effect.Effect<void, never, Scope.Scope>

declare const some: ReadonlyArray<Child.Any>
declare const handle: Tree.Handle

test("R-113 what trees provide, need and fail with is inferred over any depth", () => {
  // A child needs what both of its phases need, without the scope that it has; it can fail as its init can.
  const both = Child.make("both", Effect.as(Effect.andThen(inScope, openDisk), useNet), {
    onFailure: (error) => {
      same<typeof error, "no disk" | "no net">()
      return "restart"
    },
    backoff: Schedule.spaced("1 second")
  })
  same<typeof both, Child.Child<never, "no disk", Disk | Net>>()
  same<Child.Requires<typeof both>, Disk | Net>()

  // A child of one phase fails in no start, and a child whose init only fails needs nothing of a run phase.
  const one = Child.effect("one", useNet)
  same<typeof one, Child.Child<never, never, Net>>()
  const never = Child.make("never", Effect.fail("no" as const))
  same<typeof never, Child.Child<never, "no", never>>()

  // Trees add their children up, over any depth; what is not met is asked of whoever runs the tree.
  const inner = Supervisor.make("inner", { children: [both, one] })
  const root = Supervisor.make("root", { children: [inner, never] })
  same<typeof root, Supervisor.Supervisor<never, "no disk" | "no", Disk | Net>>()
  const run = Supervisor.run(root)
  same<typeof run, Effect.Effect<void, Supervisor.StartFailure<"no disk" | "no"> | Supervisor.GaveUp, Disk | Net>>()
  const layer = Supervisor.layer(root)
  same<typeof layer, Layer.Layer<Tree.Tree, Supervisor.StartFailure<"no disk" | "no">, Disk | Net>>()

  // @ts-expect-error a missing requirement does not run
  void Effect.runPromise(run)

  // A list of children of unknown needs keeps its unknown needs.
  const loose = Supervisor.make("loose", { children: some })
  same<Child.Requires<typeof loose>, unknown>()

  // @ts-expect-error a strategy is one of three
  Supervisor.make("root", { children: [], strategy: "one_for_one" })
  // @ts-expect-error an effect of one phase is no init
  Child.make("one-phase", Effect.void)
  // @ts-expect-error an init with a run phase is no effect of one phase
  Child.effect("two-phases", Effect.succeed(Effect.void))
  // @ts-expect-error a directive is one of three
  Child.effect("directive", useNet, { onFailure: () => "ignore" })
  // @ts-expect-error onFailure takes the child's own errors
  Child.effect("errors", useNet, { onFailure: (error: number) => (error > 1 ? "stop" : "restart") })
})

test("R-111 what is added or exchanged at run time brings its needs along, and ids are strings", () => {
  const child = Child.make("child", Effect.as(openDisk, useNet))
  const replaced = handle.replaceChild(child)
  same<typeof replaced, Effect.Effect<void, Tree.ChildRefused, Disk | Net>>()
  const added = handle.startChild(child)
  same<
    typeof added,
    Effect.Effect<Tree.StartedChild<never>, Supervisor.StartFailure<"no disk"> | Tree.ChildRefused, Disk | Net>
  >()
  // @ts-expect-error a child is named by its id, not by its spec
  void handle.stopChild(child)
  // @ts-expect-error an auto-shutdown is one of three
  Supervisor.make("root", { children: [], autoShutdown: "any" })
})
