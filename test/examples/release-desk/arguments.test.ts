import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import * as Arguments from "../../../examples/release-desk/arguments.ts"

const parsed = (...argv: ReadonlyArray<string>) => Result.getOrThrow(Arguments.parse(argv))

const refused = (...argv: ReadonlyArray<string>) => {
  const result = Arguments.parse(argv)
  if (Result.isSuccess(result)) throw new Error(`accepted: ${JSON.stringify(result.success)}`)
  assert.instanceOf(result.failure, Arguments.ArgumentError)
  assert.notInclude(result.failure.message, "\n")
  return result.failure
}

describe("arguments", () => {
  describe("parse", () => {
    it("takes this folder, a failing severity of high and no fault when nothing is said", () => {
      assert.deepStrictEqual(parsed(), {
        path: ".",
        out: undefined,
        faults: [],
        resume: undefined,
        json: false,
        failOn: "high",
        runChecks: false,
        help: false
      })
    })

    it("reads flags in both forms, before and after the path", () => {
      const args = parsed("--out=a", "repository", "--fail-on", "low", "--json", "--run-checks")
      assert.deepInclude(args, { path: "repository", out: "a", failOn: "low", json: true, runChecks: true })
      assert.deepInclude(parsed("--out", "b", "--fail-on=never"), { out: "b", failOn: "never" })
    })

    it("keeps everything after a value's first equals sign, and a value with a dash in the attached form", () => {
      assert.strictEqual(parsed("--out=a=b").out, "a=b")
      assert.strictEqual(parsed("--out=--json").out, "--json")
    })

    it("takes what follows a double dash for the path, whatever it looks like", () => {
      assert.strictEqual(parsed("--", "--json").path, "--json")
      assert.strictEqual(parsed("--json", "--", "--help").path, "--help")
      assert.strictEqual(refused("--", "a", "b").argument, "PATH")
    })

    it("lets --help win over mistakes", () => {
      assert.isTrue(parsed("--nonsense", "--help").help)
      assert.isTrue(parsed("-h").help)
    })

    it("reads a fault for the first calls, for every call, and of a whole domain", () => {
      assert.deepStrictEqual(parsed("--fault", "code.size=crash@2", "--fault=docs.links=hang").faults, [
        { worker: "code.size", kind: "crash", calls: 2 },
        { worker: "docs.links", kind: "hang", calls: undefined }
      ])
      assert.deepStrictEqual(
        parsed("--fault", "code=crash").faults.map(({ worker }) => worker),
        ["code.size", "code.markers", "code.complexity"]
      )
    })

    it("lets faults of one worker take turns, and refuses one that could never strike", () => {
      assert.lengthOf(parsed("--fault", "code.size=transient@1", "--fault", "code.size=crash@3").faults, 2)
      assert.include(refused("--fault", "code=crash", "--fault", "code.size=hang").message, "code.size")
      refused("--fault", "code.size=crash@3", "--fault", "code.size=hang@2")
    })

    it.each([
      [["--bogus"], "flag", "--bogus", "--run-checks"],
      [["-x"], "flag", "-x", "--out"],
      [["--bogus=1"], "flag", "--bogus=1", "--out"],
      [["a", "b"], "PATH", "b", "one folder"],
      [[""], "PATH", "", "a folder"],
      [["  "], "PATH", "  ", "a folder"],
      [["a\0b"], "PATH", "a\0b", "a folder"],
      [["--out"], "--out", undefined, "a folder"],
      [["--out", "--json"], "--out", "--json", "--out=VALUE"],
      [["--out="], "--out", "", "a folder"],
      [["--out", "a", "--out", "b"], "--out", "--out", "once"],
      [["--json=yes"], "--json", "yes", "no value"],
      [["--json", "--json"], "--json", "--json", "once"],
      [["--fail-on", "critical"], "--fail-on", "critical", "info, low, medium, high, never"],
      [["--fail-on"], "--fail-on", undefined, "never"],
      [["--resume", "../x"], "--resume", "../x", "id of a run"],
      [["--resume", "a/b"], "--resume", "a/b", "id of a run"],
      [["--resume", "a\\b"], "--resume", "a\\b", "id of a run"],
      [["--resume", "a..b"], "--resume", "a..b", "id of a run"],
      [["--resume="], "--resume", "", "id of a run"],
      [["--resume", "r1", "repository"], "PATH", "repository", "--resume"],
      [["--resume", "r1", "--run-checks"], "--run-checks", "--run-checks", "--resume"],
      [["--fault", "code.size"], "--fault", "code.size", "WORKER=KIND"],
      [["--fault", "=crash"], "--fault", "=crash", "WORKER=KIND"],
      [["--fault", "code.size="], "--fault", "code.size=", "WORKER=KIND"],
      [["--fault", "code.sizes=crash"], "--fault", "code.sizes=crash", "docs.exports"],
      [["--fault", "__proto__=crash"], "--fault", "__proto__=crash", "code.size"],
      [["--fault", "code.size=explode"], "--fault", "code.size=explode", "malformed"],
      [["--fault", "code.size=crash@0"], "--fault", "code.size=crash@0", "whole number"],
      [["--fault", "code.size=crash@-1"], "--fault", "code.size=crash@-1", "whole number"],
      [["--fault", "code.size=crash@1.5"], "--fault", "code.size=crash@1.5", "whole number"],
      [["--fault", "code.size=crash@"], "--fault", "code.size=crash@", "whole number"],
      [["--fault", "code.size=crash@1@2"], "--fault", "code.size=crash@1@2", "whole number"]
    ] as const)("refuses %j, naming %s, the value and what it expects", (argv, argument, value, expected) => {
      const error = refused(...argv)
      assert.strictEqual(error.argument, argument)
      assert.strictEqual(error.value, value)
      assert.include(error.expected, expected)
    })

    it("keeps terminal escapes out of the message", () => {
      assert.notInclude(refused("--\u001b[31m").message, "\u001b")
      assert.notInclude(refused("--fail-on", "a\nb\u001b[0m").message, "\u001b")
    })
  })

  describe("help", () => {
    it("names every flag, worker and kind of fault", () => {
      for (const word of ["--resume", "--run-checks", "exhausted", "130", ...Arguments.workers]) {
        assert.include(Arguments.help, word)
      }
    })
  })
})
