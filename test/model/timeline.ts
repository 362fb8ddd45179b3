/** Time and order as plain data: what runs next, and what runs when the clock is moved. */

interface Timer {
  readonly due: number
  readonly run: () => void
}

export class Timeline {
  /** milliseconds since the beginning */
  now = 0
  private tasks: Array<() => void> = []
  /** by time; among equals, by age */
  private readonly timers: Array<Timer> = []

  /** Runs `run` after everybody who waits for a turn. */
  soon(run: () => void): void {
    this.tasks.push(run)
  }

  /** Runs `run` when the clock has moved so far, never for an infinite time; returns how to call it off. */
  later(millis: number, run: () => void): () => void {
    if (millis === Number.POSITIVE_INFINITY) return () => {}
    const timer: Timer = { due: this.now + Math.max(0, millis), run }
    let at = this.timers.length
    while (at > 0 && this.timers[at - 1]!.due > timer.due) at -= 1
    this.timers.splice(at, 0, timer)
    return () => {
      const left = this.timers.indexOf(timer)
      if (left >= 0) this.timers.splice(left, 1)
    }
  }

  /** How many timers are set. */
  get pending(): number {
    return this.timers.length
  }

  /** When the next timer is due. */
  get next(): number | undefined {
    return this.timers[0]?.due
  }

  /** Runs what can run without time passing. */
  settle(): void {
    for (let turns = 0; this.tasks.length > 0; turns++) {
      if (turns > 100_000) throw new Error("it never comes to rest")
      this.tasks.shift()!()
    }
  }

  /** Moves the clock; what is due on the way runs at its time, one after the other. */
  advanceTo(time: number): void {
    this.settle()
    for (let next = this.next; next !== undefined && next <= time; next = this.next) {
      this.now = next
      this.timers.shift()!.run()
      this.settle()
    }
    this.now = Math.max(this.now, time)
  }
}
