import type { Reporter, TestModule } from "vitest/node"

/** Prints the plain closing line that a CI reads: `N passed, N failed, N skipped`. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 }
    for (const module of modules) {
      const before = count.failed
      for (const test of module.children.allTests()) count[test.result().state] += 1
      // A file can fail where none of its tests does: it does not load, or does not compile.
      if (module.state() === "failed" && count.failed === before) count.failed += 1
    }
    process.stdout.write(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`)
  }
}
