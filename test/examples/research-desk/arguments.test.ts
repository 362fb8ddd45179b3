import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import * as Arguments from "../../../examples/research-desk/arguments.ts"
import { forces } from "../../../examples/research-desk/forced.ts"

const parsed = (...argv: ReadonlyArray<string>) => Result.getOrThrow(Arguments.parse(argv))

const refused = (...argv: ReadonlyArray<string>) => {
  const result = Arguments.parse(argv)
  if (Result.isSuccess(result)) throw new Error(`accepted: ${JSON.stringify(result.success)}`)
  assert.notInclude(result.failure.message, "\n")
  return result.failure
}

describe("arguments", () => {
  it("has a topic of its own, and takes another one with its flags in both forms", () => {
    assert.strictEqual(parsed().topic, Arguments.defaultTopic)
    const args = parsed("pruning", "--force", "retry", "--fail=check", "--notes=a b", "--json")
    assert.deepInclude(args, { topic: "pruning", force: "retry", fail: "check", notes: "a b", json: true })
    assert.strictEqual(parsed("--", "--force").topic, "--force")
    assert.deepInclude(parsed("--cheap", "claude-a", "--strong=claude-b-4-5"), {
      cheap: "claude-a",
      strong: "claude-b-4-5"
    })
  })

  it("takes every step that can be forced", () => {
    for (const force of forces) assert.strictEqual(parsed("--force", force).force, force)
  })

  it("lets --help win over mistakes, and names every flag and step in it", () => {
    assert.isTrue(parsed("--nonsense", "--help").help)
    for (const word of ["--notes", "--answer", "--resume", "130", "50 ms", "ANTHROPIC_API_KEY", ...forces]) {
      assert.include(Arguments.help, word)
    }
  })

  it.each([
    [["--bogus"], "flag", "--bogus", "--force"],
    [["a", "b"], "TOPIC", "b", "one topic"],
    [[""], "TOPIC", "", "a topic"],
    [["of the"], "TOPIC", "of the", "a word that can be looked for"],
    [["\u001b[0!"], "TOPIC", "\u001b[0!", "a word"],
    [["x".repeat(201)], "TOPIC", "x".repeat(201), "200 characters"],
    [["--force"], "--force", undefined, "retry, correct"],
    [["--force", "luck"], "--force", "luck", "low-confidence"],
    [["--force", "retry", "--force", "budget"], "--force", "--force", "once"],
    [["--fail", "everything"], "--fail", "everything", "research, write, check"],
    [["--answer", "maybe"], "--answer", "maybe", "approve, reject, retry, accept-partial"],
    [["--force", "escalate", "--answer", "approve"], "--answer", "approve", "retry, accept-partial, reject"],
    [["--force", "reduce-scope", "--answer", "retry"], "--answer", "retry", "approve, reject"],
    [["--notes", " "], "--notes", " ", "a folder"],
    [["--notes", "--json"], "--notes", "--json", "--notes=VALUE"],
    [["--cheap", "a model"], "--cheap", "a model", "id of a model"],
    [["--strong="], "--strong", "", "id of a model"],
    [["--json=yes"], "--json", "yes", "no value"],
    [["--resume", "../x"], "--resume", "../x", "id of a run"],
    [["--resume", "r1", "topic"], "TOPIC", "topic", "--resume"],
    [["--resume", "r1", "--force", "retry"], "--force", "retry", "--resume"],
    [["--resume", "r1", "--fail", "check"], "--fail", "check", "--resume"]
  ] as const)("refuses %j, naming %s, the value and what it expects", (argv, argument, value, expected) => {
    const error = refused(...argv)
    assert.deepStrictEqual([error.argument, error.value], [argument, value])
    assert.include(error.expected, expected)
    assert.notInclude(error.message, "\u001b")
  })
})
