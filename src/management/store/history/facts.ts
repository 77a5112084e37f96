/**
 * Facts that were read about finished changes, in memory: a change is never altered, so it need not be read twice. The facts
 * that were used longest ago are forgotten when there are too many.
 */
import { type Place, stepOf } from './history-query.js'

/**
 * The kinds of facts about a place: the change itself, its row, its rules that changed, the author of these, or its cause.
 */
type Subject = 'step' | 'row' | 'rules' | 'author' | 'promotion'

/** Some thousands of changes, whose rows are mostly small. */
const charactersMax = 8 * 1024 * 1024
/** A key and its entry in the map. */
const entryCharacters = 150

interface Fact {
  readonly value: unknown
  readonly characters: number
}

export class Facts {
  readonly #settledVersion: (accountId: string) => number
  /** The one that was used last is the last one. */
  readonly #facts = new Map<string, Fact>()
  readonly #charactersMax: number
  #characters = 0

  /** `settledVersion`: up to this version, all rows of the account are stored. */
  constructor(settledVersion: (accountId: string) => number, max = charactersMax) {
    this.#settledVersion = settledVersion
    this.#charactersMax = max
  }

  /** The facts about these places, by `stepOf`; those that are not known are read. */
  async of<T>(
    subject: Subject,
    accountId: string,
    places: readonly Place[],
    read: (missing: readonly Place[]) => Promise<ReadonlyMap<string, T>>,
  ): Promise<ReadonlyMap<string, T>> {
    const found = new Map<string, T>()
    const missing: Place[] = []
    for (const place of places) {
      const step = stepOf(place.id, place.version)
      const fact = this.#use(`${subject} ${accountId} ${step}`)
      if (fact === undefined) missing.push(place)
      else found.set(step, fact.value as T)
    }
    if (missing.length === 0) return found
    // Rows that are stored while they are read may be seen in part.
    const settled = this.#settledVersion(accountId)
    const values = await read(missing)
    for (const { id, version } of missing) {
      const step = stepOf(id, version)
      const value = values.get(step)
      if (value === undefined) continue
      found.set(step, value)
      if (version <= settled) this.#add(`${subject} ${accountId} ${step}`, value)
    }
    return found
  }

  #use(key: string): Fact | undefined {
    const fact = this.#facts.get(key)
    if (fact === undefined) return undefined
    this.#facts.delete(key)
    this.#facts.set(key, fact)
    return fact
  }

  #add(key: string, value: unknown): void {
    this.#forget(key)
    const characters = JSON.stringify(value).length + entryCharacters
    this.#facts.set(key, { value, characters })
    this.#characters += characters
    for (const oldest of this.#facts.keys()) {
      if (this.#characters <= this.#charactersMax) break
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    this.#characters -= this.#facts.get(key)?.characters ?? 0
    this.#facts.delete(key)
  }
}
