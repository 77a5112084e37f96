/** S3, against the server of moto. */

import t, { type Test } from 'tap'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import type { AwsDestination } from '../../../src/delivery/deliver/aws/aws-kind.js'
import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import type { SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { type DeliverySettings, kindNamed, openSender } from '../../../src/delivery/deliver/kinds.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import type { LaneSettings } from '../../../src/delivery/deliver/lane/lane-settings.js'
import { checkDestination, sendTestEvent } from '../../../src/delivery/deliver/test-event.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { enforcePolicy, type FailingS3, objectsIn, openS3, withoutMoto } from '../../harness/moto.js'
import { keyAuth } from './aws-world.js'
import { roomForAll } from './fake-lane.js'

const hourMs = 3_600_000
const noonMs = Date.parse('2026-03-04T12:00:00Z')

interface Spec {
  readonly id: string
  readonly kind?: string
  readonly timestampMs?: number
}

function eventsOf(specs: readonly Spec[]): readonly PackedEvent[] {
  const writer = new PackWriter()
  for (const { id, kind = 'log.v0', timestampMs = noonMs } of specs)
    writer.append(id, timestampMs, JSON.stringify({ event_id: id, event_type: kind }))
  return readPack(writer.take()).events
}

const some = (count: number, prefix: string): readonly PackedEvent[] =>
  eventsOf(Array.from({ length: count }, (_, n) => ({ id: `ev_${prefix}${n}` })))

interface Bucket {
  readonly s3: FailingS3
  readonly deps: DeliverySettings
  config(options?: object): DestinationConfig
  send(events: readonly PackedEvent[], config?: DestinationConfig): Promise<SendOutcome>
  /** The lines of each object. */
  objects(): Promise<Map<string, string[]>>
  lane(options?: object, settings?: Partial<LaneSettings>): { lane: Lane; dead: string[]; states: string[] }
}

let buckets = 0

async function openBucket(t: Test, shared: FailingS3): Promise<Bucket> {
  buckets += 1
  const name = `weir-${buckets}`
  await fetch(`${shared.url}/${name}`, { method: 'PUT' })
  shared.fail = undefined
  const deps: DeliverySettings = {
    aws: { endpointUrl: shared.url },
    clock: new AwsClock(),
    requestTimeoutMs: 30_000,
    networks: new ReachableNetworks(),
    kinds: { s3: { requestBytesMax: kindNamed('s3').requestBytes.max } },
  }
  const config = (options: object = {}): AwsDestination => ({
    id: 'ed_1',
    accountId: 'ac_1',
    kind: 's3',
    address: `arn:aws:s3:::${name}`,
    auth: keyAuth,
    packing: 'none',
    options: { region: 'us-east-1', ...options },
  })
  return {
    s3: shared,
    deps,
    config,
    async send(events, to = config()) {
      const sender = openSender(to, deps)
      try {
        return await sender.send(events, new AbortController().signal)
      } finally {
        sender.close()
      }
    },
    objects: () => objectsIn(shared.url, name),
    lane(options, settings) {
      const [dead, states]: string[][] = [[], []]
      const backoff = { baseMs: 1, capMs: 1e6 }
      const lane = new Lane(config(options), {
        open: (each) => openSender(each, deps),
        budget: roomForAll,
        deadLetter: async ({ id }) => void dead!.push(id),
        changed: ({ state }) => states!.push(state),
        settings: {
          probeMinMs: 5,
          probeMaxMs: 10,
          backoffs: { throttle: backoff, transient: backoff, record: backoff },
          ...settings,
        },
      })
      t.teardown(() => lane.close())
      return { lane, dead: dead!, states: states! }
    },
  }
}

const idsIn = (lines: readonly string[]): string[] => lines.map((line) => JSON.parse(line).event_id)

/** The ids in all objects, sorted; an id that is in two of them is here twice. */
const allIds = async (bucket: Bucket): Promise<string[]> =>
  [...(await bucket.objects()).values()].flatMap(idsIn).sort()

t.test('S3', { skip: withoutMoto }, async (t) => {
  const shared = await openS3(t)

  t.test('an object for each kind and date, and the same ones again', async (t) => {
    const bucket = await openBucket(t, shared)
    const specs = [
      { id: 'ev_1' },
      { id: 'ev_2', kind: 'ip_policy_created.v0' },
      { id: 'ev_3', timestampMs: noonMs + 1 },
      { id: 'ev_4', timestampMs: noonMs - 13 * hourMs },
    ]
    const events = eventsOf(specs)
    const sent = await bucket.send(events)
    t.match(sent, {
      outcome: 'accepted',
      requestId: String,
      receipt: /^weir\/log.v0\/2026\/03\/04\/.*\.ndjson\.gz$/,
    })
    const objects = await bucket.objects()
    t.same(
      [...objects].map(([key, lines]) => [key.replace(/\d{8}T\d{6}Z-[0-9a-f]{32}/, 'NAME'), idsIn(lines)]),
      [
        ['weir/ip_policy_created.v0/2026/03/04/NAME.ndjson.gz', ['ev_2']],
        ['weir/log.v0/2026/03/03/NAME.ndjson.gz', ['ev_4']],
        ['weir/log.v0/2026/03/04/NAME.ndjson.gz', ['ev_1', 'ev_3']],
      ],
    )
    t.match(await bucket.send(events), { outcome: 'accepted' })
    t.match(await bucket.send(events.toReversed()), { outcome: 'accepted' })
    t.same([...(await bucket.objects()).keys()], [...objects.keys()], 'replaced by themselves')
  })

  t.test('the key, and encryption', async (t) => {
    const bucket = await openBucket(t, shared)
    const headers: unknown[] = []
    shared.fail = ({ headers: { 'x-amz-server-side-encryption': type, ...others } }) => {
      headers.push([type, others['x-amz-server-side-encryption-aws-kms-key-id'], others['content-type']])
      return undefined
    }
    const key = '{destination}/dt={date}/h={hour}/{name}'
    await bucket.send(eventsOf([{ id: 'ev_1' }, { id: 'ev_2', kind: 'x.v0' }]), bucket.config({ key }))
    const sse = { type: 'aws:kms', kms_key_id: 'alias/weir' }
    await bucket.send(eventsOf([{ id: 'ev_1' }]), bucket.config({ key: 'kms/{name}', sse }))
    await bucket.send(
      eventsOf([{ id: 'ev_1' }]),
      bucket.config({ key: 'aes/{name}', sse: { type: 'AES256' } }),
    )
    shared.fail = undefined
    t.match([...(await bucket.objects()).keys()], [/^aes/, /^ed_1\/dt=2026-03-04\/h=12\/2026/, /^kms/])
    t.same(headers, [
      [undefined, undefined, 'application/gzip'],
      ['aws:kms', 'alias/weir', 'application/gzip'],
      ['AES256', undefined, 'application/gzip'],
    ])
  })

  t.test('faults are classified', async (t) => {
    const bucket = await openBucket(t, shared)
    const cases = [
      { status: 503, code: 'SlowDown', want: 'throttle' },
      { status: 500, code: 'InternalError', want: 'transient' },
      { status: 400, code: 'BadDigest', want: 'transient' },
      { status: 403, code: 'InvalidAccessKeyId', want: 'credentials' },
      { status: 400, code: 'ExpiredToken', want: 'credentials' },
      { status: 403, code: 'AccessDenied', want: 'configuration' },
      { status: 301, code: 'PermanentRedirect', want: 'configuration' },
      { status: 400, code: 'KMS.DisabledException', want: 'configuration' },
      { status: 400, code: 'InvalidArgument', want: 'configuration' },
      { status: 413, code: 'Unheard', want: 'poison' },
    ]
    for (const { status, code, want } of cases) {
      shared.fail = () => ({ status, code })
      t.match(await bucket.send(some(2, 'a')), { outcome: 'failed', fault: { class: want, code } }, code)
    }
    shared.fail = () => 'cut'
    t.match(await bucket.send(some(2, 'a')), { fault: { class: 'transient', code: 'ConnectionLost' } })
    shared.fail = () => 'page'
    t.match(await bucket.send(some(2, 'a')), { fault: { class: 'configuration', code: 'NoETag' } })
    shared.fail = undefined
    const missing = { ...bucket.config(), address: 'arn:aws:s3:::weir-missing' }
    const fault = { class: 'configuration', code: 'NoSuchBucket' }
    t.match(await bucket.send(some(2, 'a'), missing), { outcome: 'failed', fault })
  })

  t.test('if some objects fail, only their events are sent again', async (t) => {
    const bucket = await openBucket(t, shared)
    shared.fail = ({ url }) => (url.includes('/log.v0/') ? { status: 503, code: 'SlowDown' } : undefined)
    const events = eventsOf([{ id: 'ev_1' }, { id: 'ev_2', kind: 'x.v0' }, { id: 'ev_3' }])
    const reason = { class: 'throttle', code: 'SlowDown' }
    t.match(await bucket.send(events), { outcome: 'partial', retry: [0, 2], reason, rejected: [] })
    t.same(await allIds(bucket), ['ev_2'])
    shared.fail = ({ url }) => (url.includes('/log.v0/') ? { status: 413, code: 'TooBig' } : undefined)
    const suspects = { indices: [0, 2], fault: { class: 'poison', code: 'TooBig' } }
    t.match(await bucket.send(events), { outcome: 'partial', retry: [], suspects })
  })

  t.test('answers that get lost: each event is in one object', async (t) => {
    const bucket = await openBucket(t, shared)
    const { lane, states } = bucket.lane({ age_seconds: 1 })
    const puts: string[] = []
    shared.fail = ({ method, url }) => {
      if (method === 'PUT') puts.push(url)
      return puts.length <= 3 ? 'lost' : undefined
    }
    const packs = [lane.deliver(some(5, 'a')), lane.deliver(some(5, 'b'))]
    while (puts.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    // They come while the first two are sent again, and must not join them.
    packs.push(lane.deliver(some(5, 'c')))
    for (const { outcome } of await Promise.all(packs)) t.equal(outcome, 'done')
    t.same(
      await allIds(bucket),
      [...some(5, 'a'), ...some(5, 'b'), ...some(5, 'c')].map(({ id }) => id),
    )
    t.same([puts.length, new Set(puts).size], [5, 2], 'the same object four times, then another')
    t.same(states, ['failing', 'healthy'])
  })

  t.test('objects are bounded by size and by age', async (t) => {
    const bucket = await openBucket(t, shared)
    const { lane } = bucket.lane({ age_seconds: 900, size: 600 })
    const size = some(5, 'a').reduce((sum, { dataBytes }) => sum + dataBytes, 0)
    const packs = ['a', 'b', 'c', 'd', 'e'].map((prefix) => lane.deliver(some(5, prefix)))
    await Promise.all(packs.slice(0, Math.floor(600 / size)))
    const [first] = [...(await bucket.objects()).values()]
    t.equal(first!.length, Math.floor(600 / size) * 5, 'as many packs as fit')
    const { lane: other } = bucket.lane({ age_seconds: 1, key: 'other/{name}' })
    await Promise.all([other.deliver(some(1, 'x')), other.deliver(some(1, 'y'))])
    t.equal([...(await bucket.objects()).keys()].filter((key) => key.startsWith('other/')).length, 1)
  })

  t.test('an event that cannot be stored is found, and pauses nothing', async (t) => {
    const bucket = await openBucket(t, shared)
    const { lane, dead, states } = bucket.lane({ age_seconds: 1 })
    shared.fail = ({ lines }) =>
      lines.includes('"ev_a3"') ? { status: 413, code: 'EntityTooBig' } : undefined
    t.match(await lane.deliver(some(8, 'a')), { counts: { delivered: 7, dead_lettered: 1 } })
    t.same([dead, states], [['ev_a3'], []])
    t.equal((await allIds(bucket)).length, 7)
  })

  t.test('without the right to write, the destination pauses until it has it', async (t) => {
    const bucket = await openBucket(t, shared)
    const { lane, dead, states } = bucket.lane({ age_seconds: 1 })
    shared.fail = () => ({ status: 403, code: 'AccessDenied' })
    const delivered = lane.deliver(some(50, 'a'))
    while (lane.status().state !== 'paused') await new Promise((resolve) => setTimeout(resolve, 5))
    t.match(lane.status(), { cause: 'configuration', last_error: { code: 'AccessDenied' } })
    shared.fail = undefined
    t.match(await delivered, { outcome: 'done', counts: { delivered: 50 } })
    t.same([dead, states], [[], ['paused', 'healthy']])
    t.equal((await bucket.objects()).size, 1, 'probed with whole packs')
  })

  t.test('a test event and a check', async (t) => {
    const bucket = await openBucket(t, shared)
    const access = {
      openSender: (config: DestinationConfig) => openSender(config, bucket.deps),
    }
    const json = '{"event_id":"ev_test","event_type":"test.v0"}'
    const event = { partitionKey: 'ev_test', timestampMs: noonMs, json }
    const check = () => checkDestination(bucket.config(), event, 10_000, access)
    t.match(await check(), {
      ok: true,
      value: { mayWrite: false, proved: [/answers/, /bucket exists/], notProved: [/PutObject/] },
    })
    t.equal((await bucket.objects()).size, 0, 'nothing was written')
    shared.fail = () => ({ status: 403, code: 'AccessDenied' })
    t.match(await check(), { ok: true, value: { mayWrite: false, notProved: [/ListBucket/, /PutObject/] } })
    shared.fail = () => ({ status: 301, code: 'PermanentRedirect' })
    t.match(await check(), { ok: false, problem: { class: 'configuration', code: 'PermanentRedirect' } })
    shared.fail = undefined
    t.match(await sendTestEvent(bucket.config(), event, 10_000, access), { ok: true })
    t.match([...(await bucket.objects())], [[/^weir\/test\.v0\/2026\/03\/04\//, [json]]])
  })

  // The last one: from then on, moto enforces policies.
  t.test('the policy allows delivery and checks, and nothing else', async (t) => {
    const bucket = await openBucket(t, shared)
    const { statements } = kindNamed('s3').aws!.rights(bucket.config())
    const creds = await enforcePolicy(shared.url, { Version: '2012-10-17', Statement: statements })
    const config = (options?: object) => ({ ...bucket.config(options), auth: { creds } })
    t.match(await bucket.send(some(2, 'a'), config()), { outcome: 'accepted' })
    const fault = { class: 'configuration', code: 'AccessDenied' }
    t.match(await bucket.send(some(2, 'a'), config({ key: '{name}' })), { outcome: 'failed', fault })
    const other = { ...config(), address: 'arn:aws:s3:::weir-1' }
    t.match(await bucket.send(some(2, 'a'), other), { outcome: 'failed', fault })
    const sender = openSender(config(), bucket.deps)
    t.teardown(() => sender.close())
    t.match(await sender.check!(some(1, 'a')[0]!, new AbortController().signal), { ok: true })
    const unknown = { class: 'credentials', code: 'InvalidAccessKeyId' }
    t.match(await bucket.send(some(2, 'a')), { outcome: 'failed', fault: unknown })
  })
})

t.test('what does not fit together in a target', (t) => {
  const { options } = kindNamed('s3')
  const broken = (arn: string, given: object) => options?.broken?.(arn, given as never)
  t.equal(broken('arn:aws:s3:::b', { region: 'eu-west-1', sse: { type: 'AES256' } }), undefined)
  t.equal(broken('arn:aws-cn:s3:::b', { region: 'cn-north-1' }), undefined)
  t.match(broken('arn:aws:s3:::b', { region: 'here' }), /has the region "here", which is not a region/)
  t.match(broken('arn:aws:s3:::b', { region: 'cn-north-1' }), /does not lie in the partition aws$/)
  const sse = { type: 'AES256', kms_key_id: 'x' }
  t.match(broken('arn:aws:s3:::b', { region: 'eu-west-1', sse }), /only the type aws:kms has/)
  t.end()
})
