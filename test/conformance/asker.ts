/** Asks the deployment over HTTP, as any client does: within a rate, and without a write in a run that is read-only. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Answer, Broken, NotChecked, shown } from './answer.js'

interface Question {
  /** Texts and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown
  /** Undefined removes a header that is sent by default. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** Another key than that of the run. */
  readonly key?: string
  /** 429 and 503 are the answer, and not a reason to wait. */
  readonly isFinal?: boolean
}

interface AskerOptions {
  readonly url: string
  readonly key: string
  readonly isReadOnly: boolean
  /** Requests that are sent in a minute at most. */
  readonly perMinuteMax: number
  /** Is told each token that an answer shows. */
  readonly onSecret: (secret: string) => void
}

const minuteMs = 60_000
const timeoutMs = 60_000
const retriesMax = 5
const waitMaxMs = 20_000

/** Of requests with other methods than GET, those that change nothing. */
const changesNothing = (path: string): boolean =>
  /[?&]validate_only=true/.test(path) ||
  /^\/(decide|policy_tests\/run|tries|event_destinations\/setup)\b/.test(path)

export class Asker {
  readonly #options: AskerOptions
  readonly #sentAt: number[] = []
  readonly #underWay = new Set<Promise<Answer>>()
  #last: Answer | undefined
  #isStopped = false

  constructor(options: AskerOptions) {
    this.#options = options
  }

  get url(): string {
    return this.#options.url
  }

  /** The newest answer: what a check that fails in its own code has stumbled over. */
  get last(): Answer | undefined {
    return this.#last
  }

  /** Sends nothing more; resolves when what is under way is answered. A check that was left may still go on. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.allSettled(this.#underWay)
  }

  async ask(method: string, path: string, question: Question = {}): Promise<Answer> {
    const isWrite = method !== 'GET' && !changesNothing(path)
    if (isWrite && this.#options.isReadOnly)
      throw new NotChecked(`it needs ${method} ${path.split('?')[0]}, and the run is read-only`)
    for (let retries = 0; ; retries += 1) {
      const answer = await this.#watched(this.#send(method, path, question))
      const isBusy = answer.status === 429 || answer.status === 503
      if (!isBusy || question.isFinal === true || retries === retriesMax) {
        this.#last = answer
        return this.#allowed(answer, question)
      }
      await sleep(Math.min((Number(answer.header('retry-after')) || 1) * 1_000, waitMaxMs))
    }
  }

  get(path: string, question?: Question): Promise<Answer> {
    return this.ask('GET', path, question)
  }

  post(path: string, body?: unknown, question?: Question): Promise<Answer> {
    return this.ask('POST', path, { body, ...question })
  }

  put(path: string, body: unknown, question?: Question): Promise<Answer> {
    return this.ask('PUT', path, { body, ...question })
  }

  patch(path: string, body: unknown, question?: Question): Promise<Answer> {
    return this.ask('PATCH', path, { body, ...question })
  }

  delete(path: string, question?: Question): Promise<Answer> {
    return this.ask('DELETE', path, question)
  }

  async #watched(sent: Promise<Answer>): Promise<Answer> {
    this.#underWay.add(sent)
    return sent.finally(() => this.#underWay.delete(sent))
  }

  /** A key of less than everything is no fault of the deployment. */
  #allowed(answer: Answer, { key, headers = {} }: Question): Answer {
    const isOwn = key === undefined && !('authorization' in headers)
    if (isOwn && answer.status === 403 && /The API key \w+ lacks the right/.test(answer.text))
      throw new NotChecked(answer.body.msg)
    return answer
  }

  async #send(method: string, path: string, { body, headers = {}, key }: Question): Promise<Answer> {
    await this.#inRate()
    if (this.#isStopped) throw new NotChecked('the run was interrupted')
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const all: Record<string, string | undefined> = {
      authorization: `Bearer ${key ?? this.#options.key}`,
      'service-version': '2',
      'content-type': body === undefined ? undefined : 'application/json',
      ...headers,
    }
    const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const asked = `${method} ${path}${body === undefined ? '' : ` ${shown(isRaw ? Buffer.from(body).toString() : body)}`}`
    try {
      const response = await fetch(`${this.#options.url}${path}`, {
        method,
        headers: Object.fromEntries(sent),
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
        ...(body === undefined
          ? {}
          : { body: isRaw ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
      })
      const answer = new Answer(asked, response, await response.text())
      for (const [, token = ''] of answer.text.matchAll(/"token": *"([^"]+)"/g)) this.#options.onSecret(token)
      return answer
    } catch (error) {
      throw new Broken(asked, 'an answer', `none: ${reasonOf(error)}`)
    }
  }

  /** Reads a stream of events until it has what is looked for. */
  async stream(path: string, isEnough: (text: string) => boolean, withinMs: number): Promise<Answer> {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), withinMs)
    const headers = { authorization: `Bearer ${this.#options.key}`, 'service-version': '2' }
    const asked = `GET ${path}`
    let text = ''
    try {
      const response = await fetch(`${this.#options.url}${path}`, { headers, signal: controller.signal })
      const decoder = new TextDecoder()
      for await (const part of response.body ?? []) {
        text += decoder.decode(part, { stream: true })
        if (isEnough(text)) return new Answer(asked, response, text)
      }
      return new Answer(asked, response, text).fail('a stream that goes on')
    } catch (error) {
      if (error instanceof Broken) throw error
      throw new Broken(asked, `an event within ${withinMs} ms`, `${reasonOf(error)} after ${shown(text)}`)
    } finally {
      clearTimeout(timer)
      controller.abort()
    }
  }

  async #inRate(): Promise<void> {
    const [oldest = 0] = this.#sentAt
    if (this.#sentAt.length >= this.#options.perMinuteMax) {
      this.#sentAt.shift()
      await sleep(Math.max(0, oldest + minuteMs - Date.now()))
    }
    this.#sentAt.push(Date.now())
  }
}

/** `fetch` hides why it failed in the cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error as { cause?: { code?: string; message?: string } }
  return cause?.code ?? cause?.message ?? error.message
}
