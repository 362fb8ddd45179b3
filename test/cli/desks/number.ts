/** An effect of something else than a desk. */
import { Effect } from "effect"

export default Effect.succeed(5)
