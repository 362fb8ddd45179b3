/** Makes a failing case small: what can be left out without it starting to hold is left out. */
import type { Case, LeafSpec, Spec, Step, SupervisorSpec } from "./plan.ts"
import { smallest } from "./smallest.ts"

const without = <A>(list: ReadonlyArray<A>, at: number, count = 1): ReadonlyArray<A> =>
  list.filter((_, i) => i < at || i >= at + count)

/** What a case would be with less of its steps. */
function* fewerSteps(plan: Case): Generator<Case> {
  const { steps } = plan
  for (let size = steps.length; size >= 1; size = Math.floor(size / 2)) {
    for (let at = steps.length - size; at >= 0; at -= size) yield { ...plan, steps: without(steps, at, size) }
  }
  for (const [at, group] of steps.entries()) {
    if (group.length < 2) continue
    const put = (...groups: ReadonlyArray<ReadonlyArray<Step>>): Case => ({
      ...plan,
      steps: [...steps.slice(0, at), ...groups, ...steps.slice(at + 1)]
    })
    for (const i of group.keys()) yield put(without(group, i))
    yield put(...group.map((step) => [step]))
  }
}

const plainLeaf: Omit<LeafSpec, "id" | "kind"> = {
  restart: "always",
  shutdown: 5_000,
  initTimeout: 30_000,
  backoff: undefined,
  significant: false,
  inits: [{ how: "ready", after: 0 }],
  finalizers: [{ how: "done", after: 0 }],
  initError: "unmarked",
  directive: undefined,
  deaf: false,
  onRestart: "keep"
}

const plainSupervisor: Omit<SupervisorSpec, "id" | "kind" | "children" | "intensity" | "strategy"> = {
  restart: "always",
  shutdown: Number.POSITIVE_INFINITY,
  initTimeout: Number.POSITIVE_INFINITY,
  backoff: undefined,
  significant: false,
  autoShutdown: "never"
}

/** What one spec would be with less of it. */
function* simpler(spec: Spec): Generator<Spec> {
  if (spec.kind === "supervisor") {
    for (const at of spec.children.keys()) yield { ...spec, children: without(spec.children, at) }
    for (const [at, child] of spec.children.entries()) {
      for (const less of simpler(child)) {
        yield { ...spec, children: [...spec.children.slice(0, at), less, ...spec.children.slice(at + 1)] }
      }
    }
  } else {
    for (const at of spec.inits.keys()) if (spec.inits.length > 1) yield { ...spec, inits: without(spec.inits, at) }
  }
  const plain: object = spec.kind === "supervisor" ? plainSupervisor : plainLeaf
  for (const [name, value] of Object.entries(plain)) {
    if (JSON.stringify((spec as unknown as Record<string, unknown>)[name]) !== JSON.stringify(value)) {
      yield { ...spec, [name]: value }
    }
  }
}

function* smaller(plan: Case): Generator<Case> {
  yield* fewerSteps(plan)
  for (const root of simpler(plan.root)) yield { ...plan, root: root as SupervisorSpec }
  for (const [at, group] of plan.steps.entries()) {
    for (const [i, step] of group.entries()) {
      if (step.do !== "add") continue
      for (const child of simpler(step.child)) {
        const steps = plan.steps.map((each, a) =>
          a === at ? each.map((some, b) => (b === i ? { ...step, child } : some)) : each
        )
        yield { ...plan, steps }
      }
    }
  }
}

/** The smallest case that can be found in so many attempts and of which `fails` still holds. */
export const shrink = (plan: Case, fails: (plan: Case) => boolean, attempts = 5_000): Case =>
  smallest(plan, smaller, fails, attempts)

const show = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (part === Number.POSITIVE_INFINITY ? "Infinity" : part))
    .replaceAll(/"([\w-]+)"/g, "$1")
    .replaceAll(/([:,])/g, "$1 ")

const unlike = (spec: Spec, plain: object): string =>
  Object.entries(spec)
    .filter(([name, value]) => {
      if (name === "id" || name === "kind" || name === "children" || value === undefined) return false
      return show(value) !== show((plain as Record<string, unknown>)[name] ?? null)
    })
    .map(([name, value]) => ` ${name} ${show(value)}`)
    .join("")

const showSpec = (spec: Spec, indent: string): string =>
  spec.kind === "supervisor"
    ? [
        `${indent}${spec.id} supervisor${unlike(spec, plainSupervisor)}`,
        ...spec.children.map((child) => showSpec(child, `${indent}  `))
      ].join("\n")
    : `${indent}${spec.id} ${spec.kind}${unlike(spec, plainLeaf)}`

const showStep = (step: Step): string =>
  step.do === "add"
    ? `add to ${step.path}\n${showSpec(step.child, "      ")}`
    : Object.values(step).map(plainly).join(" ")

const plainly = (value: unknown): string => (typeof value === "object" ? show(value) : String(value))

/** A case as a person reads it. */
export const showCase = (plan: Case): string =>
  [
    showSpec(plan.root, "  "),
    ...plan.steps.map((group) => group.map((step, i) => `  ${i === 0 ? "-" : "&"} ${showStep(step)}`).join("\n")),
    `  - ${plan.ending}`
  ].join("\n")
