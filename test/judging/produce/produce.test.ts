import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { ConnectionRecord } from '../../../src/delivery/record/traffic-record.js'
import { ExpressionFailure, StepBudget } from '../../../src/ground/expr/run.js'
import type { Judgement } from '../../../src/judging/evaluate/judgement.js'
import { FilterIndex } from '../../../src/judging/produce/filter-index.js'
import { produce } from '../../../src/judging/produce/produce.js'
import type { AccountSources } from '../../../src/judging/produce/source-list.js'
import { buildSubscriptionSet } from '../../../src/judging/produce/subscriptions.js'
import { trafficEvents } from '../../../src/words/event/catalog.js'
import { shownDecision } from '../../words/event/shown-decision.js'
import { noYield, TestConfiguration } from '../evaluate/configuration.js'

const type = 'tcp_connection_closed.v0'

function configured(filters: readonly (string | undefined)[]): TestConfiguration {
  const configuration = new TestConfiguration('ac_1')
  for (const [index, filter] of filters.entries())
    configuration.subscription(`esb_${index}`, { sources: [{ type, ...(filter && { filter }) }] })
  return configuration
}

async function sourcesOf(filters: readonly (string | undefined)[]): Promise<AccountSources> {
  const set = await buildSubscriptionSet(configured(filters), undefined, noYield, trafficEvents)
  return set.byAccount.get('ac_1')!
}

const judged = (conn: object, changes: object = {}): Judgement => {
  const record = { record_id: 'r1', type: 'tcp_connection', conn } as ConnectionRecord
  return { ...shownDecision(record, changes), verdict: { logs: [] } } as unknown as Judgement
}

/** Each filter in turn. */
function askAll({ tcp_connection: { sources } }: AccountSources, judgement: Judgement, budget: StepBudget) {
  const input = { subject: judgement.record as ConnectionRecord, decided: judgement }
  const ids: Record<'events' | 'filtered' | 'failed', string[]> = { events: [], filtered: [], failed: [] }
  for (const { filter, subscriptionId } of sources) {
    try {
      const isTrue = filter === undefined || filter.isTrue(input, budget)
      ids[isTrue ? 'events' : 'filtered'].push(subscriptionId)
    } catch (error) {
      if (!(error instanceof ExpressionFailure)) throw error
      ids.filtered.push(subscriptionId)
      ids.failed.push(subscriptionId)
    }
  }
  return ids
}

function askIndex(sources: AccountSources, judgement: Judgement, budget: StepBudget) {
  const { events, filtered, failed } = produce(sources, judgement, budget)
  const idsOf = (list: readonly { readonly subscriptionId: string }[]) =>
    list.map(({ subscriptionId }) => subscriptionId)
  return {
    events: idsOf(events.map(({ source }) => source)),
    filtered: idsOf(filtered),
    failed: idsOf(failed.map(({ source }) => source)),
  }
}

const long = 'x'.repeat(300)
const hosts = ['a.example', 'b.example', 'db.a.example', 'a', '22', long]
const addresses = ['10.1.2.3', '10.1.9.9', '192.0.2.7', '2001:db8::1', '::ffff:10.1.2.3']
const numbers = [0, 1, 22, 443, 1000]

const names = {
  text: ['conn.server_name', 'conn.client_ip', 'decided_by.id', 'conn.geo.city'],
  number: ['conn.server_port', 'conn.bytes_in', 'ev.conn.bytes_out', 'conn.geo.latitude'],
}
const quoted = (text: string): string => `'${text}'`
const oneOf = (...values: readonly unknown[]) => fc.constantFrom(...values.map(String))
const text = oneOf(...hosts.map(quoted), ...addresses.map(quoted), "''")
const number = oneOf(...numbers, -1, 0.5)
const value = oneOf(
  ...names.text,
  ...names.number,
  'warnings',
  'null',
  'true',
  ...hosts.map(quoted),
  ...numbers,
)
const range = oneOf(
  ...["'10.0.0.0/8'", "'10.1.0.0/16'", "'10.1.2.3'", "'::/0'", "'2001:db8::/32'", "'0.0.0.0/0'"],
)
const order = oneOf('<', '<=', '>', '>=')
const textName = oneOf(...names.text)
const numberName = oneOf(...names.number)
const written = (parts: readonly fc.Arbitrary<string>[], write: (...parts: string[]) => string) =>
  fc.tuple(...parts).map((values) => write(...values))

const test = fc.oneof(
  written([textName, text], (name, other) => `${name} == ${other}`),
  written([numberName, number], (name, other) => `${other} == ${name}`),
  written([textName, text, text], (name, one, other) => `${name} in [${one}, ${other}]`),
  written([numberName, number, value], (name, one, other) => `${name} in [${one}, ${other}]`),
  written([numberName, order, number], (name, operator, other) => `${name} ${operator} ${other}`),
  written([numberName, order, number], (name, operator, other) => `${other} ${operator} ${name}`),
  written([textName, range], (name, cidr) => `${name}|inCidrRange(${cidr})`),
  written([range, range], (one, other) => `inCidrRanges(conn.client_ip, [${one}, ${other}])`),
  written([textName, text], (name, other) => `${name}.startsWith(${other})`),
  written([textName, text], (name, other) => `${name}.endsWith(${other})`),
  written([value, oneOf('==', '!=', 'in', '<', '+'), value], (...parts) => parts.join(' ')),
  written([textName, text], (name, other) => `${name}.contains(${other})`),
  written([textName, text], (name, other) => `lower(${name}) == ${other}`),
  written([value], (name) => `double(${name}) > 5`),
  written([value], (name) => name),
)
const { filter } = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3 },
    test,
    written(
      [tie('filter'), oneOf('&&', '||'), tie('filter')],
      (a, operator, b) => `(${a}) ${operator} (${b})`,
    ),
    written([tie('filter'), tie('filter'), tie('filter')], (a, b, c) => `(${a}) && (${b}) && (${c})`),
    written([tie('filter')], (inner) => `!(${inner})`),
    written([tie('filter'), tie('filter'), tie('filter')], (a, b, c) => `(${a}) ? (${b}) : (${c})`),
  ),
}))
const filters = fc
  .array(fc.oneof(filter, fc.constant(undefined)), { minLength: 6, maxLength: 20 })
  .chain((distinct) => fc.array(fc.constantFrom(...distinct), { minLength: 8, maxLength: 40 }))

const maybe = (arbitrary: fc.Arbitrary<unknown>) => fc.oneof(arbitrary, fc.constantFrom(null, undefined))
const decision = fc.record({
  conn: fc.record({
    client_ip: fc.constantFrom(...addresses),
    server_name: maybe(fc.constantFrom(...hosts)),
    server_port: maybe(fc.constantFrom(...numbers)),
    bytes_in: maybe(fc.constantFrom(...numbers)),
    bytes_out: maybe(fc.constantFrom(...numbers)),
  }),
  city: maybe(fc.constantFrom(...hosts, 7, true)),
  latitude: maybe(fc.constantFrom(...numbers, '22', 'far')),
  warnings: fc.array(fc.constantFrom(...hosts), { maxLength: 2 }),
})

t.test('What the index leaves out is what asking each filter would have left out', async () => {
  const stepLimit = fc.oneof(fc.constant(10_000), fc.integer({ min: 0, max: 40 }))
  await fc.assert(
    fc.asyncProperty(
      filters,
      fc.array(decision, { minLength: 1, maxLength: 8 }),
      stepLimit,
      async (...given) => {
        const [texts, decisions, limit] = given
        const sources = await sourcesOf(texts)
        for (const { conn, city, latitude, warnings } of decisions) {
          const judgement = judged(conn, { geo: { city, latitude }, warnings })
          const wanted = askAll(sources, judgement, new StepBudget(limit))
          deepEqual(askIndex(sources, judgement, new StepBudget(limit)), wanted)
        }
      },
    ),
    { numRuns: 300 },
  )
})

const asked = [
  { filter: "conn.server_name == 'b.example'", when: 'a text is equal' },
  { filter: 'conn.server_port in [443, 8443]', when: 'a number is in the list' },
  { filter: "conn.client_ip|inCidrRange('10.1.0.0/16')", when: 'an address is in the range' },
  {
    filter: "inCidrRanges(conn.client_ip, ['192.0.2.0/24', '10.0.0.0/8'])",
    when: 'one of the ranges has it',
  },
  { filter: "conn.server_name.startsWith('b.')", when: 'a text begins like this' },
  { filter: "conn.server_name.endsWith('.example')", when: 'a text ends like this' },
  { filter: 'conn.bytes_in >= 1000', when: 'a number is large enough' },
  {
    filter: "conn.server_port == 22 || conn.server_name == 'b.example'",
    when: 'one of two conditions holds',
  },
  {
    filter: "conn.server_port == 443 && matches(conn.server_name, 'b')",
    when: 'what is compared first holds',
  },
]
const neverAsked = [
  "conn.server_name == 'c.example'",
  'conn.server_port in [22, 2222]',
  "inCidrRanges(conn.client_ip, ['192.0.2.0/24', '2001:db8::/32'])",
  'conn.bytes_in > 1000',
  "conn.server_port == 443 && conn.server_name == 'c.example'",
  "conn.server_port == 22 && matches(conn.server_name, 'b')",
]
/** They take steps, can fail, or are mostly true. */
const alwaysAsked = [
  "matches(conn.server_name, 'b') && conn.server_port == 22",
  'double(conn.server_name) > 1 || conn.server_port == 22',
  '!(conn.server_port == 443)',
  'conn.server_name == null',
  "conn.server_port == '22'",
]

t.test('Filters that are asked', async (t) => {
  const texts = [...asked.map(({ filter }) => filter), ...neverAsked, ...alwaysAsked]
  const { tcp_connection: list } = await sourcesOf(texts)
  const conn = { client_ip: '10.1.2.3', server_name: 'b.example', server_port: 443, bytes_in: 1000 }
  const decided = judged(conn)
  const places = list.placesToAsk({ subject: decided.record as ConnectionRecord, decided })
  const texted = places.map((place) => texts[place])
  for (const { filter, when } of asked) t.ok(texted.includes(filter), when)
  for (const filter of neverAsked) t.notOk(texted.includes(filter), `not: ${filter}`)
  for (const filter of alwaysAsked) t.ok(texted.includes(filter), `always: ${filter}`)
})

t.test('A filter is filed under the condition that fewest others share', async (t) => {
  const texts = Array.from({ length: 50 }, (_, n) => `conn.server_port == 443 && conn.server_name == 'h${n}'`)
  const { tcp_connection: list } = await sourcesOf(texts)
  const decided = judged({ client_ip: '10.1.2.3', server_name: 'h7', server_port: 443 })
  t.same(list.placesToAsk({ subject: decided.record as ConnectionRecord, decided }), [7])
})

t.test('A list whose sources did not change keeps its index', async (t) => {
  const configuration = configured(['conn.server_port == 22', 'conn.server_port == 23'])
  const build = (previous?: Awaited<ReturnType<typeof buildSubscriptionSet>>) =>
    buildSubscriptionSet(configuration, previous, noYield, trafficEvents)
  const first = await build()
  configuration.subscription('esb_logs', { sources: [{ type: 'log.v0' }] })
  const second = await build(first)
  const [one, other] = [first, second].map(({ byAccount }) => byAccount.get('ac_1')!)
  t.equal(other!.tcp_connection, one!.tcp_connection)
  t.not(other!.log_action, one!.log_action)
})

t.test('No filter is found in an empty index', (t) => {
  t.same(new FilterIndex([]).find({}), [])
  t.end()
})
