// says: Type '"retry"' is not assignable to type 'Directive'
import { Effect } from "effect"
import { Child } from "espalier"

export const child = Child.effect("worker", Effect.fail("down" as const), { onFailure: () => "retry" })
