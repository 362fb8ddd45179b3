/** The floor: asynchronous functions that are called and awaited, with nobody in between. */
import type { Contender } from "../util.ts"
import { at, fanOut, mustBe, now } from "../util.ts"

const step =
  (does: string) =>
  async (text: string): Promise<string> =>
    `${text} ${does}`

const chain = async (n: number) => {
  const research = step("researched")
  const write = step("written")
  const check = step("checked")
  const t0 = now()
  let last = ""
  for (let i = 0; i < n; i++) last = await check(await write(await research("task")))
  const micros = ((now() - t0) * 1000) / (n * 3)
  mustBe("the last verdict", last, "task researched written checked")
  return micros
}

const fan = async (n: number) => {
  const work = step("done")
  const t0 = now()
  for (let i = 0; i < n; i++) {
    let next = 0
    let done = 0
    const slot = async (): Promise<void> => {
      while (next++ < fanOut.tasks) {
        await work("task")
        done += 1
      }
    }
    await Promise.all(Array.from({ length: fanOut.inFlight }, slot))
    mustBe("the results", done, fanOut.tasks)
  }
  return ((now() - t0) * 1000) / (n * fanOut.tasks)
}

export const contender: Contender = {
  W5: async (scale) => ({
    dispatch: await chain(at(5_000, scale)),
    "fan-out": await fan(at(200, scale, 2))
  })
}
