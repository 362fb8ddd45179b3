import { assert, describe, it } from "@effect/vitest"

import * as Versions from "../../../../examples/release-desk/dependencies/versions.ts"

describe("versions", () => {
  describe("npm", () => {
    it.each([
      ["^1.2.0", "1.9.0", true],
      ["^1.2.0", "2.0.0", false],
      ["*", "9.9.9", true],
      ["latest", "1.0.0", undefined],
      ["^1.0.0", "not a version", undefined],
      [">".repeat(1_000), "1.0.0", undefined]
    ])("says of the range %s and the version %s: %s", (range, version, answer) => {
      assert.strictEqual(Versions.npm(range, version), answer)
    })
  })

  describe("isOpenEnded", () => {
    it.each([
      [">=1.0.0", true],
      ["*", true],
      ["^1 || >=2", true],
      ["^1.0.0", false],
      [">=1 <3", false],
      ["1.2.3", false],
      ["nonsense", false]
    ])("says of %s: %s", (range, answer) => {
      assert.strictEqual(Versions.isOpenEnded(range), answer)
    })
  })

  describe("cargo", () => {
    it.each([
      ["1.2", "1.9.0", true],
      ["0.2.3", "0.3.0", false],
      ["=1.2.3", "1.2.4", false],
      ["~1.2", "1.3.0", false],
      ["1.*", "1.7.0", true],
      [">=1.2, <2", "1.5.0", true],
      [">=1.2, <2", "2.0.0", false]
    ])("says of the requirement %s and the version %s: %s", (range, version, answer) => {
      assert.strictEqual(Versions.cargo(range, version), answer)
    })
  })

  describe("python", () => {
    it.each([
      ["", "1.0", true],
      ["==1.0", "1.0.0", true],
      ["==1.4.*", "1.4.7", true],
      ["!=1.4.*", "1.4.7", false],
      [">=1.2,<2", "1.9.post1", true],
      [">=1.2,<2", "2.0", false],
      ["~=1.4.2", "1.4.9", true],
      ["~=1.4.2", "1.5.0", false],
      ["~=2.2", "2.9", true],
      ["^1.2.3", "1.9.0", true],
      ["^0.2.3", "0.3.0", false],
      ["^0.0.3", "0.0.4", false],
      ["~1.2", "1.3", false],
      [">1.0rc1", "1.0", true],
      [">=2!1.0", "3.0", false],
      ["<1.0", "1.0.dev1", true],
      [">=1.0", "something", undefined],
      ["===weird", "1.0", undefined],
      [">=1.0,<strange", "0.5", false]
    ])("says of the specifiers %s and the version %s: %s", (range, version, answer) => {
      assert.strictEqual(Versions.python(range, version), answer)
    })
  })
})
