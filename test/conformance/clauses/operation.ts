/** What needs no key, and what says how a deployment is. */
import type { Json } from '../answer.js'
import type { Chapter } from '../clause.js'
import { asked, tcp } from '../questions.js'
import { connection, publish } from '../traffic.js'

const anonymous = { headers: { authorization: undefined, 'service-version': undefined } }

/** Names that the books and alerts of the documents are written with. */
const metricNames = [
  ...[
    'weir_records_in_total',
    'weir_records_evaluated_total',
    'weir_records_bad_total',
    'weir_records_history_total',
  ],
  ...['weir_records_unserved_total', 'weir_records_unowned_total', 'weir_events_produced_total'],
  ...['weir_events_delivered_total', 'weir_events_dead_lettered_total', 'weir_events_dropped_total'],
  ...['weir_events_backlog', 'weir_events_filtered_total'],
]

/** Paths that the documents show, of the API's document. */
const documented = [
  ...[
    '/edges/tcp/{id}',
    '/edges/https/{edge_id}/routes',
    '/ip_policies/{id}/rules',
    '/ip_restrictions',
    '/event_subscriptions',
  ],
  ...[
    '/event_destinations/{id}/status',
    '/batch',
    '/decide',
    '/records',
    '/decisions',
    '/stats',
    '/live',
    '/changes',
    '/overview',
  ],
]

export const operation: Chapter = {
  title: 'Operation',
  clauses: [
    {
      number: 1701,
      page: 'operating.md#health',
      says: '`/healthz` answers 200, `/readyz` 200 or 503 with what fails, without a key.',
      check: async ({ ask }) => {
        ;(await ask.get('/healthz', anonymous)).is(200)
        const ready = await ask.get('/readyz', { ...anonymous, isFinal: true })
        ready.must(ready.status === 200 || ready.status === 503, 'status 200 or 503')
        ready.must(typeof ready.body.failing === 'object', 'what fails')
      },
    },
    {
      number: 1702,
      page: 'guarantees.md#the-books',
      says: '`/metrics` has the metrics of the books, in the format of Prometheus, and no label of them names an account or an id.',
      check: async ({ ask }) => {
        const answer = (await ask.get('/metrics', anonymous)).is(200)
        for (const name of metricNames)
          answer.must(new RegExp(`^# TYPE ${name} `, 'm').test(answer.text), `the metric ${name}`)
        const labelled = answer.text
          .split('\n')
          .filter((line) => metricNames.some((name) => line.startsWith(`${name}{`)))
        answer.must(!/"[a-z]+_[0-9A-Z]{26}"/.test(labelled.join('\n')), 'no id in a label of the books')
      },
    },
    {
      number: 1703,
      page: 'guarantees.md#the-books',
      says: 'Records in = evaluated + bad + history, up to those that are under way.',
      check: async (visit) => {
        await visit.within(30, 'weir_records_in_total = evaluated + bad + history', async () => {
          const answer = (await visit.ask.get('/metrics', anonymous)).is(200)
          const { text } = answer.must(
            answer.text.includes('weir_records_in_total '),
            'weir_records_in_total',
          )
          const sumOf = (what: string): number =>
            [...text.matchAll(new RegExp(`^weir_records_${what}_total(?:{[^}]*})? (\\S+)$`, 'gm'))].reduce(
              (sum, [, value]) => sum + Number(value),
              0,
            )
          return sumOf('in') === sumOf('evaluated') + sumOf('bad') + sumOf('history') ? true : undefined
        })
      },
    },
    {
      number: 1704,
      page: 'api.md',
      says: '`/openapi.json` is OpenAPI 3.1 of the whole API; `/docs` is readable and loads nothing from elsewhere.',
      check: async ({ ask }) => {
        const answer = (await ask.get('/openapi.json', anonymous)).is(200)
        answer.must(/^3\.1\./.test(answer.body.openapi), 'OpenAPI 3.1')
        for (const path of documented) answer.must(path in answer.body.paths, `the path ${path}`)
        const page = (await ask.get('/docs', anonymous)).is(200)
        page.must(/html/.test(page.header('content-type')), 'HTML')
        page.must(
          !/(?:src|href)="(?:https?:)?\/\//.test(page.text.replaceAll(/<a [^>]*>/g, '')),
          'nothing from elsewhere',
        )
        page.must(
          /default-src|script-src/.test(page.header('content-security-policy')),
          'a content security policy',
        )
      },
    },
    {
      number: 1705,
      page: 'events.md#fields',
      says: '`GET /fields` has the fields of records, events and expressions without a key.',
      check: async ({ ask }) => {
        const answer = (await ask.get('/fields', anonymous)).is(200)
        const kinds: string[] = answer.body.events.map(({ kind }: Json) => kind)
        for (const kind of ['tcp_connection_closed.v0', 'http_request_complete.v0', 'log.v0'])
          answer.must(kinds.includes(kind), kind)
        const closed = answer.body.events.find(({ kind }: Json) => kind === 'tcp_connection_closed.v0').fields
        const defaults: string[] = closed.filter((each: Json) => each.default).map(({ name }: Json) => name)
        const wanted = [
          'bytes_in',
          'bytes_out',
          'client_ip',
          'end_ts',
          'server_ip',
          'server_name',
          'server_port',
          'start_ts',
        ]
        answer.same(
          defaults.toSorted(),
          [...wanted.map((name) => `conn.${name}`), 'ip_policy.decision'],
          'the default fields',
        )
        for (const type of ['tcp_connection', 'http_request'])
          (await ask.get(`/schemas/${type}.json`, anonymous)).is(200)
      },
    },
    {
      number: 1706,
      page: 'api.md#is-all-well',
      says: '`GET /overview` has a state, a sentence, and what needs a hand.',
      check: async ({ ask }) => {
        const answer = (await ask.get('/overview')).is(200)
        answer.must(['ok', 'attention', 'failing'].includes(answer.body.state), 'a known state')
        answer.must(
          answer.body.sentence.length > 0 && Array.isArray(answer.body.attention),
          'a sentence and a list',
        )
        const isWell =
          answer.body.attention.every(({ severity }: Json) => severity === 'notice') &&
          answer.body.unknown.length === 0
        answer.same(answer.body.state === 'ok', isWell, 'whether the state is ok')
      },
    },
    {
      number: 1707,
      page: 'api.md#is-the-deployment-well',
      says: '`GET /doctor` is for accounts that an operator allows it; all others get 403.',
      check: async ({ ask }) => {
        const answer = await ask.get('/doctor')
        if (answer.status === 403) return answer.refused(403, 'ERR_FORBIDDEN', 'doctor')
        const states = ['good', 'warning', 'bad', 'not_checked']
        const lines = Object.values(answer.is(200).body).find(Array.isArray) as Json[]
        return answer.must(
          lines.every(({ state }) => states.includes(state)),
          'a known state in each line',
        )
      },
    },
    {
      number: 1708,
      page: 'api.md#decisions-as-they-happen',
      says: '`GET /live` is a stream of server-sent events: each decision within a second, and a `rate` every second.',
      needs: ['writes'],
      check: async (visit) => {
        const host = visit.host('live')
        const record = connection(visit.recordId('live'), host)
        const filter = encodeURIComponent(`conn.server_name == '${host}'`)
        const isRate = (text: string): boolean => text.includes('event: rate')
        const [seen] = await Promise.all([
          visit.ask.stream(`/live?filter=${filter}`, (text) => text.includes(record.record_id), 10_000),
          visit.ask.stream('/live', isRate, 5_000).then(() => publish(visit, record)),
        ])
        seen.same(seen.header('content-type').split(';')[0], 'text/event-stream', 'the content type')
      },
    },
    {
      number: 1709,
      page: 'policies.md#findings',
      says: '`GET /findings` says of each kind how much was looked at and found.',
      check: async ({ ask }) => {
        const answer = (await ask.get('/findings')).is(200)
        for (const each of answer.body.kinds)
          answer.must(
            Number.isInteger(each.looked_at) && Number.isInteger(each.found),
            `numbers of ${each.kind}`,
          )
        answer.must(
          answer.body.kinds.some(({ kind }: Json) => kind === 'rules_contradict'),
          'rules_contradict',
        )
      },
    },
    {
      number: 1710,
      page: 'policies.md#policy-tests',
      says: 'Policy tests run against a draft say which passed, and explain those that failed.',
      check: async ({ ask }) => {
        const draft = { tcp_edges: [{ id: 'edge', hostports: ['drafted.example:22'] }] }
        const given = tcp('drafted.example')
        const tests = [
          { given, expect: { decision: 'allow' } },
          { given, expect: { decision: 'deny' } },
        ]
        const answer = (await ask.post('/policy_tests/run', { draft, tests })).is(200)
        answer.same([answer.body.passed, answer.body.failed], [1, 1], 'passed and failed')
        const failed = answer.body.tests.find(({ passed }: Json) => !passed)
        answer.must(failed.explanation !== null, 'an explanation of the one that failed')
      },
    },
    {
      number: 1711,
      page: 'api.md#why-was-it-blocked',
      says: '`?revision=` decides as it was then; a revision that is not known is refused.',
      needs: ['writes'],
      check: async (visit) => {
        const host = visit.host('then')
        const { id } = await visit.make('/edges/tcp', { hostports: [`${host}:22`] })
        const now = await visit.within(2, 'the edge serves its name', async () => {
          const answer = await asked(visit, tcp(host))
          return answer.body.served ? answer : undefined
        })
        ;(
          await visit.ask.put(`/edges/tcp/${id}/policies`, { inbound: [{ actions: [{ type: 'deny' }] }] })
        ).is(200)
        await visit.within(2, 'the policy denies', async () =>
          (await asked(visit, tcp(host))).body.decision === 'deny' ? true : undefined,
        )
        const then = await asked(visit, tcp(host), `?revision=${now.body.revision}`)
        then.same(
          [then.body.decision, then.body.revision],
          ['allow', now.body.revision],
          'decision and revision',
        )
        ;(await visit.ask.post('/decide?revision=999999999', tcp(host))).must(
          visit.ask.last!.status >= 400,
          'a refusal',
        )
      },
    },
  ],
}
