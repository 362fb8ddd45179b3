import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Layer, Redacted, Schema } from "effect"
import { Redaction } from "espalier"

const { text, value } = Redaction.defaults

/** Letters and digits that no two examples share a use for. */
const body = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC3dE5fG7"
const lower = body.toLowerCase()
const hex = "0123456789abcdef0123456789abcdef"
const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${body}`
const pem = (kind: string) => `-----BEGIN ${kind}-----\nMIIEvQIBADANBgkq${body}\n${body}==\n-----END ${kind}-----`

/** A text, the secret in it, and the rule that takes it out. */
const secrets: ReadonlyArray<readonly [name: string, text: string, secret: string, rule: string]> = [
  ["an OpenAI key", `key is sk-proj-${body}.`, `sk-proj-${body}`, "api-key"],
  ["an Anthropic key", `sk-ant-api03-${body}-AA`, body, "api-key"],
  ["a GitHub token", `cloned with ghp_${body.slice(0, 36)}!`, `ghp_${body.slice(0, 36)}`, "github-token"],
  ["a fine-grained GitHub token", `github_pat_${body}`, body, "github-token"],
  ["a GitLab token", `glpat-${body.slice(0, 20)}`, body.slice(0, 20), "gitlab-token"],
  ["a Slack token", `xoxb-123456789012-${body}`, body, "slack-token"],
  ["a Slack webhook", `https://hooks.slack.com/services/T00/B00/${body}`, body, "slack-webhook"],
  ["an npm token", `npm_${body.slice(0, 36)} was used`, body.slice(0, 36), "npm-token"],
  ["a PyPI token", `pypi-${body}`, body, "pypi-token"],
  ["an AWS access key", "AKIAIOSFODNN7EXAMPLE in us-east-1", "AKIAIOSFODNN7EXAMPLE", "aws-key"],
  ["a Google key", `AIza${body.slice(0, 35)}`, body.slice(0, 35), "google-key"],
  ["a Google access token", `ya29.${body}`, body, "google-key"],
  ["a Stripe key", `sk_live_${body.slice(0, 24)}`, body.slice(0, 24), "stripe-key"],
  ["a SendGrid key", `SG.${body.slice(0, 22)}.${body}`, body, "sendgrid-key"],
  ["a Shopify token", `shpat_${hex}`, hex, "shopify-token"],
  ["a Vault token", `hvs.${body}`, body, "vault-token"],
  ["a Telegram token", `123456789:AA${body.slice(0, 33)}`, body.slice(0, 33), "telegram-token"],
  ["a JWT", `signed ${jwt}`, jwt, "jwt"],
  ["a bearer token in a sentence", `sent Bearer ${lower} along`, lower, "bearer-token"],
  ["basic credentials", "Basic YWxhZGRpbjpvcGVuc2VzYW1l", "YWxhZGRpbjpvcGVuc2VzYW1l", "basic-auth"],
  ["an Authorization header", `GET / HTTP/1.1\r\nAuthorization: Bearer ${body}\r\nHost: a`, body, "authorization"],
  ["a header of a command", `curl -H "Authorization: Basic YTpi" https://a.example`, "YTpi", "authorization"],
  ["a Cookie header", "Cookie: sid=31d4d96e407aad42; theme=dark\nHost: a", "31d4d96e407aad42", "cookie"],
  ["a Set-Cookie header", "set-cookie: id=a3fWa; Max-Age=2592000", "a3fWa", "cookie"],
  ["a user of a command", "curl -u ada:lovelace1815 https://a.example", "lovelace1815", "basic-auth"],
  ["a URL with a password", "postgres://app:s3cr3tpw@db.internal:5432/app", "s3cr3tpw", "url-credentials"],
  ["a URL with a token for a user", `https://${lower}@git.example/a.git`, lower, "url-credentials"],
  ["a query with a token", "https://a.example/b?page=2&access_token=abcdef12&x=1", "abcdef12", "token"],
  ["a query with an API key", `https://a.example/b?api_key=${hex}`, hex, "api-key"],
  ["a query with a key", `https://maps.example/js?key=${body}`, body, "url-secret"],
  ["a signed URL", `https://b.example/o?X-Amz-Signature=${hex}&X-Amz-Expires=60`, hex, "url-secret"],
  ["a private key", `before ${pem("RSA PRIVATE KEY")} after`, "MIIEvQIBADANBgkq", "private-key"],
  ["a private key of OpenSSH", pem("OPENSSH PRIVATE KEY"), body, "private-key"],
  ["a private key that is cut off", pem("PRIVATE KEY").slice(0, 60), "MIIEvQ", "private-key"],
  ["a variable", "export DB_PASSWORD=hunter2; run", "hunter2", "password"],
  ["a quoted variable", `AWS_SECRET_ACCESS_KEY="wJalr XUtnFEMI"`, "wJalr XUtnFEMI", "secret-key"],
  ["a setting", "  password: hunter2\n  user: ada", "hunter2", "password"],
  ["a setting that is a word", "user: ada\npassword: correcthorse\n", "correcthorse", "password"],
  ["a connection string", "Server=db;User Id=ada;Password=pa55word;", "pa55word", "password"],
  ["a flag", "deploy --api-key k-9f8e7d --yes", "k-9f8e7d", "api-key"],
  ["a flag with an equals sign", "deploy --client-secret=abc", "=abc", "secret"],
  ["code", `const options = { apiKey: 'k1', "clientSecret": "two words" }`, "two words", "secret"],
  ["an escaped JSON text", `body was {\\"password\\":\\"hun ter2\\",\\"a\\":1}`, "hun ter2", "password"],
  ["a JSON text", `{"user":"ada","nested":{"refreshToken":"r-123456"}}`, "r-123456", "token"],
  ["a JSON text in a JSON text", JSON.stringify({ a: JSON.stringify({ pwd: "x y" }) }), "x y", "password"],
  ["a card", "paid with 4111111111111111 today", "4111111111111111", "card-number"],
  ["a card in groups", "4012 8888 8888 1881", "4012 8888 8888 1881", "card-number"],
  ["a card in groups after a number", "12 5500-0000-0000-0004.", "5500-0000-0000-0004", "card-number"],
  ["an American Express card", "3782 822463 10005", "3782 822463 10005", "card-number"],
  ["an IBAN", "to DE89 3704 0044 0532 0130 00 BIC", "DE89 3704 0044 0532 0130 00", "iban"],
  ["an IBAN without blanks", "NL91ABNA0417164300", "NL91ABNA0417164300", "iban"],
  ["a social security number", "SSN 536-90-4399", "536-90-4399", "national-id"],
  ["a Dutch number of a citizen", "BSN: 111222333", "111222333", "national-id"],
  ["a German tax id", "Steuer-ID 86 095 742 719", "86 095 742 719", "national-id"]
]

/** What looks like a secret and is none. */
const harmless: ReadonlyArray<readonly [name: string, text: string]> = [
  ["a uuid", "123e4567-e89b-42d3-a456-426614174000"],
  ["a git hash", "da39a3ee5e6b4b0d3255bfef95601890afd80709"],
  ["a reference", `artefact:sha256:${hex}${hex}`],
  ["a short hash", "fixed in 455734c and 970b500"],
  ["a date", "2026-11-30"],
  ["a time", "2026-11-30T14:34:49.123Z"],
  ["a time with a blank", "2026-11-30 14:34:49"],
  ["a version", "24.11.1-rc.2+build.20261130"],
  ["milliseconds since 1970", "at 1764513289000"],
  ["nanoseconds since 1970", "1764513289000000000"],
  ["an order number that looks like a phone", "order 555-0100-22"],
  ["a phone number", "(555) 010-4477"],
  ["a long order number", "4111111111111112"],
  ["digits that are no card", "1234 5678 9012 3456"],
  ["an id of a message", "snowflake 1175928847299117063"],
  ["a run", "20261130-143449-0a1b2c3d4e5f/task/1"],
  ["a URL", "https://example.org:8080/a/b?page=2&sort=name#top"],
  ["a URL with an address in its path", "https://example.org/users/ada@example.org"],
  ["a URL of a registry", "https://registry.npmjs.org/@scope/name/-/name-1.0.0.tgz"],
  ["an address", "mail ada@example.org"],
  ["a template", "Authorization: ${AUTH}"],
  ["a template of a variable", "password=$DB_PASSWORD"],
  ["a template in brackets", "--token <token>"],
  ["asterisks", "password: ********"],
  ["a type", "interface User { password: string; token?: string }"],
  ["a sentence about a password", "the password must be changed after 90 days"],
  ["a sentence with a colon", "about the password: it must be longer"],
  ["a problem of a field", "inputs.password is required"],
  ["a sentence about a token", "the token expired, ask for another one"],
  ["a sentence about bearers", "Bearer authentication is used"],
  ["a sentence about basics", "Basic knowledge of SQL"],
  ["a count", "tokens: 1234, maxTokens=4096, tokenCount: 17"],
  ["usage", "prompt_tokens=100 completion_tokens=20"],
  ["a cursor", "next_page_token=abc123def456"],
  ["a public key", "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkq\n-----END PUBLIC KEY-----"],
  ["a certificate", "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkq\n-----END CERTIFICATE-----"],
  ["an id of a person elsewhere", "number 123456782 of the list"],
  ["nine digits after BSN that are none", "BSN 123456789"],
  ["a name with sk", "risk-aware task-runner-with-a-long-name sk-learn"],
  ["a package", "npm_config_registry and npm_lifecycle_event"],
  ["a decision", "Routed to finance.auditor because of its authorization level"],
  ["a path", "/etc/secrets/token and C:\\keys\\private.key"],
  ["base64", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"],
  ["a key of a map", "key: value, primaryKey=id, foreignKey=userId, idempotencyKey=r1/t1"],
  ["a text that ends with a colon", `ask("password:","name")`],
  ["a call", `print("token:", value1)`],
  ["markdown", "| --- | --- |\n--------\n* a: b"],
  ["code", "const total = items.reduce((sum, { price }) => sum + price, 0) // a == b"],
  ["a JSON text", `{"a":[1,2,{"b":"c"}],"tokens":12,"key":"x","author":"ada"}`],
  ["an id of the social security kind that is never given out", "000-12-3456 and 666-12-3456 and 912-12-3456"],
  ["something redacted already", "password=[redacted:password] and [redacted:jwt]"]
]

describe("Redaction", () => {
  describe("text", () => {
    it.each(secrets)("R-305 takes out %s", (_, given, secret, rule) => {
      const redacted = text(given)
      assert.include(given, secret)
      assert.notInclude(redacted, secret)
      assert.include(redacted, `[redacted:${rule}]`)
      assert.strictEqual(text(redacted), redacted)
    })

    it.each(harmless)("R-305 leaves %s alone", (_, given) => {
      assert.strictEqual(text(given), given)
    })

    it("R-305 leaves what stands around a secret", () => {
      assert.strictEqual(
        text(`before postgres://app:s3cr3t@db/app?sslmode=require and ${jwt}, after`),
        "before postgres://app:[redacted:url-credentials]@db/app?sslmode=require and [redacted:jwt], after"
      )
    })

    it("R-305 takes out several secrets of one text", () => {
      assert.strictEqual(
        text("PGUSER=ada PGPASSWORD=one API_TOKEN=two-222 # three"),
        "PGUSER=ada PGPASSWORD=[redacted:password] API_TOKEN=[redacted:token] # three"
      )
    })

    it("R-305 leaves JSON what was JSON", () => {
      assert.deepStrictEqual(JSON.parse(text(`{"password":1234,"list":["--token","t-12345"]}`)), {
        password: "[redacted:password]",
        list: ["--token", "[redacted:token]"]
      })
    })

    it("R-305 keeps the indentation of a JSON text", () => {
      assert.strictEqual(
        text(JSON.stringify({ password: "x", a: [1] }, null, 2)),
        JSON.stringify({ password: "[redacted:password]", a: [1] }, null, 2)
      )
    })
  })

  describe("value", () => {
    const kept: ReadonlyArray<readonly [name: string, value: unknown]> = [
      ["counts", { tokens: 12, usage: { tokens: 5, toolCalls: 2 }, maxTokens: 100, secrets: 3, token: 7 }],
      ["what is true or false", { password: false, secret: true, cookie: null }],
      ["a JSON schema", { properties: { password: { type: "string", description: "at least 8" } } }],
      ["where a secret is", { secret: { name: "db", namespace: "prod" }, secretRef: "vault:db", tokenUrl: "/oauth" }],
      ["names of fields", { fields: ["password", "email"], columns: ["token", "secret"] }],
      ["words about a secret", { password: "required", token: "expired", authorization: "none" }],
      ["tokens of a text", { tokens: ["the", "cat"], logprobs: [{ token: "the", logprob: -0.1 }] }],
      ["keys of a database", { primaryKey: "id", foreignKey: "user", key: "a1b2c3d4", publicKey: "abc" }],
      ["a cursor", { nextPageToken: "abc123def", continuationToken: "xyz789abc" }],
      ["an idempotency key", { idempotencyKey: "r1/count" }],
      ["a mail and its author", { author: "ada", email: "ada@example.org" }],
      ["numbers", { at: 1764513289000, id: 1234567890123456, price: 12.5, session: 4 }],
      ["results of tests", { pass: 12, passed: "all", auth: "basic" }]
    ]

    it.each(kept)("R-305 gives the same reference back for %s", (_, given) => {
      assert.strictEqual(value(given), given)
    })

    it.each([
      "password",
      "Password",
      "dbPassword",
      "DB_PASSWORD",
      "pgpassword",
      "passwd",
      "user.password",
      "passwordHash",
      "new-password",
      "secret",
      "clientSecret",
      "client_secret",
      "CLIENT-SECRET",
      "token",
      "accessToken",
      "refresh_token",
      "X-Auth-Token",
      "id_token",
      "apiKey",
      "api_key",
      "api-key",
      "X-API-KEY",
      "apikey",
      "openaiApiKey",
      "AWS_SECRET_ACCESS_KEY",
      "privateKey",
      "private_key_pem",
      "signingKey",
      "authorization",
      "Proxy-Authorization",
      "cookie",
      "Set-Cookie",
      "sessionId",
      "session_id",
      "JSESSIONID",
      "seedPhrase",
      "jwt"
    ])("R-305 takes out the value of %s", (key) => {
      const redacted = JSON.stringify(value({ a: 1, [key]: "hunter2x" }))
      assert.notInclude(redacted, "hunter2x")
      assert.match(redacted, /^\{"a":1,"[^"]+":"\[redacted:[a-z-]+\]"\}$/)
    })

    it("R-305 takes out what is below a name, wherever it is, and shares the rest", () => {
      const rest = { b: [1, 2] }
      const given = {
        rest,
        list: [{ password: { old: "a", more: ["b", 3] } }, rest],
        env: [{ name: "API_KEY", value: "k" }]
      }
      const redacted = value(given) as typeof given
      assert.deepStrictEqual(redacted, {
        rest,
        list: [{ password: { old: "[redacted:password]", more: ["[redacted:password]", 3] } }, rest],
        env: [{ name: "API_KEY", value: "[redacted:api-key]" }]
      } as unknown)
      assert.strictEqual(redacted.rest, rest)
      assert.strictEqual(redacted.list[1], rest)
      assert.strictEqual(given.env[0]?.value, "k")
    })

    it("R-305 takes out numbers that are secrets, and numbers of cards", () => {
      assert.deepStrictEqual(
        value({ password: 123456, cvv: 737, paid: 4111111111111111, cardNumber: "5500 0000 0000 0004" }),
        {
          password: "[redacted:password]",
          cvv: "[redacted:card-code]",
          paid: "[redacted:card-number]",
          cardNumber: "[redacted:card-number]"
        }
      )
    })

    it("R-305 takes out headers and arguments that are listed", () => {
      assert.deepStrictEqual(
        value([
          ["authorization", "s3cr3t-value"],
          ["accept", "text/html"],
          ["--password", "hunter2", "--verbose"],
          ["--token", "--yes"]
        ]),
        [
          ["authorization", "[redacted:authorization]"],
          ["accept", "text/html"],
          ["--password", "[redacted:password]", "--verbose"],
          ["--token", "--yes"]
        ]
      )
    })

    it("R-305 takes secrets out of names of fields, and loses none of them", () => {
      const one = `ghp_${body.slice(0, 36)}`
      const two = `ghp_${body.slice(1, 37)}`
      assert.deepStrictEqual(value({ [one]: 1, [two]: 2 }), {
        "[redacted:github-token]": 1,
        "[redacted:github-token] (2)": 2
      })
    })

    it("R-305 takes out what is marked as redacted, and leaves other objects of a class", () => {
      const url = new URL("https://example.org")
      const given = { key: Redacted.make("hunter2"), list: [Redacted.make(5)], url }
      assert.deepStrictEqual(value(given), { key: "[redacted:secret]", list: ["[redacted:secret]"], url } as unknown)
    })

    it("R-305 takes out as a whole what cannot be read, has no end, or is too deep", () => {
      const throwing = Object.defineProperty({}, "a", {
        enumerable: true,
        get: () => {
          throw new Error("no")
        }
      })
      assert.strictEqual(value(throwing), "[redacted:unreadable]")
      const round: Array<unknown> = []
      round.push(round)
      assert.include(JSON.stringify(value(round)), "[redacted:too-deep]")
      const branching: Array<unknown> = []
      branching.push(branching, branching)
      assert.doesNotThrow(() => value(branching))
    })

    it("R-305 keeps a field called __proto__ as a field", () => {
      const redacted = value(JSON.parse('{"__proto__":{"password":"x"}}') as unknown)
      assert.strictEqual(JSON.stringify(redacted), '{"__proto__":{"password":"[redacted:password]"}}')
    })
  })

  describe("make", () => {
    const ticket = Redaction.rule({ name: "ticket", pattern: /\bINC-\d{6}\b/ })

    it("R-305 takes out every match of a pattern of one's own, also in names and in texts that are JSON", () => {
      const own = Redaction.make({ rules: [ticket] })
      assert.deepStrictEqual(own.value({ "INC-000001": ["INC-000002 INC-000003", '{"a":"INC-000004"}'] }), {
        "[redacted:ticket]": ["[redacted:ticket] [redacted:ticket]", '{"a":"[redacted:ticket]"}']
      })
      assert.strictEqual(own.text("password=x"), "password=[redacted:password]")
    })

    it("R-305 takes out only the group secret of a pattern that has one", () => {
      const own = Redaction.make({ rules: [Redaction.rule({ name: "patient", pattern: /patient (?<secret>\w+)/ })] })
      assert.strictEqual(own.text("patient ada, patient bob"), "patient [redacted:patient], patient [redacted:patient]")
    })

    it("R-305 takes out the value under a name of one's own, in any casing", () => {
      const own = Redaction.make({ rules: [Redaction.rule({ name: "salary", key: "base-salary" })] })
      assert.deepStrictEqual(own.value({ baseSalary: 5000, base: "BASE_SALARY=5000" }), {
        baseSalary: "[redacted:salary]",
        base: "BASE_SALARY=[redacted:salary]"
      })
      const some = Redaction.make({ rules: [Redaction.rule({ name: "inner", key: /^x_/g })] })
      assert.deepStrictEqual(some.value([{ x_a: "1" }, { x_b: "2" }]), [
        { x_a: "[redacted:inner]" },
        { x_b: "[redacted:inner]" }
      ])
    })

    it("R-305 takes out what a test says yes to, and what it cannot say anything of", () => {
      const test = (given: unknown, key: string): boolean => {
        if (given === 13) throw new Error("unlucky")
        return key === "height" || given === "ada"
      }
      const own = Redaction.make({ rules: [Redaction.rule({ name: "own", test })] })
      const redacted = own.value({ height: 170, names: ["ada", "bob"], count: 13 })
      assert.deepStrictEqual(redacted, {
        height: "[redacted:own]",
        names: ["[redacted:own]", "bob"],
        count: "[redacted:own]"
      })
      assert.strictEqual(own.value(redacted), redacted)
    })

    it("R-305 leaves rules out by name", () => {
      const own = Redaction.make({ without: ["card-number", "token"] })
      const given = { token: "abcdef-123456", text: "4111111111111111", paid: 4111111111111111 }
      assert.strictEqual(own.value(given), given)
      assert.strictEqual(own.text("password=x"), "password=[redacted:password]")
    })

    it("R-305 takes out addresses and telephone numbers when it is told to", () => {
      const own = Redaction.make({ personal: true })
      assert.strictEqual(
        own.text("ask ada.l@example.co.uk or call +49 (30) 901820-0"),
        "ask [redacted:email] or call [redacted:phone]"
      )
    })

    it("R-305 takes nothing out with none", () => {
      const given = { password: "x" }
      assert.strictEqual(Redaction.none.value(given), given)
      assert.strictEqual(Redaction.none.text("password=x"), "password=x")
    })
  })

  describe("rule", () => {
    it.each([
      [{ name: "Big", key: "a" }, /name must be small letters/],
      [{ name: "", key: "a" }, /name must be small letters/],
      [{ name: "a" }, /exactly one of pattern, key and test, got 0/],
      [{ name: "a", key: "a", pattern: /a/ }, /exactly one of pattern, key and test, got 2/],
      [{ name: "a", key: "--" }, /key must be a text with a letter/],
      [{ name: "a", pattern: "a" }, /pattern must be a RegExp, got a string/],
      [{ name: "a", test: 1 }, /test must be a function, got a number/]
    ])("R-305 refuses %j", (options, message) => {
      assert.throws(() => Redaction.rule(options as never), RangeError, message)
    })
  })

  describe("Redaction", () => {
    it.effect("R-305 has the default rules where nothing is provided, and those of the layer where it is", () =>
      Effect.gen(function* () {
        const text = Effect.map(Redaction.Redaction, (rules) => rules.text("password=x to ada@example.org"))
        assert.strictEqual(yield* text, "password=[redacted:password] to ada@example.org")
        const personal = Redaction.layer({ personal: true })
        assert.strictEqual(yield* Effect.provide(text, personal), "password=[redacted:password] to [redacted:email]")
        const none = Layer.succeed(Redaction.Redaction, Redaction.none)
        assert.strictEqual(yield* Effect.provide(text, none), "password=x to ada@example.org")
      })
    )
  })

  describe("laws", () => {
    const pool = [
      ...secrets.map(([, each]) => each),
      ...harmless.map(([, each]) => each),
      "password",
      "=",
      ": ",
      '"',
      "'",
      "\\",
      "{",
      "}",
      "[redacted:",
      "]",
      "Bearer ",
      "Cookie: ",
      "--token ",
      " ",
      "\n",
      "ab1"
    ]
    const names = ["password", "apiKey", "token", "cookies", "secret", "credentials", "a", "b", "name", "value"]
    const picks = Arbitrary.array(
      Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1 << 16 }))),
      {
        maxLength: 40
      }
    )
    const of = (some: ReadonlyArray<string>, pick: number): string => some[pick % some.length] ?? ""

    /** Texts, lists and objects in each other, as the numbers say. */
    const built = (picks: ReadonlyArray<number>): unknown => {
      const stack: Array<unknown> = ["a"]
      for (const pick of picks) {
        const last = stack.pop()
        if (pick % 5 === 0) stack.push([last, ...stack.splice(0, 2)])
        else if (pick % 5 === 1) stack.push({ [of(names, pick >> 3)]: last, [of(pool, pick >> 4)]: stack.shift() ?? 1 })
        else if (pick % 11 === 2) stack.push(JSON.stringify(last))
        else if (pick % 7 === 3) stack.push(last, pick % 2 === 0 ? 4111111111111111 : pick)
        else stack.push(last, of(pool, pick >> 2) + of(pool, pick >> 5))
      }
      return stack
    }
    const runs = { arbitrary: { runs: 1_000, size: 40, seed: "espalier" } }

    it.prop(
      "R-305 a second pass over a text changes nothing, and it grows within its bound",
      { picks },
      ({ picks }) => {
        const given = picks
          .slice(0, 12)
          .map((pick) => of(pool, pick))
          .join("")
        const once = text(given)
        assert.strictEqual(text(once), once)
        assert.isAtMost(once.length, 2 * given.length + 256)
      },
      runs
    )

    it.prop(
      "R-305 a second pass over data changes nothing, and parts without secrets are shared",
      { picks },
      ({ picks }) => {
        const given = built(picks) as ReadonlyArray<unknown>
        const once = value(given) as ReadonlyArray<unknown>
        assert.strictEqual(JSON.stringify(value(once)), JSON.stringify(once))
        assert.strictEqual(value(once), once)
        const same = JSON.stringify(once) === JSON.stringify(given)
        assert.strictEqual(once === given, same)
      },
      runs
    )

    it.prop(
      "R-305 data of any kind is the same reference unless something is taken out of it",
      { given: Schema.Json, text: Schema.String },
      ({ given, text: own }) => {
        if (JSON.stringify(given) === JSON.stringify(value(given))) assert.strictEqual(value(given), given)
        if (!own.includes(":") && !own.includes("=") && own.length < 12) assert.strictEqual(text(own), own)
      },
      { arbitrary: { runs: 500, size: 60, seed: "espalier" } }
    )
  })

  describe("secret", () => {
    it("R-305 marks a schema and leaves what it is otherwise", () => {
      const schema = Redaction.secret(Schema.String.check(Schema.isMinLength(2)))
      assert.strictEqual(schema.ast.checks?.at(-1)?.annotations?.[Redaction.secretKey], true)
      assert.strictEqual(Schema.decodeSync(schema)("ab"), "ab")
    })
  })
})
