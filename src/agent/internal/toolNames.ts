/**
 * Names of tools that every provider takes, for names that not every provider takes, and back.
 *
 * **Invariants**
 *
 * - Each name has a tool of its own, and a tool leads back to its name.
 * - A name that is a legal name of a tool is the name of its tool.
 *
 * @since 0.1.0
 */

/** Characters that a name of a tool may have. */
export const longestName = 64

const legal = /^[A-Za-z][\w-]{0,63}$/

/**
 * The tools of some names.
 *
 * **Details**
 *
 * - `toolOf`: the tool of a name that is one of them; of another one, the name.
 * - `nameOf`: the name that a model meant, by its tool or by itself, after trimming and in normal form; nothing fuzzier.
 *
 * @since 0.1.0
 */
export interface ToolNames {
  readonly toolOf: (name: string) => string
  readonly nameOf: (called: string) => string | undefined
}

const normal = (text: string): string => text.trim().normalize("NFC")

const legalised = (name: string): string => {
  const safe = name.replaceAll(".", "__").replaceAll(/[^\w-]/g, "_")
  // `__proto__` is no name for a field.
  return (/^[A-Za-z]/.test(safe) ? safe : `t_${safe}`).slice(0, longestName)
}

const free = (wanted: string, taken: ReadonlyMap<string, string>): string => {
  let name = wanted
  for (let number = 2; taken.has(name); number++) {
    const mark = `_${number}`
    name = `${wanted.slice(0, longestName - mark.length)}${mark}`
  }
  return name
}

/**
 * Names the tools of these names. `reserved`: names that are tools already, and lead to themselves.
 *
 * @since 0.1.0
 */
export const toolNames = (names: Iterable<string>, reserved: ReadonlyArray<string> = []): ToolNames => {
  const tools = new Map<string, string>()
  const called = new Map<string, string>()
  const add = (name: string, tool: string) => {
    tools.set(name, tool)
    called.set(tool, name)
  }
  for (const name of reserved) add(name, name)
  const all = new Set(names)
  for (const name of all) if (legal.test(name) && !tools.has(name)) add(name, name)
  for (const name of all) if (!tools.has(name)) add(name, free(legalised(name), called))
  const normals = new Map([...tools.keys()].map((name) => [normal(name), name]))
  return {
    toolOf: (name) => tools.get(name) ?? name,
    nameOf: (text) => called.get(normal(text)) ?? normals.get(normal(text))
  }
}
