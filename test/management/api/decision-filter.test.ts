/** Filters of logged decisions: the same rows are found by ClickHouse and by the filter itself, missing values included. */
import fc from 'fast-check'
import t from 'tap'
import type { DecisionRow } from '../../../src/delivery/wire/decision-rows.js'
import { compileDecisionFilter } from '../../../src/management/insight/decision-filter.js'
import { shownDecision } from '../../../src/management/insight/shown-decision.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openTestStore } from '../../harness/api.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'
import { patientReader } from '../../harness/patient-reader.js'

const isFull = process.argv.includes('--full')
const filters = isFull ? 200 : 24
const bounds = { retentionMs: 50 * 365 * 24 * 60 * 60_000, bytesMax: 2 ** 30 }
const at = Date.parse('2026-11-20T00:00:00Z')
const texts = ['', 'DE', 'de', "it's", 'a\\b', 'a%_b', 'Größe', '0', '7', ' 7']
const addresses = ['198.51.100.7', '203.0.113.9', '2001:db8::7', '::']
const numbers = [0, 1, 7, 22, 443, 65_535]

/** Rows in which every value is missing somewhere. */
const rowsOf = (accountId: string): DecisionRow[] =>
  Array.from({ length: 120 }, (_, n) => {
    const pick = <T>(values: readonly T[], salt: number): T => values[(n * salt + (n >> 3)) % values.length]!
    return decisionRow({
      accountId,
      at: at + n,
      recordId: `r${n}`,
      sequence: n,
      type: pick(['tcp_connection', 'http_request'], 1),
      country: pick(texts, 3),
      policy: pick(texts, 7),
      ruleId: pick(texts, 9),
      edgeId: pick(['', 'edgtcp_1', 'edgtcp_2'], 1),
      serverName: pick(['', 'ssh.example', 'SSH.Example.', 'other.example'], 5),
      serverPort: pick(numbers, 5),
      asn: pick(numbers, 7),
      bytesIn: pick(numbers, 1),
      clientIp: pick(addresses, 3),
      decision: pick(['allow', 'block', 'deny'], 1),
      decidedBy: pick(['none', 'ip_restriction', 'traffic_policy'], 5),
      ...(n % 3 === 0 && {
        shadowDecision: pick(['allow', 'block', 'deny'], 7),
        shadowRuleId: pick(texts, 3),
        shadowPolicy: pick(texts, 5),
      }),
    })
  })

const textNames = [
  'country',
  'conn.geo.country_code',
  'decided_by.policy',
  'decided_by.rule_id',
  'decision',
  'edge.id',
  'type',
  'shadow.decision',
  'shadow.decided_by.rule_id',
  'shadow.decided_by.policy',
]
const numberNames = ['server_port', 'conn.asn', 'bytes_in', 'conn.bytes_in', 'ev.conn.server_port']
const addressNames = ['client_ip', 'conn.client_ip', 'conn.ClientIP']
const literal = (value: string): string => JSON.stringify(value)

const textValue = fc.constantFrom(...texts, 'allow', 'block', 'edgtcp_1', 'tcp_connection').map(literal)
const numberValue = fc.oneof(fc.constantFrom(...numbers, 6.5), fc.constantFrom('"7"', 'null')).map(String)
const comparison = fc.oneof(
  fc
    .tuple(fc.constantFrom(...textNames), fc.constantFrom('==', '!=', '<'), fc.oneof(textValue, numberValue))
    .map((parts) => parts.join(' ')),
  fc
    .tuple(fc.constantFrom(...numberNames), fc.constantFrom('==', '!=', '<', '<=', '>', '>='), numberValue)
    .map((parts) => parts.join(' ')),
  fc.tuple(fc.constantFrom(...textNames), textValue).map(([name, value]) => `startsWith(${name}, ${value})`),
  fc
    .tuple(fc.constantFrom(...textNames), textValue, textValue)
    .map(([name, a, b]) => `${name} in [${a}, ${b}]`),
  fc
    .tuple(
      fc.constantFrom(...addressNames),
      fc.constantFrom('198.51.100.0/24', '::/0', '0.0.0.0/0', '2001:db8::7', '203.0.113.9'),
    )
    .map(([name, range]) => `inCidrRange(${name}, ${literal(range)})`),
  fc
    .tuple(fc.constantFrom(...addressNames), fc.constantFrom(...addresses, '::ffff:203.0.113.9', 'x'))
    .map(([name, address]) => `${name} == ${literal(address)}`),
  fc.constantFrom(
    'conn.server_name == "ssh.example"',
    'server_name == "ssh.example"',
    'true',
    'false',
    'country',
  ),
)
const filterText = fc
  .tuple(comparison, fc.constantFrom('&&', '||'), comparison, fc.boolean())
  .map(([one, operator, other, isNegated]) =>
    isNegated ? `!(${one}) ${operator} (${other})` : `(${one}) ${operator} (${other})`,
  )

t.test('filters of logged decisions', async (t) => {
  const { parts, api: openApi } = await openTestStore(t)
  const api = await openApi()
  const mine = await api.account('filtering')
  const { accountId } = mine
  await shapeLogTables(parts.clickhouse, bounds)
  const rows = rowsOf(accountId)
  await parts.clickhouse.insertBlocks('decisions', [rowBytes(rows)])
  const reader = patientReader(parts.clickhouse)

  await t.test('ClickHouse leaves out no row for which a filter is true', async (t) => {
    let narrowed = 0
    const found = async (text: string): Promise<readonly [string[], string[]]> => {
      const { matches, condition } = compileDecisionFilter(text)
      if (condition !== undefined) narrowed += 1
      const expected = rows.filter((row) => matches(shownDecision(row))).map(({ recordId }) => recordId)
      const query = { accountId, values: {}, limit: 1_000, condition }
      const page = await reader.page({ ...query, matches: (row) => matches(shownDecision(row)) })
      return [page.rows.map(({ recordId }) => recordId).reverse(), expected]
    }
    await fc.assert(
      fc.asyncProperty(filterText, async (text) => {
        const [given, expected] = await found(text)
        t.strictSame(given, expected, text)
      }),
      // A few random filters may all be of those that ClickHouse cannot narrow.
      isFull ? { numRuns: filters } : { numRuns: filters, seed: 7 },
    )
    t.ok(narrowed > filters / 6, `ClickHouse looked for ${narrowed} of them`)
  })

  await t.test('the names are those of entries and of subscriptions, over HTTP', async (t) => {
    const listed = async (filter: string): Promise<string[]> => {
      const ids: string[] = []
      for await (const { record_id } of mine.decisions({ filter, limit: 7 })) ids.push(record_id)
      return ids.reverse()
    }
    const expected = (isWanted: (row: DecisionRow) => boolean) =>
      rows.filter(isWanted).map(({ recordId }) => recordId)
    t.strictSame(
      await listed("decision == 'deny' && conn.geo.country_code == 'DE'"),
      expected((row) => row.decision === 'deny' && row.country === 'DE'),
      'pages keep the filter',
    )
    t.strictSame(
      await listed("conn.server_name == 'SSH.example'"),
      expected((row) => /^ssh\.example\.?$/i.test(row.serverName)),
      'spelled as in subscriptions',
    )
    t.strictSame(
      await listed('asn < 100'),
      expected((row) => row.asn > 0 && row.asn < 100),
      'no value is less than nothing',
    )
    t.strictSame(
      await listed('country == null'),
      expected((row) => row.country === ''),
    )
    const refused = async (filter: string) =>
      (await mine.raw.send('GET', `/decisions?filter=${encodeURIComponent(filter)}`)).body
    t.match(await refused("ip_policy.decision == 'allow'"), {
      error_code: 'ERR_INVALID_EXPRESSION',
      msg: /ip_policy\.decision.* is not in the log of decisions; filters here may use .*client_ip.*edge\.id/,
    })
    t.match(await refused('unheard == 1'), { error_code: 'ERR_INVALID_EXPRESSION', msg: /unheard/ })
  })
})
