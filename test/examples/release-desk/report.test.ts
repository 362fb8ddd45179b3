import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { fromMarkdown } from "mdast-util-from-markdown"
import { gfmFromMarkdown } from "mdast-util-gfm"
import { gfm } from "micromark-extension-gfm"

import type { Severity } from "../../../examples/release-desk/Finding.ts"
import * as Markdown from "../../../examples/release-desk/markdown.ts"
import * as Report from "../../../examples/release-desk/report.ts"

const found = (severity: Severity, more: Partial<Report.ReportFinding> = {}): Report.ReportFinding => ({
  domain: "code",
  worker: "code.size",
  rule: "long-file",
  severity,
  file: "src/a.ts",
  line: 3,
  message: "is long",
  ...more
})

const input = (more: Partial<Report.ReportInput> = {}): Report.ReportInput => ({
  run: "r1",
  desk: "release-desk",
  root: "/somewhere/project",
  status: "completed",
  stopReason: "accepted",
  startedAt: 0,
  durationMillis: 3_400,
  findings: [],
  facts: { "code.size": { files: 3, longestFile: "src/a.ts" } },
  missing: [],
  dispatches: [
    {
      dispatch: "r1/code.size/1",
      task: "code.size",
      worker: "code.size",
      attempts: 1,
      outcome: "accepted",
      startedAt: 0,
      durationMillis: 20,
      note: ""
    }
  ],
  resumed: 0,
  ...more
})

const gone = { domain: "docs", worker: "docs.links", task: "docs.links", reason: "crashed twice" }

interface Node {
  readonly type: string
  readonly value?: string
  readonly children?: ReadonlyArray<Node>
}

const nodes = (markdown: string): ReadonlyArray<Node> => {
  const tree: Node = fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })
  const flat = (node: Node): ReadonlyArray<Node> => [node, ...(node.children ?? []).flatMap(flat)]
  return flat(tree)
}

const shown = (markdown: string): string =>
  nodes(markdown)
    .map(({ value }) => value ?? "")
    .join("")

const hostile = [
  "# a heading",
  "\n# a heading on its own line\n",
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "&lt;b&gt; &amp;",
  "[text](javascript:alert(1))",
  "![image](https://example.org/x.png)",
  "https://example.org/path and www.example.org and someone@example.org",
  "a | b | c",
  "`code` ``more`` ```",
  "**bold** _italic_ ~~gone~~ __x__",
  "- [ ] a task",
  "1. one",
  "> quoted",
  "\\[escaped\\](x)",
  "[^1] [ref]: https://example.org",
  "\u001b[31mred\u001b[0m \u0007 \u009b31m",
  "a\u202Eb\u2066c\u200B",
  "+ a list",
  "===",
  "Title\n---",
  ":smile: a:b",
  "snake_case_name _start end_",
  "$x$ <!-- comment --> ]]>",
  "tail backslash \\",
  "\ud800 half a character"
]

describe("report", () => {
  describe("exitCode", () => {
    const table: ReadonlyArray<[Report.ReportInput["status"], ReadonlyArray<Severity>, Severity | "never", number]> = [
      ["completed", [], "info", 0],
      ["completed", ["info"], "info", 1],
      ["completed", ["info"], "low", 0],
      ["completed", ["low", "info"], "low", 1],
      ["completed", ["medium"], "high", 0],
      ["completed", ["medium"], "medium", 1],
      ["completed", ["high"], "high", 1],
      ["completed", ["high"], "info", 1],
      ["completed", ["high"], "never", 0],
      ["partial", [], "high", 2],
      ["partial", ["high"], "high", 2],
      ["partial", ["high"], "never", 2],
      ["failed", [], "high", 2],
      ["cancelled", ["low"], "high", 2]
    ]
    it.each(table)("of a %s run with findings %j and --fail-on %s is %d", (status, severities, failOn, code) => {
      const findings = severities.map((severity) => found(severity))
      assert.strictEqual(Report.exitCode(input({ status, findings }), failOn), code)
    })

    it("is 2 when something is missing, whatever the status says", () => {
      assert.strictEqual(Report.exitCode(input({ missing: [gone] }), "never"), 2)
    })
  })

  describe("reportJson", () => {
    it("has exactly the promised fields, the worst finding first, in an order that the input's does not change", () => {
      const findings = [
        found("low", { file: "b.ts" }),
        found("high", { domain: "docs", worker: "docs.links" }),
        found("low", { file: "" }),
        found("low", { file: "a.ts", line: 9 }),
        found("low", { file: "a.ts", line: 2 })
      ]
      const json = Report.reportJson(input({ findings, missing: [gone], status: "partial" }))
      assert.deepStrictEqual(Object.keys(json), ["run", "status", "findings", "missing"])
      assert.deepStrictEqual(
        json.findings.map(({ file, line, severity }) => `${severity} ${file}:${line}`),
        ["high src/a.ts:3", "low a.ts:2", "low a.ts:9", "low b.ts:3", "low :3"]
      )
      assert.strictEqual(Object.keys(json.findings[0] ?? {}).join(), "domain,worker,rule,severity,file,line,message")
      assert.deepStrictEqual(json.missing, [gone])
      const turned = Report.reportJson(input({ findings: findings.toReversed(), missing: [gone], status: "partial" }))
      assert.strictEqual(JSON.stringify(turned), JSON.stringify(json))
    })

    it("drops what a finding carries beyond its fields", () => {
      const more = { ...found("low"), secret: "x" }
      assert.notInclude(JSON.stringify(Report.reportJson(input({ findings: [more] }))), "secret")
    })
  })

  describe("reportMarkdown", () => {
    it("says what is missing before anything else, and gives no verdict then", () => {
      const text = Report.reportMarkdown(input({ status: "partial", missing: [gone], findings: [found("high")] }))
      assert.isBelow(text.indexOf("not complete: 1 audit missing"), text.indexOf("No verdict"))
      assert.include(text, "> - **docs.links**: crashed twice")
      assert.include(text, "1 high finding")
      assert.notInclude(Report.reportMarkdown(input()), "not complete")
    })

    it("says that a run without a list of what is missing ended early", () => {
      const text = Report.reportMarkdown(input({ status: "failed", stopReason: "deadline" }))
      assert.include(text, "not complete")
      assert.include(text, "deadline")
    })

    it.each([
      [[], "Nothing stands in the way"],
      [["info"], "Nothing of high severity"],
      [["low", "medium"], "Begin with `src/a.ts:3`"],
      [["high", "low"], "Not ready for a release"]
    ] as const)("gives the verdict for findings %j", (severities, words) => {
      const findings = severities.map((severity) => found(severity))
      assert.include(Report.reportMarkdown(input({ findings })), words)
    })

    it("groups findings by severity and then by domain, each with its place", () => {
      const text = Report.reportMarkdown(
        input({
          findings: [found("low"), found("high", { domain: "docs", file: "README.md", line: 0 }), found("high")]
        })
      )
      assert.match(
        text,
        /### High \(2\)\n\n\*\*code\*\*\n\n- `src\/a\.ts:3` is long .*\n\n\*\*docs\*\*\n\n- `README\.md` .*\n\n### Low \(1\)/
      )
    })

    it("shows the figures of each domain and every dispatch", () => {
      const text = Report.reportMarkdown(input({ resumed: 1 }))
      assert.include(text, "| code.size | longest file | src/a.ts |")
      assert.include(text, "| `code.size/1` | code.size | 1 | accepted | 20 ms |")
      assert.include(text, "1970-01-01 00:00:00 UTC")
      assert.include(text, "taken up again 1 time")
    })

    const plainNodes = new Set(
      "root heading text paragraph strong list listItem inlineCode blockquote table tableRow tableCell".split(" ")
    )
    const counts = (markdown: string) => {
      const by = Map.groupBy(nodes(markdown), ({ type }) => type)
      return ["heading", "table", "tableRow", "tableCell", "listItem", "blockquote"].map((type) => by.get(type)?.length)
    }
    const saying = (text: string): Report.ReportInput =>
      input({
        root: `/somewhere/${text.replaceAll("/", "")}`,
        status: "partial",
        stopReason: text,
        findings: [found("high", { file: text, message: text, rule: text }), found("low", { domain: text })],
        facts: { "code.size": { [text]: text, list: [text, { [text]: text }] } },
        missing: [{ domain: text, worker: text, task: text, reason: text }],
        dispatches: [{ ...input().dispatches[0]!, dispatch: text, worker: text, outcome: text, note: text }]
      })

    it.each(hostile)("shows %j without letting it do anything", (text) => {
      const markdown = Report.reportMarkdown(saying(text))
      for (const { type } of nodes(markdown)) assert.isTrue(plainNodes.has(type), type)
      assert.deepStrictEqual(counts(markdown), counts(Report.reportMarkdown(saying("harmless"))))
      assert.notMatch(markdown.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u)
    })
  })

  describe("plain", () => {
    it.each(hostile)("keeps the words of %j", (text) => {
      const words = text.match(/[A-Za-z]+/g) ?? []
      for (const word of words) assert.include(shown(`x ${Markdown.plain(text)}`), word)
    })

    it("says with … that a text was cut", () => {
      assert.strictEqual(Markdown.plain("a".repeat(500), 10), "aaaaaaaaa…")
    })
  })

  describe("fact", () => {
    it.each([
      [null, "none"],
      [true, "yes"],
      [1.5, "1.5"],
      [[], "none"],
      [["a", "b"], "a, b"],
      [{ ts: 3, js: 1 }, "ts 3, js 1"],
      [[{ name: "a", lines: 3 }], "(name a, lines 3)"],
      [Array.from({ length: 20 }, (_, at) => at), "0, 1, 2, 3, 4, 5, 6, 7 and 12 more"],
      [{ a: { b: { c: 1 } } }, 'a (b {"c":1})']
    ])("shows %j as %s", (value, text) => {
      assert.strictEqual(Markdown.fact(value), text)
    })
  })

  describe("auditTable", () => {
    const long = input({ dispatches: [{ ...input().dispatches[0]!, note: "n".repeat(500), outcome: "crashed" }] })
    const wide = (text: string) => text.split("\n").map((line) => line.length)

    it.each([20, 40, 60, 80, 100, 120, 200])("fits a terminal of %d characters", (width) => {
      const table = Report.auditTable(long, { colour: false, width })
      for (const length of wide(table)) assert.isAtMost(length, width)
      assert.include(table, "code.size")
    })

    it("has no escape sequence without colour, and none from the repository with it", () => {
      const evil = input({
        dispatches: [{ ...input().dispatches[0]!, note: "\u001b[2J gone", dispatch: "\u001b]0;x" }]
      })
      assert.notInclude(Report.auditTable(evil, { colour: false }), "\u001b")
      assert.notInclude(Report.auditTable(evil, { colour: true }), "\u001b[2J")
      assert.include(Report.auditTable(evil, { colour: true }), "\u001b[32maccepted")
    })

    it("says so when no worker was called", () => {
      assert.strictEqual(Report.auditTable(input({ dispatches: [] }), { colour: false }), "no worker was called")
    })
  })

  describe("summaryLines", () => {
    it("tells what is missing, the worst findings and the counts, without escapes from the repository", () => {
      const lines = Report.summaryLines(
        input({
          status: "partial",
          stopReason: "no-eligible-worker",
          missing: [gone],
          findings: [found("high", { file: "a\u001b[2J.ts" }), found("info")]
        }),
        { colour: false }
      )
      assert.deepStrictEqual(lines, [
        "partial: no-eligible-worker",
        "missing docs.links: crashed twice",
        "high   a [2J.ts:3 is long",
        "2 findings (1 high, 1 info) in 3.4 s"
      ])
    })

    it("says how many it does not show", () => {
      const lines = Report.summaryLines(input({ findings: Array.from({ length: 14 }, () => found("medium")) }), {
        colour: false
      })
      assert.include(lines.join("\n"), "and 4 more")
    })
  })

  describe("duration", () => {
    it.each([
      [-1, "0 ms"],
      [820, "820 ms"],
      [3_400, "3.4 s"],
      [59_990, "1 min 0 s"],
      [125_000, "2 min 5 s"]
    ])("says %d milliseconds as %s", (millis, text) => {
      assert.strictEqual(Report.duration(millis), text)
    })
  })

  describe("ReportInput", () => {
    it("is a schema that travels as JSON", () => {
      const round = Schema.decodeUnknownSync(Report.ReportInput)(JSON.parse(JSON.stringify(input({ missing: [gone] }))))
      assert.deepStrictEqual(round, input({ missing: [gone] }))
    })
  })
})
