/** A desk that has to be made: its effect takes something, and holds it as long as the desk. */
import { Effect } from "effect"

import works from "./works.ts"

const say = (text: string) => Effect.sync(() => console.log(text))

export default Effect.as(
  Effect.acquireRelease(say("taken"), () => say("given back")),
  works
)
