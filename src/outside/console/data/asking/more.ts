/** Long lists: the first entries, and more of them on demand. */
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Client } from '../../../../words/client/client.js'
import { parameter, setParameters } from '../location.js'
import { api } from './api.js'
import { AnsweredQuestion, type Asked, useAgain, useQuestion } from './questions.js'

export interface Listed<Entry> {
  readonly entries: readonly Entry[]
  readonly hasMore: boolean
}

/** Something long that is read in steps. */
export interface Steps<Data> {
  /** Reads so many more; all that is known. */
  read(count: number): Promise<Data>
  /** How many entries are known. */
  readonly count: number
  readonly hasFailed: boolean
}

/**
 * Data that is read in steps; begun again whenever `keys` change. `again` reads as far as it was read before. An answer that
 * is late is dropped.
 */
export function useSteps<Data>(
  keys: readonly unknown[],
  open: (client: Client) => Steps<Data>,
  step: number,
  first = step,
): Asked<Data> & { more(): Promise<void> } {
  const openNow = useRef(open)
  openNow.current = open
  const reading = useRef<Steps<Data> | undefined>(undefined)
  const question = useMemo(
    () => new AnsweredQuestion<Data>((mine) => begin(mine, Math.max(step, reading.current?.count ?? 0))),
    [],
  )
  useQuestion(question)
  function begin(mine: AnsweredQuestion<Data>, count: number, isOther = false): void {
    const begun = openNow.current(api)
    reading.current = begun
    void mine.ask(() => begun.read(count), { isOther })
  }
  useEffect(() => {
    begin(question, first, true)
    return () => question.drop()
  }, keys)
  const more = async (): Promise<void> => {
    const before = reading.current
    if (before === undefined) return
    // A failed reading can't go on: a new one reads as far, and the next step.
    const going = before.hasFailed ? openNow.current(api) : before
    const count = before.hasFailed ? before.count + step : step
    reading.current = going
    await question.ask(() => going.read(count))
  }
  return { ...question.answer.value, again: question.again, question, more }
}

/** The entries of a list that are read so far, and how more of them are. */
export type AskedList<Entry> = Asked<Listed<Entry>> & { more(): Promise<void> }

interface MoreOptions {
  /** The parameter of the URL that keeps how many are shown. */
  readonly inUrl?: string
  /** Reads them again after so long, while the page is visible. */
  readonly everyMs?: number
}

/** Entries of a list in steps. */
export function useMore<Entry>(
  keys: readonly unknown[],
  list: (client: Client) => AsyncIterable<Entry>,
  step: number,
  { inUrl, everyMs }: MoreOptions = {},
): AskedList<Entry> {
  const first = (inUrl !== undefined && Number(parameter(inUrl))) || step
  const asked = useSteps(keys, (client) => new Reading(list(client)), step, first)
  useAgain(asked.question, everyMs)
  if (inUrl === undefined) return asked
  const more = (): Promise<void> => {
    setParameters({ [inUrl]: first + step })
    return asked.more()
  }
  return { ...asked, more }
}

class Reading<Entry> implements Steps<Listed<Entry>> {
  readonly #iterator: AsyncIterator<Entry>
  readonly #entries: Entry[] = []
  /** Read already, to know that there is more. */
  #next: Entry | undefined
  #hasFailed = false

  constructor(list: AsyncIterable<Entry>) {
    this.#iterator = list[Symbol.asyncIterator]()
  }

  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** How many entries are known. */
  get count(): number {
    return this.#entries.length
  }

  async read(count: number): Promise<Listed<Entry>> {
    try {
      return await this.#read(count)
    } catch (error) {
      this.#hasFailed = true
      throw error
    }
  }

  async #read(count: number): Promise<Listed<Entry>> {
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
