/**
 * Entries by key, each owned by one incarnation of a child.
 *
 * **Invariants**
 *
 * - N1. An entry is there only while its owner is not over: it goes before anybody hears of the owner's end.
 * - N2. Only its owner removes or changes an entry, and an owner is one incarnation: an earlier one removes nothing that a
 *   later one has.
 * - N3. What is refused leaves nothing behind.
 */
import * as Effect from "effect/Effect"
import * as MutableHashMap from "effect/MutableHashMap"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"

import type { Feed } from "./feed.ts"
import type { Incarnation, Observer } from "./mount.ts"

/** Marks a key that names an actor. */
export const ViaTypeId = "~espalier/Registry/Via"

export const isVia = (value: unknown): boolean => typeof value === "object" && value !== null && ViaTypeId in value

/** Who registered: one incarnation of a child. */
export interface Owner {
  readonly path: ReadonlyArray<string>
  readonly incarnation: number
}

const Life = Symbol.for("~espalier/Registry/Life")

export const ownerOf = (life: Incarnation): Owner =>
  // Out of sight: an owner is shown and compared by where it is.
  Object.defineProperty({ path: life.mount.path, incarnation: life.number }, Life, { value: life })

/** The incarnation behind an owner, if it is one. */
export const lifeOf = (owner: Owner): Incarnation | undefined => (owner as { readonly [Life]?: Incarnation })[Life]

/** One registration. */
export interface Entry<out K, out V> {
  readonly key: K
  readonly value: V
  readonly owner: Owner
}

/** What happened in a registry. */
export type Event<K, V> =
  | { readonly _tag: "Registered"; readonly key: K; readonly value: V; readonly owner: Owner }
  | {
      readonly _tag: "Unregistered"
      readonly key: K
      readonly value: V
      readonly owner: Owner
      readonly because: "asked" | "owner-ended"
    }
  | { readonly _tag: "Missed"; readonly count: number }

/** What one incarnation has registered. */
class Owned<K, V> implements Observer {
  readonly life: Incarnation
  readonly owner: Owner
  readonly entries = new Set<Entry<K, V>>()
  private readonly registry: Entries<K, V>

  constructor(registry: Entries<K, V>, life: Incarnation) {
    this.registry = registry
    this.life = life
    this.owner = ownerOf(life)
  }

  /** This very incarnation is over: the place has no other until then. */
  over(): void {
    this.registry.ended(this)
  }
}

interface Lock {
  readonly semaphore: Semaphore.Semaphore
  users: number
}

/** Entries of one registry. Where keys are unique, a key has one entry; elsewhere it has all that came. */
export class Entries<K, V> {
  private readonly byKey = MutableHashMap.empty<K, Entry<K, V> | Set<Entry<K, V>>>()
  private readonly owned = new Map<Incarnation, Owned<K, V>>()
  private readonly locks = MutableHashMap.empty<K, Lock>()
  private readonly listeners = new Set<Feed<Event<K, V>>>()
  private readonly unique: boolean
  private count = 0

  constructor(unique: boolean) {
    this.unique = unique
  }

  /** how much is kept of each sort */
  get sizes(): { readonly keys: number; readonly entries: number; readonly owners: number; readonly locks: number } {
    return {
      keys: MutableHashMap.size(this.byKey),
      entries: this.count,
      owners: this.owned.size,
      locks: MutableHashMap.size(this.locks)
    }
  }

  /** Registers; answers with the entry that stands against it. */
  add(life: Incarnation, key: K, value: V): Entry<K, V> | undefined {
    const there = this.at(key)
    if (this.unique && there !== undefined) return there as Entry<K, V> // N3
    let owned = this.owned.get(life)
    if (owned === undefined) {
      owned = new Owned(this, life)
      this.owned.set(life, owned)
      life.mount.observe(owned)
    }
    const entry: Entry<K, V> = { key, value, owner: owned.owner }
    owned.entries.add(entry)
    if (this.unique) MutableHashMap.set(this.byKey, key, entry)
    else if (there === undefined) MutableHashMap.set(this.byKey, key, new Set([entry]))
    else (there as Set<Entry<K, V>>).add(entry)
    this.count += 1
    this.tell({ _tag: "Registered", ...entry })
    return undefined
  }

  /** Removes what `life` has under a key. */
  remove(life: Incarnation, key: K): void {
    const owned = this.owned.get(life)
    if (owned === undefined) return
    for (const entry of this.list(key)) if (owned.entries.delete(entry)) this.drop(entry, "asked") // N2
    if (owned.entries.size === 0) this.forget(owned)
  }

  /** The owner is over: so are its entries (N1). */
  ended(owned: Owned<K, V>): void {
    this.forget(owned)
    for (const entry of owned.entries) this.drop(entry, "owner-ended")
    owned.entries.clear()
  }

  private forget(owned: Owned<K, V>): void {
    this.owned.delete(owned.life)
    owned.life.mount.unobserve(owned)
  }

  private drop(entry: Entry<K, V>, because: "asked" | "owner-ended"): void {
    const { key } = entry
    const there = this.at(key)
    if (there instanceof Set) {
      there.delete(entry)
      if (there.size === 0) MutableHashMap.remove(this.byKey, key)
    } else if (there === entry) MutableHashMap.remove(this.byKey, key)
    this.count -= 1
    this.tell({ _tag: "Unregistered", ...entry, because })
  }

  private at(key: K): Entry<K, V> | Set<Entry<K, V>> | undefined {
    return Option.getOrUndefined(MutableHashMap.get(this.byKey, key))
  }

  /** The entries of a key, in the order of their registration. */
  list(key: K): ReadonlyArray<Entry<K, V>> {
    const there = this.at(key)
    if (there === undefined) return []
    return there instanceof Set ? [...there] : [there]
  }

  /** The only entry of a key. */
  get(key: K): Entry<K, V> | undefined {
    const there = this.at(key)
    return there instanceof Set ? undefined : there
  }

  /** Whether an entry is still there. */
  has(entry: Entry<K, V>): boolean {
    return this.owned.get(lifeOf(entry.owner)!)?.entries.has(entry) === true
  }

  /** Changes the value of an entry; answers with the new one, or nothing when `life` does not own it. */
  update(life: Incarnation, key: K, f: (value: V) => V): Entry<K, V> | undefined {
    const entry = this.get(key)
    const owned = this.owned.get(life)
    if (entry === undefined || owned?.entries.has(entry) !== true) return undefined // N2
    const changed: Entry<K, V> = { ...entry, value: f(entry.value) }
    owned.entries.delete(entry)
    owned.entries.add(changed)
    MutableHashMap.set(this.byKey, key, changed)
    return changed
  }

  get keys(): ReadonlyArray<K> {
    return [...MutableHashMap.keys(this.byKey)]
  }

  get entries(): ReadonlyArray<Entry<K, V>> {
    return this.keys.flatMap((key) => this.list(key))
  }

  listen(listener: Feed<Event<K, V>>): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  private tell(event: Event<K, V>): void {
    for (const listener of this.listeners) listener.offer(event)
  }

  /** Runs an effect while nobody else holds the lock of this key. */
  withLock<A, E, R>(key: K, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        let lock = Option.getOrUndefined(MutableHashMap.get(this.locks, key))
        if (lock === undefined) {
          lock = { semaphore: Semaphore.makeUnsafe(1), users: 0 }
          MutableHashMap.set(this.locks, key, lock)
        }
        lock.users += 1
        return lock
      }),
      (lock) => lock.semaphore.withPermits(1)(effect),
      (lock) =>
        Effect.sync(() => {
          lock.users -= 1
          if (lock.users === 0) MutableHashMap.remove(this.locks, key)
        })
    )
  }

  /** Ends the registry, and the streams of its events. */
  close(): void {
    for (const owned of this.owned.values()) this.forget(owned)
    for (const listener of this.listeners) listener.end()
  }
}
