// says: Type '"no disk"' is not assignable to type 'never'
import { Effect } from "effect"
import { Child, Supervisor } from "espalier"

class Jobs extends Supervisor.DynamicService<Jobs>()("Jobs") {}

export const jobs = Jobs.child(() => Child.make("job", Effect.as(Effect.fail("no disk" as const), Effect.never)))
