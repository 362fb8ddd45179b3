// says: Type 'Database' is not assignable to type 'never'
import { Context, Effect } from "effect"
import { Child, Supervisor } from "espalier"

class Database extends Context.Service<Database, { readonly query: Effect.Effect<number> }>()("Database") {}

const root = Supervisor.make("root", {
  children: [
    Child.effect(
      "reader",
      Effect.flatMap(Database, ({ query }) => query)
    )
  ]
})

void Effect.runPromise(Supervisor.run(root))
