import { fileURLToPath } from "node:url"

import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: { conditions: ["@espalier/source"] },
  ssr: { resolve: { conditions: ["@espalier/source"] } },
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    reporters: ["default", "./scripts/closing-line.ts"],
    testTimeout: 30_000,
    // Half of what a process of a test does is to compile what the one before has compiled.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/espalier-tests", import.meta.url)) },
    // Files of one worker share what they import, which costs more than the tests; none of it is state.
    isolate: false,
    // Half of what takes time waits for processes of its own.
    maxWorkers: 2
  }
})
