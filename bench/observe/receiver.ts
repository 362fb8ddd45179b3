/**
 * A collector that takes everything and keeps nothing, in a process of its own, so that its work is not counted.
 *
 * It is told whom to scrape, which it does once a second from then on, and asked in the end what came.
 */
import { createServer } from "node:http"
import { setInterval } from "node:timers/promises"

/** What it is told: the address of metrics, or nothing more. */
export type Order = { readonly scrape: string } | "end"

/** What it says: where it listens, that it has scraped for the first time, and in the end how many bytes came. */
export interface Listening {
  readonly port: number
}
export interface Received {
  readonly pushed: number
  readonly scraped: number
}

const say = (message: Listening | "scraping" | Received): void => void process.send?.(message)

let pushed = 0
let scraped = 0

const server = createServer((request, response) => {
  request.on("data", (chunk: Buffer) => (pushed += chunk.length))
  request.on("end", () => response.setHeader("content-type", "application/json").end("{}"))
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (typeof address === "object" && address !== null) say({ port: address.port })
})

const scrape = async (url: string): Promise<void> => {
  try {
    const response = await fetch(url)
    scraped += (await response.arrayBuffer()).byteLength
  } catch {
    // Nobody is there any more.
  }
}

const scraping = async (url: string): Promise<void> => {
  await scrape(url)
  say("scraping")
  for await (const address of setInterval(1_000, url)) await scrape(address)
}

process.on("message", (order: Order) => {
  if (order === "end") return say({ pushed, scraped })
  void scraping(order.scrape)
})
// Whoever made it has ended it, or failed.
process.on("disconnect", () => process.exit())
