/**
 * Amounts of money as whole numbers of a small unit, so that sums do not depend on their order.
 *
 * One unit is a 1,000,000,000,000th of the currency: the price of one token, in whole millionths of the currency per million
 * tokens, is a whole number of them.
 *
 * @since 0.1.0
 */

/** How many decimal digits of an amount are kept. */
const digits = 12

/**
 * An amount in units.
 *
 * @since 0.1.0
 */
export const unitsOf = (amount: number): bigint => BigInt(amount.toFixed(digits).replace(".", ""))

const perCurrency = 10n ** BigInt(digits)

/**
 * Units as an amount: the nearest number that there is.
 *
 * @since 0.1.0
 */
export const amountOf = (units: bigint): number => {
  const rest = String(units % perCurrency).padStart(digits, "0")
  return Number(`${units / perCurrency}.${rest}`)
}
