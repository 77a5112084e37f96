/**
 * The most frequent of many texts, in bounded memory: Space-Saving (Metwally, Agrawal and El Abbadi, 2005). When the
 * table is full, a new text replaces the rarest one and takes over its count. A frequent text is never missed; its
 * count is too high by at most that of the rarest.
 */
export class TopCounts {
  readonly #kept: number
  readonly #counts = new Map<string, number>()

  constructor(kept: number) {
    this.#kept = kept
  }

  add(text: string, count: number): void {
    const known = this.#counts.get(text)
    if (known !== undefined) this.#counts.set(text, known + count)
    else if (this.#counts.size < this.#kept) this.#counts.set(text, count)
    else this.#replaceRarest(text, count)
  }

  #replaceRarest(text: string, count: number): void {
    let rarest = ''
    let least = Number.POSITIVE_INFINITY
    for (const [candidate, present] of this.#counts) {
      if (present >= least) continue
      rarest = candidate
      least = present
    }
    this.#counts.delete(rarest)
    this.#counts.set(text, least + count)
  }

  /** The most frequent first. */
  top(texts: number): { readonly text: string; readonly count: number }[] {
    return [...this.#counts]
      .map(([text, count]) => ({ text, count }))
      .toSorted((one, other) => other.count - one.count)
      .slice(0, texts)
  }
}
