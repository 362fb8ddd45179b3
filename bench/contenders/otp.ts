/** Erlang/OTP, where it is installed: the workloads are Erlang, compiled into a temporary folder and run once a sample. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import type { Contender } from "../util.ts"

const source = fileURLToPath(new URL("./otp/workloads.erl", import.meta.url))

const run =
  (workload: string) =>
  async (scale: number): Promise<Record<string, number>> => {
    const folder = mkdtempSync(join(tmpdir(), "otp-"))
    try {
      execFileSync("erlc", ["-o", folder, source], { stdio: ["ignore", "ignore", "inherit"] })
      const start = `workloads:main("${workload}", ${scale.toFixed(6)}).`
      return JSON.parse(execFileSync("erl", ["-noshell", "-pa", folder, "-eval", start], { encoding: "utf8" }))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

export const contender: Contender = { W1: run("W1"), W2: run("W2"), W3: run("W3"), W4: run("W4"), W5: run("W5") }
