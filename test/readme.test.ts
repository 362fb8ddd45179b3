import { readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"
import * as effectTesting from "effect/testing"
import * as espalier from "espalier"
import * as journal from "espalier/journal"
import * as run from "espalier/run"
import * as testing from "espalier/testing"

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8")

const section = (title: string): string => {
  const from = readme.indexOf(`\n### ${title}\n`)
  assert.isAbove(from, 0, `there is no section ${title}`)
  const to = readme.slice(from + 1).search(/\n##+ /)
  return readme.slice(from, to < 0 ? undefined : from + 1 + to)
}

const modules: Readonly<Record<string, object>> = { ...effectTesting, ...espalier, ...journal, ...run, ...testing }

/** What stands between backticks and begins as a module does. */
const named = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/`([A-Z][A-Za-z]+)(?:\.([a-z][A-Za-z]*))?[^`]*`/g)].map(([, module = "", member]) =>
    member === undefined ? module : `${module}.${member}`
  )

describe("The README", () => {
  it.each(["Which pattern when", "When something fails", "Testing an outage", "Before it goes live"])(
    "R-805 names only what is there: %s",
    (title) => {
      const names = named(section(title))
      assert.isAbove(names.length, 0)
      for (const name of names) {
        const [module = "", member] = name.split(".")
        // Members of a running thing (`Outcome.missing`) are types only.
        if (module === "Outcome") continue
        assert.property(modules, module, `${name} in the section ${title}`)
        if (member !== undefined) assert.property(modules[module], member, `${name} in the section ${title}`)
      }
    }
  )

  it("R-805 says of every coordinator when to use it", () => {
    const guide = section("Which pattern when")
    for (const kind of ["Plan", "Pipeline", "Graph", "Swarm", "Router", "Planner"]) {
      assert.match(guide, new RegExp(`\\| \`${kind}\`[^|]*\\|`), kind)
      assert.property(modules[kind], "make")
    }
  })

  it("links only to files that are there", () => {
    for (const [, path = ""] of readme.matchAll(/\]\(([^)#:]+)\)/g)) {
      assert.doesNotThrow(() => readFileSync(new URL(`../${path}`, import.meta.url)), path)
    }
  })
})
