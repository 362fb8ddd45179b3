// says: this effect yields an effect: use Child.make
import { Effect } from "effect"
import { Child } from "espalier"

export const child = Child.effect("worker", Effect.succeed(Effect.void))
