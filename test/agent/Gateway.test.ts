import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Logger, References, Tracer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { Failure } from "espalier"
import { Gateway } from "espalier/agent"
import { Dependency, Effects, Run } from "espalier/run"

import { desk, memory, settle, task, worker } from "../run/desks.ts"
import { of } from "../run/guards.ts"

const host = "api.example.com"

const who = { by: "ann", why: "it is being attacked" }

const tagged = (error: unknown): string => (error as { readonly _tag?: string })._tag ?? "none"

/** What became of a call: its value, or the tag of its error with its kind. */
const outcome = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(effect), (exit): unknown => {
    if (Exit.isSuccess(exit)) return exit.value
    const error = Cause.squash(exit.cause)
    return `${tagged(error)} ${Failure.kindOf(error)}`
  })

/** An effect that counts how often it was begun, and when, in seconds. */
const tracker = () => {
  const at: Array<number> = []
  const run = TestClock.testClockWith((clock) =>
    Effect.sync(() => {
      at.push(clock.currentTimeMillisUnsafe() / 1_000)
      return "fine"
    })
  )
  return { at, run }
}

/** Work that goes on until it is let go, and tells whether it was interrupted. */
const endless = () => {
  const open = Deferred.makeUnsafe<string>()
  const log: Array<string> = []
  const run = Effect.suspend(() => {
    log.push("began")
    return Deferred.await(open)
  }).pipe(Effect.onInterrupt(() => Effect.sync(() => log.push("closed"))))
  return { log, run, open: Deferred.succeed(open, "fine") }
}

describe("Gateway", () => {
  describe("switches", () => {
    it.effect.each([
      ["the tool", { tool: "search" }],
      ["the host", { host }],
      ["the host in capitals and with a dot", { host: "API.Example.com." }],
      ["a pattern", { host: "*.example.com" }]
    ] as const)("R-403 nothing leaves when %s is switched off, until it is on again", ([, target]) =>
      Effect.gen(function* () {
        const { at, run } = tracker()
        const search = Gateway.call({ tool: "search", host: "Api.Example.COM:443" }, run)
        assert.strictEqual(yield* search, "fine")
        yield* Gateway.switchOff({ ...target, ...who })
        const error = yield* Effect.flip(search)
        assert(error._tag === "GatewayOff")
        assert.strictEqual(Failure.kindOf(error), "capability")
        const name = "tool" in target ? "the tool search" : `the host ${host}`
        assert.strictEqual(error.message, `${name} is switched off by ann: it is being attacked`)
        assert.strictEqual(at.length, 1)
        yield* Gateway.switchOn({ ...target, by: "bob", why: "it is over" })
        assert.strictEqual(yield* search, "fine")
      }).pipe(Effect.provide(Gateway.layer()))
    )

    it.effect("other tools and hosts go on, and so does what goes by its tool alone", () =>
      Effect.gen(function* () {
        yield* Gateway.switchOff({ host: "*.example.com", ...who })
        yield* Gateway.switchOff({ tool: "mail", ...who })
        const call = (options: Gateway.Call<never>) => outcome(Gateway.call(options, Effect.succeed("fine")))
        assert.strictEqual(yield* call({ tool: "search", host: "example.com" }), "fine")
        assert.strictEqual(yield* call({ tool: "search", host: "notexample.com" }), "fine")
        assert.strictEqual(yield* call({ tool: "search" }), "fine")
        assert.strictEqual(yield* call({ tool: "mail" }), "GatewayOff capability")
        // What was switched off by a pattern is not switched on by a host of it.
        yield* Gateway.switchOn({ host, ...who })
        assert.strictEqual(yield* call({ tool: "search", host }), "GatewayOff capability")
        const { off } = yield* Gateway.state
        assert.deepStrictEqual(off, [
          { host: "*.example.com", ...who, at: 0 },
          { tool: "mail", ...who, at: 0 }
        ])
      }).pipe(Effect.provide(Gateway.layer()))
    )

    it.effect("what waits is refused when it is switched off meanwhile, and what is under way goes on", () =>
      Effect.gen(function* () {
        const first = endless()
        const under = yield* Effect.forkChild(Gateway.call({ tool: "a", host }, first.run))
        const next = tracker()
        const waits = yield* Effect.forkChild(outcome(Gateway.call({ tool: "a", host }, next.run)))
        yield* settle
        yield* Gateway.switchOff({ tool: "a", ...who })
        yield* first.open
        assert.strictEqual(yield* Fiber.join(under), "fine")
        assert.strictEqual(yield* Fiber.join(waits), "GatewayOff capability")
        assert.deepStrictEqual(next.at, [])
      }).pipe(Effect.provide(Gateway.layer({ concurrency: 1 })))
    )

    it.effect("D115 a tool of any name is itself alone", () =>
      Effect.gen(function* () {
        for (const tool of ["__proto__", "constructor", "toString"]) {
          const call = Gateway.call({ tool, url: `https://${host}/` }, Effect.succeed("fine"))
          assert.strictEqual(yield* outcome(call), "GatewayDenied denied")
          assert.strictEqual(yield* Gateway.call({ tool }, Effect.succeed("fine")), "fine")
        }
      }).pipe(Effect.provide(Gateway.layer({ tools: { search: { hosts: [host] } } })))
    )

    it.effect("R-403 every switch and every refusal is told and counted", () =>
      Effect.gen(function* () {
        const changes: Array<string> = []
        const { changes: listen } = yield* Gateway.Gateway
        const remove = listen(({ _tag, at, note, reason }) => void changes.push([_tag, at, reason, note].join(" | ")))
        const call = Gateway.call({ tool: "search", host }, Effect.succeed("fine"))
        yield* call
        yield* Gateway.switchOff({ host, ...who })
        yield* Effect.flip(call)
        yield* Gateway.switchOff({ tool: "search", ...who, why: "also" })
        yield* Gateway.switchOn({ tool: "other", ...who })
        yield* Gateway.switchOn({ host, by: "bob", why: "done" })
        remove()
        yield* Gateway.switchOn({ tool: "search", ...who })
        yield* Effect.flip(Gateway.call({ tool: "search", host: "no host" }, Effect.void))
        yield* Effect.flip(Gateway.call({ tool: "search", host }, Effect.fail("no")))
        assert.deepStrictEqual(changes, [
          `SwitchedOff | 0 |  | the host ${host} is switched off by ann: it is being attacked`,
          `Refused | 0 | GatewayOff | the host ${host} is switched off by ann: it is being attacked`,
          "SwitchedOff | 0 |  | the tool search is switched off by ann: also",
          `SwitchedOn | 0 |  | the host ${host} is switched on by bob: done`
        ])
        const counts = { calls: 2, failed: 1, timedOut: 0, underWay: 0, waiting: 0 }
        const { hosts, tools } = yield* Gateway.state
        assert.deepStrictEqual(tools, [{ name: "search", ...counts, refused: 2 }])
        assert.deepStrictEqual(hosts, [{ name: host, ...counts, refused: 1 }])
      }).pipe(Effect.provide(Gateway.layer()))
    )

    it.effect("a listener that throws is not called again, and the call goes on", () =>
      Effect.gen(function* () {
        let heard = 0
        const logged: Array<unknown> = []
        const { changes } = yield* Gateway.Gateway
        changes(() => {
          heard++
          throw new Error("no")
        })
        yield* Effect.gen(function* () {
          yield* Gateway.switchOff({ tool: "a", ...who })
          yield* Gateway.switchOff({ tool: "b", ...who })
        }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))])))
        assert.strictEqual(heard, 1)
        assert.include(inspect(logged), "a listener threw")
      }).pipe(Effect.provide(Gateway.layer()))
    )
  })

  describe("time", () => {
    it.effect("R-403 D46 a tool that never answers is a time-out with its name, and what it had open is closed", () =>
      Effect.gen(function* () {
        const { log, run } = endless()
        const fiber = yield* Effect.forkChild(Effect.flip(Gateway.call({ tool: "search", host }, run)))
        yield* settle
        yield* TestClock.adjust("59 seconds")
        assert.deepStrictEqual(log, ["began"])
        yield* TestClock.adjust("1 second")
        const error = yield* Fiber.join(fiber)
        assert.strictEqual(tagged(error), "GatewayTimeout")
        assert.strictEqual(Failure.kindOf(error), "transient")
        assert.strictEqual((error as Error).message, `the tool search has not answered at ${host} within 1m`)
        assert.deepStrictEqual(log, ["began", "closed"])
      }).pipe(Effect.provide(Gateway.layer()))
    )

    it.effect.each([
      ["the call", { tool: "a", timeout: "2 seconds" }, 2],
      ["its tool", { tool: "b" }, 3],
      ["the gateway", { tool: "c" }, 5]
    ] as const)("the time-out is that of %s", ([, options, seconds]) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(outcome(Gateway.call(options, Effect.never)))
        yield* settle
        yield* TestClock.adjust(seconds * 1_000 - 1)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* Fiber.join(fiber), "GatewayTimeout transient")
      }).pipe(
        Effect.provide(
          Gateway.layer({ timeout: "5 seconds", tools: { b: { timeout: "3 seconds" }, a: { timeout: 9 } } })
        )
      )
    )

    it.effect("D46 the task goes on with the next tool, and what was performed may have happened", () =>
      Effect.gen(function* () {
        const hung = worker("one", ({ task }) =>
          Effect.gen(function* () {
            const call = Gateway.call({ tool: "hung", timeout: "1 second" }, Effect.as(Effect.never, "never"))
            if (task === "a")
              return yield* Effect.catchTag(call, "GatewayTimeout", ({ tool }) => Effect.succeed(`no ${tool}`))
            return yield* Effects.perform({ name: "hung", run: () => call })
          })
        )
        const built = desk([hung], [task("a"), task("b")])
        const fiber = yield* Effect.forkChild(Run.start(built, { id: "r1", input: "go", log: false }))
        yield* settle
        yield* TestClock.adjust("1 second")
        yield* settle
        const [reported] = (yield* of("Reported")).filter(({ task }) => task === "a")
        assert.strictEqual(reported?.result.output, "no hung")
        yield* TestClock.adjust("1 second")
        yield* settle
        // Nobody has written down that it has not happened: a person is asked.
        assert.strictEqual((yield* of("EffectIntended")).length, 1)
        assert.deepStrictEqual(yield* of("EffectSettled"), [])
        yield* Fiber.interrupt(fiber)
      }).pipe(memory, Effect.provide(Gateway.layer()))
    )
  })

  describe("turns", () => {
    it.effect.each([
      ["a tool", { tools: { a: { rate: { calls: 2, per: "10 seconds" } } } }],
      ["a host", { hosts: { [host]: { rate: { calls: 2, per: "10 seconds" } } } }],
      ["a pattern", { hosts: { "*.example.com": { rate: { calls: 2, per: "10 seconds" } } } }]
    ] as const)("R-403 calls above the rate of %s wait, in turn", ([, options]) =>
      Effect.gen(function* () {
        const { at, run } = tracker()
        const names: Array<number> = []
        const calls = Array.from({ length: 5 }, (_, index) =>
          Gateway.call(
            { tool: "a", host },
            Effect.andThen(
              Effect.sync(() => names.push(index)),
              run
            )
          )
        )
        const fiber = yield* Effect.forkChild(Effect.all(calls, { concurrency: "unbounded" }))
        yield* settle
        assert.strictEqual((yield* Gateway.state).tools[0]?.waiting, 3)
        for (let second = 0; second < 20; second++) yield* TestClock.adjust("1 second")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(at, [0, 0, 5, 10, 15])
        assert.deepStrictEqual(names, [0, 1, 2, 3, 4])
      }).pipe(Effect.provide(Gateway.layer(options)))
    )

    it.effect("whoever comes later does not overtake whoever waits for a rate", () =>
      Effect.gen(function* () {
        const names: Array<string> = []
        const call = (name: string) =>
          Gateway.call(
            { tool: "a" },
            Effect.sync(() => names.push(name))
          )
        const late = yield* Effect.forkChild(Effect.andThen(Effect.sleep("5 seconds"), call("late")))
        yield* settle
        const early = yield* Effect.forkChild(Effect.all([call("1"), call("2"), call("3")], { concurrency: 3 }))
        yield* settle
        for (let second = 0; second < 15; second++) yield* TestClock.adjust("1 second")
        yield* Fiber.join(early)
        yield* Fiber.join(late)
        assert.deepStrictEqual(names, ["1", "2", "3", "late"])
      }).pipe(Effect.provide(Gateway.layer({ tools: { a: { rate: { calls: 1, per: "5 seconds" } } } })))
    )

    it.effect("at most so many calls of a host are under way, at most so many wait, and nobody waits for ever", () =>
      Effect.gen(function* () {
        const works = [endless(), endless(), endless(), endless()]
        const fibers: Array<Fiber.Fiber<unknown>> = []
        for (const { run } of works) {
          fibers.push(yield* Effect.forkChild(outcome(Gateway.call({ tool: "a", host, timeout: "1 hour" }, run))))
          yield* settle
        }
        assert.deepStrictEqual(
          works.map(({ log }) => log.length),
          [1, 1, 0, 0]
        )
        assert.strictEqual(yield* Fiber.join(fibers[3]!), "GatewayBusy transient")
        assert.strictEqual(
          yield* Gateway.call({ tool: "a", host: "other.example.com" }, Effect.succeed("fine")),
          "fine"
        )
        yield* TestClock.adjust("60 seconds")
        assert.strictEqual(yield* Fiber.join(fibers[2]!), "GatewayBusy transient")
        // An interrupted call gives its place back.
        yield* Fiber.interrupt(fibers[0]!)
        assert.strictEqual(yield* Gateway.call({ tool: "a", host }, Effect.succeed("fine")), "fine")
        const { hosts } = yield* Gateway.state
        assert.deepInclude(hosts[0], { calls: 3, refused: 2, failed: 1, underWay: 1, waiting: 0 })
        yield* works[1]!.open
        assert.strictEqual(yield* Fiber.join(fibers[1]!), "fine")
      }).pipe(Effect.provide(Gateway.layer({ hosts: { [host]: { concurrency: 2, queue: 1 } } })))
    )

    it.effect("a host that keeps failing, or does not answer, is left alone by every tool", () =>
      Effect.gen(function* () {
        const { at, run } = tracker()
        const hung = Gateway.call({ tool: "a", host, timeout: "1 second" }, Effect.never)
        for (let count = 0; count < 2; count++) {
          const fiber = yield* Effect.forkChild(outcome(hung))
          yield* settle
          yield* TestClock.adjust("1 second")
          assert.strictEqual(yield* Fiber.join(fiber), "GatewayTimeout transient")
        }
        const error = yield* Effect.flip(Gateway.call({ tool: "b", host }, run))
        assert(error._tag === "DependencyOpen")
        assert.strictEqual(Dependency.blame(error), `host:${host}`)
        assert.deepStrictEqual(at, [])
        assert.deepInclude((yield* Gateway.state).tools[1], { name: "b", calls: 0, refused: 1 })
        assert.strictEqual(yield* Gateway.call({ tool: "b" }, run), "fine")
      }).pipe(Effect.provide([Gateway.layer(), Dependency.layer({ failures: 2 })]))
    )
  })

  describe("hosts", () => {
    const layer = Gateway.layer({
      tools: {
        search: {
          hosts: [host, "*.pages.example.com", "127.0.0.1", "[::1]", "münchen.example.com", "*.internal.example"]
        },
        none: { hosts: [] }
      }
    })

    it.effect.each([
      ["https://api.example.com/a?b=c", "fine"],
      ["http://API.EXAMPLE.COM.:8080/", "fine"],
      ["https://user:pw@api.example.com/", "fine"],
      ["https://a.b.pages.example.com", "fine"],
      ["https://xn--mnchen-3ya.example.com", "fine"],
      ["http://127.0.0.1:3000/", "fine"],
      ["http://2130706433/", "fine"],
      ["http://[::1]/", "fine"],
      ["https://pages.example.com", "unlisted"],
      ["https://evilpages.example.com", "unlisted"],
      ["https://api.example.com.evil.org", "unlisted"],
      ["https://api.example.com@evil.org/", "unlisted"],
      ["https://evil.org/#api.example.com", "unlisted"],
      ["ftp://api.example.com", "scheme"],
      ["file:///etc/passwd", "scheme"],
      ["javascript:alert(1)", "scheme"],
      ["api.example.com", "invalid"],
      ["", "invalid"],
      ["http://localhost/", "private"],
      ["http://a.localhost/", "private"],
      ["http://router/", "private"],
      ["http://db.internal/", "private"],
      ["http://10.1.2.3/", "private"],
      ["http://0x7f.2/", "private"],
      ["http://0.0.0.0/", "private"],
      ["http://169.254.169.254/latest/meta-data", "private"],
      ["http://172.31.0.1/", "private"],
      ["http://192.168.0.1/", "private"],
      ["http://100.64.0.1/", "private"],
      ["http://[::ffff:10.0.0.1]/", "private"],
      ["http://[fd00::1]/", "private"],
      ["http://[fe80::1]/", "private"],
      ["http://[::]/", "private"],
      ["http://[2002:a00:1::]/", "private"],
      ["http://[64:ff9b::a00:1]/", "private"],
      ["http://8.8.8.8/", "unlisted"],
      ["http://172.32.0.1/", "unlisted"],
      ["http://[2606:4700::1111]/", "unlisted"]
    ] as const)("D115 a URL goes only where the tool is listed: %s is %s", ([url, expected]) =>
      Effect.gen(function* () {
        const exit = yield* Effect.result(Gateway.call({ tool: "search", url }, Effect.succeed("fine")))
        const reason = exit._tag === "Success" ? exit.success : (exit.failure as Gateway.GatewayDenied).reason
        assert.strictEqual(reason, expected)
        for (const tool of ["none", "unknown"]) {
          assert.strictEqual(
            yield* outcome(Gateway.call({ tool, url }, Effect.succeed("fine"))),
            "GatewayDenied denied"
          )
        }
      }).pipe(Effect.provide(layer))
    )

    it.effect("a host of the code goes where the list says, or anywhere without one", () =>
      Effect.gen(function* () {
        const call = (tool: string, host: string) => outcome(Gateway.call({ tool, host }, Effect.succeed("fine")))
        assert.strictEqual(yield* call("search", host), "fine")
        assert.strictEqual(yield* call("search", "evil.org"), "GatewayDenied denied")
        assert.strictEqual(yield* call("none", host), "GatewayDenied denied")
        assert.strictEqual(yield* call("unknown", "localhost:80"), "fine")
        for (const each of ["", "a/b", "a b", "a@b", "a?b", "http://a"]) {
          assert.strictEqual(yield* call("unknown", each), "GatewayDenied denied")
        }
        // Nothing is kept of where nobody may go.
        const { hosts } = yield* Gateway.state
        assert.deepStrictEqual(
          hosts.map(({ name }) => name),
          [host, "localhost"]
        )
      }).pipe(Effect.provide(layer))
    )
  })

  describe("httpClient", () => {
    const answers: Record<string, () => Response> = {
      "https://api.example.com/": () => new Response("fine"),
      "https://api.example.com/moved": () => Response.redirect("https://pages.example.com/new", 302),
      "https://pages.example.com/new": () => new Response("new"),
      "https://api.example.com/away": () => Response.redirect("http://169.254.169.254/latest", 302),
      "https://api.example.com/round": () => Response.redirect("https://api.example.com/round", 302),
      "https://api.example.com/limited": () => new Response("", { status: 429, headers: { "retry-after": "30" } })
    }

    /** A provider whose requests are kept: each URL, and how redirects were asked for. */
    const setup = () => {
      const sent: Array<string> = []
      const fetch: typeof globalThis.fetch = (url, init) => {
        sent.push(`${String(url)} ${init?.redirect}`)
        return Promise.resolve((answers[String(url)] ?? (() => new Response("", { status: 404 })))())
      }
      const gateway = Gateway.layer({ tools: { search: { hosts: [host, "pages.example.com"] } } })
      const layer = Layer.mergeAll(gateway, FetchHttpClient.layer, Layer.succeed(FetchHttpClient.Fetch, fetch))
      return { sent, layer }
    }

    const read = (url: string, tool = "search") =>
      Effect.gen(function* () {
        const client = yield* Gateway.httpClient(tool)
        const response = yield* client.get(url)
        return `${response.status} ${yield* response.text}`
      })

    it.effect("each request is a call to its host, and redirects are followed by hand", () =>
      Effect.gen(function* () {
        const { layer, sent } = setup()
        yield* Effect.gen(function* () {
          assert.strictEqual(yield* read("https://api.example.com/"), "200 fine")
          assert.strictEqual(yield* read("https://api.example.com/moved"), "200 new")
          assert.strictEqual(yield* read("https://api.example.com/absent"), "404 ")
          const { hosts } = yield* Gateway.state
          assert.deepStrictEqual(
            hosts.map(({ calls, name }) => [name, calls]),
            [
              [host, 3],
              ["pages.example.com", 1]
            ]
          )
        }).pipe(Effect.provide(layer))
        assert.deepStrictEqual(sent.slice(0, 3), [
          "https://api.example.com/ manual",
          "https://api.example.com/moved manual",
          "https://pages.example.com/new manual"
        ])
      })
    )

    it.effect("D115 a redirect to where the tool may not go, or to what is off, is not followed", () =>
      Effect.gen(function* () {
        const { layer, sent } = setup()
        yield* Effect.gen(function* () {
          assert.strictEqual(yield* outcome(read("https://api.example.com/away")), "GatewayDenied denied")
          assert.strictEqual(yield* outcome(read("https://api.example.com/", "other")), "GatewayDenied denied")
          yield* Gateway.switchOff({ host: "pages.example.com", ...who })
          assert.strictEqual(yield* outcome(read("https://api.example.com/moved")), "GatewayOff capability")
          assert.strictEqual(yield* outcome(read("https://api.example.com/round")), "302 ")
        }).pipe(Effect.provide(layer))
        assert.strictEqual(sent.filter((each) => each.includes("round")).length, 6)
        assert.deepStrictEqual(sent.slice(0, 2), [
          "https://api.example.com/away manual",
          "https://api.example.com/moved manual"
        ])
      })
    )

    it.effect("D115 a redirect to another origin takes no header along that could be a key, also not back again", () =>
      Effect.gen(function* () {
        const hops: Record<string, string> = {
          "https://api.example.com/a": "https://api.example.com/b",
          "https://api.example.com/b": "https://pages.example.com/c",
          "https://pages.example.com/c": "https://api.example.com/d"
        }
        const sent: Array<readonly [string, ReadonlyArray<string>]> = []
        const fetch: typeof globalThis.fetch = (url, init) => {
          sent.push([String(url), [...new Headers(init?.headers).keys()].toSorted()])
          const to = hops[String(url)]
          return Promise.resolve(to === undefined ? new Response("end") : Response.redirect(to, 302))
        }
        const gateway = Gateway.layer({ tools: { search: { hosts: [host, "pages.example.com"] } } })
        const headers = {
          Accept: "text/plain",
          "accept-language": "en",
          authorization: "key",
          "content-type": "text/plain",
          "user-agent": "me",
          "X-Api-Key": "key",
          "x-accept": "key"
        }
        const text = yield* Effect.gen(function* () {
          const client = yield* Gateway.httpClient("search")
          const response = yield* client.get("https://api.example.com/a", { headers })
          return yield* response.text
        }).pipe(
          Effect.provide(Layer.mergeAll(gateway, FetchHttpClient.layer, Layer.succeed(FetchHttpClient.Fetch, fetch)))
        )
        assert.strictEqual(text, "end")
        const all = Object.keys(headers)
          .map((name) => name.toLowerCase())
          .toSorted()
        const some = ["accept", "accept-language", "content-type", "user-agent"]
        assert.deepStrictEqual(sent, [
          ["https://api.example.com/a", all],
          ["https://api.example.com/b", all],
          ["https://pages.example.com/c", some],
          ["https://api.example.com/d", some]
        ])
      })
    )

    it.effect("an answer of trouble is an answer, and counts for the breaker of its host", () =>
      Effect.gen(function* () {
        const { layer } = setup()
        yield* Effect.gen(function* () {
          assert.strictEqual(yield* read("https://api.example.com/limited"), "429 ")
          const error = yield* Effect.flip(read("https://api.example.com/"))
          assert(error._tag === "DependencyOpen")
          assert.strictEqual(error.retryAfterMillis, 30_000)
        }).pipe(Effect.provide(layer), Effect.provide(Dependency.layer()))
      })
    )

    it.effect("D46 a request that is not answered is given up, and its connection is told", () =>
      Effect.gen(function* () {
        const signals: Array<AbortSignal> = []
        const client = HttpClient.make((_request, _url, signal) => {
          signals.push(signal)
          return Effect.never
        })
        const gateway = Gateway.layer({ tools: { search: { hosts: [host], timeout: "5 seconds" } } })
        const fiber = yield* Effect.forkChild(outcome(read(`https://${host}/`))).pipe(
          Effect.provide(Layer.merge(gateway, Layer.succeed(HttpClient.HttpClient, client)))
        )
        yield* settle
        assert.deepStrictEqual(
          signals.map(({ aborted }) => aborted),
          [false]
        )
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual(yield* Fiber.join(fiber), "GatewayTimeout transient")
        assert.deepStrictEqual(
          signals.map(({ aborted }) => aborted),
          [true]
        )
      })
    )
  })

  describe("what is told", () => {
    it.effect("R-403 D106 names, outcome and time are logged and traced; arguments and results are not", () =>
      Effect.gen(function* () {
        const logged: Array<unknown> = []
        const spans: Array<Tracer.NativeSpan> = []
        const logger = Logger.make(({ fiber, logLevel, message }) => {
          logged.push([logLevel, message, fiber.getRef(References.CurrentLogAnnotations)])
        })
        const tracer = Tracer.make({
          span: (options) => {
            const span = new Tracer.NativeSpan(options)
            spans.push(span)
            return span
          }
        })
        const client = HttpClient.make((request) =>
          Effect.succeed(HttpClientResponse.fromWeb(request, new Response("canary-result")))
        )
        yield* Effect.gen(function* () {
          const found = yield* Effect.flatMap(Gateway.httpClient("search"), (client) =>
            client.execute(HttpClientRequest.get(`https://${host}/canary-path?q=canary-query`))
          )
          assert.strictEqual(yield* found.text, "canary-result")
          yield* Effect.flip(Gateway.call({ tool: "mail" }, Effect.fail("canary-error")))
          yield* Effect.flip(Gateway.call({ tool: "search", url: "https://canary.example.org/canary" }, Effect.void))
          yield* Gateway.switchOff({ tool: "mail", by: "ann", why: "it is slow" })
          yield* Gateway.switchOn({ tool: "mail", by: "ann", why: "it is back" })
        }).pipe(
          Effect.provideService(References.MinimumLogLevel, "All"),
          Effect.provide([
            Logger.layer([logger]),
            Layer.succeed(Tracer.Tracer, tracer),
            Layer.succeed(HttpClient.HttpClient, client),
            Gateway.layer({ tools: { search: { hosts: [host] } } })
          ])
        )
        assert.deepStrictEqual(logged, [
          [
            "Debug",
            [`Gateway: the tool search was called at ${host}`],
            { tool: "search", host, outcome: "success", millis: 0 }
          ],
          ["Info", ["Gateway: the tool mail failed"], { tool: "mail", outcome: "failure", millis: 0 }],
          [
            "Warn",
            ["Gateway: the tool search is not let out at canary.example.org: it may not go there"],
            { tool: "search", host: "canary.example.org", outcome: "refused", millis: 0 }
          ],
          ["Info", ["Gateway: the tool mail is switched off by ann: it is slow"], { tool: "mail", by: "ann" }],
          ["Info", ["Gateway: the tool mail is switched on by ann: it is back"], { tool: "mail", by: "ann" }]
        ])
        assert.deepStrictEqual(
          spans.map(({ attributes, name }) => [name, ...attributes.values()]),
          [
            ["Gateway.call", "search", host],
            ["Gateway.call", "mail"]
          ]
        )
      })
    )
  })

  it.each([
    [{ timeout: 0 }, /timeout must be/],
    [{ queue: 0 }, /queue must be a whole number >= 1/],
    [{ concurrency: 1.5 }, /concurrency must be a whole number >= 1/],
    [{ rates: {} }, /each field of options must be/],
    [{ tools: { a: { hosts: ["*"] } } }, /tools\.a\.hosts\[0\] must be a host/],
    [{ tools: { a: { hosts: ["*.com"] } } }, /tools\.a\.hosts\[0\] must be a host/],
    [{ tools: { a: { hosts: ["a.*.com"] } } }, /tools\.a\.hosts\[0\] must be a host/],
    [{ tools: { a: { rate: { calls: 0, per: 1 } } } }, /tools\.a\.rate\.calls must be/],
    [{ tools: { a: { rate: { calls: 1, per: Infinity } } } }, /tools\.a\.rate\.per must be finite/],
    [{ hosts: { "a/b": {} } }, /hosts\.a\/b must be a host/],
    [{ off: [{ tool: "a", by: "", why: "x" }] }, /off\[0\]\.by must be a text that is not empty/],
    [{ off: [{ by: "ann", why: "x" }] }, /off\[0\]\.target must be either a tool or a host/]
  ] as const)("options that do not hold are refused by name: %o", (options, message) => {
    assert.throws(() => Gateway.layer(options as Gateway.Options), message)
  })
})
