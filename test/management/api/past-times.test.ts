/** Every time that clients give: RFC 3339, or how long ago, in one spelling everywhere. */
import t from 'tap'
import { timeIn } from '../../../src/ground/core/text/units.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openTestStore } from '../../harness/api.js'
import { resolved } from '../../harness/openapi.js'

const names = ['since', 'until', 'from', 'to', 'start_from', 'try', 'counts_since']
const target = {
  kinesis: {
    stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/events',
    auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/weir' } },
  },
}

t.test('times', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  await shapeLogTables(store.parts.clickhouse, { retentionMs: 3_600_000, bytesMax: 2 ** 30 })
  const destination = await me.eventDestination.create({ target })
  const policy = await me.ipPolicy.create({})
  const edge = await me.tcpEdge.create({})
  const subscription = { sources: [{ type: 'log.v0' }], destination_ids: [destination.id] }
  await me.eventSubscription.create(subscription)
  const ids: Readonly<Record<string, string>> = {
    '/event_destinations/{id}': destination.id,
    '/ip_policies/{id}': policy.id,
    '/edges/tcp/{id}': edge.id,
  }
  /** Bodies of writes that take a time. */
  const bodies: Readonly<Record<string, object>> = {
    '/event_subscriptions': subscription,
    '/ip_policies/{id}/rules': { rules: [] },
    '/event_destinations/{id}/replay': { from: '20h' },
  }

  const document = resolved(JSON.parse((await api.app.inject('/openapi.json')).payload))
  const uses = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]) => {
      const members = Object.entries(requestBody?.content['application/json']?.schema.properties ?? {})
      return [
        ...parameters.map(({ name, schema, description }) => ({
          place: 'query',
          name,
          text: JSON.stringify([schema, description]),
        })),
        ...members.map(([name, schema]) => ({ place: 'body', name, text: JSON.stringify(schema) })),
      ].flatMap((use) => (names.includes(use.name) ? [{ ...use, path, method: method.toUpperCase() }] : []))
    }),
  )
  t.ok(uses.length > 30, 'lists of changes and decisions, sums, dead letters, trials, replays')
  for (const name of names)
    t.ok(
      uses.some((use) => use.name === name),
      name,
    )
  for (const { method, path, name, text } of uses)
    t.match(text, /a length of time such as `90s`, `24h` or `7d`/i, `${method} ${path}: ${name}`)

  await t.test('a request takes each form, and refuses another one by name', async (t) => {
    const recent = new Date(Date.now() - 3_600_000).toISOString()
    const tried = uses.filter(
      ({ path }) => !path.replace(/^.*?\{id\}/, '').includes('{') && !path.endsWith('/try'),
    )
    const forms = ['2h', '120m', recent]
    for (const [at, { method, path, place, name }] of tried.entries()) {
      const collection = path.replace(/\{id\}.*/, '{id}')
      const id = ids[collection]
      if (path.includes('{') && id === undefined) continue
      // With `--full` each form in each place; otherwise one in each, and the next one in the next.
      const taken = process.argv.includes('--full') ? forms : [forms[at % forms.length]!]
      for (const value of [...taken, '2 hours']) {
        const isTime = value !== '2 hours'
        const url = path.replace('{id}', id ?? '')
        const isWrite = method !== 'GET'
        // A replay or trial of each form would wait for the others.
        if (isTime && (name === 'try' || path.endsWith('/replay'))) continue
        const body = isWrite ? { ...bodies[path], ...(place === 'body' ? { [name]: value } : {}) } : undefined
        const query = place === 'query' ? `?${name}=${encodeURIComponent(value)}` : ''
        const answer = await me.raw.send(method, `${url}${query}`, body === undefined ? {} : { body })
        const what = `${method} ${url}${query} ${answer.text}`
        if (isTime) t.ok(answer.status < 300, what)
        else t.match(answer, { status: 400, body: { msg: `"${name}"` } }, what)
      }
    }
  })

  await t.test('the next page begins and ends at the same times', async (t) => {
    const { next_page_uri } = await me.raw.get('/changes?limit=1&since=24h&until=0s')
    const { searchParams } = new URL(next_page_uri)
    for (const name of ['since', 'until']) t.match(searchParams.get(name), /^\d{4}-.*Z$/, name)
  })

  await t.test('a start in the past is stored as a time', async (t) => {
    const made = await me.eventSubscription.create({ ...subscription, start_from: '2h' })
    const ageMs = Date.now() - Date.parse(made.start_from!)
    t.ok(ageMs >= 7_200_000 && ageMs < 7_300_000, String(made.start_from))
    for (const start_from of ['999999999999d', '25h', '-1h'])
      t.match(
        await me.raw.refused(400, 'POST', '/event_subscriptions', { ...subscription, start_from }),
        /"start_from"/,
        start_from,
      )
  })
})

t.test('forms of times', async (t) => {
  const nowMs = Date.parse('2026-11-20T10:00:00Z')
  const cases: Readonly<Record<string, string | undefined>> = {
    '90s': '2026-11-20T09:58:30.000Z',
    '250ms': '2026-11-20T09:59:59.750Z',
    '24h': '2026-11-19T10:00:00.000Z',
    '7d': '2026-11-13T10:00:00.000Z',
    '7 D': '2026-11-13T10:00:00.000Z',
    '999999999999d': '1970-01-01T00:00:00.000Z',
    '2026-11-20T09:00:00.25+01:00': '2026-11-20T08:00:00.250Z',
    '2016-12-31T23:59:60Z': '2017-01-01T00:00:00.000Z',
    '0001-01-01T00:00:00Z': '1970-01-01T00:00:00.000Z',
    '2026-11-20': undefined,
    '1w': undefined,
    h: undefined,
    '': undefined,
  }
  for (const [text, want] of Object.entries(cases)) {
    const ms = timeIn(text, nowMs)
    t.equal(ms === undefined ? undefined : new Date(ms).toISOString(), want, text)
  }
})

interface Operation {
  readonly parameters?: readonly {
    readonly name: string
    readonly schema: object
    readonly description?: string
  }[]
  readonly requestBody?: {
    readonly content: Record<string, { readonly schema: { properties?: Record<string, object> } }>
  }
}
