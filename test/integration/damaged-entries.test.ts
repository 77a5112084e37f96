/**
 * Entries that no one can read, in every stream and every bucket that a deployment with traffic has: each is skipped,
 * counted, named with its sequence and kept in a file; the service starts, works, and has its whole configuration. The
 * streams are those that NATS lists, so that a new one is damaged here without a line in this file.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { auditInStream, deadLetterStream, probeStream } from '../../src/delivery/wire/names.js'
import { getOrMake } from '../../src/ground/core/maps.js'
import { all, statusOf as answerOf } from '../harness/caller.js'
import { isReady } from '../harness/pages.js'
import { killAll } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'
import { expectedEvents, openDeployment, publish, untilArrived } from './deployment.js'

t.setTimeout(1_800_000)

const isFull = process.argv.includes('--full')

type Damage = 'cut' | 'foreign' | 'empty' | 'other types' | 'members missing' | 'bytes' | 'list' | 'huge'
const damages: readonly Damage[] = [
  'cut',
  'foreign',
  'empty',
  'other types',
  'members missing',
  'bytes',
  'list',
  'huge',
]

/** Their bad messages are dead letters, or the letters themselves. */
const setAside = (stream: string): boolean =>
  stream.startsWith('WEIR_RECORDS') || stream === auditInStream || stream === deadLetterStream

/** Of a stream or a bucket, so many subjects are damaged in a round. */
const subjectsMax = 40

const deployment = await openDeployment(t)
const { api } = deployment.weir
const connection: NatsConnection = await connect(adminOptions())
t.teardown(() => connection.close())

function adminOptions() {
  const url = new URL(deployment.weir.adminUrl)
  return { servers: url.host, user: url.username, pass: decodeURIComponent(url.password) }
}

async function ask(subject: string, question: object = {}): Promise<Record<string, never>> {
  const answer = await connection.request(`$JS.API.${subject}`, JSON.stringify(question), { timeout: 5_000 })
  return answer.json()
}

async function streamNames(): Promise<string[]> {
  const { streams } = (await ask('STREAM.NAMES')) as unknown as { streams: string[] }
  // No one reads probes.
  return streams.filter((stream) => stream !== probeStream)
}

interface Message {
  readonly subject: string
  readonly data: Buffer
  readonly headers: string | undefined
}

/** The last message of each subject. */
async function lastMessages(stream: string): Promise<Message[]> {
  const info = (await ask(`STREAM.INFO.${stream}`, { subjects_filter: '>' })) as unknown as {
    state: { subjects?: Record<string, number> }
  }
  const subjects = Object.keys(info.state.subjects ?? {}).slice(0, subjectsMax)
  const found = subjects.map(async (subject) => {
    const { message } = (await ask(`STREAM.MSG.GET.${stream}`, { last_by_subj: subject })) as unknown as {
      message?: { data?: string }
    }
    return { subject, data: Buffer.from(message?.data ?? '', 'base64'), headers: undefined }
  })
  return Promise.all(found)
}

function damagedBytes(damage: Damage, data: Buffer): Uint8Array {
  if (damage === 'empty') return new Uint8Array()
  if (damage === 'foreign') return Buffer.from('{"hello":"world"}')
  if (damage === 'list') return Buffer.from('[null]')
  if (damage === 'huge') return Buffer.from(`{"hello":"${'x'.repeat(500_000)}"}`)
  if (damage === 'other types') return changed(data, otherType) ?? Buffer.from('17')
  if (damage === 'members missing') return changed(data, () => undefined) ?? Buffer.from('null')
  if (damage === 'bytes') return Buffer.from([0x1f, 0x8b, 0x08, 0, 0xff, 0, 0x7b])
  return data.length > 1 ? data.subarray(0, data.length / 2) : Buffer.from('{"')
}

/** The message with each member of its object changed, if it is one. */
function changed(data: Buffer, change: (value: unknown, name: string) => unknown): Buffer | undefined {
  try {
    const value = JSON.parse(data.toString()) as unknown
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return
    return Buffer.from(
      JSON.stringify(
        Object.fromEntries(Object.entries(value).map(([name, each]) => [name, change(each, name)])),
      ),
    )
  } catch {
    return
  }
}

const otherType = (value: unknown): unknown =>
  typeof value === 'string'
    ? [17]
    : typeof value === 'number'
      ? 'seventeen'
      : typeof value === 'boolean'
        ? {}
        : 5

interface DamagedMessage {
  readonly stream: string
  readonly sequence: number
}

/** By subject: its first message that was damaged. One that is damaged twice may be whole again. */
const originals = new Map<string, Buffer>()

/** Damages the last message of each subject, each in another way; `round` shifts the ways. */
async function damageAll(round: number, streams?: readonly string[]): Promise<DamagedMessage[]> {
  const made: DamagedMessage[] = []
  for (const stream of streams ?? (await streamNames())) {
    const messages = await lastMessages(stream)
    for (const [index, { subject, data }] of messages.entries()) {
      const damage = damages[(index + 3 * round) % damages.length]!
      const bytes = damagedBytes(
        damage,
        getOrMake(originals, subject, () => data),
      )
      const answer = await connection.request(subject, bytes, { timeout: 5_000 })
      const { seq } = answer.json<{ seq: number }>()
      made.push({ stream, sequence: seq })
    }
  }
  return made
}

let trialId = ''

/** Something in each stream and bucket. */
async function useAll(): Promise<void> {
  const { id } = await api.ipPolicy.create(
    { description: 'with many rules' },
    { idempotencyKey: 'made once' },
  )
  await api.replaceRules(
    id,
    Array.from({ length: 80 }, (_, at) => ({ cidr: `198.51.100.${at}/32`, action: 'deny' as const })),
  )
  await api.ipPolicyRule.create({ ip_policy_id: id, cidr: '203.0.113.0/24', action: 'deny' })
  const list = await api.ipList.create({ name: 'office' } as never)
  await api.listEntries.replace(list.id, [{ cidr: '203.0.113.0/24' }] as never)
  await api.ipList.create({
    name: 'fed',
    source: { url: 'http://127.0.0.1:9/list', format: 'lines' },
  } as never)
  trialId = (await api.tryRules(id, [{ cidr: '203.0.113.0/24', action: 'deny' }])).id
  const signedIn = await fetch(`${deployment.weir.url}/console/session`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'weir-console': '1',
      authorization: `Bearer ${deployment.weir.token}`,
    },
    body: JSON.stringify({ token: deployment.weir.token }),
  })
  if (!signedIn.ok) throw new Error(await signedIn.text())
  const nats = await deployment.weir.nats()
  await nats.publish('weir.records.eu.node-1', 'no record', { msgId: 'bad' })
  await nats.publish('weir.audit.billing.created', 'no audit event', { msgId: 'bad audit' })
  const from = new Date(Date.now() - 60_000).toISOString()
  await publish(nats, 'run', 0, 100)
  await untilArrived(deployment, expectedEvents(100))
  await nats.close()
  await api.replay(deployment.destinations.all, { from })
  // A snapshot of the books is saved at a stop.
  await deployment.weir.stop()
  deployment.weir = await startWeir(deployment.dataDir, deployment.env)
}

/** The configuration as the API shows it, an entry each. */
async function configuration(): Promise<string[]> {
  const { ipPolicy, ipPolicyRule, ipList, tcpEdge, eventDestination, eventSubscription } = deployment.weir.api
  const lists = [ipPolicy, ipPolicyRule, ipList, tcpEdge, eventDestination, eventSubscription]
  const entries = await Promise.all(lists.map((each) => all<object>(each.list())))
  const shown = (entry: object): string =>
    JSON.stringify(entry, (name, value) => (/^(last_used|source_status)/.test(name) ? undefined : value))
  return entries.flat().map((entry) => shown(entry).replaceAll(deployment.weir.url, ''))
}

const keptFiles = (): string[] => {
  try {
    return readdirSync(join(deployment.dataDir, 'damaged'))
  } catch {
    return []
  }
}

const isKept = ({ stream, sequence }: DamagedMessage): boolean =>
  keptFiles().some((file) => file.startsWith(`${stream}-${sequence}-`))

async function startAgain(): Promise<void> {
  await killAll(deployment.weir.process.pid)
  deployment.weir = await startWeir(deployment.dataDir, deployment.env)
}

/** Reads the entries that are read only if they are asked for. */
async function readLazily(): Promise<void> {
  const { api } = deployment.weir
  await api.ipPolicy
    .create({ description: 'with many rules' }, { idempotencyKey: 'made once' })
    .catch(() => {})
  await api.replays()
  await api.trial(trialId).catch(() => {})
}

async function checkWorks(t: Test, before: readonly string[], round: number): Promise<void> {
  await until('it is ready', () => isReady(deployment.weir.url))
  t.equal(
    await answerOf(deployment.weir.api.tcpEdge.create({ hostports: ['ssh.example.com:22'] })),
    400,
    'taken',
  )
  const isAsBefore = async () => (await configuration()).join() === before.join()
  await until('the configuration is as before', isAsBefore).catch(() => {})
  t.strictSame(await configuration(), before, 'the configuration is as before')
  t.equal(await answerOf(deployment.weir.api.ipPolicy.create({ description: `round ${round}` })), 'ok')
  await readLazily()
  const nats = await deployment.weir.nats()
  await publish(nats, `after ${round}`, 0, 20)
  await nats.close()
  const { counts } = deployment.emulator.client
  const name = 'all'
  const wanted = 100 + 20 * (round + 1)
  await until('events arrive', async () => (await counts({ service: 'kinesis', name })).unique >= wanted)
}

await useAll()

/** In three rounds, each entry is damaged in three ways, neighbours in others. */
for (let round = 0; round < (isFull ? damages.length : 3); round += 1)
  t.test(`all damaged, round ${round}`, async (t) => {
    const before = await configuration()
    const made = await damageAll(round)
    await startAgain()
    await checkWorks(t, before, round)
    const streams = new Set(made.map(({ stream }) => stream).filter((stream) => !setAside(stream)))
    for (const stream of streams) {
      const ofStream = made.filter((each) => each.stream === stream)
      // Messages that a killed process had in hand are delivered again after half a minute.
      await until(`${stream}: kept`, () => ofStream.some(isKept)).catch(() =>
        t.fail(`${stream}: nothing is kept`),
      )
      const kept = ofStream.filter(isKept)
      t.comment(`${stream}: ${kept.length} of ${ofStream.length} entries`)
    }
  })

const isReadable = ({ subject, data }: Message): boolean => {
  if (/\.(mark|rules\..*)$/.test(subject)) return true
  try {
    return !('hello' in JSON.parse(data.toString()))
  } catch {
    return false
  }
}

t.test('under running processes: nothing is forgotten, and ClickHouse repairs what it has', async (t) => {
  const before = await configuration()
  const repaired = ['KV_weir_config', 'KV_weir_secrets', 'KV_weir_heads']
  const made = await damageAll(1, repaired)
  t.strictSame(await configuration(), before, 'the configuration stays in use')
  await until('each is noticed', () => made.filter(({ stream }) => stream === 'KV_weir_config').some(isKept))
  for (const stream of repaired)
    await until(`${stream} is readable again`, async () =>
      (await lastMessages(stream)).every(isReadable),
    ).catch(async () =>
      t.strictSame(
        (await lastMessages(stream)).filter((each) => !isReadable(each)),
        [],
        stream,
      ),
    )
  t.strictSame(await configuration(), before, 'the configuration is as before')
})
