/**
 * The report out of what the tasks of a run came to, whichever of them did.
 *
 * **Invariants**
 *
 * - R1. Whatever is not there is named in the notes, with its reason.
 * - R2. The verdict is the checker's field; without a checker it is `UNKNOWN`, whatever any text says.
 * - R3. A confidence below the threshold is said in a note of its own.
 *
 * @since 0.1.0
 */
import { Option, Schema } from "effect"
import type { Coordinator } from "espalier/run"

import { Catalogue, Check, Draft, place, type Report, Research, type Source } from "./model.ts"
import { oneLine, sentences, share } from "./text.ts"

/**
 * Below it a report is to be read with caution.
 *
 * @category models
 * @since 0.1.0
 */
export const threshold = 0.6

const read = <A>(schema: Schema.Codec<A, unknown>, output: unknown): A | undefined =>
  Option.getOrUndefined(Schema.decodeUnknownOption(schema)(output))

/**
 * Puts the report together.
 *
 * @category reports
 * @since 0.1.0
 */
export const assemble = (parts: ReadonlyArray<Coordinator.Part>): Report => {
  const part = (template: string) => parts.find((each) => each.template === template)
  const output = (template: string) => part(template)?.result?.output
  const catalogue = read(Catalogue, output("catalogue"))
  const research = read(Research, output("research"))
  const check = read(Check, output("check"))
  const draft = check?.draft ?? read(Draft, output("write"))
  const notes: Array<string> = []
  const failed = (template: string, what: string) => {
    const reason = part(template)?.reason ?? ""
    notes.push(oneLine(`${what}: ${reason === "" ? "it did not come to that" : reason}`, 300))
  }
  for (const { file, reason } of catalogue?.unread ?? []) notes.push(`Not read: ${file}, ${reason}`)
  if (catalogue === undefined) failed("catalogue", "The notes could not be listed")
  else if (research === undefined) failed("research", "Research failed")
  for (const { part: missing, reason } of part("research")?.result?.missing ?? []) {
    notes.push(oneLine(`Research is partial: ${missing}, ${reason}`, 300))
  }
  if (research !== undefined && research.absent.length > 0) {
    notes.push(oneLine(`The notes say nothing of ${research.absent.join(", ")}`, 300))
  }
  for (const { one, other, unit } of research?.contradictions ?? []) {
    notes.push(`The notes do not agree: ${place(one)} and ${place(other)} differ in a number (${oneLine(unit, 40)})`)
  }
  if (research !== undefined && draft === undefined) failed("write", "Writing failed, this is the raw research")
  if (draft !== undefined && check === undefined) failed("check", "Nobody has checked this article")
  for (const { reason, statement } of check?.unsupported ?? []) {
    notes.push(`Not supported: “${oneLine(statement, 160)}”, ${oneLine(reason, 120)}`)
  }
  const standing = draft !== undefined ? ["research", "write", "check"] : ["research"]
  const kind = draft !== undefined ? "article" : research !== undefined ? "raw-research" : "nothing"
  const confidence =
    kind === "nothing"
      ? 0
      : share(Math.min(...standing.flatMap((template) => part(template)?.result?.confidence ?? [])))
  if (kind !== "nothing" && confidence < threshold) {
    notes.push(`Caution: the confidence is ${confidence}, below ${threshold}`)
  }
  const body = draft !== undefined ? article(draft) : research !== undefined ? raw(research) : { text: "", sources: [] }
  return {
    kind,
    verdict: check?.verdict ?? "UNKNOWN",
    title: draft?.title ?? (kind === "raw-research" ? "What the notes say" : ""),
    ...body,
    notes,
    confidence,
    steps: parts.reduce((sum, { usage }) => sum + (usage.steps ?? 0), 0)
  }
}

const article = ({ paragraphs }: Draft): Pick<Report, "text" | "sources"> => {
  const all: Array<Source> = []
  const text = paragraphs.map(({ heading, statements }) => {
    const sources = statements.flatMap((statement) => statement.sources)
    all.push(...sources)
    return `${heading}\n${statements.map((statement) => statement.text).join(" ")} [${places(sources).join(", ")}]`
  })
  return { text: text.join("\n\n"), sources: places(all).toSorted() }
}

const raw = ({ passages }: Research): Pick<Report, "text" | "sources"> => ({
  text: passages.map((passage) => `${sentences(passage.quotation).join(" ")} [${place(passage)}]`).join("\n"),
  sources: places(passages).toSorted()
})

const places = (sources: ReadonlyArray<Source>): ReadonlyArray<string> => [...new Set(sources.map(place))]
