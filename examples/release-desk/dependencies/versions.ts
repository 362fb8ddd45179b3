/**
 * Whether a locked version is one that a manifest accepts, in the words of each ecosystem.
 *
 * Every function answers `true`, `false`, or `undefined` when the range or the version is written in a way it does not
 * know: an audit that is not sure says nothing.
 *
 * @since 0.1.0
 */
import semver from "semver"

const longest = 256

/**
 * npm: a range of `semver`.
 *
 * @category ranges
 * @since 0.1.0
 */
export const npm = (range: string, version: string): boolean | undefined => {
  if (range.length > longest || version.length > longest) return undefined
  if (semver.validRange(range) === null || semver.valid(version) === null) return undefined
  return semver.satisfies(version, range, { includePrerelease: true })
}

/**
 * Whether an npm or Cargo range leaves the largest version open.
 *
 * @category ranges
 * @since 0.1.0
 */
export const isOpenEnded = (range: string): boolean => {
  if (range.length > longest || semver.validRange(range) === null) return false
  return new semver.Range(range).set.some((all) =>
    all.every(({ operator, value }) => value === "" || operator === ">" || operator === ">=")
  )
}

/**
 * A Cargo requirement as a range of `semver`: a bare version is a caret range, a comma means *and*.
 *
 * @category ranges
 * @since 0.1.0
 */
export const cargoRange = (requirement: string): string =>
  requirement
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => (/^\d/.test(part) && !part.includes("*") ? `^${part}` : part))
    .join(" ")

/**
 * @category ranges
 * @since 0.1.0
 */
export const cargo = (requirement: string, version: string): boolean | undefined =>
  npm(cargoRange(requirement), version)

/**
 * Python: a PEP 440 specifier set, and Poetry's `^1.2` and `~1.2`.
 *
 * @category ranges
 * @since 0.1.0
 */
export const python = (specifiers: string, version: string): boolean | undefined => {
  if (specifiers.length > longest || version.length > longest) return undefined
  const locked = pep440(version)
  if (locked === undefined) return undefined
  let answer: boolean | undefined = true
  for (const written of specifiers.split(",")) {
    const part = written.trim()
    if (part === "" || part === "*") continue
    const said = pythonPart(part, locked)
    if (said === false) return false
    if (said === undefined) answer = undefined
  }
  return answer
}

interface Pep440 {
  readonly epoch: number
  readonly release: ReadonlyArray<number>
  /** Where it stands among those of the same release: dev < pre < final < post. */
  readonly stage: number
  readonly serial: number
}

const pep440 = (text: string): Pep440 | undefined => {
  const match =
    /^v?(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?(?:[-_.]?(post|rev|r)[-_.]?(\d*)|-(\d+))?(?:[-_.]?dev[-_.]?(\d*))?(?:\+[a-z0-9._-]+)?$/i.exec(
      text.trim()
    )
  if (match === null) return undefined
  const [, epoch, release = "", pre, preSerial, post, postSerial, implicitPost] = match
  const isDev = /dev/i.test(text)
  const letter = pre?.[0]?.toLowerCase()
  const stage =
    letter === "a" ? 1 : letter === "b" ? 2 : letter !== undefined ? 3 : (post ?? implicitPost) ? 5 : isDev ? 0 : 4
  return {
    epoch: Number(epoch ?? 0),
    release: release.split(".").map(Number),
    stage,
    serial: Number(preSerial ?? postSerial ?? implicitPost ?? 0)
  }
}

const compareRelease = (a: ReadonlyArray<number>, b: ReadonlyArray<number>): number => {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

const compare = (a: Pep440, b: Pep440): number =>
  a.epoch - b.epoch || compareRelease(a.release, b.release) || a.stage - b.stage || a.serial - b.serial

const startsWith = (version: Pep440, prefix: ReadonlyArray<number>): boolean =>
  prefix.every((part, at) => (version.release[at] ?? 0) === part)

const pythonPart = (part: string, locked: Pep440): boolean | undefined => {
  const match = /^(===|==|!=|~=|>=|<=|>|<|\^|~|=)?\s*([^\s]+)$/.exec(part)
  if (match === null) return undefined
  const [, operator = "==", operand = ""] = match
  if (operand.endsWith(".*")) {
    const prefix = pep440(operand.slice(0, -2))
    if (prefix === undefined) return undefined
    const inside = startsWith(locked, prefix.release)
    return operator === "==" ? inside : operator === "!=" ? !inside : undefined
  }
  const wanted = pep440(operand)
  if (wanted === undefined) return undefined
  const order = compare(locked, wanted)
  const below = (upper: ReadonlyArray<number>) => order >= 0 && compareRelease(locked.release, upper) < 0
  const { release } = wanted
  switch (operator) {
    case "==":
    case "===":
    case "=":
      return order === 0
    case "!=":
      return order !== 0
    case ">=":
      return order >= 0
    case "<=":
      return order <= 0
    case ">":
      return order > 0
    case "<":
      return order < 0
    case "~=":
      return release.length < 2 ? undefined : below(bumped(release, release.length - 2))
    case "~":
      return below(bumped(release, Math.min(1, release.length - 1)))
    case "^": {
      const first = release.findIndex((number) => number > 0)
      return below(bumped(release, first < 0 ? release.length - 1 : first))
    }
    default:
      return undefined
  }
}

const bumped = (release: ReadonlyArray<number>, at: number): ReadonlyArray<number> =>
  release.slice(0, at + 1).map((number, index) => (index === at ? number + 1 : number))
