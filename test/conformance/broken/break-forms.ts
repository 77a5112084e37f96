/** Ways to break a promise, of which `breaks.ts` and `event-breaks.ts` make those that must be found. */
import type { Json } from '../answer.js'
import type { Break, Received, Sent } from './breaking-proxy.js'

export interface BrokenPromise {
  readonly number: number
  readonly name: string
  /** Between whom: a client and the API (default), Weir and a destination, a proxy and the port for proxies. */
  readonly at?: 'api' | 'events' | 'decide'
  readonly by: Break
}

/** Changes answers in JSON. */
export const inAnswer = (change: (body: Json, received: Received, sent: Sent) => Json): Break => ({
  answer: (received, sent) => {
    if (!/json/.test(received.headers['content-type'] ?? '') || received.text === '') return received
    return { ...received, text: JSON.stringify(change(JSON.parse(received.text), received, sent)) }
  },
})

/** Changes what is asked. */
export const inBody = (from: string, to: string): Break => ({
  ask: (sent) => ({ ...sent, body: sent.body.replaceAll(from, to) }),
})

export const withHeader = (name: string, value: string | undefined): Break => ({
  ask: (sent) => ({ ...sent, headers: { ...sent.headers, [name]: value } }),
})

/** Changes events on their way. */
export const inEvent = (change: (event: Json) => Json): Break => ({
  ask: (sent) => ({ ...sent, body: JSON.stringify(change(JSON.parse(sent.body))) }),
})

export const status = (from: number, to: number): Break => ({
  answer: (received) => (received.status === from ? { ...received, status: to } : received),
})

export const withoutHeader = (name: string): Break => ({
  answer: (received) => ({ ...received, headers: { ...received.headers, [name]: undefined } }),
})

export const inPath = (pattern: RegExp, text: string): Break => ({
  ask: (sent) => ({ ...sent, path: sent.path.replace(pattern, text) }),
})

export const inText = (pattern: RegExp, text: string): Break => ({
  answer: (received) => ({ ...received, text: received.text.replaceAll(pattern, text) }),
})

/** Every request has the same key: rights and accounts are no longer told apart. */
export const oneKey = (main: string): Break => ({
  ask: (sent) =>
    sent.headers.authorization === undefined
      ? sent
      : { ...sent, headers: { ...sent.headers, authorization: `Bearer ${main}` } },
})

const entries = (body: Json): Json[] | undefined =>
  Object.values(body).find(Array.isArray) as Json[] | undefined

/** Changes the lists of answers. */
export const inLists = (change: (list: Json[], sent: Sent) => Json[]): Break =>
  inAnswer((body, _, sent) => {
    const list = entries(body)
    if (list === undefined) return body
    const [name = ''] = Object.entries(body).find(([, each]) => each === list) ?? []
    return { ...body, [name]: change(list, sent) }
  })
