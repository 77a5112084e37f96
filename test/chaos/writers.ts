/**
 * Operators who change IP policies while processes die. Each answer is an obligation: what was made is there, as a whole,
 * and an audit event says so, once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { jsonOf } from '../../src/ground/core/bytes.js'
import { ApiError } from '../../src/words/client/client.js'
import { openWebServer } from '../harness/web-server.js'
import { until } from '../harness/weir.js'
import { reportedLater } from '../integration/node-traffic.js'
import type { Site } from './site.js'

const writers = 6
const rulesOfPolicy = 5
const patienceMs = 120_000

interface AuditEvent {
  readonly event_id: string
  readonly event_type: string
  readonly object: { readonly id: string; readonly description?: string }
}

/** Events by their ids: repeats carry the same id. */
type AuditEvents = ReadonlyMap<string, AuditEvent>

export class Writers {
  readonly #site: Site
  readonly #events: () => AuditEvents
  /** The description of each policy whose writes were all answered. */
  readonly #answered = new Map<string, string>()
  /** Descriptions of all changes that were answered. */
  readonly #changes: string[] = []
  #isEnding = false
  #count = 0
  readonly #writing: Promise<unknown>

  private constructor(site: Site, events: () => AuditEvents) {
    this.#site = site
    this.#events = events
    this.#writing = reportedLater(Promise.all(Array.from({ length: writers }, () => this.#write())))
  }

  /** With a destination of their own, for the audit events. */
  static async open(site: Site): Promise<Writers> {
    const events = new Map<string, AuditEvent>()
    const server = await openWebServer(site.closers, ({ body }, response) => {
      server.requests.length = 0
      for (const line of body.split('\n')) {
        const event = line === '' ? undefined : jsonOf<AuditEvent>(Buffer.from(line))
        if (event !== undefined) events.set(event.event_id, event)
      }
      response.writeHead(200).end()
    })
    const { id } = await site.api.eventDestination.create({ target: { http: { url: server.url } } })
    const sources = ['created', 'updated', 'deleted'].map((verb) => ({ type: `ip_policy_${verb}.v0` }))
    await site.api.eventSubscription.create({ sources, destination_ids: [id] })
    await site.untilInUse()
    const writers = new Writers(site, () => events)
    site.closers.teardown(() => writers.#end())
    return writers
  }

  /** Writes that were answered. */
  get count(): number {
    return this.#changes.length
  }

  async #end(): Promise<void> {
    this.#isEnding = true
    await this.#writing
  }

  /** A policy, its rules at once, and a change of it; whatever is not answered is unknown. */
  async #write(): Promise<void> {
    while (!this.#isEnding) {
      this.#count += 1
      const [made, changed] = [`made ${this.#count}`, `changed ${this.#count}`]
      try {
        const { api } = this.#site
        const { id } = await api.ipPolicy.create({ description: made })
        this.#changes.push(made)
        const rule = (n: number) => ({ cidr: `10.0.${n}.0/24`, action: 'deny' as const })
        await api.replaceRules(
          id,
          Array.from({ length: rulesOfPolicy }, (_, n) => rule(n)),
        )
        await api.ipPolicy.update(id, { description: changed })
        this.#changes.push(changed)
        this.#answered.set(id, changed)
      } catch {
        // The API is dead, or NATS is; they are started again.
        await sleep(100)
      }
    }
  }

  /** Sentences about what is not as it was answered. */
  async judge(): Promise<string[]> {
    await this.#end()
    const { api } = this.#site
    const broken: string[] = []
    for (const [id, description] of this.#answered) {
      const found = await api.ipPolicy.get(id).catch((error) => {
        if (error instanceof ApiError) return undefined
        throw error
      })
      if (found?.description !== description)
        broken.push(`${id} was answered as "${description}", and is "${found?.description}"`)
    }
    const policies: { id: string; description: string }[] = []
    for await (const { id, description } of api.ipPolicy.list())
      policies.push({ id, description: description ?? '' })
    const rules = new Map<string, number>()
    for await (const { ip_policy } of api.ipPolicyRule.list())
      rules.set(ip_policy.id, (rules.get(ip_policy.id) ?? 0) + 1)
    for (const { id } of policies) {
      const count = rules.get(id) ?? 0
      const isWhole = count === rulesOfPolicy || (count === 0 && !this.#answered.has(id))
      if (!isWhole) broken.push(`${id} has ${count} of ${rulesOfPolicy} rules that were set together`)
    }
    return [...broken, ...(await this.#wrongEvents(policies))]
  }

  async #wrongEvents(policies: readonly { id: string; description: string }[]): Promise<string[]> {
    const ofType = (verb: string) =>
      [...this.#events().values()].filter((event) => event.event_type === `ip_policy_${verb}.v0`)
    const changesIn = (): string[] =>
      [...ofType('created'), ...ofType('updated')].map(({ object }) => object.description ?? '')
    const areAnnounced = (): boolean => {
      const announced = new Set(changesIn())
      const isEach = this.#changes.every((change) => announced.has(change))
      return isEach && ofType('created').length >= policies.length
    }
    // What is missing then is named below.
    await until('an event of each change', areAnnounced, patienceMs).catch(() => {})
    const broken: string[] = []
    const changes = changesIn()
    const announced = new Set(changes)
    const missing = this.#changes.filter((change) => !announced.has(change))
    if (missing.length > 0)
      broken.push(`${missing.length} changes have no audit event, such as "${missing[0]}"`)
    if (announced.size < changes.length)
      broken.push(`${changes.length - announced.size} events are of changes that have another one`)
    const created = new Set(ofType('created').map(({ object }) => object.id))
    const silent = policies.filter(({ id }) => !created.has(id))
    if (silent.length > 0)
      broken.push(`${silent.length} policies were never announced, such as ${silent[0]!.id}`)
    const absent = [...created].filter((id) => !policies.some((policy) => policy.id === id))
    if (absent.length > 0) broken.push(`${absent.length} policies were announced and do not exist`)
    return broken
  }
}
