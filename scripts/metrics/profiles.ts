/** The metrics of the GenAI conventions by profile: under which name each is there, and what asks for it. */
import { SemConv } from "espalier/observe"

import { conventions } from "../../src/observe/internal/conventions.ts"

/** A metric of the catalogue as Prometheus knows it. */
export const prometheus = (name: string): string => name.replaceAll(".", "_")

/** A metric of the conventions that is measured. `nameIn`: its name in a profile, where it is there. */
export interface Convention {
  readonly metric: keyof SemConv.Metrics
  readonly about: string
  readonly nameIn: (profile: SemConv.Profile) => string | undefined
}

export const measured: ReadonlyArray<Convention> = Object.values(conventions).map(([metric, , about]) => ({
  metric,
  about,
  nameIn: (profile) => SemConv.names(profile).metrics[metric]?.name
}))

const namesOf = ({ nameIn }: Pick<Convention, "nameIn">): ReadonlyArray<string> => [
  ...new Set(SemConv.Profiles.flatMap((profile) => nameIn(profile) ?? []))
]

/** What is asked of a metric of the conventions, by each name that it has in some profile: one of them has data. */
export const asked = (metric: keyof SemConv.Metrics, expr: (name: string) => string): string =>
  namesOf({ nameIn: (profile) => SemConv.names(profile).metrics[metric]?.name })
    .map((name) => expr(prometheus(name)))
    .join(" or ")

/** Whether an expression asks for a metric. */
export const asksFor = (expr: string, name: string): boolean =>
  new RegExp(`\\b${prometheus(name)}(_bucket|_sum|_count)?\\b`).test(expr)

/** The profiles in which an expression has data: those that have each metric that it asks for by a name that it asks by. */
export const profilesOf = (expr: string): ReadonlyArray<SemConv.Profile> =>
  SemConv.Profiles.filter((profile) =>
    measured
      .filter((each) => namesOf(each).some((name) => asksFor(expr, name)))
      .every(({ nameIn }) => {
        const name = nameIn(profile)
        return name !== undefined && asksFor(expr, name)
      })
  )
