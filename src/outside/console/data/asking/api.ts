/** The typed client with the session's cookie, and answers that a page shows. */
import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { ApiError, type Client, openClient } from '../../../../words/client/client.js'
import { consoleHeaders } from '../access/headers.js'
import { sessionEnded } from '../access/session.js'
import { now } from '../clock.js'
import { root } from '../location.js'
import { notify } from '../notices.js'
import { withLocalTimes } from '../texts/format.js'
import { AnsweredQuestion, type Asked, useAgain, useQuestion } from './questions.js'
import { expectationOf, failedTestsIn, nameOfTest, outcomeOf } from './test-runs.js'

/** Warnings of answers: something can't be complete, or never applies. */
export const warnings = signal<readonly string[]>([])

const warningsKeptMax = 5

async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  const isSignIn = url.endsWith('/console/session')
  if (response.status === 401 && !isSignIn) sessionEnded('The session has ended. Sign in again.')
  return response
}

/** The client of the API: the console has all its knowledge from here. */
export const api: Client = openClient({
  url: root,
  headers: consoleHeaders,
  fetch: send,
  waitMs: 5_000,
  warned: (warning) => {
    if (!warnings.value.includes(warning))
      warnings.value = [...warnings.value, warning].slice(-warningsKeptMax)
  },
})

interface AskOptions {
  /** Asks again after so long, while the page is visible. */
  readonly everyMs?: number
}

/**
 * The answer to a question, which is asked again whenever `keys` change. An answer to an earlier question is dropped.
 * `again` asks once more.
 */
export function useAnswer<Data>(
  keys: readonly unknown[],
  ask: (client: Client) => Promise<Data>,
  { everyMs }: AskOptions = {},
): Asked<Data> {
  const askNow = useRef(ask)
  askNow.current = ask
  const read = (): Promise<Data> => askNow.current(api)
  const question = useMemo(() => new AnsweredQuestion<Data>((mine) => void mine.ask(read)), [])
  useQuestion(question)
  useEffect(() => void question.ask(read, { isOther: true }), keys)
  useAgain(question, everyMs)
  return { ...question.answer.value, again: question.again, question }
}

/** Does something that changes the account. Says how it went, `done` of its result; true if it went well. */
export async function act<Result>(
  done: string | ((result: Result) => string),
  work: (client: Client) => Promise<Result>,
): Promise<boolean> {
  try {
    const result = await work(api)
    notify({ text: typeof done === 'string' ? done : done(result), kind: 'good' })
    return true
  } catch (error) {
    notify({ text: errorText(error), kind: 'bad', details: errorDetails(error) })
    return false
  }
}

/** The message of the API, with its times as local ones. */
export function errorText(error: unknown): string {
  if (error instanceof ApiError) return withLocalTimes(error.msg, now())
  return error instanceof Error ? `${error.message}.` : String(error)
}

/** The places that the API named, and the id that finds the request in its log. */
export function errorDetails(error: unknown): readonly string[] {
  if (!(error instanceof ApiError)) return []
  const failed = failedTestsIn(error)
  if (failed.length > 0)
    return failed.map((run) => `${nameOfTest(run)}: expected ${expectationOf(run)}, got ${outcomeOf(run)}`)
  return Object.entries(error.details).map(([name, text]) =>
    name === 'operation_id' ? `operation ${text}` : withLocalTimes(`${name}: ${text}`, now()),
  )
}

export interface Page<Entry> {
  readonly entries: readonly Entry[]
  /** There are more. */
  readonly hasMore: boolean
}

/** The first entries of a list. */
export async function firstOf<Entry>(list: AsyncIterable<Entry>, count: number): Promise<Page<Entry>> {
  const entries: Entry[] = []
  for await (const entry of list) {
    if (entries.length === count) return { entries, hasMore: true }
    entries.push(entry)
  }
  return { entries, hasMore: false }
}

/** Runs while the component is shown: a stream of the API, until the signal. */
export function useStream(keys: readonly unknown[], run: (signal: AbortSignal) => Promise<void>): void {
  useEffect(() => {
    const stop = new AbortController()
    void run(stop.signal)
    return () => stop.abort()
  }, keys)
}
