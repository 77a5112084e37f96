/** Callers of the API in tests, and what tests ask of a call. */
import { ApiError, type Client, openClient } from '../../src/words/client/client.js'
import { Collection } from '../../src/words/client/collection.js'
import { Http } from '../../src/words/client/http.js'
import { resources } from '../../src/words/resource/registry.js'
import { RawClient, type RawClientOptions } from './raw-client.js'

/** The typed client of one API key, for all ordinary calls. `raw` sends what that client can't, with the same key. */
export interface Caller extends Client {
  readonly raw: RawClient
  readonly token: string
  readonly accountId: string
  /** The client's operations at a path, untyped: for tests that run over a table of kinds. */
  at(path: string): AnyCollection
  /** The same caller with another key; null, as later answers show a token, is not valid. */
  withToken(token: string | null): Caller
}

// biome-ignore lint/suspicious/noExplicitAny: tests inspect resources of every kind.
export type AnyCollection = Collection<unknown, unknown, any>

/** Its typed client sends through its raw one, so the check sees every answer. */
export function openCaller(options: RawClientOptions, accountId = ''): Caller {
  const raw = new RawClient(options)
  const { base: url, token } = options
  const send = async (path: string, { method = 'GET', headers, body }: RequestInit): Promise<Response> => {
    const answer = await raw.send(method, path, {
      // Lower case, so that they replace the headers that the raw client sends by default.
      headers: Object.fromEntries(new Headers(headers)),
      body: body ?? undefined,
    })
    return new Response(answer.text === '' ? null : answer.text, { status: answer.status })
  }
  // Without retries: a test sees each answer.
  const clientOptions = { url, token, waitMs: 0, fetch: send }
  const http = new Http(clientOptions)
  return {
    ...openClient(clientOptions),
    raw,
    token,
    accountId,
    at: (path) => new Collection(http, path, listNameAt(path)),
    withToken: (other) => openCaller({ ...options, token: other ?? '' }, accountId),
  }
}

const listNameAt = (path: string): string => resources.find((each) => each.path === path)?.listName ?? ''

/** All entries of a list. */
export async function all<Entry>(list: AsyncIterable<Entry>): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of list) entries.push(entry)
  return entries
}

/** The newest entry of a list; fails if there is none. */
export async function newest<Entry>(list: AsyncIterable<Entry>): Promise<Entry> {
  for await (const entry of list) return entry
  throw new Error('The list is empty.')
}

/** The status with which the API refuses a call, or `ok`. */
export async function statusOf(call: Promise<unknown>): Promise<number | 'ok'> {
  return (await refusalOf(call))?.status_code ?? 'ok'
}

/** The message of a refusal with this status; fails if the call has another result. */
export async function refused(status: number, call: Promise<unknown>): Promise<string> {
  const refusal = await refusalOf(call)
  if (refusal?.status_code === status) return refusal.msg
  throw refusal ?? new Error(`The call succeeded instead of being refused with the status ${status}.`)
}

type Entries = Pick<AnyCollection, 'get' | 'update' | 'delete'>

/** Fails unless GET, PATCH and DELETE answer that the entry does not exist; returns their messages. */
export async function notFound(entries: Entries, id: string): Promise<string[]> {
  return [
    await refused(404, entries.get(id)),
    await refused(404, entries.update(id, {})),
    await refused(404, entries.delete(id)),
  ]
}

/** The error with which the API refuses a call, if it does; fails if there is no answer. */
export const refusalOf = (call: Promise<unknown>): Promise<ApiError | undefined> =>
  call.then(
    () => undefined,
    (error) => {
      if (error instanceof ApiError) return error
      throw error
    },
  )
