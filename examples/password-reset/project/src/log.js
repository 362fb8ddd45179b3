/** A log: one line of JSON for each entry, on standard output. */
export const makeLog =
  () =>
  (event, fields = {}) => {
    console.log(JSON.stringify({ event, ...fields }))
  }
