// says: is not assignable to type 'Effect<unknown, unknown, unknown>'
import { Effect } from "effect"
import { Child } from "espalier"

export const child = Child.make("worker", Effect.void)
