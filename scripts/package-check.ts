/**
 * Checks what would be published: publint and attw on the packed tarball, then the tarball installed in a second project
 * that type-checks against it and runs.
 */
import { execFileSync } from "node:child_process"
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const run = (cwd: string, command: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

const folder = mkdtempSync(join(tmpdir(), "espalier-package-"))
try {
  const [packed] = JSON.parse(run(root, "npm", "pack", "--json", "--ignore-scripts", "--pack-destination", folder)) as [
    { readonly filename: string; readonly files: ReadonlyArray<{ readonly path: string }>; readonly size: number }
  ]
  const tarball = join(folder, packed.filename)
  const stray = packed.files.filter(
    ({ path }) => !/^(src|dist)\/|^(package\.json|README\.md|CHANGELOG\.md|LICENSE)$/.test(path)
  )
  if (stray.length > 0) throw new Error(`not meant to be published: ${stray.map(({ path }) => path).join(", ")}`)

  const bin = join(root, "node_modules", ".bin")
  process.stdout.write(run(root, join(bin, "publint"), "--strict", tarball))
  process.stdout.write(run(root, join(bin, "attw"), tarball, "--profile", "esm-only"))

  // A second project: the tarball unpacked where npm would put it, with this project's own effect beside it.
  const project = join(folder, "project")
  const installed = join(project, "node_modules", "espalier")
  mkdirSync(installed, { recursive: true })
  run(folder, "tar", "-xzf", tarball)
  cpSync(join(folder, "package"), installed, { recursive: true })
  const { dependencies = {} } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    readonly dependencies?: object
  }
  for (const name of ["effect", "typescript", "@types", ...Object.keys(dependencies)]) {
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name))
  }
  writeFileSync(join(project, "package.json"), `{ "type": "module" }\n`)
  writeFileSync(
    join(project, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        module: "NodeNext",
        target: "ES2023",
        lib: ["ES2024", "DOM", "DOM.Iterable"],
        strict: true,
        noEmit: true,
        types: ["node"],
        skipLibCheck: false
      },
      files: ["main.ts"]
    })
  )
  writeFileSync(
    join(project, "main.ts"),
    `import { Effect } from "effect"
import { Child, Supervisor, Tree } from "espalier"
import * as Failure from "espalier/Failure"
import { Journal } from "espalier/journal"
import { Worker } from "espalier/run"
import { Fake } from "espalier/testing"

const root = Supervisor.make("root", { children: [Child.effect("worker", Effect.never)] })
const states = Effect.map(Tree.snapshot, (snapshot) => snapshot.children.map((child) => child.state))
console.log(
  JSON.stringify(await Effect.runPromise(Effect.provide(states, Supervisor.layer(root)))),
  Failure.kinds.length,
  typeof Journal,
  typeof Worker,
  typeof Fake
)
`
  )
  run(project, join(bin, "tsc"), "-p", "tsconfig.json")
  const printed = run(project, process.execPath, "main.ts").trim()
  if (printed !== `["running"] 6 object object object`) throw new Error(`the installed package printed ${printed}`)

  // Every public module answers, and no internal one does. What needs an optional package says so until that is there.
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    readonly exports: object
    readonly peerDependenciesMeta?: object
  }
  const optional = Object.keys(manifest.peerDependenciesMeta ?? {})
  const modules = globSync("**/*.js", { cwd: join(installed, "dist") })
  const outside = modules.filter((path) => !/(^|\/)internal\/|^cli\/|^index\.js$/.test(path))
  const names = outside.map((path) => `espalier/${path.replaceAll("\\", "/").replace(/(\/index)?\.js$/, "")}`)

  // What a module says of itself stands in its types, too: the compiler drops it together with an import that only the code needs.
  const silent = outside
    .map((path) => path.slice(0, -".js".length))
    .filter((path) => {
      const [, head] =
        /^(?:\/\/.*\n)*(\/\*\*[^]*?\*\/\n)/.exec(readFileSync(join(installed, "src", `${path}.ts`), "utf8")) ?? []
      return head === undefined || !readFileSync(join(installed, "dist", `${path}.d.ts`), "utf8").startsWith(head)
    })
  if (silent.length > 0) {
    throw new Error(
      `no empty line after the first comment, or none at all, so that the types lack it: ${silent.join(", ")}`
    )
  }

  writeFileSync(
    join(project, "all.mjs"),
    `const lacking = []
for (const name of ${JSON.stringify(names)}) {
  await import(name).catch((error) => {
    const missing = ${JSON.stringify(optional)}.some((each) => error.message.includes("'" + each + "'"))
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !missing) throw error
    lacking.push(name)
  })
}
for (const name of ["espalier/internal/transition", "espalier/index", "espalier/run/index", "espalier/cli/main"]) {
  const refused = await import(name).then(() => false, (error) => error.code === "ERR_PACKAGE_PATH_NOT_EXPORTED")
  if (!refused) throw new Error(name + " must not be reachable")
}
console.log(lacking.toSorted().join(" "))
`
  )
  const lacking = run(project, process.execPath, "all.mjs").trim()
  const expected = "espalier/agent/AnthropicModel espalier/journal/ArtefactsPostgres espalier/journal/JournalPostgres"
  if (lacking !== expected) throw new Error(`without ${optional.join(", ")} these do not import: ${lacking}`)

  // The command answers without them, too.
  const { bin: commands, version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    readonly bin: { readonly espalier: string }
    readonly version: string
  }
  const answer = run(project, process.execPath, join(installed, commands.espalier), "--version").trim()
  if (!answer.includes(version)) throw new Error(`the command says that it is ${answer}, not ${version}`)

  for (const name of optional) {
    mkdirSync(dirname(join(project, "node_modules", name)), { recursive: true })
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name))
  }
  if (run(project, process.execPath, "all.mjs").trim() !== "")
    throw new Error("not all modules import with all packages")
  process.stdout.write(
    `${packed.files.length} files, ${Math.round(packed.size / 1024)} kB packed, ${names.length} modules import, ${
      Object.keys(manifest.exports).length
    } export rules\n`
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
