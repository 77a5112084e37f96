/** Long lists: the first entries, and more of them on demand. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Client } from '../../../client/client.js'
import { type Answer, api } from './api.js'

export interface Listed<Entry> {
  readonly entries: readonly Entry[]
  readonly hasMore: boolean
}

/** Entries of a list in steps; asked again whenever `keys` change, and by `again`. An answer that is late is dropped. */
export function useMore<Entry>(
  keys: readonly unknown[],
  list: (client: Client) => AsyncIterable<Entry>,
  step: number,
): Answer<Listed<Entry>> & { readonly isOld: boolean; again(): void; more(): Promise<void> } {
  const answer = useSignal<Answer<Listed<Entry>>>({ data: undefined, error: undefined, isLoading: true })
  /** The entries answer an earlier question. */
  const isOld = useSignal(false)
  const reading = useRef<Reading<Entry> | undefined>(undefined)
  const advance = async (mine: Reading<Entry>): Promise<void> => {
    answer.value = { ...answer.peek(), isLoading: true }
    const next = await mine.read(step).then(
      (data) => ({ data, error: undefined, isLoading: false }),
      (error: Error) => ({ data: answer.peek().data, error, isLoading: false }),
    )
    if (reading.current !== mine) return
    isOld.value = false
    answer.value = next
  }
  const again = (): void => {
    reading.current = new Reading(list(api))
    isOld.value = true
    void advance(reading.current)
  }
  useEffect(() => {
    again()
    return () => {
      reading.current = undefined
    }
  }, keys)
  const more = async (): Promise<void> => {
    if (reading.current !== undefined) await advance(reading.current)
  }
  return { ...answer.value, isOld: isOld.value, again, more }
}

class Reading<Entry> {
  readonly #iterator: AsyncIterator<Entry>
  readonly #entries: Entry[] = []
  /** Read already, to know that there is more. */
  #next: Entry | undefined

  constructor(list: AsyncIterable<Entry>) {
    this.#iterator = list[Symbol.asyncIterator]()
  }

  async read(count: number): Promise<Listed<Entry>> {
    const wanted = this.#entries.length + count
    if (this.#next !== undefined) this.#entries.push(this.#next)
    this.#next = undefined
    for (;;) {
      const { value, done } = await this.#iterator.next()
      if (done === true) return { entries: [...this.#entries], hasMore: false }
      if (this.#entries.length >= wanted) {
        this.#next = value
        return { entries: [...this.#entries], hasMore: true }
      }
      this.#entries.push(value)
    }
  }
}
