import { assert, describe, it } from "@effect/vitest"

import * as Spdx from "../../../../examples/release-desk/dependencies/spdx.ts"

describe("spdx", () => {
  describe("familyOf", () => {
    it.each([
      ["MIT", "permissive"],
      ["mit", "permissive"],
      ["Apache License 2.0", "permissive"],
      ["BSD License", "permissive"],
      ["The MIT License (MIT)", "permissive"],
      ["GPL-3.0-only", "copyleft"],
      ["AGPL-3.0-or-later", "copyleft"],
      ["GNU General Public License v3", "copyleft"],
      ["LGPL-2.1", "weak-copyleft"],
      ["MPL-2.0", "weak-copyleft"],
      ["UNLICENSED", "proprietary"],
      ["Hippocratic-2.1", "unknown"],
      ["(MIT OR GPL-3.0)", "permissive"],
      ["GPL-3.0 OR MIT AND Apache-2.0", "permissive"],
      ["MIT AND GPL-3.0", "copyleft"],
      ["(MIT AND (GPL-2.0 OR LGPL-3.0))", "weak-copyleft"],
      ["GPL-2.0-only WITH Classpath-exception-2.0", "weak-copyleft"],
      ["Apache-2.0 WITH LLVM-exception", "permissive"],
      ["MIT/X11", "permissive"],
      ["", "unknown"],
      ["((((", "unknown"],
      ["(".repeat(100_000), "unknown"],
      ["MIT OR", "unknown"],
      ["AND OR WITH", "unknown"]
    ] as const)("reads %j as %s", (expression, family) => {
      assert.strictEqual(Spdx.familyOf(expression), family)
    })
  })

  describe("textOf", () => {
    it.each([
      ["Permission is hereby granted, free of\n charge, to any person", "MIT"],
      ["Apache License\nVersion 2.0, January 2004", "Apache-2.0"],
      ["GNU AFFERO GENERAL PUBLIC LICENSE", "AGPL-3.0"],
      ["GNU GENERAL PUBLIC LICENSE Version 3", "GPL"],
      ["Redistribution and use in source and binary forms, with or without", "BSD"],
      ["All rights reserved.", undefined]
    ])("recognises %j as %s", (text, licence) => {
      assert.strictEqual(Spdx.textOf(text), licence)
    })
  })
})
