/**
 * Questions that the page has asked the API, and how far the answers are. The frame of every page says from this that
 * something is still loading, and what failed without a part of the page that says so.
 */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { every } from '../clock.js'

/** An answer of the API, as far as it is here. While it is asked for again, the last one stays. */
export interface Answer<Data> {
  readonly data: Data | undefined
  readonly error: Error | undefined
  readonly isLoading: boolean
  /** The present question has no answer yet: there is no data, or that of an earlier question. */
  readonly isWaiting: boolean
}

/** An answer that a part of the page shows. */
export interface Asked<Data> extends Answer<Data> {
  again(): void
  readonly question: Question
}

/** A question, as the frame of the page sees it. */
export interface Question {
  readonly isWaiting: ReadonlySignal<boolean>
  readonly error: ReadonlySignal<unknown>
  again(): void
}

const asked = signal<ReadonlySet<Question>>(new Set())
/** Those whose state a part of the page shows, and how many parts do. */
const shown = signal<ReadonlyMap<Question, number>>(new Map())

/** Something that the page has asked for is not here yet. */
export const isPageWaiting = computed(() => [...asked.value].some(({ isWaiting }) => isWaiting.value))

/** Questions that failed, and whose failure no part of the page shows. */
export const unshownFailures = computed(() =>
  [...asked.value].filter((question) => question.error.value !== undefined && !shown.value.has(question)),
)

/** While the component is there, the frame knows of its question. */
export function useQuestion(question: Question): void {
  useLayoutEffect(() => {
    asked.value = new Set([...asked.peek(), question])
    return () => {
      asked.value = new Set([...asked.peek()].filter((each) => each !== question))
    }
  }, [question])
}

/** Asks again after so long, while the page is visible; undefined: never. */
export function useAgain({ again }: Pick<Question, 'again'>, everyMs: number | undefined): void {
  useEffect(() => {
    if (everyMs === undefined) return
    const timer = every(everyMs, again)
    return () => timer.stop()
  }, [everyMs, again])
}

/** This component says itself that the question waits, or has failed. */
export function useShown({ question }: Pick<Asked<unknown>, 'question'>): void {
  useLayoutEffect(() => {
    count(question, 1)
    return () => count(question, -1)
  }, [question])
}

function count(question: Question, change: number): void {
  const counts = new Map(shown.peek())
  const next = (counts.get(question) ?? 0) + change
  if (next > 0) counts.set(question, next)
  else counts.delete(question)
  shown.value = counts
}

/** A question whose answer changes: each way of asking replaces what is under way. */
export class AnsweredQuestion<Data> implements Question {
  readonly answer = signal<Answer<Data>>({
    data: undefined,
    error: undefined,
    isLoading: true,
    isWaiting: true,
  })
  readonly isWaiting = computed(() => this.answer.value.isWaiting)
  readonly error = computed(() => this.answer.value.error)
  readonly again: () => void
  #count = 0

  /** `again`: asks once more, by `ask`. */
  constructor(again: (question: AnsweredQuestion<Data>) => void) {
    this.again = () => again(this)
  }

  /** `isOther`: the question is no longer the one that the last answer is of. A late answer to an earlier one is dropped. */
  async ask(read: () => Promise<Data>, { isOther = false } = {}): Promise<void> {
    this.#count += 1
    const mine = this.#count
    const before = this.answer.peek()
    // A failure that is asked about again is waited for as it was the first time.
    const isWaiting = isOther || before.isWaiting || before.error !== undefined
    this.answer.value = { ...before, isLoading: true, isWaiting }
    const ended = { isLoading: false, isWaiting: false }
    const next = await read().then(
      (data) => ({ data, error: undefined, ...ended }),
      (error: Error) => ({ data: this.answer.peek().data, error, ...ended }),
    )
    if (mine === this.#count) this.answer.value = next
  }

  /** An answer that is under way is dropped. */
  drop(): void {
    this.#count += 1
  }
}
