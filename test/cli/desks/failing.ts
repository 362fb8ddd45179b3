/** A desk that cannot be made. */
import { Effect, Schema } from "effect"

class NoPassword extends Schema.TaggedError<NoPassword>()("NoPassword", {}) {
  override get message(): string {
    return "there is no password"
  }
}

export default Effect.fail(new NoPassword())
