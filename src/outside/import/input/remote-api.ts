/** The API of another system, read page by page. Its key goes to this address only. */
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import { inputBytesMax, parsed } from './document.js'

const requestTimeoutMs = 60_000
const requestsMax = 20_000

/** There is no server, or it failed. */
export class Unanswered extends StartFault {}

/** How far the requests are: which of the lists is read, as far as it is known how many there are. */
interface Asked {
  readonly requests: number
  readonly list?: { readonly name: string; readonly done: number; readonly of: number } | undefined
}

export class RemoteApi {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  #bytesLeft = inputBytesMax
  #requests = 0
  #list: Asked['list']
  readonly #asked: (asked: Asked) => void

  /** `base`: its address, to which paths are appended. `asked`: called before each request. */
  constructor(
    base: string,
    headers: Readonly<Record<string, string>>,
    asked: (asked: Asked) => void = () => {},
  ) {
    this.#asked = asked
    this.#base = base.replace(/\/+$/, '')
    this.#headers = headers
  }

  /** What is asked for from now on; `done` of `of` lists are there. */
  begins(name: string, done: number, of: number): void {
    this.#list = { name, done, of }
  }

  /** The answer of a path, or of the address of a page. */
  async get(pathOrPage: string): Promise<unknown> {
    const found = await this.find(pathOrPage)
    if (found === undefined)
      throw new StartFault(`${this.#urlOf(pathOrPage)} answers 404: there is no such list.`)
    return found
  }

  /** Undefined if there is no such list. */
  async find(pathOrPage: string): Promise<unknown> {
    const { origin, href } = this.#checked(this.#urlOf(pathOrPage))
    this.#requests += 1
    if (this.#requests > requestsMax) throw new StartFault(`${origin} has more than ${requestsMax} pages.`)
    this.#asked({ requests: this.#requests, list: this.#list })
    const answer = await this.#answerOf(href)
    const text = await this.#textOf(answer, href)
    const { status } = answer
    if (status === 404) return undefined
    if (status >= 500) throw new Unanswered(`${href} answers ${status}.`)
    const why = status === 401 || status === 403 ? ': the key is not accepted there' : ''
    if (!answer.ok) throw new StartFault(`${href} answers ${status}${why}.`)
    return parsed(text, `The answer of ${href}`)
  }

  #urlOf(pathOrPage: string): string {
    return pathOrPage.startsWith('/') ? `${this.#base}${pathOrPage}` : pathOrPage
  }

  /** An answer names its next page, and could name another server. */
  #checked(url: string): URL {
    const [base, page] = [new URL(this.#base), URL.canParse(url) ? new URL(url) : undefined]
    if (page?.origin === base.origin) return page
    throw new StartFault(
      `${base.origin} names a next page elsewhere, which is not asked for: the key is not for it.`,
    )
  }

  async #answerOf(url: string): Promise<Response> {
    try {
      const signal = AbortSignal.timeout(requestTimeoutMs)
      return await fetch(url, {
        headers: { accept: 'application/json', ...this.#headers },
        redirect: 'error',
        signal,
      })
    } catch (error) {
      throw noAnswer(url, error)
    }
  }

  async #textOf(answer: Response, url: string): Promise<string> {
    const chunks: Uint8Array[] = []
    try {
      for await (const chunk of answer.body ?? []) {
        this.#bytesLeft -= chunk.length
        if (this.#bytesLeft < 0) break
        chunks.push(chunk)
      }
    } catch (error) {
      throw noAnswer(url, error)
    }
    if (this.#bytesLeft < 0) throw new StartFault(`The answers have more than ${inputBytesMax} bytes.`)
    return new TextDecoder('utf-8').decode(Buffer.concat(chunks))
  }
}

function noAnswer(url: string, error: unknown): Unanswered {
  const { cause } = error as { readonly cause?: Error & { readonly code?: string } }
  return new Unanswered(`${url} does not answer: ${cause?.code ?? cause?.message ?? messageOf(error)}.`, {
    cause: error,
  })
}
