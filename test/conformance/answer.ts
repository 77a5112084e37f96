/** An answer of the deployment, and what a check may demand of it. */
import { isDeepStrictEqual } from 'node:util'

// biome-ignore lint/suspicious/noExplicitAny: checks look into answers of every shape, and a wrong shape is a finding.
export type Json = any

/** A promise does not hold: what was asked, what should have come, and what came. */
export class Broken extends Error {
  readonly asked: string
  readonly should: string
  readonly came: string

  constructor(asked: string, should: string, came: string) {
    super(`${asked}: ${should}`)
    this.asked = asked
    this.should = should
    this.came = came
  }
}

/** A promise can't be checked here; the message says why. */
export class NotChecked extends Error {}

const shownMax = 600

export const shown = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text
}

/** Each method returns the answer, so that demands can follow one another. */
export class Answer {
  readonly asked: string
  readonly status: number
  readonly headers: Headers
  readonly text: string

  constructor(asked: string, { status, headers }: Pick<Response, 'status' | 'headers'>, text: string) {
    this.asked = asked
    this.status = status
    this.headers = headers
    this.text = text
  }

  get body(): Json {
    try {
      return JSON.parse(this.text)
    } catch {
      return this.fail('the body is JSON')
    }
  }

  header(name: string): string {
    return this.headers.get(name) ?? ''
  }

  fail(should: string): never {
    const about = this.header('content-type').startsWith('application/json')
      ? ''
      : this.header('content-type')
    throw new Broken(this.asked, should, `${this.status} ${about} ${shown(this.text)}`.replaceAll(/ +/g, ' '))
  }

  must(holds: boolean, should: string): this {
    return holds ? this : this.fail(should)
  }

  is(status: number): this {
    return this.must(this.status === status, `status ${status}`)
  }

  /** `found` is a part of this answer. */
  same(found: unknown, wanted: unknown, what: string): this {
    if (isDeepStrictEqual(found, wanted)) return this
    return this.fail(`${what} is ${shown(wanted)}, not ${shown(found)}`)
  }

  /** An error in the form of the API, whose sentence has each of these texts. */
  refused(status: number, code: string, ...texts: readonly string[]): this {
    this.is(status)
    const { error_code, status_code, msg, details } = this.body
    this.same(error_code, code, 'error_code').same(status_code, status, 'status_code')
    this.must(typeof msg === 'string' && msg.length > 0, 'msg is a sentence')
    for (const text of texts) this.must(msg.includes(text), `msg names ${text}`)
    return this.must(typeof details?.operation_id === 'string', 'details.operation_id is a text')
  }
}
