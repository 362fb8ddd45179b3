/**
 * How a project checks itself: the type-check and test commands that its own files name.
 *
 * @since 0.1.0
 */
import { Predicate } from "effect"

/**
 * A command of the project's own, run from its root.
 *
 * @category models
 * @since 0.1.0
 */
export interface Check {
  readonly kind: "types" | "lint" | "tests"
  readonly command: readonly [program: string, ...args: ReadonlyArray<string>]
  /** the file that names it */
  readonly from: string
}

const scripts: ReadonlyArray<readonly [name: string, kind: Check["kind"]]> = [
  ["typecheck", "types"],
  ["type-check", "types"],
  ["check", "types"],
  ["lint", "lint"],
  ["test", "tests"]
]

const ofNpm = (text: string): ReadonlyArray<Check> => {
  let manifest: unknown
  try {
    manifest = JSON.parse(text)
  } catch {
    return [] // a broken manifest is the dependencies domain's finding
  }
  if (!Predicate.hasProperty(manifest, "scripts") || !Predicate.isObject(manifest.scripts)) return []
  const named = manifest.scripts as Readonly<Record<string, unknown>>
  return scripts
    .filter(([name]) => Object.hasOwn(named, name) && Predicate.isString(named[name]))
    .filter(([name]) => name !== "test" || !String(named[name]).includes("no test specified"))
    .map(([name, kind]) => ({ kind, command: ["npm", "run", name], from: "package.json" }))
}

/**
 * The commands that the files at the root name. `text` gives a file's text, `undefined` when it is not there.
 *
 * @category queries
 * @since 0.1.0
 */
export const checksOf = (text: (file: string) => string | undefined): ReadonlyArray<Check> => {
  const checks: Array<Check> = [...ofNpm(text("package.json") ?? "null")]
  const pyproject = text("pyproject.toml")
  if (text("tox.ini") !== undefined) checks.push({ kind: "tests", command: ["tox"], from: "tox.ini" })
  else if (pyproject?.includes("[tool.pytest") === true || text("pytest.ini") !== undefined) {
    const from = text("pytest.ini") === undefined ? "pyproject.toml" : "pytest.ini"
    checks.push({ kind: "tests", command: ["python", "-m", "pytest"], from })
  }
  if (pyproject?.includes("[tool.mypy") === true) {
    checks.push({ kind: "types", command: ["python", "-m", "mypy", "."], from: "pyproject.toml" })
  }
  if (text("go.mod") !== undefined) {
    checks.push({ kind: "types", command: ["go", "vet", "./..."], from: "go.mod" })
    checks.push({ kind: "tests", command: ["go", "test", "./..."], from: "go.mod" })
  }
  if (text("Cargo.toml") !== undefined) {
    checks.push({ kind: "types", command: ["cargo", "check"], from: "Cargo.toml" })
    checks.push({ kind: "tests", command: ["cargo", "test"], from: "Cargo.toml" })
  }
  const makefile = text("Makefile") ?? ""
  if (/^check\s*:/m.test(makefile)) checks.push({ kind: "types", command: ["make", "check"], from: "Makefile" })
  if (/^test\s*:/m.test(makefile)) checks.push({ kind: "tests", command: ["make", "test"], from: "Makefile" })
  return checks
}

/**
 * The files that {@link checksOf} asks for.
 *
 * @category queries
 * @since 0.1.0
 */
export const checkFiles: ReadonlyArray<string> = [
  "package.json",
  "pyproject.toml",
  "tox.ini",
  "pytest.ini",
  "go.mod",
  "Cargo.toml",
  "Makefile"
]
