import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: { conditions: ["@espalier/source"] },
  ssr: { resolve: { conditions: ["@espalier/source"] } },
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    reporters: ["default", "./scripts/closing-line.ts"],
    testTimeout: 30_000,
    // Files of one worker share what they import, which costs more than the tests; none of it is state.
    isolate: false,
    // Half of what takes time waits for processes of its own.
    maxWorkers: 2
  }
})
