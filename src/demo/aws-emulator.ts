/** The bundled AWS emulator: what the demo needs of its control interface. */
import type { TargetKind } from './scenario.js'

const services = { kinesis: 'kinesis', firehose: 'firehose', cloudwatch_logs: 'logs' } as const
/** Of the stream, the delivery stream and the log group alike. */
const resourceName = 'weir-demo'
const pageEvents = 1000

export interface KeyPair {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface Received {
  readonly events: number
  readonly unique: number
  readonly duplicates: number
}

export class AwsEmulator {
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  addKey(key: KeyPair): Promise<unknown> {
    return this.#call('POST', 'keys', {}, key)
  }

  /** A role that is assumed with exactly this external id, or not at all. */
  addRole(roleArn: string, externalId: string): Promise<unknown> {
    return this.#call('POST', 'roles', {}, { roleArn, externalId })
  }

  /** Makes the stream, delivery stream or log group; answers its ARN. */
  async addTarget(kind: TargetKind, keep: 'all' | 'ids', shards: number): Promise<string> {
    const spec = { service: services[kind], name: resourceName, keep, shards }
    const unlimited = { recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: null }
    const { arn } = (await this.#call('POST', 'resources', {}, { ...spec, ...unlimited })) as { arn: string }
    return arn
  }

  /** From now on, records of this shard fail within an HTTP 200. Answers the id by which it ends. */
  async failShard(shard: number): Promise<number> {
    const fault = { service: 'kinesis', operation: 'PutRecords', effect: { type: 'fail_records', shard } }
    return ((await this.#call('POST', 'faults', {}, fault)) as { id: number }).id
  }

  endFault(id: number): Promise<unknown> {
    return this.#call('DELETE', 'faults', { id })
  }

  async received(kind: TargetKind): Promise<Received> {
    return (await this.#call('GET', 'counts', nameOf(kind))) as Received
  }

  /** What arrived, each event as its JSON; nothing where only ids are kept. */
  async *events(kind: TargetKind, limit = pageEvents): AsyncGenerator<string> {
    for (let after: number | null = 0; after !== null; ) {
      const page = (await this.#call('GET', 'received', { ...nameOf(kind), after, limit })) as {
        events: { data: string }[]
        next: number | null
      }
      for (const { data } of page.events) yield data
      after = page.next
    }
  }

  async #call(method: string, path: string, query: object, body?: object): Promise<unknown> {
    const address = new URL(`/_emulator/${path}`, this.#url)
    for (const [name, value] of Object.entries(query)) address.searchParams.set(name, String(value))
    const response = await fetch(
      address,
      body === undefined ? { method } : { method, body: JSON.stringify(body) },
    )
    const answer = (await response.json()) as { error?: string }
    if (!response.ok) throw new Error(`The AWS emulator refused ${method} ${path}: ${answer.error}`)
    return answer
  }
}

const nameOf = (kind: TargetKind) => ({ service: services[kind], name: resourceName })
