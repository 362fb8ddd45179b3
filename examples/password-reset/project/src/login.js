/** Who says the right password gets a session. */
export const makeLogin =
  ({ accounts, log, sessions }) =>
  (email, password) => {
    const fits = accounts.matches(email, password)
    log(fits ? "login" : "login refused", { email })
    return fits ? sessions.open(email) : undefined
  }
