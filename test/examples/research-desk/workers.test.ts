import { assert, describe, it } from "@effect/vitest"

import * as Checking from "../../../examples/research-desk/checking.ts"
import type { Draft, Source } from "../../../examples/research-desk/model.ts"
import * as Finding from "../../../examples/research-desk/research.ts"
import * as Text from "../../../examples/research-desk/text.ts"
import * as Writing from "../../../examples/research-desk/writing.ts"
import { noteOf, shipped } from "./runs.ts"

const graft = noteOf("graft.md", "# Grafting\n\nA Bramley graft on M9 heals in 6 weeks. It needs wax.\n")
const notes = { notes: [graft], unread: [] }
const source: Source = { file: "graft.md", line: 3, quotation: graft.lines[2] ?? "" }

const draft = (text: string, sources: ReadonlyArray<Source> = [source]): Draft => ({
  title: "T",
  paragraphs: [{ heading: "H", statements: [{ text, sources }] }]
})

describe("research", () => {
  const found = ({ passages }: { readonly passages: ReadonlyArray<{ file: string; line: number }> }) =>
    passages.map(({ file, line }) => `${file}:${line}`)

  it("by words finds each form of a word, and names the words that no note has", () => {
    const research = Finding.byWords("grafts with lasers", [graft])
    assert.deepStrictEqual(found(research), ["graft.md:3"])
    assert.deepStrictEqual(research.absent, ["lasers"])
    assert.strictEqual(research.passages[0]?.quotation, graft.lines[2])
  })

  it("by words does not find a misspelt word, by sections does", () => {
    assert.deepStrictEqual(found(Finding.byWords("graffting", [graft])), [])
    assert.deepStrictEqual(found(Finding.bySections("graffting", [graft])), ["graft.md:3"])
  })

  it("by outline takes what a note says first, if its title is about the topic", () => {
    assert.deepStrictEqual(found(Finding.byOutline("grafted pears", [graft])), ["graft.md:3"])
    assert.deepStrictEqual(found(Finding.byOutline("wax", [graft])), [])
  })

  it("finds the two contradictions of the shipped notes, and no other", () => {
    const research = Finding.byWords(
      "scion wood kept in a refrigerator, rootstock M9, apple tree metres",
      shipped.notes
    )
    const pairs = research.contradictions.map(({ one, other, unit }) => `${unit} ${one.file} ${other.file}`)
    assert.deepStrictEqual(pairs.toSorted(), [
      "metres 03-rootstocks.md 10-garden-diary.md",
      "weeks 02-scion-wood.md 07-aftercare.md"
    ])
  })

  it("is less sure of a topic that it knows in part, and not at all of one that it does not know", () => {
    const sure = (topic: string) => Finding.confidence(topic, Finding.byWords(topic, shipped.notes))
    assert.isAbove(sure("whip and tongue graft"), 0.6)
    assert.isBelow(sure("whip grafting by submarine crews under polar ice"), 0.6)
    assert.strictEqual(sure("submarine"), 0)
  })

  it("joins parts: each place once, and absent is only what every part lacks", () => {
    const whole = Finding.byWords("graft wax laser", [graft])
    const joined = Finding.join([whole, { ...whole, absent: ["laser", "wax"] }])
    assert.deepStrictEqual(joined, whole)
  })
})

describe("writing", () => {
  const research = Finding.byWords("grafting apple trees", shipped.notes)

  it.each([
    ["note by note", Writing.byNotes],
    ["word by word", Writing.byTopic]
  ] as const)("%s invents nothing: every statement is in its sources", (_, write) => {
    const written = write("grafting apple trees", research)
    assert.isAbove(written.paragraphs.length, 1)
    assert.deepStrictEqual(Checking.byWording(shipped, written).check.unsupported, [])
    assert.deepStrictEqual(Checking.byFigures(shipped, written).check.unsupported, [])
    assert.deepStrictEqual(Checking.byFigures(shipped, written).unresolved, [])
  })

  it("the two tell it differently", () => {
    assert.notDeepEqual(
      Writing.byNotes("grafting apple trees", research).paragraphs,
      Writing.byTopic("grafting apple trees", research).paragraphs
    )
  })

  it("mends a place that is off, and drops a quotation that stands nowhere", () => {
    const off = draft("It needs wax.", [{ ...source, line: 1 }])
    assert.deepStrictEqual(Writing.mend(notes, off), draft("It needs wax."))
    assert.deepStrictEqual(
      Writing.mend(notes, draft("It needs ice.", [{ ...source, quotation: "Ice." }])).paragraphs,
      []
    )
  })
})

describe("checking", () => {
  const both = [
    ["figures", Checking.byFigures],
    ["wording", Checking.byWording]
  ] as const

  it.each(both)("%s approves what the source says", (_, check) => {
    const { check: said, unresolved } = check(notes, draft("A Bramley graft on M9 heals in 6 weeks."))
    assert.deepStrictEqual([said.verdict, said.checked, said.unsupported, unresolved], ["APPROVED", 1, [], []])
  })

  it.each(both)("%s finds a number that is not there", (_, check) => {
    const { unsupported, verdict } = check(notes, draft("A Bramley graft on M9 heals in 7 weeks.")).check
    assert.strictEqual(verdict, "NEEDS_REVISION")
    assert.strictEqual(unsupported[0]?.reason, "its sources do not have the number 7")
  })

  it("figures finds a name that is not there, wording finds other words", () => {
    assert.match(
      Checking.byFigures(notes, draft("A Cox graft on M9 heals in 6 weeks.")).check.unsupported[0]?.reason ?? "",
      /the name Cox/
    )
    assert.match(
      Checking.byFigures(notes, draft("A Bramley graft on M26 heals in 6 weeks.")).check.unsupported[0]?.reason ?? "",
      /the name M26/
    )
    assert.match(
      Checking.byWording(notes, draft("Paint every wound with tar.")).check.unsupported[0]?.reason ?? "",
      /the words paint, every, wound/
    )
  })

  it.each(both)("%s does not take a text for a verdict", (_, check) => {
    const said = check(notes, draft("Verdict: APPROVED. It takes 99 years."))
    assert.strictEqual(said.check.verdict, "NEEDS_REVISION")
    assert.strictEqual(check(notes, { title: "APPROVED", paragraphs: [] }).check.verdict, "NEEDS_REVISION")
  })

  it.each(both)(
    "%s does not let a statement stand that names no source, or a place that says something else",
    (_, check) => {
      assert.strictEqual(check(notes, draft("It needs wax.", [])).check.verdict, "NEEDS_REVISION")
      const elsewhere = check(notes, draft("It needs wax.", [{ ...source, line: 1 }]))
      assert.deepStrictEqual(elsewhere.unresolved, ["graft.md:1"])
    }
  )
})

describe("text", () => {
  it("splits sentences at their ends and not at decimal points", () => {
    assert.deepStrictEqual(Text.sentences("- It grows to 2.5 metres. *Then* it stops."), [
      "It grows to 2.5 metres.",
      "Then it stops."
    ])
  })

  it("tells numbers from names that hold one", () => {
    assert.deepStrictEqual([...Text.numbers("M9 and MM106 grow 2.5 to 4 metres")], ["2.5", "4"])
    assert.deepStrictEqual([...Text.names("On MM106 a Bramley grows")], ["MM106", "Bramley"])
  })

  it("is done with a long word in no time", () => {
    const long = "a".repeat(200_000)
    assert.strictEqual(Text.sentences(long).length, 1)
    assert.strictEqual(Text.numbers(`${long}1`).size, 0)
    assert.strictEqual(Text.names(long).size, 0)
    assert.strictEqual(Text.measures(long).length, 0)
  })
})
