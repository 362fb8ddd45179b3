/**
 * Ledgers of which it is known that no account has a limit, so that there is nothing to be compared with one.
 *
 * A ledger that is not known here may have limits or not.
 *
 * @since 0.1.0
 */
interface Books {
  readonly accounts: ReadonlyMap<string, unknown>
}

const known = new WeakSet<Books["accounts"]>()

/**
 * Whether nothing can be refused by this ledger.
 *
 * @since 0.1.0
 */
export const isLimitless = ({ accounts }: Books): boolean => known.has(accounts)

/** @since 0.1.0 */
export const setLimitless = ({ accounts }: Books): void => void known.add(accounts)

/** @since 0.1.0 */
export const setLimited = ({ accounts }: Books): void => void known.delete(accounts)
