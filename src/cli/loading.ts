// @effect-diagnostics nodeBuiltinImport:off -- a module is found and loaded by Node's own rules.
/**
 * The desk that a module exports by default. A Node file: uses `node:fs`, `node:module`, `node:path`, `node:process` and
 * `node:url`.
 *
 * **Details**
 *
 * - A path is taken from the folder in which the command was started, and so is the name of a package.
 * - TypeScript is loaded as Node does it: types are left out, nothing is compiled.
 * - The default export is a desk, or an effect that succeeds with one. What the effect acquires is held as long as the desk.
 *
 * @since 0.1.0
 */
import { statSync } from "node:fs"
import { type ModuleHooks, registerHooks } from "node:module"
import { isAbsolute, relative, resolve, sep } from "node:path"
import process from "node:process"
import { fileURLToPath, pathToFileURL } from "node:url"

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"

import * as Desk from "../run/Desk.ts"
import { many, show, shortened, thrown } from "../run/internal/problems.ts"
import { plain } from "../run/internal/text.ts"
import { Refused } from "./failures.ts"

/** A desk of which nothing is known but that it is one: its input is checked by itself, what it needs it has to bring. */
export type Loaded = Desk.Desk<unknown, never>

/** The longest name of a module. */
export const longest = 500

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true

/** Whether a text can only be meant as a path. */
const isPath = (module: string): boolean =>
  /^(?:\.{1,2}$|\.{0,2}[/\\])/.test(module) || module.startsWith("file:") || isAbsolute(module)

/** The path of a module that is a file; nothing for an address that is of no file here. */
const pathOf = (module: string): string | undefined => {
  if (!module.startsWith("file:")) return resolve(module)
  try {
    return fileURLToPath(module)
  } catch {
    return undefined
  }
}

/** Where a module is, in the words of whoever looks at the folder of the command. */
const near = (path: string): string => {
  const way = relative(process.cwd(), path)
  return way === "" || way.startsWith("..") ? path : `.${sep}${way}`
}

const codeOf = (cause: unknown): string => (Predicate.hasProperty(cause, "code") ? String(cause.code) : "")

/** The first place in a file that an error names, as far as it does. */
const placeOf = (cause: unknown): string => {
  const stack = Predicate.isError(cause) && typeof cause.stack === "string" ? cause.stack : ""
  const [, url, line] = /(file:\/\/[^\s()]+?):(\d+)/.exec(stack) ?? []
  return url === undefined ? "" : ` (${near(fileURLToPath(url))}:${line})`
}

/** What Node says of a module that it could not load, and what can be done where that is known. */
const reasonOf = (cause: unknown): string => {
  const name = Predicate.isError(cause) && cause.name !== "Error" ? `${cause.name}: ` : ""
  const said = plain(thrown(cause))
  switch (codeOf(cause)) {
    case "ERR_UNKNOWN_FILE_EXTENSION":
      return `${said}; TypeScript needs Node 22.18 or later`
    case "ERR_MODULE_NOT_FOUND":
      return said
    default:
      return `${name}${said}${placeOf(cause)}`
  }
}

/** Has a name be found as from a module of the folder of the command. `seen.found`: whether there was any such thing. */
const fromHere = (name: string, seen: { found: boolean }): Effect.Effect<ModuleHooks> =>
  Effect.sync(() => {
    const parentURL = pathToFileURL(resolve("espalier.js")).href
    return registerHooks({
      resolve: (specifier, context, next) => {
        if (specifier !== name || context.parentURL !== import.meta.url) return next(specifier, context)
        const resolved = next(specifier, { ...context, parentURL })
        seen.found = true
        return resolved
      }
    })
  })

/** What Node says of a package that it could not load. */
const packageReasonOf = (found: boolean, path: string, cause: unknown): string =>
  found
    ? `cannot be loaded: ${reasonOf(cause)}`
    : codeOf(cause) === "ERR_MODULE_NOT_FOUND"
      ? `is not there: there is neither a file ${path} nor such a package`
      : `is not there: ${reasonOf(cause)}`

/** Loads a module. */
const importing = (module: string): Effect.Effect<unknown, Refused> =>
  Effect.suspend(() => {
    const refused = (said: string) => new Refused({ reason: `the module ${module} ${said}` })
    const path = pathOf(module)
    if (path === undefined) return Effect.fail(refused("is not there: that is no address of a file here"))
    const there = isFile(path)
    if (there) {
      return Effect.tryPromise({
        try: (): Promise<unknown> => import(pathToFileURL(path).href),
        catch: (cause) => refused(`cannot be loaded: ${reasonOf(cause)}`)
      })
    }
    if (isPath(module)) return Effect.fail(refused(`is not there: there is no file ${path}`))
    const seen = { found: false }
    return Effect.acquireUseRelease(
      fromHere(module, seen),
      () =>
        Effect.tryPromise({
          try: (): Promise<unknown> => import(module),
          catch: (cause) => refused(packageReasonOf(seen.found, path, cause))
        }),
      (hooks) => Effect.sync(() => hooks.deregister())
    )
  })

/** What was found instead of a desk, in a few words. */
const sightOf = (value: unknown): string =>
  Predicate.isPromise(value)
    ? "a promise: await it"
    : Predicate.isFunction(value)
      ? "a function: export what it returns"
      : Predicate.hasProperty(value, "workers")
        ? "a domain, or something else with workers"
        : show(value)

/** What a module without a default export has instead. */
const namesOf = (exports: object): string => {
  const named = Object.entries(exports).filter(([name]) => name !== "module.exports")
  const desk = named.find(([, value]) => Desk.isDesk(value))?.[0]
  if (desk !== undefined) return `its export ${desk} is a desk: export { ${desk} as default }`
  if (named.length === 0) return "it exports nothing"
  const names = named.slice(0, 5).map(([name]) => name)
  return `it exports ${names.join(", ")}${named.length > 5 ? ` and ${named.length - 5} more` : ""}`
}

const wanted = "a desk, or an effect of one"

/** The desk that an effect succeeds with. */
const made = (
  module: string,
  effect: Effect.Effect<unknown, unknown, Scope.Scope>
): Effect.Effect<unknown, Refused, Scope.Scope> =>
  Effect.catchCause(effect, (cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
    const said = shortened(plain(thrown(Cause.squash(cause))), 300)
    return Effect.fail(new Refused({ reason: `the module ${module} could not make its desk: ${said}` }))
  })

/**
 * Loads the desk that a module exports by default.
 *
 * @since 0.1.0
 */
export const load = Effect.fnUntraced(function* (module: string): Effect.fn.Return<Loaded, Refused, Scope.Scope> {
  const refuse = (reason: string) => new Refused({ reason })
  if (module.trim() === "" || module.length > longest) {
    return yield* refuse(`a module must be named in 1 to ${longest} characters, is ${many(module.length, "character")}`)
  }
  const exports = yield* importing(module)
  if (!Predicate.hasProperty(exports, "default")) {
    const names = namesOf(Predicate.isObject(exports) ? exports : {})
    return yield* refuse(`the module ${module} must export ${wanted} as default: it has no default export, ${names}`)
  }
  const found = exports.default
  if (Desk.isDesk(found)) return found as Loaded
  if (!Effect.isEffect(found)) {
    return yield* refuse(`the module ${module} must export ${wanted} as default, which is ${sightOf(found)}`)
  }
  const desk = yield* made(module, found as Effect.Effect<unknown, unknown, Scope.Scope>)
  if (Desk.isDesk(desk)) return desk as Loaded
  return yield* refuse(
    `the module ${module} exports an effect as default that must make a desk, and made ${sightOf(desk)}`
  )
})
