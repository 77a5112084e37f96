/**
 * Answers that there is no time to read: a statement of ClickHouse that takes too long is replaced by a real one that does.
 */
import t from 'tap'
import type { Clickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { DeliveryReader } from '../../../src/management/store/logs/delivery-reader.js'
import { FailureReader } from '../../../src/management/store/logs/failure-reader.js'
import { LogReader } from '../../../src/management/store/logs/log-reader.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { TrafficReader } from '../../../src/management/store/logs/traffic-reader.js'
import { runAdminCommand } from '../../../src/roles/admin.js'
import { openTestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'

const hourMs = 60 * 60_000
const bounds = { retentionMs: 50 * 365 * 24 * hourMs, bytesMax: 2 ** 30 }

/** The same server, but statements that are `slow` never end within their time. */
function slowedDown(clickhouse: Clickhouse, isSlow: (sql: string) => boolean): Clickhouse {
  return new Proxy(clickhouse, {
    get(target, name) {
      const member = Reflect.get(target, name, target)
      if (name !== 'rows') return typeof member === 'function' ? member.bind(target) : member
      return (sql: string, ...rest: [Record<string, unknown>, number]) =>
        target.rows(
          isSlow(sql)
            ? 'SELECT sum(cityHash64(number)) FROM numbers(1000000000000) SETTINGS max_execution_time = 0.05'
            : sql,
          ...rest,
        )
    },
  })
}

t.test('a log that is slow', async (t) => {
  const { parts, api: openApi } = await openTestStore(t)
  const { clickhouse } = parts
  await shapeLogTables(clickhouse, bounds)
  let isSlow = (_sql: string): boolean => true
  const slow = slowedDown(clickhouse, (sql) => isSlow(sql))
  const api = await openApi({
    log: new LogReader(slow, 'all'),
    deliveries: new DeliveryReader(slow, 'all'),
    failures: new FailureReader(slow, 'all'),
    traffic: new TrafficReader(slow, 'all'),
  })
  const me = await api.account()
  const edge = await me.tcpEdge.create({ hostports: ['slow-log.example:22'] })
  const made = await me.challenger.create({
    draft: {
      edges: [
        {
          id: edge.id,
          policies: {
            inbound: [
              { expressions: ["conn.client_ip == '203.0.113.9'"], actions: [{ type: 'deny' as const }] },
            ],
          },
        },
      ],
    },
  })
  const rows = Array.from({ length: 20 }, (_, n) =>
    decisionRow({
      accountId: me.accountId,
      at: Date.parse(made.created_at) + n + 1,
      recordId: `r${n}`,
      sequence: n + 1,
      edgeId: edge.id,
      country: n % 2 === 0 ? 'FR' : 'DE',
      challengerId: made.id,
      challengerDecision: n % 2 === 0 ? 'deny' : 'allow',
      challengerDecidedBy: 'traffic_policy',
      challengerDecidedById: edge.id,
    }),
  )
  await clickhouse.insertBlocks('decisions', [rowBytes(rows)])

  await t.test(
    'the difference of a challenger has what there was time for, and says what is missing',
    async (t) => {
      isSlow = () => false
      const whole = await me.challengers.difference(made.id)
      t.match(whole, { records: 20, changed: 10, missing: [], examples: [{}], countries: [{ value: 'FR' }] })
      isSlow = (sql) => sql.includes('toString(client_ip) AS value')
      const partial = await me.challengers.difference(made.id)
      const lists = ['clients', 'edges', 'edge_changes', 'countries', 'country_changes'] as const
      t.strictSame(partial.missing, lists)
      for (const list of lists) t.strictSame(partial[list], [], list)
      t.strictSame(
        { ...partial, ...Object.fromEntries([...lists, 'missing', 'until'].map((name) => [name, []])) },
        { ...whole, ...Object.fromEntries([...lists, 'missing', 'until'].map((name) => [name, []])) },
        'the rest is as it is in the whole answer',
      )
      isSlow = (sql) => !sql.includes('AS firstMs')
      const least = await me.challengers.difference(made.id)
      t.match(least, { records: 20, changed: 10, deciders: [], examples: [] })
      t.equal(least.missing.length, 8)
    },
  )

  await t.test('a challenger without records is compared by one statement', async (t) => {
    isSlow = (sql) => !sql.includes('AS firstMs')
    const none = await me.challengers.difference(made.id, { since: new Date().toISOString() })
    t.match(none, { records: 0, changed: 0, missing: [], first_at: null, examples: [] })
  })

  await t.test('a page has what was found in time, and the next one goes on from there', async (t) => {
    const old = Array.from({ length: 6 }, (_, n) =>
      decisionRow({
        accountId: me.accountId,
        at: Date.now() - (n + 3) * hourMs,
        recordId: `old${n}`,
        sequence: 100 + n,
        country: 'AQ',
      }),
    )
    await clickhouse.insertBlocks('decisions', [rowBytes(old)])
    for (const query of ['country=AQ', `filter=${encodeURIComponent("conn.geo.country_code == 'AQ'")}`]) {
      for (const time of ['stored', 'own']) {
        const found: string[] = []
        const sizes: number[] = []
        let path: string | null = `/decisions?${query}&time=${time}`
        while (path !== null) {
          // The newest hour is read; what is older takes too long, once.
          let statements = 0
          isSlow = (sql) => {
            if (sql.includes('PREWHERE')) statements += 1
            return sql.includes('PREWHERE') && statements > 1 && sizes.length === 0
          }
          const { status, body }: Awaited<ReturnType<typeof me.raw.send>> = await me.raw.send('GET', path)
          t.equal(status, 200, `${path} ${JSON.stringify(body).slice(0, 200)}`)
          sizes.push(body.decisions.length)
          found.push(...body.decisions.map(({ record_id }: { record_id: string }) => record_id))
          path = body.next_page_uri === null ? null : body.next_page_uri.replace(/^https?:\/\/[^/]*/, '')
        }
        t.ok(sizes.length > 1, `${query} ${time}: ${sizes.join(', ')}`)
        t.strictSame(
          found,
          old.map(({ recordId }) => recordId),
          `${query} ${time}: each once`,
        )
      }
    }
  })

  await t.test(
    'sums beside a filter are of the newest part of the range that was counted in time',
    async (t) => {
      const since = new Date(Date.now() - 8 * hourMs).toISOString()
      const path = `/stats?since=${since}&interval=minute&filter=${encodeURIComponent("country in ['AQ', 'FR']")}`
      let statements = 0
      const isSum = (sql: string): boolean => sql.includes('sumOfDecisions')
      // All at once takes too long, the newest part does not, the one before it does.
      isSlow = (sql) => {
        if (isSum(sql)) statements += 1
        return isSum(sql) && statements !== 2
      }
      const { status, body, headers } = await me.raw.send('GET', path)
      t.equal(status, 200, JSON.stringify(body).slice(0, 200))
      t.ok(Date.parse(body.reached_at) > Date.parse(since), body.reached_at)
      t.equal(statements, 3)
      t.ok(
        body.counts.every(({ at }: { at: string }) => Date.parse(at) >= Date.parse(body.reached_at) - 60_000),
      )
      t.match(headers['weir-warning'], `what came before ${body.reached_at} is not counted`)
      isSlow = () => false
      const whole = await me.raw.send('GET', path)
      t.equal(whole.body.reached_at, null)
      const sumOf = (counts: readonly { allow: number }[]): number =>
        counts.reduce((sum, { allow }) => sum + allow, 0)
      t.ok(sumOf(whole.body.counts) > sumOf(body.counts) && sumOf(body.counts) > 0)
    },
  )

  await t.test(
    'what cannot be read in time is answered 504 with Retry-After, never 4xx or 500',
    async (t) => {
      isSlow = () => true
      const paths = [
        '/decisions',
        '/decisions?filter=conn.geo.country_code%20%3D%3D%20%27FR%27',
        `/decisions?edge_id=${edge.id}`,
        '/stats',
        '/stats?by=client_ip',
        '/stats?by=country&filter=conn.geo.country_code%20%3D%3D%20%27FR%27',
        '/stats?by=destination',
        '/records/unknown',
        '/expression_failures',
        '/reserved_domains/last_traffic',
        '/policy_tests/coverage',
        `/challengers/${made.id}/difference`,
        `/challengers/${made.id}/progress`,
        `/challengers/${made.id}/examples`,
      ]
      for (const path of paths) {
        const { status, headers, body } = await me.raw.send('GET', path)
        t.match(
          { status, body },
          { status: 504, body: { error_code: 'ERR_TIME_LIMIT', msg: /longer than/ } },
          path,
        )
        t.equal(headers['retry-after'], '5', path)
      }
    },
  )

  await t.test('answers that are more than the log leave it out, and say so', async (t) => {
    isSlow = () => true
    await runAdminCommand(parts, { command: 'account grant', account: me.accountId, right: 'doctor' })
    const gets = await getsOf(me, made.id)
    for (const path of gets) {
      const { status, body } = await me.raw.send('GET', path)
      t.ok(
        [200, 204, 503, 504].includes(status),
        `${path}: ${status} ${(JSON.stringify(body) ?? '').slice(0, 200)}`,
      )
    }
  })
})

/** GETs of the document that need no id but that of the challenger and no parameter, except streams. */
async function getsOf(me: Caller, challengerId: string): Promise<string[]> {
  const { body } = await me.raw.send('GET', '/openapi.json')
  const { paths } = body as { paths: Record<string, Record<string, { parameters?: Parameter[] }>> }
  return Object.entries(paths).flatMap(([path, operations]) => {
    const filled = path.replace('/challengers/{id}', `/challengers/${challengerId}`)
    const isRequired = ({ required, in: place }: Parameter): boolean => required === true && place === 'query'
    if (operations['get'] === undefined || filled.includes('{')) return []
    if (
      /live|tail|watch|\/export|^\/records$|\/check$/.test(path) ||
      operations['get'].parameters?.some(isRequired)
    )
      return []
    return [filled]
  })
}

interface Parameter {
  readonly in: string
  readonly required?: boolean
}
