/**
 * Packs that several destinations have in flight at the same time. Destinations of one subscription get packs of equal
 * bytes. Such a pack is read once, and its destinations share the events: these are in memory once, and requests with the
 * same events are recognised by the identity of the events (`aws/shared-bodies.ts`).
 */
import { type Pack, readPack } from '../wire/pack.js'

interface PackInFlight {
  readonly bytes: Uint8Array
  readonly pack: Pack
  /** All that have taken it. */
  readonly destinations: Set<string>
  /** How many of them have not released it. */
  holders: number
}

interface TakenPack extends Pack {
  /** To be called once, when its delivery has ended. */
  release(): void
}

export class SharedPacks {
  readonly #inFlight = new Map<string, PackInFlight>()
  /** How many of them several destinations took. */
  #shared = 0

  /** Did several destinations take a pack that is in flight? Only then can their requests have the same events. */
  get areShared(): boolean {
    return this.#shared > 0
  }

  /**
   * Reads a pack, or finds it if another destination did. `contentsId`: what the id of its message says of its contents.
   * A destination gets the same objects only once, because a lane keeps what it knows of an event with the event, and a
   * pack can be redelivered while its first delivery has not ended.
   */
  take(destination: string, contentsId: string, bytes: Uint8Array): TakenPack {
    const known = this.#inFlight.get(contentsId)
    if (known === undefined) return this.#begin(destination, contentsId, bytes)
    if (known.destinations.has(destination) || Buffer.compare(known.bytes, bytes) !== 0)
      return { ...readPack(bytes), release: () => {} }
    if (known.destinations.size === 1) this.#shared += 1
    known.destinations.add(destination)
    known.holders += 1
    return this.#taken(contentsId, known)
  }

  #begin(destination: string, contentsId: string, bytes: Uint8Array): TakenPack {
    const begun = { bytes, pack: readPack(bytes), destinations: new Set([destination]), holders: 1 }
    this.#inFlight.set(contentsId, begun)
    return this.#taken(contentsId, begun)
  }

  #taken(contentsId: string, held: PackInFlight): TakenPack {
    const release = (): void => {
      held.holders -= 1
      if (held.holders > 0) return
      this.#inFlight.delete(contentsId)
      if (held.destinations.size > 1) this.#shared -= 1
    }
    return { ...held.pack, release }
  }
}
