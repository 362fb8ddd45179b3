/**
 * How long something has waited.
 *
 * @since 0.1.0
 */

/**
 * A time that goes on and stands still.
 *
 * **Details**
 *
 * - `waited`: how long it has stood still, in milliseconds. `since`: since when it does. `because`: of how many reasons.
 */
export class Waiting {
  waited = 0
  private readonly because = new Set<string>()
  private since = 0
  private endedAt = 0

  begin(reason: string, at: number): void {
    if (this.because.size === 0) this.since = at
    this.because.add(reason)
  }

  end(reason: string, at: number): void {
    if (!this.because.delete(reason) || this.because.size > 0) return
    this.waited += Math.max(0, at - this.since)
    this.endedAt = at
  }

  /** Nobody worked in all that time: what stood still in it anyway is not counted twice. */
  lost(from: number, to: number): void {
    if (this.because.size === 0) this.waited += Math.max(0, to - Math.max(from, this.endedAt))
  }

  get isWaiting(): boolean {
    return this.because.size > 0
  }

  /** How long it has stood still at `at`. */
  at(at: number): number {
    return this.waited + (this.because.size === 0 ? 0 : Math.max(0, at - this.since))
  }
}
