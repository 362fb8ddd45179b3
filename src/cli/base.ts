/**
 * What commands share: the flags that all of them take, and the journal that these name.
 *
 * @since 0.1.0
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Record from "effect/Record"

import { endingsText } from "./failures.ts"
import { layerOf } from "./opening.ts"
import type * as carrying from "./running.ts"

/** The command, with the flags that all of its commands take. */
export const espalier = Command.make("espalier").pipe(
  Command.withSharedFlags({
    journal: Flag.String("journal").pipe(
      Flag.withMetavar("FILE|URL"),
      Flag.withDescription(
        "The journal: a file, or postgres://…/DATABASE?schema=NAME. Default: ESPALIER_JOURNAL of the environment, then " +
          ".espalier/journal.db"
      ),
      Flag.optional
    ),
    schema: Flag.String("schema").pipe(
      Flag.withMetavar("NAME"),
      Flag.withDescription("The schema of a journal in PostgreSQL. Default: the one of its URL, then espalier"),
      Flag.optional
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print JSON"), Flag.withDefault(false))
  }),
  Command.withDescription(
    "Carries out the runs of a journal, looks at them, checks them, and carries them elsewhere. Exit codes: 0 all is well, " +
      "1 used wrongly, 2 not there or refused, 3 damaged, 4 the journal cannot be used now, 130 stopped; of run and resume: " +
      endingsText
  )
)

/** Which run. */
export const runId = Argument.String("run").pipe(Argument.withDescription("The id of a run"))

/** A flag with one of these words. */
export const oneOf = <A extends string>(name: string, words: ReadonlyArray<A>, description: string) =>
  Flag.Literals(name, words).pipe(Flag.withDescription(description), Flag.optional)

/** A flag with a text. */
export const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

/** A flag that is there or is not. */
export const on = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

/** What a command does with the journal that was named. */
export const within = <A, E, R>(
  use: (json: boolean, named: carrying.Named) => Effect.Effect<A, E, R>,
  create = false
) =>
  Effect.flatMap(espalier, ({ journal, json, schema }) =>
    Effect.provide(use(json, { journal, schema }), layerOf(journal, schema, create))
  )

type There<O> = { readonly [K in keyof O]?: O[K] extends Option.Option<infer A> ? A : never }

/** Of what may be left out, what is there. */
export const present = <O extends Readonly<Record<string, Option.Option<unknown>>>>(options: O): There<O> =>
  // Each under its own name.
  Record.getSomes(options) as There<O>
