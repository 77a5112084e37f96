/** Decisions over HTTP for proxies: equal to those over NATS, for trusted proxies only, and behind a real nginx. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { parseDecisionRequest } from '../../../src/delivery/record/record.js'
import { decideRecord } from '../../../src/judging/evaluate/decide.js'
import type { Verdict } from '../../../src/judging/evaluate/evaluate.js'
import { buildPolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { decide } from '../../../src/judging/evaluate/reply.js'
import { openDecisionPort } from '../../../src/management/decide/decision-port.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { freePorts } from '../../harness/free-ports.js'
import { configuredNginx } from '../../harness/nginx-file.js'
import { recipe } from '../../harness/recipe.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'
import { deny, log, noGeo, noYield, TestConfiguration } from '../../judging/evaluate/configuration.js'

const configuration = new TestConfiguration('ac_1', 'ac_2')
  .ipPolicy('ipp_office', '203.0.113.0/24', '2001:db8::/32', '!203.0.113.64/26')
  .ipPolicy('ipp_all', '0.0.0.0/0', '::/0', '!198.51.100.0/25')
  .ipPolicy('ipp_local', '127.0.0.0/8')
  .tcpEdge('edgtcp_1', {
    hostports: ['ssh.example:22'],
    ip_restriction: { enabled: true, ip_policy_ids: ['ipp_all'] },
    policies: {
      enabled: true,
      inbound: [
        { name: 'höhe "ports"', expressions: ['conn.client_port > 60000'], actions: [log({}), deny] },
        { expressions: ['int(conn.server_name) == 1'], actions: [deny] },
      ],
      outbound: [],
    },
  })
  .httpsEdge('edghts_1', ['www.example:443'], 'ac_1', {
    enabled: true,
    inbound: [
      { name: 'scanner', expressions: ["http.request.headers['x-scan'] != null"], actions: [deny] },
      { name: 'bad', expressions: ["http.request.headers['x-bad'] == 'evil'"], actions: [deny] },
      { name: 'puts', expressions: ["http.request.method == 'PUT'"], actions: [deny] },
      {
        name: 'credentials',
        expressions: [
          "http.request.headers['weir-key'] != null || http.request.headers['authorization'].contains('weir_')",
        ],
        actions: [deny],
      },
    ],
    outbound: [],
  })
  .route('edghtsrt_1', {
    edge_id: 'edghts_1',
    match_type: 'path_prefix',
    match: '/admin',
    ip_restriction: { enabled: true, ip_policy_ids: ['ipp_office'] },
  })
  .route('edghtsrt_2', { edge_id: 'edghts_1', match_type: 'exact_path', match: '/admin/open' })
  .restriction('ipx_1', { account_id: 'ac_1', enforced: false, ip_policy_ids: ['ipp_office'] })
  .tcpEdge('edgtcp_2', { account_id: 'ac_2', hostports: ['other.example:22'] })

const policySet = await buildPolicySet(configuration, undefined, noYield)

const keys: Readonly<Record<string, Partial<Row>>> = {
  weir_decide: { id: 'ak_decide', account_id: 'ac_1', rights: ['decide'] },
  weir_all: { account_id: 'ac_1' },
  weir_other: { account_id: 'ac_2', rights: null },
  weir_nothing: { account_id: 'ac_1', rights: ['read', 'write'] },
  weir_expired: { id: 'ak_expired', account_id: 'ac_1', rights: null, expires_at: '2026-11-20T10:00:00Z' },
  weir_lasting: { account_id: 'ac_1', rights: null, expires_at: '9999-11-20T10:00:00Z' },
}

type Headers = Readonly<Record<string, string | string[]>>

/** The port, and what it has noted. */
async function openPort(t: Test, trustedProxies: readonly string[] = [], decidesBy = policySet) {
  const verdicts: Verdict[] = []
  const recordIds: unknown[] = []
  const failures: unknown[] = []
  const uses = new Map<string, string>()
  const opened = await openDecisionPort('127.0.0.1', 0, {
    policySet: () => decidesBy,
    geo: noGeo,
    keysOf: (token) => (keys[token] === undefined ? [] : [keys[token] as Row]),
    keyUses: { note: (keyId, address) => void uses.set(keyId, address) },
    trustedProxies,
    occurrences: {
      connectionRefused: () => {},
      loginFailed: () => {},
      decisionTimed: () => {},
      requestFailed: (fields) => void failures.push(fields),
    },
    noted: ({ verdict, record }) => {
      verdicts.push(verdict)
      recordIds.push(record.record_id)
    },
  })
  t.teardown(() => opened!.close())
  return { url: opened!.url, verdicts, recordIds, failures, uses }
}

const withKey: Headers = { 'weir-key': 'weir_decide' }

/** `fetch` would not let a test set the header Host. */
const send = (method: string, url: string, headers: Headers, body = '') =>
  new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const length = { 'content-length': String(Buffer.byteLength(body)) }
    const sent = httpRequest(url, { method, headers: { ...length, ...headers } }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })

const overNats = (record: object) =>
  JSON.parse(Buffer.from(decide(policySet, noGeo, Buffer.from(JSON.stringify(record)))).toString())

// --- the same answers as over NATS ---

const address = fc.oneof(
  fc.constantFrom(
    '203.0.113.7',
    '203.0.113.66',
    '198.51.100.7',
    '198.51.100.200',
    '2001:db8::1',
    '2001:db8::1%2',
  ),
  fc.ipV4(),
  fc.ipV6(),
)
const conn = fc.record(
  {
    client_ip: address,
    client_port: fc.integer({ min: 50_000, max: 65_535 }),
    server_name: fc.constantFrom('ssh.example', 'www.example', 'WWW.Example.', 'nobody.example'),
    server_port: fc.constantFrom(22, 443, 80),
  },
  { requiredKeys: ['client_ip'] },
)
const tcp = fc.record(
  {
    type: fc.constant('tcp_connection'),
    conn,
    edge_id: fc.constantFrom('edgtcp_1', 'edghts_1', 'edgtcp_9'),
    account_id: fc.constant('ac_1'),
    explain: fc.boolean(),
  },
  { requiredKeys: ['type', 'conn'] },
)
const path = fc.constantFrom('/', '/admin', '/admin/users', '/admin/open', '/administrator')
const http = fc.record(
  {
    type: fc.constant('http_request'),
    conn,
    edge_id: fc.constantFrom('edghts_1', 'edgtcp_1', 'edghts_9'),
    account_id: fc.constant('ac_1'),
    explain: fc.boolean(),
    http: fc
      .record({ path, method: fc.constantFrom('GET', 'PUT'), scan: fc.constantFrom({}, { 'X-Scan': ['1'] }) })
      .map(({ path, method, scan }) => ({ request: { method, url: { path }, headers: scan } })),
  },
  { requiredKeys: ['type', 'conn'] },
)
const record = fc.oneof(tcp, http)

t.test('the account of a key decides as NATS does for records that name it', (t) => {
  fc.assert(
    fc.property(record, (asked) => {
      const parsed = parseDecisionRequest(asked)
      if (!parsed.ok) throw new Error(parsed.problem.msg)
      const decided = decideRecord(policySet, noGeo, parsed.value, 'ac_1')
      const { code: error_code, msg } = decided.ok ? { code: '', msg: '' } : decided.problem
      return isDeepStrictEqual(
        decided.ok ? JSON.parse(JSON.stringify(decided.value.answer)) : { error_code, msg },
        overNats({ ...asked, account_id: 'ac_1' }),
      )
    }),
    { seed: 7, numRuns: process.argv.includes('--full') ? 10_000 : 2_500 },
  )
  t.end()
})

t.test('and so does the port, asked to allow what no edge serves', async (t) => {
  const { url, verdicts } = await openPort(t)
  const decisions = new Map<string, number>()
  const counts = (decision: string) => decisions.set(decision, (decisions.get(decision) ?? 0) + 1)
  await fc.assert(
    fc.asyncProperty(record, async (asked) => {
      const wanted = overNats({ ...asked, account_id: 'ac_1' })
      const answer = await send('POST', `${url}/decide?unserved=allow`, withKey, JSON.stringify(asked))
      const { error_code, msg, ...decided } = JSON.parse(answer.text)
      if (wanted.error_code !== undefined) {
        counts(wanted.error_code)
        return t.strictSame({ error_code, msg }, wanted)
      }
      counts(wanted.decision)
      t.equal(answer.status, wanted.decision === 'allow' ? 200 : 403)
      t.equal(answer.headers['weir-decision'], wanted.decision)
      return t.strictSame(decided, wanted)
    }),
    { seed: 8, numRuns: 300, endOnFailure: true },
  )
  for (const each of ['allow', 'block', 'deny', 'ERR_NOT_FOUND', 'ERR_INVALID_REQUEST'])
    t.ok(decisions.has(each), each)
  t.ok(verdicts.length >= 100, 'verdicts are counted')
})

t.test(
  'the port denies what no edge of the account serves, and nothing else is other than over NATS',
  async (t) => {
    const { url } = await openPort(t)
    const decisions = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(record, async (asked) => {
        const wanted = overNats({ ...asked, account_id: 'ac_1', explain: false })
        if (wanted.error_code !== undefined) return
        const answer = await send(
          'POST',
          `${url}/decide`,
          withKey,
          JSON.stringify({ ...asked, explain: false }),
        )
        const { warnings, ...decided } = JSON.parse(answer.text)
        const isDenied = !wanted.served && wanted.decision === 'allow'
        decisions.set(`${wanted.served} ${decided.decision}`, 1)
        const { warnings: usual, ...rest } = wanted
        t.strictSame(decided, isDenied ? { ...rest, decision: 'deny' } : rest)
        t.equal(warnings.length, usual.length + (isDenied ? 1 : 0))
        t.equal(answer.status, decided.decision === 'allow' ? 200 : 403)
        if (isDenied) t.equal(answer.headers['weir-decided-by'], 'unserved')
      }),
      { seed: 9, numRuns: 300, endOnFailure: true },
    )
    t.strictSame([...decisions.keys()].toSorted(), ['false deny', 'true allow', 'true block', 'true deny'])
  },
)

t.test('names that no edge of the account serves', async (t) => {
  const allowing = new TestConfiguration('ac_2')
    .account('ac_1', ['unserved_allowed'])
    .tcpEdge('edgtcp_2', { account_id: 'ac_2', hostports: ['other.example:443'] })
    .httpsEdge('edghts_1', ['www.example:443'])
  const usual = (await openPort(t, ['127.0.0.1'])).url
  const byAccount = (await openPort(t, ['127.0.0.1'], await buildPolicySet(allowing, undefined, noYield))).url
  const asking = (host: string) => forwarded('203.0.113.7', '/', { 'x-forwarded-host': host })
  const cases: [name: string, url: string, query: string, host: string, status: number, decidedBy: string][] =
    [
      ['an unknown name', usual, '', 'nobody.example', 403, 'unserved'],
      ['a name that ends like one', usual, '', 'evilwww.example', 403, 'unserved'],
      ['another port', usual, '', 'www.example:8443', 403, 'unserved'],
      ["another account's", usual, '', 'other.example:22', 403, 'unserved'],
      ['an address', usual, '', '127.0.0.1', 403, 'unserved'],
      ['a question that allows it', usual, '?unserved=allow', 'nobody.example', 204, 'none'],
      ['a question that denies it', byAccount, '?unserved=deny', 'nobody.example', 403, 'unserved'],
      ['an account that allows it', byAccount, '', 'nobody.example', 204, 'none'],
      ['a name that is served', usual, '', 'WWW.example.', 204, 'none'],
      ['an edge that is named', usual, '?edge_id=edghts_1', 'nobody.example', 204, 'none'],
    ]
  for (const [name, url, query, host, status, decidedBy] of cases) {
    const answer = await send('GET', `${url}/decide/auth_request${query}`, { ...withKey, ...asking(host) })
    t.equal(answer.status, status, name)
    t.equal(answer.headers['weir-decided-by'], decidedBy, name)
  }
  const unknown = await send('GET', `${usual}/decide/auth_request?unserved=yes`, {
    ...withKey,
    ...asking('x'),
  })
  t.equal(unknown.status, 400)
  t.match(JSON.parse(unknown.text).msg, /"unserved" is "yes": allow or deny/)
  const appended = await send('GET', `${usual}/decide/auth_request/x?unserved=allow`, {
    ...withKey,
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-proto': 'https',
    host: 'nobody.example',
  })
  t.equal(appended.headers['weir-decided-by'], 'unserved', "a client's query is no parameter of the question")
  const nameless = JSON.stringify({ type: 'tcp_connection', conn: { client_ip: '203.0.113.7' } })
  const answer = await send('POST', `${usual}/decide`, withKey, nameless)
  t.match(JSON.parse(answer.text), {
    decision: 'deny',
    served: false,
    warnings: [/No edge of the account serves/],
  })
})

t.test('a restriction that would block what no edge serves', async (t) => {
  const configuration = new TestConfiguration('ac_1')
    .ipPolicy('ipp_office', '203.0.113.0/24')
    .restriction('ipx_1', { account_id: 'ac_1', enforced: false, ip_policy_ids: ['ipp_office'] })
  const built = await buildPolicySet(configuration, undefined, noYield)
  const decided = (client_ip: string) => {
    const asked = { type: 'tcp_connection', account_id: 'ac_1', conn: { client_ip }, explain: true }
    const parsed = parseDecisionRequest(asked)
    if (!parsed.ok) throw new Error(parsed.problem.msg)
    const found = decideRecord(built, noGeo, parsed.value, 'ac_1', { unserved: 'deny' })
    if (!found.ok) throw new Error(found.problem.msg)
    const { answer, judgement } = found.value
    const { decision, shadow, decidedBy } = judgement
    t.equal(answer.explanation?.decided_by.type, 'unserved')
    return [decision, decidedBy.type, shadow?.decision, shadow?.decidedBy.type]
  }
  t.strictSame(decided('203.0.113.7'), ['deny', 'unserved', 'deny', 'unserved'])
  t.strictSame(decided('192.0.2.1'), ['deny', 'unserved', 'block', 'restriction'])
  t.end()
})

// --- requests of proxies ---

interface Asked {
  readonly method?: string
  readonly path?: string
  readonly headers: Headers
}

/** As the manuals of nginx and ingress-nginx describe the request of a client. */
const original = (name: 'uri' | 'url', uri: string, more: Headers = {}): Headers => ({
  'x-forwarded-for': '192.0.2.1',
  'x-forwarded-proto': 'https',
  host: 'www.example',
  [`x-original-${name}`]: uri,
  ...more,
})

/** As a trusted proxy describes the request of a client. */
const forwarded = (client: string, uri = '/', more: Headers = {}): Headers => ({
  'x-forwarded-for': client,
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'www.example',
  'x-forwarded-uri': uri,
  ...more,
})

t.test('a client that adds another header for the URI, and the method that nginx names', async (t) => {
  const { url } = await openPort(t, ['127.0.0.0/8'])
  const ask = (headers: Headers) => send('GET', `${url}/decide/auth_request`, { ...withKey, ...headers })
  const contradicting = await ask(original('uri', '/admin', { 'x-forwarded-uri': '/' }))
  t.equal(contradicting.status, 400)
  t.match(
    contradicting.text,
    /X-Forwarded-Uri, X-Original-URI, X-Original-URL and X-Rewrite-URL name different requests/,
  )
  const rewriting = await ask(original('url', '/', { 'x-rewrite-url': '/admin' }))
  t.equal(rewriting.status, 400, 'applications take it for the URI')
  const agreeing = await ask(original('uri', '/admin', { 'x-original-url': 'https://www.example/admin' }))
  t.equal(agreeing.status, 403)
  const put = await ask(original('uri', '/', { 'x-original-method': 'PUT' }))
  t.match(put.headers['weir-decided-by'], /traffic_policy/)
})

t.test('requests of trusted proxies', async (t) => {
  const { url } = await openPort(t, ['127.0.0.0/8', '10.0.0.0/8'])
  const route = 'ip_restriction;id="edghtsrt_1"'
  const rule = `${route};rule_id="ipr_2"`
  const cases: [name: string, asked: Asked, status: number, decidedBy: string][] = [
    ['let in', { headers: forwarded('203.0.113.7', '/admin') }, 204, 'none'],
    ['let in with a zone', { headers: forwarded('2001:db8::7%eth0', '/admin') }, 204, 'none'],
    ['blocked by no rule', { headers: forwarded('192.0.2.1', '/admin') }, 403, route],
    ['blocked by a rule', { headers: forwarded('203.0.113.66', '/admin/x?a=b') }, 403, rule],
    ['another path', { headers: forwarded('192.0.2.1', '/administrator') }, 204, 'none'],
    ['an exact path', { headers: forwarded('192.0.2.1', '/admin/open') }, 204, 'none'],
    ['an encoded path', { headers: forwarded('192.0.2.1', '/%61dmin/') }, 403, route],
    ['empty segments', { headers: forwarded('192.0.2.1', '//admin') }, 403, route],
    ['dot segments', { headers: forwarded('192.0.2.1', '/x/../admin/./y') }, 403, route],
    ['bytes that are no text', { headers: forwarded('192.0.2.1', '/%ff/../admin') }, 403, route],
    ['a lone percent sign', { headers: forwarded('192.0.2.1', '/%zz/../admin') }, 403, route],
    ['a comma', { headers: forwarded('192.0.2.1', '/x,/../admin') }, 403, route],
    ['an encoded slash', { headers: forwarded('192.0.2.1', '/x%2f..%2fadmin') }, 403, route],
    ['a whole URL', { headers: forwarded('192.0.2.1', 'https://www.example/admin?x') }, 403, route],
    ["the header of nginx's manual", { headers: original('uri', '/admin?x') }, 403, route],
    ['that of ingress-nginx', { headers: original('url', 'https://www.example/x/../admin') }, 403, route],
    ['its other paths', { headers: original('url', 'https://www.example/open') }, 204, 'none'],
    ['an IPv6 client', { headers: forwarded('2001:db8::1', '/admin') }, 204, 'none'],
    ['a port after the address', { headers: forwarded('192.0.2.1:4711', '/admin') }, 403, route],
    ['a chain of proxies', { headers: forwarded('192.0.2.1, 10.1.2.3', '/admin') }, 403, route],
    ['a forged first entry', { headers: forwarded('203.0.113.7, 192.0.2.1', '/admin') }, 403, route],
    ['proxies alone', { headers: forwarded('10.1.2.3, 10.1.2.4', '/admin') }, 403, route],
    [
      'the port in the host',
      { headers: forwarded('192.0.2.1', '/admin', { 'x-forwarded-host': 'www.example:443' }) },
      403,
      route,
    ],
    [
      'another port, which no edge serves',
      { headers: forwarded('192.0.2.1', '/admin', { 'x-forwarded-host': 'www.example:8443' }) },
      403,
      'unserved',
    ],
    [
      'a proxy that appends the URI',
      {
        method: 'POST',
        path: '/admin/x?y=z',
        headers: { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https', host: 'www.example' },
      },
      403,
      route,
    ],
    [
      'a TCP edge',
      { path: '?edge_id=edgtcp_1&type=tcp_connection', headers: { 'x-forwarded-for': '198.51.100.7' } },
      403,
      'ip_restriction;id="edgtcp_1";rule_id="ipr_2"',
    ],
  ]
  for (const [name, { method = 'GET', path = '', headers }, status, decidedBy] of cases) {
    const answer = await send(method, `${url}/decide/auth_request${path}`, { ...withKey, ...headers })
    t.equal(answer.status, status, `${name}: ${answer.text}`)
    t.equal(answer.headers['weir-decided-by'], decidedBy, name)
    const stopped = decidedBy === 'unserved' ? 'deny' : 'block'
    t.equal(answer.headers['weir-decision'], status === 204 ? 'allow' : stopped, name)
    t.equal(answer.text, '', name)
  }
  const denied = {
    type: 'tcp_connection',
    edge_id: 'edgtcp_1',
    conn: { client_ip: '::1', client_port: 60_001 },
  }
  const answer = await send('POST', `${url}/decide`, withKey, JSON.stringify(denied))
  t.equal(
    answer.headers['weir-decided-by'],
    'traffic_policy;id="edgtcp_1";name="h%C3%B6he%20%22ports%22"',
    'names are encoded',
  )
})

t.test(
  'a host that applications cut in different ways is refused, and one in another spelling is not',
  async (t) => {
    const { url } = await openPort(t, ['127.0.0.1'])
    const ask = (host: string) =>
      send('GET', `${url}/decide/auth_request?edge_id=edghts_1`, {
        ...withKey,
        ...forwarded('203.0.113.7', '/', { 'x-forwarded-host': host }),
      })
    const none = [
      'www.example:1:2',
      'a@www.example',
      'www.example%2Cx',
      'www.example x',
      'www.example/x',
      'www.example..',
      '[::1',
    ]
    for (const host of none) {
      const { status, text } = await ask(host)
      t.equal(status, 400, host)
      t.match(text, /is for the host .* which is none/)
    }
    for (const host of [
      'www.example:',
      'WWW.Example.:0443',
      'x_y.example',
      '[2001:db8::1]:443',
      '2001:db8::1',
      '192.0.2.1:80',
    ])
      t.equal((await ask(host)).status, 204, host)
  },
)

t.test('Envoy appends the path, and takes only 200 for a yes', async (t) => {
  const { url } = await openPort(t, ['127.0.0.1'])
  const headers = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https', host: 'www.example' }
  const ask = (path: string) => send('GET', `${url}/decide/auth_request${path}`, { ...withKey, ...headers })
  t.match(await ask('/public?a=b'), { status: 200, text: '', headers: { 'content-length': '0' } })
  t.equal((await ask('/')).status, 200)
  t.equal((await ask('')).status, 204)
})

t.test('headers that may describe another request are refused', async (t) => {
  const trusting = (await openPort(t, ['127.0.0.1'])).url
  const alone = (await openPort(t)).url
  const plain: Headers = {
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-proto': 'https',
    host: 'www.example',
  }
  const names = ['Host', 'Uri', 'Method'].map((name) => `X-Forwarded-${name}`)
  const describing = [...names, 'X-Original-Method', 'X-Original-URI', 'X-Original-URL', 'X-Rewrite-URL']
  for (const name of describing) {
    const appended = await send('GET', `${trusting}/decide/auth_request/admin`, {
      ...withKey,
      ...plain,
      [name]: name.endsWith('Host') ? 'www.example' : '/admin',
    })
    t.equal(appended.status, 400, `${name} next to a path that is appended`)
    t.match(appended.text, `sends the header ${name} as well`)
    const stranger = await send('GET', `${alone}/decide/auth_request`, { ...withKey, [name]: 'x' })
    t.equal(stranger.status, 400, `${name} of a stranger`)
    t.match(stranger.text, `${name} comes from 127.0.0.1, which is not a trusted proxy`)
  }
  const several: [name: string, headers: Headers][] = [
    ['X-Forwarded-Host', { 'x-forwarded-host': 'nobody.example, www.example' }],
    ['X-Forwarded-Host', { 'x-forwarded-host': ['www.example', 'nobody.example'] }],
    ['X-Forwarded-Proto', { 'x-forwarded-proto': 'http, https' }],
    ['X-Forwarded-Method', { 'x-forwarded-method': ['GET', 'PUT'] }],
    ['X-Forwarded-Uri', { 'x-forwarded-uri': ['/admin', '/'] }],
  ]
  for (const [name, headers] of several) {
    const answer = await send('GET', `${trusting}/decide/auth_request`, {
      ...withKey,
      ...forwarded('203.0.113.7'),
      ...headers,
    })
    t.equal(answer.status, 400, JSON.stringify(headers))
    t.match(answer.text, `The header ${name} has several values`)
  }
  const same = forwarded('203.0.113.7', '/', { 'x-forwarded-proto': 'https, https' })
  t.equal((await send('GET', `${trusting}/decide/auth_request`, { ...withKey, ...same })).status, 204)
})

t.test('policies see the headers that a proxy passes on, and never the key of Weir', async (t) => {
  const { url } = await openPort(t, ['127.0.0.1'])
  const bearer = { authorization: 'Bearer weir_decide' }
  const denied = (name: string) => `traffic_policy;id="edghts_1";name="${name}"`
  const cases: [name: string, headers: Headers, decidedBy: string][] = [
    ['a header', { ...withKey, 'X-Scan': '1' }, denied('scanner')],
    ['a header that is sent twice', { ...withKey, 'X-Bad': ['evil', 'evil'] }, denied('bad')],
    ['names that objects have', { ...withKey, constructor: '1', 'X-Scan': '1' }, denied('scanner')],
    ['the method', { ...withKey, 'x-forwarded-method': 'PUT' }, denied('puts')],
    ['the key in its own header', withKey, 'none'],
    ['the key as Authorization', bearer, 'none'],
    ['a key of the client, which is not the one that asks', { ...withKey, ...bearer }, denied('credentials')],
  ]
  for (const [name, headers, decidedBy] of cases) {
    const answer = await send('GET', `${url}/decide/auth_request`, {
      ...forwarded('203.0.113.7'),
      ...headers,
    })
    t.equal(answer.headers['weir-decided-by'], decidedBy, name)
    t.equal(answer.status, decidedBy === 'none' ? 204 : 403, name)
  }
})

t.test('requests that are refused', async (t) => {
  const { url, failures, uses } = await openPort(t, ['10.0.0.0/8'])
  const trusting = (await openPort(t, ['127.0.0.1'])).url
  const asking = `${url}/decide/auth_request`
  const good = JSON.stringify({ type: 'tcp_connection', edge_id: 'edgtcp_1', conn: { client_ip: '::1' } })
  const theirs = JSON.stringify({ type: 'tcp_connection', edge_id: 'edgtcp_2', conn: { client_ip: '::1' } })
  const cases: [name: string, answer: ReturnType<typeof send>, status: number, says: RegExp][] = [
    ['no key', send('GET', asking, {}), 401, /"Weir-Key: <API key>"/],
    ['an unknown key', send('GET', asking, { authorization: 'Bearer weir_x' }), 401, /not valid/],
    [
      'no right',
      send('GET', asking, { 'weir-key': 'weir_nothing' }),
      403,
      /lacks the right "decide": its rights are read, write/,
    ],
    ['an expired key', send('GET', asking, { 'weir-key': 'weir_expired' }), 401, /The API key is not valid/],
    [
      'an address from a stranger',
      send('GET', asking, { ...withKey, ...forwarded('::1') }),
      400,
      /WEIR_TRUST_PROXY/,
    ],
    [
      'a trusted proxy without one',
      send('GET', `${trusting}/decide/auth_request`, withKey),
      400,
      /must send/,
    ],
    [
      'no address',
      send('GET', `${trusting}/decide/auth_request`, { ...withKey, ...forwarded('me') }),
      400,
      /"me", which is not an address/,
    ],
    ['an unknown type', send('GET', `${asking}?type=udp`, withKey), 400, /"type" is "udp"/],
    ['an unknown edge', send('GET', `${asking}?edge_id=edghts_9`, withKey), 404, /no such edge/],
    ["another account's edge", send('POST', `${url}/decide`, withKey, theirs), 404, /no such edge/],
    ['no JSON', send('POST', `${url}/decide`, withKey, '{'), 400, /not JSON|JSON/],
    ['no record', send('POST', `${url}/decide`, withKey, '[]'), 400, /"record" is \[\]/],
    ['too much', send('POST', `${url}/decide`, withKey, 'x'.repeat(65 * 1024)), 413, /at most 65536 bytes/],
    ['another method', send('GET', `${url}/decide`, withKey), 404, /Only POST/],
    ['another path', send('GET', `${url}/decide/auth_requests`, withKey), 404, /Only POST/],
  ]
  for (const [name, answering, status, says] of cases) {
    const { status: got, text, headers } = await answering
    t.equal(got, status, `${name}: ${text}`)
    const { msg, status_code } = JSON.parse(text)
    t.match(msg, says, name)
    t.equal(status_code, status, name)
    t.equal(headers['weir-decision'], undefined, `${name}: no decision`)
  }
  t.equal(uses.get('ak_decide'), '127.0.0.1', 'the last use of a key is noted')
  t.notOk(uses.has('ak_expired'))
  const all = await send('POST', `${url}/decide`, { authorization: 'Bearer weir_all' }, good)
  t.equal(all.status, 200, 'a key without limits')
  const lasting = await send('POST', `${url}/decide`, { authorization: 'Bearer weir_lasting' }, good)
  t.equal(lasting.status, 200, 'a key that has not expired yet')
  const own = await send('POST', `${url}/decide`, { 'weir-key': 'weir_other' }, theirs)
  t.equal(own.status, 200, 'the key of the account that has the edge')
  const direct = await send('GET', `${asking}?edge_id=edghts_1`, withKey)
  t.equal(direct.headers['weir-decision'], 'allow', 'a client that asks for itself')
  t.strictSame(failures, [])
  let limited = 0
  for (let tries = 0; tries < 40; tries += 1)
    if ((await send('GET', asking, { 'weir-key': 'guess' })).status === 429) limited += 1
  t.ok(limited > 0, 'guesses are limited')
  t.equal((await send('POST', `${url}/decide`, withKey, good)).status, 200, 'a valid key is not')
})

// --- nginx ---

const nginx = '/usr/sbin/nginx'

interface Nginx {
  readonly dir: string
  readonly port: number
  readonly open: boolean
  readonly weir: string
  readonly app: string
  readonly key: string
}

/** nginx as the recipes say, in a directory of its own. */
async function startNginx(t: Test, { dir, port, open, weir, app, key }: Nginx): Promise<ChildProcess> {
  const filled = (text: string) =>
    text.replaceAll('http://127.0.0.1:8081', weir).replaceAll('http://app', app).replaceAll('weir_…', key)
  const closed = recipe('nginx', 'nginx closed')
  const locations = open
    ? `${closed.replace(/\}\s*$/, `${recipe('nginx', 'nginx open')}}`)}\n${recipe('nginx', 'nginx open, in the server')}`
    : closed
  const http = `access_log off;\nserver { listen 127.0.0.1:${port}; ${filled(locations)} }`
  const child = spawn(nginx, configuredNginx(dir, http))
  t.teardown(() => child.kill())
  await until('nginx listens', async () => {
    if (child.exitCode !== null) throw new Error(readFileSync(join(dir, 'error.log'), 'utf8'))
    return fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
  })
  return child
}

/** The first line of the answer to a request without a body. */
const sendRaw = (port: number, head: string) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${head}\r\nConnection: close\r\n\r\n`))
    socket.once('data', (data) => resolve(data.toString().split('\r\n', 1)[0]!))
    socket.once('error', reject)
  })

const skip = existsSync(nginx) ? false : `${nginx} is not installed`

t.test('nginx asks, and fails as its recipe says', { skip }, async (t) => {
  const ports = await freePorts(6)
  const hostports = ports.map((port) => `local.example:${port}`)
  const local = new TestConfiguration('ac_1')
    .ipPolicy('ipp_others', '203.0.113.0/24')
    .httpsEdge('edghts_1', hostports)
    .route('edghtsrt_1', {
      edge_id: 'edghts_1',
      match_type: 'path_prefix',
      match: '/admin',
      ip_restriction: { enabled: true, ip_policy_ids: ['ipp_others'] },
    })
  const { url: weir } = await openPort(t, ['127.0.0.1'], await buildPolicySet(local, undefined, noYield))
  const app = createServer((request, response) => response.end(`served ${request.url}`))
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  t.teardown(() => app.close())
  const appUrl = `http://127.0.0.1:${(app.address() as AddressInfo).port}`
  const gone = `http://127.0.0.1:${await freePort()}`
  const cases: [name: string, asked: Pick<Nginx, 'open' | 'weir' | 'key'>, admin: number, rest: number][] = [
    ['asking', { open: false, weir, key: 'weir_decide' }, 403, 200],
    ['asking, and open if there is no answer', { open: true, weir, key: 'weir_decide' }, 403, 200],
    ['Weir is gone, closed', { open: false, weir: gone, key: 'weir_decide' }, 500, 500],
    ['Weir is gone, open', { open: true, weir: gone, key: 'weir_decide' }, 200, 200],
    ['a wrong key, closed', { open: false, weir, key: 'weir_wrong' }, 401, 401],
    ['a wrong key, open', { open: true, weir, key: 'weir_wrong' }, 200, 200],
  ]
  const dir = tempDir(t)
  for (const [index, [name, asked, admin, rest]] of cases.entries()) {
    const port = ports[index]!
    await startNginx(t, { ...asked, app: appUrl, dir: join(dir, String(index)), port })
    const through = async (path: string, headers: Headers = {}) =>
      (await send('GET', `http://127.0.0.1:${port}${path}`, { host: 'local.example', ...headers })).status
    t.equal(await through('/other'), rest, name)
    t.equal(await through('/admin'), admin, name)
    const forged = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-uri': '/', 'weir-key': 'weir_all' }
    t.equal(await through('/admin', forged), admin, `${name}: a client can't pretend to be the proxy`)
    t.equal(await through('//%61dmin/x', forged), admin, `${name}: nor spell the path in another way`)
    if (asked.weir === weir && admin === 403) {
      t.equal(await through('/%ff/../admin'), 403, `${name}: nor send bytes that are no text`)
      t.match(await sendRaw(port, 'GET /admin HTTP/1.1\r\nHost: local.example\r\nUser-Agent: \x01'), / 500 /)
    }
  }
})

const haproxy = '/usr/sbin/haproxy'

t.test(
  'HAProxy asks about the whole of a header, and about the port that took the request',
  { skip: existsSync(haproxy) ? false : `${haproxy} is not installed` },
  async (t) => {
    const [port, other] = (await freePorts(2)) as [number, number]
    const bot = { expressions: ["http.request.user_agent.startsWith('BadBot/1.0')"], actions: [deny] }
    const local = new TestConfiguration('ac_1')
      .httpsEdge('edghts_1', [`local.example:${port}`], 'ac_1', {
        enabled: true,
        inbound: [bot],
        outbound: [],
      })
      .httpsEdge('edghts_2', [`local.example:${other}`])
    const { url: weir } = await openPort(t, ['127.0.0.1'], await buildPolicySet(local, undefined, noYield))
    const app = createServer((_, response) => response.end('served'))
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
    t.teardown(() => app.close())
    const dir = tempDir(t)
    const lua = recipe('haproxy', 'haproxy lua', { 'http://127.0.0.1:8081': weir, 'weir_…': 'weir_decide' })
    writeFileSync(join(dir, 'weir.lua'), lua)
    const config = recipe('haproxy', 'haproxy asks', {
      '/etc/haproxy/weir.lua': 'weir.lua',
      'bind :80': `bind 127.0.0.1:${port}`,
      '127.0.0.1:3000': `127.0.0.1:${(app.address() as AddressInfo).port}`,
    })
    writeFileSync(join(dir, 'haproxy.cfg'), config)
    const child = spawn(haproxy, ['-db', '-f', 'haproxy.cfg'], { cwd: dir })
    t.teardown(() => child.kill())
    const ask = (...lines: string[]) => sendRaw(port, ['GET / HTTP/1.1', ...lines].join('\r\n'))
    await until('HAProxy listens', () =>
      ask(`Host: local.example:${port}`).then(
        () => true,
        () => false,
      ),
    )
    const cases: [name: string, lines: string[], answer: RegExp][] = [
      ['the name', [`Host: local.example:${port}`], / 200 /],
      ['without its port', ['Host: LOCAL.example.'], / 200 /],
      [
        'a header with a comma',
        ['Host: local.example', 'User-Agent: BadBot/1.0 (KHTML, like Gecko)'],
        / 403 /,
      ],
      ['in other letters', ['Host: local.example', 'uSER-aGENT: BadBot/1.0, x'], / 403 /],
      ['the port of another edge', [`Host: local.example:${other}`, 'User-Agent: BadBot/1.0'], / 403 /],
      ['two names in one header', ['Host: nobody.example,local.example'], / 503 /],
      ['two names in two', ['Host: nobody.example', 'Host: local.example'], / 40[03] /],
      ['another name', ['Host: other.example'], / 403 /],
    ]
    for (const [name, lines, answer] of cases) t.match(await ask(...lines), answer, name)
  },
)

t.test('a proxy names the record that it will publish', async (t) => {
  const forwarded = { ...withKey, 'x-forwarded-for': '198.51.100.7', 'x-forwarded-host': 'www.example' }
  const { url, recordIds } = await openPort(t, ['127.0.0.1/32'])
  const cases: readonly (readonly [Headers, string | undefined])[] = [
    [{}, undefined],
    [{ 'x-request-id': 'request 1' }, 'request 1'],
    [{ 'x-request-id': 'request 1', 'weir-record-id': 'record 1' }, 'record 1'],
    [{ 'weir-record-id': 'x'.repeat(129) }, undefined],
  ]
  for (const [headers, expected] of cases) {
    const { status } = await send('GET', `${url}/decide/auth_request`, { ...forwarded, ...headers })
    t.ok(status === 204 || status === 403, 'the id never changes an answer')
    t.equal(recordIds.at(-1), expected)
  }
  const untrusting = await openPort(t)
  await send('GET', `${untrusting.url}/decide/auth_request`, { ...withKey, 'weir-record-id': 'r1' })
  t.strictSame(untrusting.recordIds, [undefined], 'only a trusted proxy is believed')
})
