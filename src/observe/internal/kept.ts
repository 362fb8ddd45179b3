/**
 * Things by name, of which each change leaves what was there before as it was, and costs no more than what is changed.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"

/** @since 0.1.0 */
export class Kept<V> {
  private readonly held: HashMap.HashMap<string, V>

  private constructor(held: HashMap.HashMap<string, V>) {
    this.held = held
  }

  static none<V>(): Kept<V> {
    return new Kept<V>(HashMap.empty())
  }

  get size(): number {
    return HashMap.size(this.held)
  }

  get(key: string): V | undefined {
    return Option.getOrUndefined(HashMap.get(this.held, key))
  }

  values(): Iterable<V> {
    return HashMap.values(this.held)
  }

  with(key: string, value: V): Kept<V> {
    return new Kept(HashMap.set(this.held, key, value))
  }

  without(key: string): Kept<V> {
    return HashMap.has(this.held, key) ? new Kept(HashMap.remove(this.held, key)) : this
  }

  map(f: (value: V) => V): Kept<V> {
    return new Kept(HashMap.map(this.held, f))
  }
}
