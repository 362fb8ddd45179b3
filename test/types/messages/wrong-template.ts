// says: the template's child does not provide what the service declares
import { Effect, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Child, Supervisor } from "espalier"

class Session extends Actor.Service<Session>()("Session", [Rpc.make("Greet", { success: Schema.String })]) {}
class Sessions extends Supervisor.DynamicService<Sessions, { readonly user: string }, Session>()("Sessions") {}

export const sessions = Sessions.child(({ user }) => Child.effect(user, Effect.never))
