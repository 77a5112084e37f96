/** One run against one deployment, as its checks see it: whom to ask, what it is called, what it makes and removes. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, Broken, type Json } from './answer.js'
import { Asker } from './asker.js'
import { Collector } from './collector.js'
import { Leftovers } from './leftovers.js'

export interface Target {
  readonly url: string
  readonly key: string
  readonly otherKey?: string
  readonly natsUrl?: string
  readonly decideUrl?: string
  /** `HOST:PORT` on which this program takes events. */
  readonly listen?: string
  /** Under which the deployment reaches that, if it is not the same. */
  readonly listenUrl?: string
  readonly isReadOnly?: boolean
  readonly isWithLimits?: boolean
  /** By how much longer than promised a check waits, for a deployment on a busy machine. */
  readonly patience?: number
  /** Requests that are sent in a minute at most. */
  readonly perMinuteMax?: number
}

/** Half of what an account may ask by default: the other half is for its other clients. */
export const perMinuteMaxDefault = 600

const betweenLooksMs = 100
const hourMs = 3_600_000

export class Visit {
  readonly target: Target
  /** Every resource of the run has a description that begins like this, and every name has it in it. */
  readonly label = `conformance-${randomBytes(5).toString('hex')}`
  readonly ask: Asker
  readonly #leftovers = new Leftovers()
  readonly #secrets = new Set<string>()
  readonly #shared = new Map<unknown, Promise<unknown>>()
  readonly #closers: (() => Promise<unknown>)[] = []
  #collector: Promise<Collector> | undefined
  #numbers = 0

  constructor(target: Target) {
    this.target = target
    for (const secret of [target.key, target.otherKey]) if (secret !== undefined) this.secret(secret)
    const password = target.natsUrl === undefined ? '' : new URL(target.natsUrl).password
    if (password !== '') this.secret(decodeURIComponent(password))
    this.ask = this.#asker(target.url)
  }

  #asker(url: string): Asker {
    const { key, isReadOnly = false, perMinuteMax = perMinuteMaxDefault } = this.target
    return new Asker({ url, key, isReadOnly, perMinuteMax, onSecret: (secret) => this.secret(secret) })
  }

  /** Nothing that is printed shows it from now on. */
  secret(secret: string): void {
    this.#secrets.add(secret)
  }

  /** The text without any secret of the run. */
  redacted(text: string): string {
    return [...this.#secrets].reduce((left, secret) => left.replaceAll(secret, '…'), text)
  }

  /** A description that no other resource of the run has. */
  name(what: string): string {
    this.#numbers += 1
    return `${this.label} ${what} ${this.#numbers}`
  }

  /** A host name that is nobody's. */
  host(name: string): string {
    return `${name}.${this.label}.example`
  }

  /** The id of a record that nobody else publishes. */
  recordId(what: string): string {
    this.#numbers += 1
    return `${this.label}-${what}-${this.#numbers}`
  }

  /** Creates a resource, which is removed after the run, and returns it as it was answered. */
  async make(path: string, body: Json = {}): Promise<Json> {
    return (await this.made(path, body)).body
  }

  /** The same with the whole answer. */
  async made(path: string, body: Json = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const answer = await this.ask.post(path, { description: this.name('resource'), ...body }, { headers })
    answer.is(201)
    this.#leftovers.add(`${path}/${answer.body.id}`)
    return answer
  }

  /** The token of a new key. Should the run be killed, the key ends in an hour. */
  async makeKey(...rights: readonly string[]): Promise<{ readonly id: string; readonly token: string }> {
    const expires_at = new Date(Date.now() + hourMs).toISOString()
    return this.make('/api_keys', { rights, expires_at })
  }

  /** Something that a check made in a way of its own. */
  willRemove(path: string): void {
    this.#leftovers.add(path)
  }

  /** What several checks need is made by the first of them, and fails for each of them. */
  once<Made>(make: (visit: Visit) => Promise<Made>): Promise<Made> {
    const known = this.#shared.get(make) ?? make(this)
    this.#shared.set(make, known)
    return known as Promise<Made>
  }

  /** What must be closed when the run ends. */
  closes(close: () => Promise<unknown>): void {
    this.#closers.push(close)
  }

  get collector(): Promise<Collector> {
    this.#collector ??= Collector.open(this.target.listen ?? '', this.target.listenUrl)
    return this.#collector
  }

  /** The port for proxies; its requests carry the key in the same way. */
  get proxyPort(): Asker {
    return this.#asker(this.target.decideUrl ?? '')
  }

  /** Looks until there is a value, as long as is promised; then the promise is broken. */
  async within<Found>(
    seconds: number,
    should: string,
    look: () => Promise<Found | undefined>,
  ): Promise<Found> {
    const allowedMs = seconds * 1_000 * (this.target.patience ?? 1)
    const begun = Date.now()
    for (;;) {
      const found = await look()
      if (found !== undefined && found !== false) return found
      if (Date.now() - begun > allowedMs) {
        const { asked = 'events', text = '' } = this.ask.last ?? {}
        throw new Broken(
          asked,
          `within ${seconds} s: ${should}`,
          `not after ${Date.now() - begun} ms; last: ${text}`,
        )
      }
      await sleep(betweenLooksMs)
    }
  }

  /** Removes what was made; returns what is left. */
  async end(): Promise<string[]> {
    await this.ask.stop()
    const { isReadOnly = false, url } = this.target
    const left = isReadOnly ? [] : await this.#leftovers.remove(this.#asker(url), this.label)
    for (const close of this.#closers) await close().catch(() => {})
    await (await this.#collector?.catch(() => undefined))?.close()
    return left
  }
}
