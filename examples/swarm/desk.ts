/**
 * An editing table: a drafter, a shortener and a critic hand a text to each other until it is short and has all facts.
 *
 * ```
 * drafter ──▶ shortener ──▶ critic ── lost facts ──▶ shortener
 *                                  ── too long ────▶ drafter
 *                                  ── fine ────────▶ done
 * ```
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import { type Coordinator, Desk, Domain, Swarm, Worker } from "espalier/run"

import { facts, lost, sentences, shorten, tighten, words } from "./text.ts"

/**
 * What a run begins with: a text, how many words it may have, from 1 on, and whether the shortener never listens.
 *
 * @category models
 * @since 0.1.0
 */
export const Input = Schema.Struct({
  text: Schema.NonEmptyString,
  limit: Schema.Int.check(Schema.isGreaterThan(0)),
  stubborn: Schema.Boolean
})

/**
 * @category models
 * @since 0.1.0
 */
export type Input = typeof Input.Type

/** A text, and the facts that were lost at some time and have to be kept. */
const Shortened = Schema.Struct({ text: Schema.String, kept: Schema.Array(Schema.String) })

/** What the critic says of a text, which is the result once everything is fine. */
const Critique = Schema.Struct({
  text: Schema.String,
  words: Schema.Int,
  lost: Schema.Array(Schema.String),
  next: Schema.Literals(["shortener", "drafter", "done"])
})

const drafter = Worker.make("drafter", {
  description: "Drafts a text, and drafts it denser when it was too long",
  input: Schema.Struct({ source: Schema.String, again: Schema.Boolean }),
  output: Schema.String,
  handle: ({ input: { again, source } }) => Effect.succeed(again ? tighten(source) : sentences(source).join(" "))
})

const shortener = Worker.make("shortener", {
  description: "Leaves sentences out until a text is short",
  input: Schema.Struct({
    text: Schema.String,
    limit: Schema.Int,
    keep: Schema.Array(Schema.String)
  }),
  output: Shortened,
  handle: ({ input: { keep, limit, text } }) =>
    Effect.succeed({ text: shorten(text, limit, keep) || (sentences(text)[0] ?? text), kept: keep })
})

const critic = Worker.make("critic", {
  description: "Compares a text with its source: is it short, and are all facts there",
  input: Schema.Struct({ text: Schema.String, source: Schema.String, limit: Schema.Int }),
  output: Critique,
  handle: ({ input: { limit, source, text } }) => {
    const gone = lost(text, facts(source))
    const critique: typeof Critique.Type = {
      text,
      words: words(text),
      lost: gone,
      next: gone.length > 0 ? "shortener" : words(text) > limit ? "drafter" : "done"
    }
    return Effect.succeed(critique)
  }
})

/**
 * Whether an output is what the critic says.
 *
 * @category guards
 * @since 0.1.0
 */
export const isCritique = Schema.is(Critique)

const isShortened = Schema.is(Shortened)

/** What the shortener has to keep by now: a stubborn one does not hear what it left out. */
const keep = ({ critic, shortener }: Coordinator.Accepted, stubborn: boolean): ReadonlyArray<string> =>
  stubborn || !isCritique(critic) || !isShortened(shortener) ? [] : [...new Set([...shortener.kept, ...critic.lost])]

/**
 * The desk.
 *
 * @category desks
 * @since 0.1.0
 */
export const desk = Desk.make("editing", {
  version: "1",
  input: Input,
  domains: [Domain.make("editing", { workers: [drafter, shortener, critic] })],
  coordinator: Swarm.make({
    start: "drafter",
    peers: {
      drafter: {
        worker: "editing.drafter",
        objective: "Draft the text",
        input: ({ critic }, { text }: Input) => ({ source: text, again: critic !== undefined }),
        handOver: () => "shortener"
      },
      shortener: {
        worker: "editing.shortener",
        objective: "Make it short",
        input: (accepted, { limit, stubborn }: Input) => ({
          text: accepted["drafter"],
          limit,
          keep: keep(accepted, stubborn)
        }),
        handOver: () => "critic"
      },
      critic: {
        worker: "editing.critic",
        objective: "Say what is lost, and whether it is short",
        input: ({ shortener }, { limit, text }: Input) => ({
          text: isShortened(shortener) ? shortener.text : "",
          source: text,
          limit
        }),
        handOver: (output) => (isCritique(output) ? output.next : "done")
      }
    }
  })
})
