/** `weir decisions`: what it asks for, and what it prints. */
import t from 'tap'
import { type DecisionsCommand, showDecisions } from '../../../src/outside/cli/decisions.js'
import { decisionText } from '../../../src/outside/cli/tap.js'
import type { DecisionsOptions } from '../../../src/words/client/decisions.js'
import {
  type LoggedDecision,
  loggedDecisionExample,
} from '../../../src/words/shape/decisions/logged-decision.js'

const decision: LoggedDecision = {
  ...loggedDecisionExample,
  type: 'tcp_connection',
  decision: 'block',
  source: 'asked',
  weight: 20,
  edge_id: 'edgtcp_1',
  decided_by: { type: 'ip_restriction', id: 'edgtcp_1', policy: null, rule_id: 'ipr_1' },
  shadow: null,
}

/** The lines that were printed and the queries that were asked, if the log has so many decisions. */
async function shown(options: Partial<DecisionsCommand>, inLog = 3) {
  const lines: string[] = []
  const asked: (DecisionsOptions | undefined)[] = []
  const client = {
    decisions: async function* (query?: DecisionsOptions) {
      asked.push(query)
      for (let n = 0; n < inLog; n += 1) yield decision
    },
    record: async (record_id: string) => ({
      record_id,
      publications: [],
      publications_left_out: false,
      asked: [{ decision, explained: null, missing: 'It is too old.' }],
      asked_left_out: false,
    }),
  }
  await showDecisions(client, { since: '24h', limit: '50', ...options }, (line) => lines.push(line))
  return { lines, asked }
}

t.test('a line for each decision', async (t) => {
  const { lines, asked } = await shown({
    client: '203.0.113.66',
    rule: 'ipr_1',
    edge: 'edgtcp_1',
    limit: '2',
  })
  const expected =
    '2026-11-20 10:00:00.250  block  203.0.113.66     DE AS64500  ssh.example.com:22  ip_restriction edgtcp_1 ipr_1  asked (20 alike)  began 2026-11-20T09:59:58.000Z'
  t.strictSame(lines, [expected, expected])
  const own = await shown({ time: 'own', limit: '1' })
  t.match(own.lines[0], /^2026-11-20 09:59:58\.000 .* {2}stored 2026-11-20T10:00:00\.250Z$/)
  t.match(own.asked, [{ time: 'own' }])
  await t.rejects(shown({ time: 'mine' }), /--time is "mine", but must be stored or own/)
  t.strictSame(asked, [
    { since: '24h', client: '203.0.113.66', edgeId: 'edgtcp_1', ruleId: 'ipr_1', limit: 2 },
  ])
})

t.test('a request shows its method, path and status; a question has no status', async (t) => {
  const request = { ...decision, method: 'get', path: '/admin' }
  t.match(
    decisionText({ ...request, status_code: 403 }),
    '  ssh.example.com:22  GET /admin 403  ip_restriction',
  )
  t.match(decisionText(request), '  ssh.example.com:22  GET /admin  ip_restriction')
  const decided_by = { type: 'traffic_policy', id: 'edgtcp_1', policy: 'p', rule_id: null } as const
  t.match(
    decisionText({ ...decision, shadow: { decision: 'deny', decided_by } }),
    'ipr_1  shadow deny traffic_policy p edgtcp_1  asked',
  )
})

t.test('lines of JSON', async (t) => {
  const { lines } = await shown({ json: true }, 1)
  t.strictSame(
    lines.map((line) => JSON.parse(line)),
    [decision],
  )
})

t.test('lines of CSV, with a header', async (t) => {
  const { lines } = await shown({ format: 'csv' }, 1)
  t.match(lines, [
    /^id,at,record_id,.*,decided_by\.rule_id,/,
    /^1795168800250-77-3,2026-.*,ipr_1,.*,asked,20,,,,2026-.*Z,$/,
  ])
  t.equal((await shown({ format: 'csv' }, 0)).lines.length, 1, 'also if there is none')
  t.strictSame((await shown({ format: 'ndjson' })).lines, (await shown({ json: true })).lines)
  await t.rejects(shown({ format: 'xml' }), { message: /--format is "xml", but must be ndjson or csv/ })
  await t.rejects(shown({ format: 'csv', why: true }), { message: /--why explains one/ })
})

t.test('from an address to the explanation', async (t) => {
  const { lines } = await shown({ client: '203.0.113.66', why: true })
  t.equal(lines.length, 1)
  t.match(
    lines[0],
    /^Question 01KAFZR7DA0T4CH30SW7DJ5M3B, asked 2026-11-20T10:00:00\.250Z.*\nIt is too old\.$/,
  )
})

t.test('nothing is found, or the number is wrong', async (t) => {
  t.strictSame((await shown({}, 0)).lines, ['No such decision is in the log.'])
  t.strictSame((await shown({ json: true }, 0)).lines, [])
  await t.rejects(shown({ limit: 'all' }), { message: /--limit is "all"/ })
})
