/** The decision log over the management API: found by what a person knows, in pages, of the own account alone. */
import t from 'tap'
import { newId } from '../../../src/ground/core/ids.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { base, openTestStore } from '../../harness/api.js'
import { type Caller, all as listed } from '../../harness/caller.js'
import { decisionRow, deliveryBytes, deliveryRow, rowBytes } from '../../harness/decision-rows.js'

const hourMs = 60 * 60_000
const bounds = { retentionMs: 50 * 365 * 24 * hourMs, bytesMax: 2 ** 30 }
const day = Date.parse('2026-11-20T00:00:00Z')

t.test('the log of two accounts', async (t) => {
  const { parts, api: openApi } = await openTestStore(t)
  const { clickhouse } = parts
  const api = await openApi()
  const [mine, theirs] = [await api.account('mine'), await api.account('theirs')]
  const missing = await mine.raw.send('GET', '/decisions')
  t.match(missing, { status: 503, body: { error_code: 'ERR_UNAVAILABLE' } }, 'there are no tables yet')
  t.ok(missing.headers['retry-after'])
  await shapeLogTables(clickhouse, bounds)
  const row = (client: Caller, sequence: number, values: Parameters<typeof decisionRow>[0] = {}) =>
    decisionRow({
      accountId: client.accountId,
      at: day + sequence * hourMs,
      recordId: `r${sequence}`,
      sequence,
      ...values,
    })
  const edge = await mine.httpsEdge.create({ hostports: ['decided.example:443'] })
  const route = await mine.httpsEdgeRoute.under(edge.id).create({ match_type: 'path_prefix', match: '/' })
  const foreign = await theirs.tcpEdge.create({ hostports: ['decided-foreign.example:22'] })
  const denied = {
    decision: 'deny',
    decidedBy: 'traffic_policy',
    decidedById: 'edgtcp_1',
    policy: 'a, "b" & c',
  } as const
  const rows = [
    row(mine, 1),
    row(mine, 2, { clientIp: '2001:db8::7', edgeId: '', country: '', asn: 0, serverName: '', serverPort: 0 }),
    row(mine, 3, {
      decision: 'block',
      decidedBy: 'ip_restriction',
      decidedById: 'edgtcp_1',
      ruleId: 'ipr_1',
    }),
    row(mine, 4, { ...denied, clientIp: '198.51.100.200', country: 'FR' }),
    row(mine, 5, {
      type: 'http_request',
      edgeId: edge.id,
      routeId: route.id,
      serverPort: 443,
      method: 'get',
      path: '/admin',
      status: '403',
    }),
    // Within one millisecond, and stored twice.
    row(mine, 6, { line: 1 }),
    row(mine, 6, { line: 2, recordId: 'r6.2' }),
    row(mine, 6, { line: 2, recordId: 'r6.2' }),
    row(mine, 7, { recordId: "it's" }),
  ]
  await clickhouse.insertBlocks('decisions', [rowBytes(rows), rowBytes([row(theirs, 3), row(theirs, 8)])])

  const found = async (query: string, client = mine): Promise<string[]> =>
    (await client.raw.get(`/decisions${query}`)).decisions.map(
      (each: { record_id: string }) => each.record_id,
    )
  const all = ["it's", 'r6.2', 'r6', 'r5', 'r4', 'r3', 'r2', 'r1']

  await t.test('a decision is shown with what is known of it', async (t) => {
    const { decisions, uri, next_page_uri } = await mine.raw.get('/decisions?record_id=r4')
    t.strictSame({ uri, next_page_uri }, { uri: `${base}/decisions`, next_page_uri: null })
    t.strictSame(decisions, [
      {
        id: `${day + 4 * hourMs}-4-1`,
        at: '2026-11-20T04:00:00.000Z',
        record_id: 'r4',
        type: 'tcp_connection',
        edge_id: 'edgtcp_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ',
        route_id: null,
        server_name: 'ssh.example',
        server_port: 22,
        client_ip: '198.51.100.200',
        country: 'FR',
        asn: 64_500,
        decision: 'deny',
        decided_by: { type: 'traffic_policy', id: 'edgtcp_1', policy: 'a, "b" & c', rule_id: null },
        shadow: null,
        challenger: null,
        revision: 7,
        bytes_in: 5,
        bytes_out: 2 ** 40,
        sequence: 4,
        line: 1,
        source: 'record',
        weight: 1,
        method: null,
        path: null,
        status_code: null,
        own_at: null,
        own_at_refused: null,
      },
    ])
    t.match((await mine.raw.get('/decisions?record_id=r5')).decisions, [
      { method: 'get', path: '/admin', status_code: 403 },
    ])
    const [sparse] = (await mine.raw.get('/decisions?record_id=r2')).decisions
    const nothing = { edge_id: null, server_name: null, server_port: null, country: null, asn: null }
    t.match(sparse, { client_ip: '2001:db8::7', ...nothing })
  })

  await t.test('newest first, by what a person knows', async (t) => {
    const cases: Readonly<Record<string, readonly string[]>> = {
      '': all,
      '?client=198.51.100.200': ['r4'],
      '?client=::ffff:198.51.100.200': ['r4'],
      '?client=198.51.100.192/26': ['r4'],
      '?client=198.51.100.0/25': all.filter((id) => id !== 'r4' && id !== 'r2'),
      '?client=2001:db8::/64': ['r2'],
      '?client=2001:db8::7': ['r2'],
      '?client=2001:db8::8': [],
      '?client=2000::/3': ['r2'],
      '?client=2001:db8:0:1::/64': [],
      '?client=::/0': all,
      '?client=0.0.0.0/0': all.filter((id) => id !== 'r2'),
      '?decision=block': ['r3'],
      '?decision=block,deny': ['r4', 'r3'],
      '?decided_by=traffic_policy': ['r4'],
      '?decided_by=none&country=FR': [],
      '?country=FR': ['r4'],
      '?policy=a,%20%22b%22%20%26%20c': ['r4'],
      [`?edge_id=${edge.id}&route_id=${route.id}`]: ['r5'],
      [`?record_id=${encodeURIComponent("it's")}`]: ["it's"],
      '?since=2026-11-20T05:00:00Z&until=2026-11-20T07:00:00%2B00:00': ['r6.2', 'r6', 'r5'],
    }
    for (const [query, ids] of Object.entries(cases)) t.strictSame(await found(query), ids, query)
  })

  await t.test('clients of rows from before their numbers were stored are found', async (t) => {
    await clickhouse.command('ALTER TABLE decisions DROP COLUMN client_key')
    await shapeLogTables(clickhouse, bounds)
    t.strictSame(await found('?client=198.51.100.192/26'), ['r4'])
    t.strictSame(await found('?client=2001:db8::7'), ['r2'])
  })

  await t.test('pages show every decision once', async (t) => {
    for (const limit of [1, 2, 3, 8]) {
      const ids: string[] = []
      for await (const { record_id } of mine.decisions({ limit })) ids.push(record_id)
      t.strictSame(ids, all, `${limit} in a page`)
    }
    const stopped: string[] = []
    for await (const { record_id } of mine.decisions({ limit: 1, decision: 'block,deny' }))
      stopped.push(record_id)
    t.strictSame(stopped, ['r4', 'r3'], 'the next page keeps the filter')
  })

  await t.test('all in one answer, as NDJSON and CSV', async (t) => {
    const as = (accept: string, query = '') =>
      mine.raw.send('GET', `/decisions${query}`, { headers: { accept } })
    const ndjson = await as('application/x-ndjson')
    t.match(ndjson, {
      status: 200,
      headers: { 'content-type': 'application/x-ndjson; charset=utf-8', vary: 'Accept' },
    })
    const lines = ndjson.text.split('\n')
    t.equal(lines.pop(), '', 'each line has its end')
    t.strictSame(
      lines.map((line) => JSON.parse(line)),
      (await mine.raw.get('/decisions')).decisions,
    )
    const csv = await as('text/csv', '?record_id=r4')
    t.match(csv.headers, { 'content-type': 'text/csv; charset=utf-8', vary: 'Accept' })
    t.equal(
      csv.text,
      'id,at,record_id,type,edge_id,route_id,server_name,server_port,client_ip,country,asn,decision,decided_by.type,decided_by.id,decided_by.policy,decided_by.rule_id,shadow.decision,shadow.decided_by.type,shadow.decided_by.id,shadow.decided_by.policy,shadow.decided_by.rule_id,challenger.id,challenger.decision,challenger.decided_by.type,challenger.decided_by.id,challenger.decided_by.policy,challenger.decided_by.rule_id,revision,bytes_in,bytes_out,sequence,line,source,weight,method,path,status_code,own_at,own_at_refused\r\n' +
        `${day + 4 * hourMs}-4-1,2026-11-20T04:00:00.000Z,r4,tcp_connection,edgtcp_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ,,ssh.example,22,198.51.100.200,FR,64500,deny,traffic_policy,edgtcp_1,"a, ""b"" & c",,,,,,,,,,,,,7,5,1099511627776,4,1,record,1,,,,,\r\n`,
    )
    const idsIn = ({ text }: { text: string }) =>
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).record_id)
    const before = `${day + 3 * hourMs}-3-1`
    t.strictSame(idsIn(await as('application/x-ndjson', '?limit=3')), all.slice(0, 3))
    t.strictSame(idsIn(await as('application/x-ndjson', `?before_id=${before}`)), ['r2', 'r1'])
    t.strictSame(idsIn(await as('application/x-ndjson', "?filter=country=='FR'")), ['r4'])
    t.strictSame(idsIn(await as('application/x-ndjson', '?record_id=none')), [])
    t.equal((await as('text/csv', '?record_id=none')).text.split('\r\n').length, 2, 'a header all the same')
    for (const other of ['application/json', '*/*', 'image/png', 'text/csv;q=0'])
      t.match(await as(other), {
        headers: { 'content-type': /json/, vary: 'Accept' },
        body: { decisions: [{ record_id: "it's" }] },
      })
    for (const query of ['?limit=100001', '?limit=0', '?client=x', '?filter=1%20%2B'])
      t.match(await as('text/csv', query), { status: 400, headers: { 'content-type': /json/ } }, query)
    t.match(await as('application/json', '?limit=101'), { status: 400 })
  })

  await t.test('decisions with a shadow, in a table from before there was one', async (t) => {
    const columns = await clickhouse.rows<{ name: string }>(
      "SELECT name FROM system.columns WHERE table = 'decisions' AND name LIKE 'shadow%'",
    )
    t.equal(columns.length, 5)
    for (const { name } of columns) await clickhouse.command(`ALTER TABLE decisions DROP COLUMN ${name}`)
    await shapeLogTables(clickhouse, bounds)
    const me = await api.account('shadowed')
    const byRule = {
      shadowDecidedBy: 'ip_restriction',
      shadowDecidedById: 'edgtcp_1',
      shadowRuleId: 'ipr_9',
    } as const
    const blocks = [
      [row(me, 1), row(me, 2, { shadowDecision: 'block', ...byRule }), row(me, 3)],
      [row(me, 4)],
      [
        row(me, 5, {
          ...denied,
          shadowDecision: 'deny',
          shadowDecidedBy: 'traffic_policy',
          shadowPolicy: 'p',
        }),
      ],
    ]
    await clickhouse.insertBlocks('decisions', blocks.map(rowBytes))
    t.match((await me.raw.get('/decisions?record_id=r2')).decisions, [
      {
        decision: 'allow',
        shadow: {
          decision: 'block',
          decided_by: { type: 'ip_restriction', id: 'edgtcp_1', policy: null, rule_id: 'ipr_9' },
        },
      },
    ])
    t.match((await me.raw.get('/decisions?record_id=r1')).decisions, [{ shadow: null }])
    const cases: Readonly<Record<string, readonly string[]>> = {
      "shadow.decision == 'block'": ['r2'],
      "shadow.decision == 'none'": [],
      "shadow.decision != 'block'": ['r5', 'r4', 'r3', 'r1'],
      'shadow.decision != decision && shadow != null': ['r2'],
      "shadow.decided_by.rule_id == 'ipr_9'": ['r2'],
      "shadow.decided_by.policy == 'p' && shadow.decided_by.type == 'traffic_policy'": ['r5'],
      'shadow == null': ['r4', 'r3', 'r1'],
    }
    for (const [filter, ids] of Object.entries(cases))
      t.strictSame(await found(`?filter=${encodeURIComponent(filter)}`, me), ids, filter)
    const counted = async (query: string) =>
      (
        await me.raw.get(`/stats?since=2026-11-20T00:00:00Z&until=2026-11-21T00:00:00Z&interval=day${query}`)
      ).counts.map(({ value, allow, block, deny }: Record<string, unknown>) => [value, allow, block, deny])
    t.strictSame(await counted('&by=shadow_decision'), [
      [null, 3, 0, 0],
      ['block', 1, 0, 0],
      ['deny', 0, 0, 1],
    ])
    const differs = encodeURIComponent('shadow != null && shadow.decision != decision')
    t.strictSame(await counted(`&by=shadow_decision&filter=${differs}`), [['block', 1, 0, 0]])
    t.strictSame(await counted(`&filter=${differs}`), [[null, 1, 0, 0]])
  })

  await t.test("another account's decisions are never found", async (t) => {
    t.strictSame(await found('', theirs), ['r8', 'r3'])
    t.strictSame(await found('?record_id=r8'), [])
    t.strictSame(await found(`?before_id=${day + 9 * hourMs}-8-1`), all)
  })

  await t.test('sums by minute, hour and day, of what is counted apart', async (t) => {
    const range = { since: '2026-11-20T03:00:00Z', until: '2026-11-20T07:00:00Z' }
    const { counts, ...answer } = await mine.stats({ ...range, interval: 'hour' })
    t.strictSame(answer, {
      by: 'none',
      interval: 'hour',
      ...range,
      values_left_out: 0,
      reached_at: null,
      names: {},
    })
    const bytes = (records: number) => ({ bytes_in: 5 * records, bytes_out: 2 ** 40 * records, asked: 0 })
    const at = (hour: number) => ({ at: `2026-11-20T0${hour}:00:00Z`, value: null })
    t.strictSame(counts, [
      { ...at(3), allow: 0, block: 1, deny: 0, ...bytes(1) },
      { ...at(4), allow: 0, block: 0, deny: 1, ...bytes(1) },
      { ...at(5), allow: 1, block: 0, deny: 0, ...bytes(1) },
      { ...at(6), allow: 3, block: 0, deny: 0, ...bytes(3) },
    ])
    const within = { since: '2026-11-20T00:30:00Z', until: '2026-11-20T23:00:00Z' }
    const byDay = await mine.stats({ ...within, interval: 'day', by: 'country' })
    t.match(byDay, { since: '2026-11-20T00:00:00Z', until: '2026-11-21T00:00:00Z' })
    t.strictSame(
      byDay.counts.map(({ value, allow, block, deny }) => [value, allow, block, deny]),
      [
        ['DE', 6, 1, 0],
        [null, 1, 0, 0],
        ['FR', 0, 0, 1],
      ],
    )
    const first = await mine.stats({ ...within, interval: 'day', by: 'edge', values: 1 })
    t.match(first, { counts: [{ value: 'edgtcp_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ', allow: 5 }], values_left_out: 2 })
    const policies = await mine.stats({ ...within, interval: 'day', by: 'policy' })
    t.match(policies.counts, [
      { value: null, deny: 0 },
      { value: 'a, "b" & c', deny: 1 },
    ])
    t.match((await theirs.stats({ ...within, interval: 'day' })).counts, [{ allow: 2, block: 0, deny: 0 }])
    t.strictSame((await mine.stats()).counts, [], 'nothing in the last hour')
    const wrong: Readonly<Record<string, RegExp>> = {
      '?by=client':
        /"by" is "client": none, edge, policy, rule, country, asn, server_name, client_ip, shadow_decision, destination are/,
      '?interval=week': /"interval" is "week".*5m/,
      '?interval=7m': /"interval" is "7m"/,
      '?interval=90s': /"interval" is "90s"/,
      '?interval=2d': /"interval" is "2d"/,
      '?asn=ASX': /"asn" is "ASX"/,
      '?client=x': /"client" is not usable/,
      '?decision=no': /"decision" names "no"/,
      '?by=destination&country=DE': /"country" is about decisions/,
      '?values=21': /"values" is "21".*1 to 20/,
      '?by=country&values=251': /"values" is "251".*1 to 250/,
      '?by=country&values=250&since=2026-11-20T00:00:00Z&until=2026-11-20T02:00:00Z':
        /120 intervals of 1 min: at most 80 are allowed with 250 values/,
      '?since=2026-11-20T00:00:00Z&until=2026-11-20T17:00:00Z': /1020 intervals of 1 min: at most 1000/,
      '?since=2026-11-20T00:00:00Z&until=2026-11-19T00:00:00Z': /"since" must be before "until"/,
    }
    for (const [query, msg] of Object.entries(wrong))
      t.match(await mine.raw.send('GET', `/stats${query}`), { status: 400, body: { msg } }, query)
  })

  await t.test('questions are told apart from records, and found by the rule that blocked', async (t) => {
    const asker = await api.account('asker')
    const policy = await asker.ipPolicy.create({})
    const rule = async (cidr: string, action: 'allow' | 'deny' = 'deny') =>
      (await asker.ipPolicyRule.create({ ip_policy_id: policy.id, cidr, action })).id
    const [first, second] = [await rule('203.0.113.0/24'), await rule('198.51.100.0/24')]
    const blocked = { decision: 'block', decidedBy: 'ip_restriction', decidedById: 'edgtcp_1' } as const
    const question = (n: number, values: Parameters<typeof decisionRow>[0] = {}) =>
      row(asker, n, { source: 'asked', line: 0, sequence: 2 ** 47 + n, bytesIn: 0, bytesOut: 0, ...values })
    await clickhouse.insertBlocks('decisions', [
      rowBytes([row(asker, 3, { recordId: 'same', ruleId: first, ...blocked }), row(asker, 4)]),
      rowBytes([
        question(3, { at: day + 3 * hourMs - 20, recordId: 'same', ruleId: first, ...blocked }),
        question(5, { recordId: 'dq_1', weight: 40 }),
        question(6, { recordId: 'dq_2', ruleId: second, weight: 3, ...blocked }),
      ]),
    ])
    const cases: Readonly<Record<string, readonly string[]>> = {
      '': ['dq_2', 'dq_1', 'r4', 'same', 'same'],
      '?source=asked': ['dq_2', 'dq_1', 'same'],
      '?source=record': ['r4', 'same'],
      '?source=record,asked&limit=100': ['dq_2', 'dq_1', 'r4', 'same', 'same'],
      [`?rule_id=${first}`]: ['same', 'same'],
      [`?rule_id=${second}&source=record`]: [],
    }
    for (const [query, ids] of Object.entries(cases)) t.strictSame(await found(query, asker), ids, query)
    const pages: (number | null)[] = []
    for await (const { sequence } of asker.decisions({ limit: 1, source: 'asked' })) pages.push(sequence)
    t.strictSame(pages, [null, null, null], 'pages go on behind a question')
    const [joined] = (await asker.raw.get('/decisions?record_id=same&source=asked')).decisions
    t.match(joined, {
      source: 'asked',
      weight: 1,
      sequence: null,
      line: null,
      decided_by: { rule_id: first },
    })
    t.match(await asker.raw.send('GET', '/decisions?source=else'), {
      status: 400,
      body: { msg: /"source" names "else": record, asked, history are allowed/ },
    })

    const range = { since: '2026-11-20T00:00:00Z', until: '2026-11-21T00:00:00Z', interval: 'day' } as const
    const sums = async (options: Parameters<typeof asker.stats>[0]) =>
      (await asker.stats({ ...range, ...options })).counts.map(({ value, allow, block, asked }) => [
        value,
        allow,
        block,
        asked,
      ])
    t.strictSame(await sums({}), [[null, 1, 1, 44]], 'records and questions are not added up')
    t.strictSame(await sums({ source: 'asked' }), [[null, 40, 4, 44]], 'samples are scaled')
    t.strictSame(await sums({ by: 'rule' }), [
      [null, 1, 0, 40],
      [second, 0, 0, 3],
      [first, 0, 1, 1],
    ])
    t.strictSame(await sums({ by: 'rule', source: 'asked', values: 1 }), [[null, 40, 0, 40]])
    t.match(await asker.raw.send('GET', '/stats?source=both'), {
      status: 400,
      body: { msg: /"source" names "both"/ },
    })

    const [never, allowed] = [await rule('192.0.2.0/24'), await rule('10.0.0.0/8', 'allow')]
    const counted = async (options: Parameters<typeof asker.rules>[1]) =>
      (await listed(asker.rules(policy.id, options))).map(({ id, counts }) => [id, counts])
    t.strictSame(
      await counted({ countsSince: '2026-11-20T02:59:30Z', limit: 1 }),
      [
        [allowed, null],
        [never, { blocked: 0, asked: 0, last_at: null }],
        [second, { blocked: 0, asked: 3, last_at: '2026-11-20T06:00:00Z' }],
        [first, { blocked: 1, asked: 1, last_at: '2026-11-20T03:00:00Z' }],
      ],
      'counts beside rules, page by page',
    )
    const last = await counted({ countsSince: '2026-11-20T03:01:00Z', filter: "cidr == '203.0.113.0/24'" })
    t.strictSame(last, [[first, { blocked: 0, asked: 0, last_at: null }]])
    const path = `/ip_policies/${policy.id}/rules`
    const plain = await asker.raw.get(path)
    t.match(plain, { uri: `${base}${path}`, next_page_uri: null, counts_since: null })
    t.match(plain.rules, [
      { id: allowed, counts: null },
      {},
      {},
      { ip_policy: { id: policy.id }, counts: null },
    ])
    const { rules, counts_since } = await asker.raw.get(`${path}?counts_since=2026-11-20T02:59:30Z`)
    t.equal(counts_since, '2026-11-20T02:59:00Z', 'whole minutes')
    t.match(await asker.raw.send('PUT', `${path}?validate_only=true`, { body: { rules } }), {
      status: 200,
      body: { added: 0, updated: 0, removed: 0, kept: 4, expired: 0 },
    })
    t.equal((await mine.raw.send('GET', path)).status, 404, 'of another account')

    await asker.ipPolicy.delete(policy.id)
    t.strictSame(await found(`?rule_id=${first}`, asker), ['same', 'same'], 'a deleted rule is known')
    for (const id of [first, 'ipr_1', policy.id, newId('ipr_')])
      t.match(await mine.raw.refused(404, 'GET', `/decisions?rule_id=${id}`), `"rule_id" names "${id}"`)
  })

  await t.test('sums of what a filter chooses', async (t) => {
    const range = { since: '2026-11-20T00:00:00Z', until: '2026-11-21T00:00:00Z' }
    for (const by of ['none', 'edge', 'policy', 'rule', 'country'] as const)
      for (const interval of ['hour', 'day'] as const)
        t.strictSame(
          await mine.stats({ ...range, by, interval, filter: 'true' }),
          await mine.stats({ ...range, by, interval }),
          `everything by ${by} and ${interval}`,
        )
    const sums = async (filter: string, by: 'none' | 'country' = 'none') =>
      (await mine.stats({ ...range, interval: 'day', by, filter })).counts.map(
        ({ value, allow, block, deny }) => [value, allow, block, deny],
      )
    const cases: Readonly<Record<string, readonly (string | number | null)[][]>> = {
      "decision != 'allow'": [[null, 0, 1, 1]],
      "country == 'FR'": [[null, 0, 0, 1]],
      "conn.geo.country_code == 'FR' || asn == null": [[null, 1, 0, 1]],
      "inCidrRange(conn.client_ip, '2001:db8::/32')": [[null, 1, 0, 0]],
      "type == 'http_request' && server_port == 443": [[null, 1, 0, 0]],
      "conn.server_name == 'SSH.example.'": [[null, 6, 1, 1]],
      "matches(decided_by.policy, '^a,')": [[null, 0, 0, 1]],
      'conn.bytes_in == 5 && bytes_out > 2': [[null, 6, 1, 1]],
      "ev.http.request.method == 'GET' && http.response.status_code == 403": [[null, 1, 0, 0]],
      "path == '/admin'": [[null, 1, 0, 0]],
      "source == 'asked'": [],
      "country == 'XX'": [],
    }
    for (const [filter, counts] of Object.entries(cases)) t.strictSame(await sums(filter), counts, filter)
    t.strictSame(await sums("decision == 'deny' || country == 'DE'", 'country'), [
      ['DE', 6, 1, 0],
      ['FR', 0, 0, 1],
    ])
    const refused: Readonly<Record<string, RegExp>> = {
      "id == '1'": /"filter" uses id, which is another in each decision/,
      'sequence > 3 && asn == 1': /"filter" uses sequence/,
      "ev.ip_policy.decision == 'allow'": /is not in the log of decisions/,
      'nothing == 1': /nothing/,
      '1 +': /not a valid expression/,
    }
    for (const [filter, msg] of Object.entries(refused))
      t.match(await mine.raw.send('GET', `/stats?by=edge&filter=${encodeURIComponent(filter)}`), {
        status: 400,
        body: { error_code: 'ERR_INVALID_EXPRESSION', msg },
      })
    t.match(
      await mine.raw.refused(400, 'GET', '/stats?by=destination&filter=true'),
      /"filter" is about decisions/,
    )
  })

  await t.test('sums of what the parameters of the list select', async (t) => {
    const range = { since: '2026-11-20T00:00:00Z', until: '2026-11-21T00:00:00Z' }
    // One row is stored twice: the list has it once.
    const selections: readonly [Parameters<typeof mine.stats>[0], repeated: number][] = [
      [{}, 1],
      [{ client: '198.51.100.0/24' }, 1],
      [{ client: '2001:db8::/32' }, 0],
      [{ decision: 'block,deny' }, 0],
      [{ decidedBy: 'ip_restriction' }, 0],
      [{ policy: 'a, "b" & c' }, 0],
      [{ country: 'FR' }, 0],
      [{ country: 'DE', decision: 'allow' }, 1],
      [{ asn: 64_500 }, 1],
      [{ asn: 'AS64500' }, 1],
      [{ asn: 1 }, 0],
      [{ recordId: "it's" }, 0],
      [{ edgeId: edge.id, routeId: route.id }, 0],
      [{ filter: "id != '1' && at > '2026-11-20T00:00:00Z' && line == 1" }, 0],
      [{ client: '198.51.100.0/24', filter: "country == 'DE'" }, 1],
    ]
    for (const [selection, repeated] of selections) {
      let listed = repeated
      for await (const { source } of mine.decisions({ ...range, ...selection }))
        if (source === 'record') listed += 1
      const { counts } = await mine.stats({ ...range, interval: '30m', ...selection })
      const sum = counts.reduce((total, { allow, block, deny }) => total + allow + block + deny, 0)
      t.equal(sum, listed, JSON.stringify(selection))
    }
    for (const by of ['none', 'edge'] as const)
      t.strictSame(
        (await mine.stats({ ...range, interval: 'day', by, edgeId: edge.id })).counts.map(
          ({ allow, value }) => [value, allow],
        ),
        [[by === 'edge' ? edge.id : null, 1]],
        `one edge by ${by}: from the sums`,
      )
    const by = async (dimension: 'asn' | 'server_name' | 'client_ip', filter?: string) => {
      const { counts } = await mine.stats({
        ...range,
        interval: 'day',
        by: dimension,
        ...(filter && { filter }),
      })
      return counts.map(({ value, allow, block, deny }) => [value, allow + block + deny])
    }
    for (const dimension of ['asn', 'server_name', 'client_ip'] as const) {
      const counts = await by(dimension)
      t.equal(
        counts.reduce((total, [, count]) => total + Number(count), 0),
        9,
        dimension,
      )
      t.strictSame(await by(dimension, 'true'), counts, `${dimension} with a filter`)
    }
    t.ok(
      (await by('client_ip')).some(([value]) => value === '198.51.100.7'),
      'IPv4 as such',
    )
    t.strictSame((await theirs.stats({ ...range, interval: 'day', by: 'client_ip' })).counts.length, 1)
    t.match(await theirs.raw.send('GET', '/stats?edge_id=edgtcp_00000000000000000000000000'), { status: 404 })
    const lengths = await mine.stats({ interval: '5m' })
    t.equal(Date.parse(lengths.until) - Date.parse(lengths.since), 24 * hourMs)
  })

  await t.test('an answer says what a log of blocked decisions lacks', async (t) => {
    const { LogReader } = await import('../../../src/management/store/logs/log-reader.js')
    const { DeliveryReader } = await import('../../../src/management/store/logs/delivery-reader.js')
    const cut = await openApi({
      log: new LogReader(clickhouse, 'blocked'),
      deliveries: new DeliveryReader(clickhouse, 'blocked'),
    })
    const client = cut.caller(mine.token, mine.accountId)
    const warningOf = async (path: string) => (await client.raw.send('GET', path)).headers['weir-warning']
    for (const path of [
      '/decisions',
      '/decisions?decision=allow,deny',
      '/stats',
      '/stats?by=rule&filter=true',
    ])
      t.match(await warningOf(path), /WEIR_DECISION_LOG.*those that allowed are missing/, path)
    t.match(await warningOf('/stats?by=destination'), /those that delivered are missing/)
    t.match(await client.raw.refused(404, 'GET', '/records/unknown'), /those that allowed are missing/)
    for (const path of ['/decisions?decision=block,deny', '/ip_policies'])
      t.equal(await warningOf(path), undefined, path)
    t.equal((await mine.raw.send('GET', '/stats')).headers['weir-warning'], undefined, 'a whole log')
  })

  await t.test('sums of attempts to deliver, by destination', async (t) => {
    const at = day + 3 * hourMs
    const sent = (client: Caller, destinationId: string, values: Parameters<typeof deliveryRow>[0] = {}) =>
      deliveryRow({ accountId: client.accountId, destinationId, at, tags: [1, 2, 3], ...values })
    await clickhouse.insertBlocks('deliveries', [
      deliveryBytes([
        sent(mine, 'ed_1'),
        sent(mine, 'ed_1', { outcome: 'failed', requests: 0, tags: [4] }),
        sent(mine, 'ed_1', { outcome: 'dead_lettered', requests: 0, tags: [4], at: at + 59_999 }),
        sent(mine, 'ed_1', { at: at + 60_000, outcome: 'failed' }),
        sent(mine, 'ed_2', { at: at + hourMs - 1, tags: [9] }),
        sent(theirs, 'ed_3'),
      ]),
    ])
    const range = { since: '2026-11-20T03:00:00Z', until: '2026-11-20T04:00:00Z' }
    const all = (ms: number) => ({ p50: ms, p95: ms, p99: ms })
    const nothing = { delivered: 0, failed: 0, dead_lettered: 0, requests: 0 }
    const latencies = { took_ms: all(12), age_ms: all(0) }
    const minutes = await mine.deliveryStats(range)
    t.strictSame(minutes, {
      by: 'destination',
      interval: 'minute',
      ...range,
      counts: [
        {
          at: range.since,
          value: 'ed_1',
          delivered: 3,
          failed: 1,
          dead_lettered: 1,
          requests: 1,
          ...latencies,
        },
        {
          at: '2026-11-20T03:01:00Z',
          value: 'ed_1',
          ...nothing,
          failed: 3,
          requests: 1,
          took_ms: all(12),
          age_ms: null,
        },
        { at: '2026-11-20T03:59:00Z', value: 'ed_2', ...nothing, delivered: 1, requests: 1, ...latencies },
      ],
      values_left_out: 0,
    })
    t.strictSame(await mine.deliveryStats({ ...range, interval: 'hour', values: 1 }), {
      by: 'destination',
      interval: 'hour',
      ...range,
      counts: [
        {
          at: range.since,
          value: 'ed_1',
          delivered: 3,
          failed: 4,
          dead_lettered: 1,
          requests: 2,
          ...latencies,
        },
      ],
      values_left_out: 1,
    })
  })

  await t.test('sums of attempts to deliver to one destination', async (t) => {
    const at = day + 5 * hourMs
    const stream_arn = 'arn:aws:kinesis:eu-west-1:123456789012:stream/events'
    const auth = { role: { role_arn: 'arn:aws:iam::123456789012:role/weir' } }
    const add = async (client: Caller) =>
      (await client.eventDestination.create({ target: { kinesis: { stream_arn, auth } } })).id
    const [chosen, other, foreign] = [await add(mine), await add(mine), await add(theirs)]
    await clickhouse.insertBlocks('deliveries', [
      deliveryBytes(
        [chosen, other, other].map((destinationId) =>
          deliveryRow({ accountId: mine.accountId, destinationId, at, tags: [1, 2] }),
        ),
      ),
    ])
    const range = { since: '2026-11-20T05:00:00Z', until: '2026-11-20T06:00:00Z', interval: 'hour' }
    const { counts, values_left_out } = await mine.deliveryStats({
      ...range,
      destinationId: chosen,
      values: 1,
    })
    t.match(counts, [{ value: chosen, delivered: 2 }])
    t.equal(counts.length, 1)
    t.equal(values_left_out, 0, 'others are not counted at all')
    const path = `/stats?by=destination&destination_id=${foreign}`
    t.match(await mine.raw.refused(404, 'GET', path), new RegExp(foreign), 'of another account')
    t.match(
      await mine.raw.refused(400, 'GET', `/stats?by=edge&destination_id=${chosen}`),
      /"destination_id" selects deliveries/,
    )
  })

  await t.test('a parameter that is wrong is named', async (t) => {
    const cases: Readonly<Record<string, RegExp>> = {
      '?client=300.1.2.3': /"client".*300\.1\.2\.3/,
      '?client=10.0.0.0/33': /"client".*33/,
      '?decision=allow,maybe': /"decision" names "maybe": allow, block, deny are allowed/,
      '?decided_by=': /"decided_by"/,
      '?since=yesterday': /"since" is "yesterday"/,
      '?before_id=r4': /"before_id" is "r4"/,
      '?limit=0': /"limit" is "0"/,
      [`?policy=${'x'.repeat(256)}`]: /"policy" must have 1 to 255/,
      '?edge=edgtcp_1': /"edge" is unknown: supported are .*"edge_id"/,
    }
    for (const [query, msg] of Object.entries(cases)) {
      const { status, body } = await mine.raw.send('GET', `/decisions${query}`)
      t.match({ status, msg: body.msg }, { status: 400, msg }, query)
    }
  })

  await t.test('an edge or route that the account never had is unknown; a deleted one is not', async (t) => {
    const never = [foreign.id, route.id, 'edgtcp_00000000000000000000000000', 'edgtcp_of_nobody', "'"]
    for (const id of never)
      t.equal(
        await mine.raw.refused(404, 'GET', `/decisions?edge_id=${encodeURIComponent(id)}`),
        `"edge_id" names "${id}", which does not exist.`,
      )
    t.match(await mine.raw.refused(404, 'GET', `/decisions?route_id=${edge.id}`), /"route_id" names/)
    await mine.httpsEdge.delete(edge.id)
    t.strictSame(await found(`?edge_id=${edge.id}&route_id=${route.id}`), ['r5'])
  })

  await t.test('a log that is off says so', async (t) => {
    const { LogReader } = await import('../../../src/management/store/logs/log-reader.js')
    const off = await openApi({ log: new LogReader(clickhouse, 'off') })
    const client = await off.account('off')
    const { status, body } = await client.raw.send('GET', '/decisions')
    t.match({ status, body }, { status: 400, body: { error_code: 'ERR_LOG_OFF', msg: /WEIR_DECISION_LOG/ } })
  })
})
