/** Performs a case on a living tree, and says what is wrong with it. */
import { Effect, Exit } from "effect"

import { Model } from "./model.ts"
import type { Case, Step } from "./plan.ts"
import { differ, pictureOf, Story } from "./story.ts"
import { isOver, Troupe } from "./troupe.ts"
import { Witness } from "./witness.ts"

/** What does not hold, or nothing. */
export const perform = (plan: Case): string | undefined => {
  const troupe = new Troupe(plan)
  const { machine } = troupe
  const model = new Model(plan)
  const witness = new Witness(plan.root)
  let seen = 0
  const trouble = (): string | undefined => {
    while (seen < troupe.events.length) witness.see(troupe.events[seen++]!)
    return witness.complaints[0] ?? troupe.complaints[0] ?? mismatch()
  }
  /** Where the tree and its model part. */
  const mismatch = (): string | undefined => {
    const told = Story.differ(troupe.story, model.story)
    if (told !== undefined) return told
    const at = troupe.replies.findIndex((reply, i) => reply !== model.replies[i])
    if (at >= 0) return `request ${at}: the tree answers ${troupe.replies[at]}, the model ${model.replies[at]}`
    if (troupe.tree === undefined) return undefined
    const seen = differ(pictureOf(Effect.runSync(troupe.tree.snapshot)), model.root.look())
    return seen === undefined ? undefined : `root${seen}`
  }
  const act = (step: Step): void => {
    if (step.do === "add") witness.know(step.child, `${step.path}/${step.child.id}`)
    if (step.do === "stop") witness.request(`${step.path}/${step.id}`)
    troupe.do(step)
    model.do(step)
  }

  const settle = (): void => {
    machine.settle()
    model.time.settle()
  }

  try {
    settle()
    for (const group of plan.steps) {
      for (const step of group) act(step)
      settle()
      const wrong = trouble()
      if (wrong !== undefined) return wrong
    }

    // The end of the tree.
    const { tree } = troupe
    const stopping = tree !== undefined && plan.ending === "stop" ? machine.fork(tree.stop) : undefined
    let leaksThen = 0
    if (stopping === undefined) troupe.close()
    else stopping.addObserver(() => (leaksThen = troupe.leaks))
    model.stop()
    settle()
    const ended = (): boolean => (stopping === undefined ? troupe.closed : stopping.pollUnsafe() !== undefined)
    while (!ended()) {
      if (machine.next === undefined) return "the tree does not end, and nothing is left to wait for"
      if (machine.now > 1e8) return "the tree does not end"
      model.time.advanceTo(machine.next)
      machine.advanceTo(machine.next)
    }
    const wrong = trouble()
    if (wrong !== undefined) return wrong
    const waiting = troupe.asks.filter((ask) => ask.pollUnsafe() === undefined).length
    if (waiting > 0) return `${waiting} asks are not answered when the tree has ended`
    const unanswered = troupe.replies.indexOf("waits")
    if (unanswered >= 0) return `request ${unanswered} is not answered when the tree has ended`
    const alive = troupe.lives.filter((life) => !isOver(life)).length
    if (alive !== witness.leaks) return `${alive} lives are not over, and ${witness.leaks} were told as leaked`
    if (stopping !== undefined) {
      const report = stopping.pollUnsafe()!
      const told = Exit.isSuccess(report) ? report.value.leaked.length : -1
      if (told !== leaksThen) return `the report names ${told} leaked, the events ${leaksThen}`
      troupe.close()
    }
    if (witness.leaks === 0 && machine.fibers > 0) return `${machine.fibers} fibers are left when the tree has ended`

    // What hung is let go; then nothing is left of the tree, not even a timer.
    troupe.letGo()
    machine.advanceTo(machine.now + 10_000)
    while (seen < troupe.events.length) witness.see(troupe.events[seen++]!)
    const [late] = witness.complaints
    if (late !== undefined) return late
    if (witness.leaks > 0) return `${witness.leaks} leaks have not ended`
    const held = troupe.lives.find((life) => !isOver(life) || life.held.length > 0)
    if (held !== undefined) return `${held.path} #${held.number} keeps ${held.held.join()}`
    if (machine.fibers > 0) return `${machine.fibers} fibers are left`
    if (machine.pending > 0) return `${machine.pending} timers are left`
    return undefined
  } catch (defect) {
    return defect instanceof Error ? (defect.stack ?? defect.message) : String(defect)
  }
}
