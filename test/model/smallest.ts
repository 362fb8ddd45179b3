/** The smallest case that can be found in so many attempts and of which `fails` still holds. */
export const smallest = <Case>(
  first: Case,
  smaller: (known: Case) => Iterable<Case>,
  fails: (candidate: Case) => boolean,
  attempts: number
): Case => {
  let best = first
  for (let left = attempts; left > 0;) {
    let found: { readonly candidate: Case } | undefined
    for (const candidate of smaller(best)) {
      if (left-- <= 0) return best
      if (!fails(candidate)) continue
      found = { candidate }
      break
    }
    if (found === undefined) return best
    best = found.candidate
  }
  return best
}
