import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Prompt } from "effect/ai"
import { Failure } from "espalier"
import { PromptCheck } from "espalier/agent"

type Encoded = Prompt.MessageEncoded

const user: Encoded = { role: "user", content: "Do it" }

const call = (id: string, name = "look", providerExecuted = false) =>
  ({ type: "tool-call", id, name, params: {}, providerExecuted }) as const

const result = (id: string, name = "look", providerExecuted = false) =>
  ({ type: "tool-result", id, name, isFailure: false, result: "found", providerExecuted }) as const

const calls = (...ids: ReadonlyArray<string>): Encoded => ({ role: "assistant", content: ids.map((id) => call(id)) })

const results = (...ids: ReadonlyArray<string>): Encoded => ({ role: "tool", content: ids.map((id) => result(id)) })

const said = (messages: ReadonlyArray<Encoded>): ReadonlyArray<string> =>
  PromptCheck.check(Prompt.make(messages)).map(({ expectation, path }) => `${path} ${expectation}`)

const missing = "must have its result in the tool message right after it"

describe("PromptCheck.check", () => {
  it.effect.each<[string, ReadonlyArray<Encoded>]>([
    ["a question", [user]],
    ["calls with their results", [{ role: "system", content: "Be short" }, user, calls("a", "b"), results("a", "b")]],
    ["results in two messages", [user, calls("a", "b"), results("a"), results("b")]],
    ["turn after turn", [user, calls("a"), results("a"), user, calls("b"), results("b"), user]],
    [
      "a call of the provider's own",
      [user, { role: "assistant", content: [call("a", "web", true), result("a", "web", true)] }]
    ],
    [
      "reasoning without text, which is sealed",
      [user, { role: "assistant", content: [{ type: "reasoning", text: "" }] }]
    ]
  ])("D22 lets %s through", ([, messages]) =>
    Effect.sync(() => {
      assert.deepStrictEqual(said(messages), [])
    })
  )

  it.effect.each<[string, ReadonlyArray<Encoded>, ReadonlyArray<string>]>([
    ["a call without a result", [user, calls("a")], [`content[1].content[0] ${missing}`]],
    [
      "a call whose result comes too late",
      [user, calls("a"), user, results("a")],
      [`content[1].content[0] ${missing}`, "content[3].content[0] must be the result of a call in the message before"]
    ],
    [
      "one of two calls without a result",
      [user, calls("a", "b"), results("b")],
      ["content[2].content[0] must stand in the order of the calls", `content[1].content[0] ${missing}`]
    ],
    [
      "results in another order",
      [user, calls("a", "b"), results("b", "a")],
      ["content[2].content[0] must stand in the order of the calls"]
    ],
    [
      "a result without a call",
      [user, results("a")],
      ["content[1].content[0] must be the result of a call in the message before"]
    ],
    [
      "two results of one call",
      [user, calls("a"), results("a", "a")],
      ["content[2].content[1] must be the only result of its call"]
    ],
    [
      "two calls of one id",
      [user, calls("a"), results("a"), calls("a"), results("b")],
      [
        "content[3].content[0] must have an id of its own",
        "content[4].content[0] must be the result of a call in the message before",
        `content[3].content[0] ${missing}`
      ]
    ],
    [
      "a result of another tool",
      [user, calls("a"), { role: "tool", content: [result("a", "other")] }],
      ['content[2].content[0] must name the tool of its call, "look"']
    ],
    [
      "a result beside a call that is ours",
      [user, { role: "assistant", content: [call("a"), result("a")] }],
      ["content[1].content[1] must stand in a tool message, or, if the provider has made it, beside its call"]
    ],
    ["a call without an id", [user, calls(""), results("")], ["content[1].content[0] must have an id"]],
    [
      "a call without a name",
      [user, { role: "assistant", content: [call("a", "")] }, { role: "tool", content: [result("a", "")] }],
      ["content[1].content[0] must name a tool"]
    ],
    [
      "a late system message",
      [user, { role: "system", content: "Now be rude" }],
      ["content[1] must stand before every other message, as a system message"]
    ],
    ["an empty system message", [{ role: "system", content: " " }, user], ["content[0] must not be empty"]],
    ["a message without parts", [user, { role: "assistant", content: [] }], ["content[1] must not be empty"]],
    ["a text of blanks", [user, { role: "assistant", content: " \n" }], ["content[1].content[0] must not be empty"]],
    [
      "a prompt that begins with an answer",
      [{ role: "assistant", content: "Yes" }, user],
      ["content[0] must be of the user, as the first one"]
    ],
    ["nothing at all", [], ["content must hold a message of the user"]],
    [
      "an answer to an approval (§14.11)",
      [
        user,
        calls("a"),
        { role: "tool", content: [{ type: "tool-approval-response", approvalId: "x", approved: true }, result("a")] }
      ],
      ["content[2].content[0] must not stand in a prompt: approvals are not taken from messages"]
    ],
    [
      "a request of an approval",
      [user, { role: "assistant", content: [{ type: "tool-approval-request", approvalId: "x", toolCallId: "a" }] }],
      ["content[1].content[0] must not stand in a prompt: approvals are not taken from messages"]
    ]
  ])("D22 finds %s", ([, messages, expected]) =>
    Effect.sync(() => {
      assert.deepStrictEqual(said(messages), expected)
    })
  )

  it("finds reasoning in a message of the user, however it came there", () => {
    const part = Prompt.makePart("reasoning", { text: "hm" })
    const message = Prompt.makeMessage("user", { content: [part as unknown as Prompt.TextPart] })
    const [problem] = PromptCheck.check(Prompt.fromMessages([message]))
    assert.strictEqual(problem?.expectation, "must be a part that a message of role user may hold")
    assert.strictEqual(problem?.actual, '"reasoning"')
  })
})

describe("PromptCheck.valid", () => {
  it.effect("answers with the prompt itself, or fails with place and expectation, as a bug", () =>
    Effect.gen(function* () {
      const good = Prompt.make([user])
      assert.strictEqual(yield* PromptCheck.valid(good), good)
      const error = yield* Effect.flip(PromptCheck.valid(Prompt.make([user, calls("a", "b")])))
      assert.strictEqual(
        error.message,
        `the prompt is not sent: content[1].content[0] ${missing} (and 1 other problem)`
      )
      assert.isUndefined(Failure.kindOf(error))
    })
  )
})

describe("PromptCheck.turns", () => {
  it("keeps calls and their results together, and every message", () => {
    const prompt = Prompt.make([
      { role: "system", content: "Be short" },
      user,
      calls("a", "b"),
      results("a"),
      results("b"),
      { role: "assistant", content: "Done" },
      user
    ])
    const { system, turns } = PromptCheck.turns(prompt)
    assert.deepStrictEqual(
      turns.map(({ messages }) => messages.map(({ role }) => role)),
      [["user"], ["assistant", "tool", "tool"], ["assistant"], ["user"]]
    )
    assert.deepStrictEqual([...system, ...turns.flatMap(({ messages }) => messages)], prompt.content)
  })
})
