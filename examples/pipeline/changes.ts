/**
 * What the stages do: find the changes in a text, count them, and write about them. Pure functions.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"

import { oneLine } from "../shared/files.ts"

/** One change, with the headings that it stands under. */
export const Change = Schema.Struct({ release: Schema.String, group: Schema.String, text: Schema.String })

/** What research finds: the changes, and how many bullets stand under no heading at all. */
export const Research = Schema.Struct({ changes: Schema.Array(Change), stray: Schema.Int })

/** What analysis makes of it: how many changes there are, in each group, and what they are most about. */
export const Analysis = Schema.Struct({
  total: Schema.Int,
  groups: Schema.Array(Schema.Struct({ name: Schema.String, count: Schema.Int, topics: Schema.Array(Schema.String) }))
})

export type Research = typeof Research.Type
export type Analysis = typeof Analysis.Type

/**
 * The bullets of a text by the headings over them: `##` begins a release, `###` a group.
 *
 * @category stages
 * @since 0.1.0
 */
export const research = (text: string): Research => {
  const changes: Array<{ release: string; group: string; text: string }> = []
  let [release, group, stray, going] = ["", "", 0, false]
  for (const line of text.split("\n")) {
    const heading = /^(##|###)\s+(.+)$/.exec(line)
    const bullet = /^[-*]\s+(.+)$/.exec(line)
    const last = changes.at(-1)
    if (heading !== null) {
      const title = oneLine(heading[2] ?? "", 60)
      if (heading[1] === "##") [release, group] = [title, ""]
      else group = title
    } else if (bullet !== null && release === "") stray += 1
    else if (bullet !== null) changes.push({ release, group: group || "Other", text: oneLine(bullet[1] ?? "", 400) })
    else if (going && last !== undefined && /^\s+\S/.test(line)) last.text = oneLine(`${last.text} ${line}`, 400)
    going = line.trim() !== "" && heading === null && (bullet !== null ? release !== "" : going)
  }
  return { changes, stray }
}

/**
 * The changes counted by group, in the order in which the groups come, each with the code that is named most.
 *
 * @category stages
 * @since 0.1.0
 */
export const analyse = ({ changes }: Research): Analysis => {
  const groups = Map.groupBy(changes, ({ group }) => group)
  return {
    total: changes.length,
    groups: [...groups].map(([name, own]) => {
      const named = own.flatMap(({ text }) => [
        ...new Set([...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code))
      ])
      const times = [...Map.groupBy(named, (code) => code)].map(([code, all]) => [code, all.length] as const)
      const topics = times.toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([code]) => code)
      return { name, count: own.length, topics: topics.slice(0, 3) }
    })
  }
}

const changesOf = (count: number): string => (count === 1 ? "1 change" : `${count} changes`)

/**
 * The article. Without an analysis it is a list of what was found.
 *
 * @category stages
 * @since 0.1.0
 */
export const write = (research: Research, analysis: Analysis | undefined): ReadonlyArray<string> => {
  const releases = new Set(research.changes.map(({ release }) => release))
  if (analysis === undefined) return ["What changed, uncounted:", ...research.changes.map(({ text }) => `- ${text}`)]
  return [
    `${changesOf(analysis.total)} in ${[...releases].join(", ")}.`,
    ...analysis.groups.map(({ count, name, topics }) => {
      const about = topics.length === 0 ? "" : `, most of all about ${topics.join(", ")}`
      return `${name}: ${changesOf(count)}${about}.`
    })
  ]
}

/**
 * What an article says wrong: numbers that the analysis has otherwise, a sentence each.
 *
 * @category checks
 * @since 0.1.0
 */
export const check = (article: ReadonlyArray<string>, analysis: Analysis): ReadonlyArray<string> => {
  const expected = [
    { line: 0, start: `${changesOf(analysis.total)} in ` },
    ...analysis.groups.map(({ count, name }, at) => ({ line: at + 1, start: `${name}: ${changesOf(count)}` }))
  ]
  return expected.flatMap(({ line, start }) =>
    (article[line] ?? "").startsWith(start) ? [] : [`line ${line + 1} must begin with "${start.trim()}"`]
  )
}
