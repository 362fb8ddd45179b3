// says: Did you mean '"one-for-one"'
import { Supervisor } from "espalier"

export const root = Supervisor.make("root", { strategy: "one_for_one", children: [] })
