/**
 * What a deployment holds before an upgrade, and how it is looked at again afterwards: through the typed client of today,
 * which an older API understands as far as it knew the operations.
 */
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { ApiError, type Client, openClient } from '../../src/words/client/client.js'
import { type Emulator, type RunningWeir, until } from '../harness/weir.js'
import { record, stream } from '../integration/deployment.js'

/** The destination `works` accepts what it gets; `refuses` accepts nothing until the fault is cleared. */
export const streams = ['works', 'refuses'] as const
type StreamName = (typeof streams)[number]

export interface Contents {
  readonly destinations: Readonly<Record<StreamName, string>>
  /** A second API key of the account, which was shown once. */
  readonly token: string
}

const kept = [
  'ipPolicy',
  'ipPolicyRule',
  'tcpEdge',
  'httpsEdge',
  'reservedAddr',
  'sshCertificateAuthority',
  'eventDestination',
  'eventSubscription',
  'apiKey',
] as const

/** Resources of several kinds, and two destinations for every connection. */
export async function furnish(api: Client, emulator: Emulator): Promise<Contents> {
  const policy = await api.ipPolicy.create({ description: 'the offices', metadata: '{"team":"net"}' })
  for (const [cidr, action] of [
    ['10.0.0.0/8', 'allow'],
    ['10.1.7.0/24', 'deny'],
  ] as const)
    await api.ipPolicyRule.create({ ip_policy_id: policy.id, cidr, action })
  const ip_restriction = { ip_policy_ids: [policy.id] }
  const expressions = ['conn.client_port % 2 == 0']
  const logs = [{ type: 'log' as const, config: { Metadata: { parity: 'even' } } }]
  await api.tcpEdge.create({
    hostports: ['ssh.example.com:22'],
    ip_restriction,
    policies: { inbound: [{ name: 'even ports', expressions, actions: logs }] },
  })
  await api.httpsEdge.create({ hostports: ['www.example.com:443'] })
  await api.reservedAddr.create({ description: 'for a tunnel' })
  await api.sshCertificateAuthority.create({ description: 'of the hosts' })
  const destinations = {
    works: await destinationFor(api, emulator, 'works'),
    refuses: await destinationFor(api, emulator, 'refuses'),
  }
  await api.eventSubscription.create({
    description: 'every connection',
    sources: [{ type: 'tcp_connection_closed.v0' }],
    destination_ids: Object.values(destinations),
  })
  const { token } = await api.apiKey.create({ description: 'of a script' })
  return { destinations, token: token ?? '' }
}

async function destinationFor(api: Client, emulator: Emulator, name: StreamName): Promise<string> {
  const stream_arn = await stream(emulator, name)
  const { accessKeyId: aws_access_key_id, secretAccessKey: aws_secret_access_key } = emulator.key
  const auth = { creds: { aws_access_key_id, aws_secret_access_key } }
  return (await api.eventDestination.create({ target: { kinesis: { stream_arn, auth } } })).id
}

/** All resources as the API shows them, oldest first, but for the times at which keys were used. */
export async function shownBy(api: Client): Promise<Record<string, readonly Shown[]>> {
  const shown: Record<string, readonly Shown[]> = {}
  for (const kind of kept) {
    const all: Shown[] = []
    for await (const one of api[kind].list() as AsyncGenerator<Shown>) {
      const { last_used_at: _at, last_used_from: _from, ...others } = one
      all.unshift(others)
    }
    shown[kind] = all
  }
  return shown
}

interface Shown {
  readonly id: string
  readonly last_used_at?: unknown
  readonly last_used_from?: unknown
}

/** The ids of the records in the log of decisions; undefined if the version has none. */
export async function loggedBy(api: Client): Promise<ReadonlySet<string> | undefined> {
  const ids = new Set<string>()
  try {
    for await (const { record_id } of api.decisions({ limit: 100 })) ids.add(record_id)
    return ids
  } catch (error) {
    if (error instanceof ApiError && error.status_code === 404) return undefined
    throw error
  }
}

export const clientWith = ({ url }: RunningWeir, token: string): Client => openClient({ url, token })

/** Versions without users of NATS allow everything at the address that they print. */
export async function natsOf({ adminUrl, natsUrl }: RunningWeir): Promise<Nats> {
  return openNats({ servers: [adminUrl === '' ? natsUrl : adminUrl], name: 'test', replicas: 1 })
}

/** Publishes other records until one of them arrives: the pipelines, of whichever version, use what was just made. */
export async function untilUsed(nats: Nats, emulator: Emulator): Promise<void> {
  let n = otherRecords
  await until('a first event arrives', async () => {
    await publishRecords(nats, n, n + 1)
    n += 1
    return (await arrivedAt(emulator, 'works')).size > 0
  })
}

/** Far above the numbers of the records that are counted. */
const otherRecords = 1_000_000
const perMessage = 20

/** Publishes records `from` to `to` - 1. */
export async function publishRecords(nats: Nats, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += perMessage) {
    const lines = Array.from({ length: Math.min(perMessage, to - n) }, (_, at) => record('run', n + at))
    await nats.publish('weir.records.eu.node-1', lines.join('\n'), { msgId: `run.${n}` })
  }
}

/** The numbers of the records whose events arrived. */
async function arrivedAt({ client }: Emulator, name: StreamName): Promise<Set<number>> {
  const numbers = new Set<number>()
  for await (const { data } of client.received({ service: 'kinesis', name }))
    numbers.add(JSON.parse(data).object.conn.bytes_in)
  return numbers
}

/** Waits until the events of records 0 to `count` - 1 are there. */
export async function untilAt(emulator: Emulator, name: StreamName, count: number): Promise<void> {
  let missing: number[] = []
  await until(
    () => `all ${count} events at "${name}", of which ${missing.length} are missing, such as ${missing[0]}`,
    async () => {
      const arrived = await arrivedAt(emulator, name)
      missing = Array.from({ length: count }, (_, n) => n).filter((n) => !arrived.has(n))
      return missing.length === 0
    },
    90_000,
  )
}
