// says: This comparison appears to be unintentional because the types '"down"' and '"up"' have no overlap
import { Effect } from "effect"
import { Child } from "espalier"

export const child = Child.effect("worker", Effect.fail("down" as const), {
  onFailure: (error) => (error === "up" ? "restart" : "stop")
})
