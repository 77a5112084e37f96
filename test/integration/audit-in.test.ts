/** Audit events of other services, from NATS to a destination: valid, invalid, and with processes killed. */
import t from 'tap'
import { deadAuditsSubject, deadLetterStream } from '../../src/delivery/wire/names.js'
import type { Nats } from '../../src/ground/nats/nats.js'
import { untilInUse } from '../harness/in-use.js'
import { total } from '../harness/metrics.js'
import { isReady, metricsOf } from '../harness/pages.js'
import { killRole, untilRuns } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import { stream, target } from './deployment.js'
import { openAccount } from './service.js'

const kinesis = { service: 'kinesis', name: 'audits' } as const
const events = 300
const objects = 10

t.test('audit events of other services', async (t) => {
  const { weir, emulator } = await openAccount(t)
  const { api, accountId } = weir
  const counted = async (name: string) => total(await metricsOf(weir.url), `weir_${name}_total`)
  const names = ['audits_in', 'audits_bad', 'records_in', 'events_produced'] as const
  const before = new Map<string, number>()
  for (const name of names) before.set(name, await counted(name))
  const added = async (name: (typeof names)[number]) => (await counted(name)) - before.get(name)!
  const { id: destination } = await api.eventDestination.create(
    target(await stream(emulator, kinesis.name), emulator),
  )
  const sources = [{ type: 'ip_policy_updated.v0' }, { type: 'certificate_authority_created.v0' }]
  await api.eventSubscription.create({ sources, destination_ids: [destination] })
  await untilInUse(weir)
  const nats: Nats = await weir.nats()

  const principal = { id: accountId, subject: 'default', source: 'API', credential: null }
  const policy = (n: number, description: string) => ({
    account_id: accountId,
    principal,
    object: {
      id: `ipp_${n}`,
      uri: `https://elsewhere.example/ip_policies/ipp_${n}`,
      created_at: '2026-11-20T10:00:00Z',
      description,
    },
  })
  const publish = (subject: string, body: unknown) =>
    nats.publish(`weir.audit.${subject}`, typeof body === 'string' ? body : JSON.stringify(body))
  const received = async () => {
    const all: { eventId: string; data: string }[] = []
    for await (const { eventId, data } of emulator.client.received(kinesis))
      all.push({ eventId: eventId ?? '', data })
    return all
  }
  const arrived = (count: number): Promise<void> =>
    until(`${count} events`, async () => (await emulator.client.counts(kinesis)).unique >= count)
  let expected = 0

  await t.test('an event arrives like the API’s own', async (t) => {
    await publish('ip_policy.updated', { ...policy(0, 'first'), audit_id: 'elsewhere-1' })
    expected += 1
    await arrived(expected)
    const [first] = await received()
    t.match(JSON.parse(first?.data ?? ''), {
      event_id: first?.eventId,
      event_type: 'ip_policy_updated.v0',
      event_timestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
      account_id: accountId,
      principal,
      object: policy(0, 'first').object,
    })
  })

  await t.test('the same audit_id again is the same event', async (t) => {
    await publish('ip_policy.updated', { ...policy(0, 'first'), audit_id: 'elsewhere-1' })
    await until('it arrived twice', async () => (await received()).length >= 2)
    const ids = new Set((await received()).map(({ eventId }) => eventId))
    t.equal(ids.size, 1)
  })

  await t.test('killed processes cause no duplicates and keep the order per object', async (t) => {
    const kill = async (role: string): Promise<void> => {
      t.ok((await killRole(weir.process.pid, role)) > 0, `${role} is killed`)
      await untilRuns(weir.process.pid, role)
      await until('all is ready again', () => isReady(weir.url))
    }
    // Before there are packs: those that a deliverer has when it is killed come after later ones.
    await kill('deliver')
    const killing = kill('pipeline').then(() => kill('pipeline'))
    for (let n = 0; n < events; n += 1) await publish('ip_policy.updated', policy(n % objects, `change ${n}`))
    await killing
    expected += events
    await arrived(expected)
    t.equal((await emulator.client.counts(kinesis)).unique, expected, 'no change has two ids')
    const firsts = new Map((await received()).toReversed().map(({ eventId, data }) => [eventId, data]))
    const bytes = new Set((await received()).map(({ data }) => data))
    t.ok(
      bytes.size <= expected + 1,
      'repeats have the same bytes, except for the time of an event that was published twice',
    )
    const orders = new Map<string, number[]>()
    for (const data of [...firsts.values()].toReversed()) {
      const { id, description } = JSON.parse(data).object
      const [, n] = /^change (\d+)$/.exec(description) ?? []
      if (n !== undefined) orders.set(id, [...(orders.get(id) ?? []), Number(n)])
    }
    t.equal(orders.size, objects)
    for (const [id, order] of orders)
      t.strictSame(
        order,
        order.toSorted((a, b) => a - b),
        id,
      )
  })

  await t.test('a large event', async (t) => {
    const { object, ...more } = policy(0, 'authority')
    const large = {
      ...object,
      id: 'ca_1',
      ca_pem: 'x'.repeat(65_536),
      not_before: '2026-01-01T00:00:00Z',
      not_after: '2036-01-01T00:00:00Z',
      key_usages: [],
      extended_key_usages: [],
    }
    await publish('certificate_authority.created', { ...more, object: large })
    expected += 1
    await arrived(expected)
    t.strictSame(JSON.parse((await received()).at(-1)?.data ?? '').object, large)
  })

  const bad: [name: string, subject: string, body: unknown, says: RegExp][] = [
    [
      'an unknown account',
      'ip_policy.updated',
      other(policy(1, 'x')),
      /"account_id" is "ac_nobody", which does/,
    ],
    ['an unknown object', 'edge.created', policy(1, 'x'), /"edge", which is not an object/],
    ['an unknown verb', 'ip_policy.made', policy(1, 'x'), /ends in "made"/],
    ['what is no JSON', 'ip_policy.updated', 'hello', /not valid JSON/],
    ['an unknown field', 'ip_policy.updated', withField(policy(1, 'x')), /"object" has no field "colour"/],
    ['a big one', 'ip_policy.updated', policy(1, 'x'.repeat(900_000)), /"object.description" is too long/],
  ]

  await t.test('invalid events are dead-lettered', async (t) => {
    let sequence = (await nats.streamInfo(deadLetterStream))!.state.last_seq + 1
    for (const [name, subject, body, says] of bad) {
      await publish(subject, body)
      const letter = await found(() => nats.nextMessage(deadLetterStream, deadAuditsSubject, sequence))
      t.match(letter.headers.get('Weir-Reason'), says, name)
      t.equal(letter.headers.get('Weir-Stream'), 'WEIR_AUDIT_IN')
      t.equal(letter.headers.get('Weir-Subject'), `weir.audit.${subject}`)
      t.match(letter.headers.get('Weir-Sequence'), /^\d+$/)
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      t.equal(Buffer.from(letter.data).toString(), text, 'its original bytes')
      sequence = letter.sequence + 1
    }
    await t.rejects(
      publish('ip_policy.updated', policy(1, 'x'.repeat(1024 * 1024 - 1024))),
      'one that is too large',
    )
  })

  await t.test('the books balance', async (t) => {
    const inBooks = async () => (await added('audits_in')) >= expected + 1 + bad.length
    await until('everything is in the books', inBooks)
    const status = () => api.deliveryStatus(destination)
    await until('the backlog is empty', async () => (await status()).backlog.events === 0)
    t.equal(await added('audits_in'), expected + 1 + bad.length, 'one was published twice')
    t.equal(await added('audits_bad'), bad.length)
    t.equal(await added('records_in'), 0)
    t.equal(await added('events_produced'), expected + 1)
    t.match((await status()).counts, { produced: expected + 1, delivered: expected + 1, dead_lettered: 0 })
  })
})

const other = (body: object) => ({
  ...body,
  account_id: 'ac_nobody',
  principal: { id: 'ac_nobody', subject: 'x', source: 'CLI', credential: null },
})

const withField = <B extends { object: object }>(body: B) => ({
  ...body,
  object: { ...body.object, colour: 'red' },
})

async function found<T>(look: () => Promise<T | undefined>): Promise<T> {
  let seen: T | undefined
  await until('a dead letter', async () => {
    seen = await look()
    return seen !== undefined
  })
  return seen as T
}
