/** Loads modules one after the other, in one process, and prints what is said of each as a line of JSON. */
import { Effect } from "effect"

import { load } from "../../src/cli/loading.ts"

for (const module of process.argv.slice(2)) {
  const said = Effect.match(load(module), {
    onSuccess: (desk) => `the desk ${desk.name}`,
    onFailure: ({ reason }) => reason
  })
  console.log(JSON.stringify(await Effect.runPromise(Effect.scoped(said))))
}
