/** The evaluator as an entry point of the package: without Node it decides as the API does, and says what is wrong where. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Context, createContext, runInContext } from 'node:vm'
import t from 'tap'
import { packageFile } from '../../../src/ground/core/package.js'
import { compile, decide, explain } from '../../../src/judging/evaluate/portable/evaluate-anywhere.js'

const file = packageFile('dist', 'evaluate', 'evaluate.js')

const configuration = {
  ip_policies: [
    {
      id: 'office',
      rules: [
        { cidr: '203.0.113.0/24', action: 'allow', description: 'fourth floor' },
        { cidr: '203.0.113.66', action: 'deny' },
      ],
    },
  ],
  tcp_edges: [
    {
      hostports: ['SSH.example.com:22'],
      ip_restriction: { ip_policy_ids: ['office'] },
      policies: {
        inbound: [
          {
            name: 'only from home',
            expressions: ["conn.geo.country_code == 'US'", "conn.server_name.matches('^ssh')"],
            actions: [{ type: 'deny' }],
          },
        ],
      },
    },
  ],
  https_edges: [
    {
      id: 'edghts_1',
      uri: 'https://weir.example/edges/https/edghts_1',
      created_at: '2026-01-01T00:00:00Z',
      metadata: {},
      hostports: ['www.bücher.example:443'],
      routes: [
        {
          id: 'edghtsrt_1',
          match_type: 'path_prefix',
          match: '/docs',
          ip_restriction: {
            enabled: true,
            ip_policies: [{ id: 'office', uri: 'https://weir.example/ip_policies/office' }],
          },
        },
      ],
    },
  ],
}

const ssh = (client_ip: string) => ({
  type: 'tcp_connection',
  conn: { client_ip, server_name: 'ssh.example.com', server_port: 22 },
})

const docs = {
  type: 'http_request',
  conn: { client_ip: '198.51.100.1', server_name: 'www.xn--bcher-kva.example', server_port: 443 },
  http: { request: { url: { path: '/docs/a' } } },
}

/** A world that has what was built as `built`, and nothing of Node. */
function realmWithEvaluator(): Context {
  const script = readFileSync(file, 'utf8').replace(/\nexport \{([^}]*)\};/, (_, names: string) => {
    const members = names.replaceAll(/(\w+) as (\w+)/g, '$2: $1')
    return `globalThis.built = {${members}};`
  })
  const realm = createContext({ URL, performance, setTimeout })
  runInContext(script, realm)
  return realm
}

const answersIn = (realm: Context): Promise<string> =>
  runInContext(
    `(async ([configuration, records]) => {
      const compiled = await built.compile(configuration)
      return JSON.stringify(records.map((record) => built.explain(compiled, record)))
    })(${JSON.stringify([configuration, [ssh('203.0.113.9'), ssh('203.0.113.66'), docs]])})`,
    realm,
  )

t.test('Without generated code, no code is made from texts, and the answers are the same', async (t) => {
  const [realm, other] = [realmWithEvaluator(), realmWithEvaluator()]
  for (const each of [realm, other])
    runInContext(
      `globalThis.made = 0
      globalThis.Function = new Proxy(Function, {
        construct: (target, texts) => { made += 1; return Reflect.construct(target, texts) },
      })`,
      each,
    )
  runInContext('built.withoutGeneratedCode()', realm)
  t.equal(await answersIn(realm), await answersIn(other))
  t.equal(runInContext('made', realm), 0)
  t.ok(runInContext('made', other) > 0, 'else code is made')
})

t.test('What is built has nothing of Node, and works where only the language and URLs are', async (t) => {
  const text = readFileSync(file, 'utf8')
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const ofNode = /\bfrom ["']|\bimport\(|\brequire\(|\bBuffer\.|\bprocess\.|\bsetImmediate\b/.exec(code)
  t.equal(ofNode?.[0], undefined)
  const asked = answersIn(realmWithEvaluator())
  const compiled = await compile(configuration)
  const here = [ssh('203.0.113.9'), ssh('203.0.113.66'), docs].map((record) => explain(compiled, record))
  t.same(JSON.parse(await asked), JSON.parse(JSON.stringify(here)))
  t.same(
    here.map(({ decision }) => decision),
    ['allow', 'block', 'block'],
  )
})

t.test('What is imported of Node fails the build', async (t) => {
  const { bundleEvaluate } = await import('../../../config/bundle-evaluate.mjs')
  const root = mkdtempSync(join(packageFile('package.json'), '..', 'dist', '.evaluate-'))
  t.teardown(() => rmSync(root, { recursive: true }))
  const { mkdirSync, writeFileSync } = await import('node:fs')
  mkdirSync(join(root, 'src/judging/evaluate/portable'), { recursive: true })
  const entry = join(root, 'src/judging/evaluate/portable/evaluate-anywhere.ts')
  writeFileSync(entry, `import { hash } from 'node:crypto'\nexport const used = hash('sha1', '')`)
  await t.rejects(bundleEvaluate(root, join(root, 'built')), { message: /needs node:crypto/ })
  writeFileSync(entry, `import { hash } from 'node:crypto'\nexport const unused = 1`)
  await bundleEvaluate(root, join(root, 'built'))
})

t.test('Decisions', async (t) => {
  const compiled = await compile(configuration)
  t.match(explain(compiled, ssh('203.0.113.66')).explanation.decided_by, {
    type: 'ip_restriction',
    id: 'ssh.example.com:22',
    ip_policy_id: 'office',
    rule_id: '203.0.113.66/32',
  })
  t.equal(
    decide(compiled, { ...ssh('203.0.113.9'), country: 'US' }).decision,
    'deny',
    'the record says the country',
  )
  t.equal(
    decide(compiled, ssh('203.0.113.9'), { geo: { country_code: 'US' } }).decision,
    'deny',
    'it is given',
  )
  const geo = (ip: string) => (ip === '203.0.113.9' ? { country_code: 'US' } : {})
  t.equal(decide(compiled, ssh('203.0.113.9'), { geo }).decision, 'deny', 'a function finds it')
  t.equal(decide(compiled, ssh('203.0.113.8'), { geo }).decision, 'allow')
  t.notOk('explanation' in decide(compiled, docs))
})

t.test('What is wrong with a record', async (t) => {
  const compiled = await compile(configuration)
  const cases: readonly [object, RegExp][] = [
    [{ type: 'tcp_connection', conn: { client_ip: 'x' } }, /^"conn.client_ip" is "x"/],
    [{ ...ssh('203.0.113.9'), country: 'Germany' }, /"country" must be two capital letters/],
    [{ ...ssh('203.0.113.9'), edge_id: 'edgtcp_none' }, /there is no such edge/],
  ]
  for (const [record, message] of cases)
    t.throws(() => decide(compiled, record), { message }, String(message))
})

const [edge] = configuration.tcp_edges
const policies = (...expressions: string[]) => ({ inbound: [{ expressions, actions: [{ type: 'deny' }] }] })
const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`)

t.test('What is wrong with a configuration', async (t) => {
  const cases: readonly [unknown, RegExp][] = [
    [[], /must be an object/],
    [{ tcp_edge: [] }, /^The configuration has no member "tcp_edge": did you mean "tcp_edges"\?/],
    [{ tcp_edges: {} }, /^"tcp_edges" is \{\}; it must be a list/],
    [
      { tcp_edges: [{ hostports: ['ssh.example.com'] }] },
      /^"tcp_edges\[0\].hostports\[0\]" is "ssh.example.com": /,
    ],
    [{ tcp_edges: [edge] }, /ip_policy_ids\[0\]" is "office", but "ip_policies" has no policy with this id/],
    [{ ip_policies: configuration.ip_policies, tcp_edges: [edge, edge] }, /there only once/],
    [
      { tcp_edges: [{ policies: policies("conn.client == 'x'") }] },
      /^"tcp_edges\[0\].policies.inbound\[0\].expressions\[0\]" is not a valid expression/,
    ],
    [{ tcp_edges: [{ policies: policies("http.request.method == 'GET'") }] }, /not a valid expression/],
    [
      { https_edges: [{ routes: [{ match_type: 'path_prefix', match: 'docs' }] }] },
      /routes\[0\].match" is "docs"/,
    ],
    [{ ip_policies: [{ id: 'a', rules: [{ cidr: '10.0.0.1/8', action: 'allow' }] }] }, /rules\[0\].cidr"/],
    [
      { ip_policies: [{ id: 'a', rules: [{ cidr: '10.0.0.0/8', action: 'permit' }] }] },
      /one of "allow", "deny"/,
    ],
    [{ ip_restrictions: [{ type: 'endpoints' }] }, /"ip_restrictions\[0\].ip_policy_ids" is missing/],
    [{ tcp_edges: deep }, /must be an object/],
    [JSON.parse('{"__proto__": []}'), /no member "__proto__"/],
  ]
  for (const [given, message] of cases)
    await t.rejects(compile(given), { code: /^ERR_INVALID/, message }, String(message))
})

t.test('Every fault is named by its place, with the characters of expressions', async (t) => {
  const given = { tcp_edges: [{ policies: policies('conn.x', '1 ==') }, { hostports: ['a'] }] }
  const error = await compile({ tcp_edges: [given.tcp_edges[0]] }).catch((error) => error)
  t.same(Object.keys(error.details), [
    'tcp_edges[0].policies.inbound[0].expressions[0]',
    'tcp_edges[0].policies.inbound[0].expressions[1]',
  ])
  t.match(error.places, [{ offset: 0 }, {}])
})

t.test('The example of the documents works', async (t) => {
  const [, example = ''] =
    /```js\n([\s\S]*?)```/.exec(readFileSync(packageFile('docs', 'policies.md'), 'utf8')) ?? []
  const module = example.replace('./dist/evaluate/evaluate.js', pathToFileURL(file).href)
  t.not(module, example)
  const last = 'explain(compiled'
  const exporting = module.replace(last, `export const shown = ${last}`)
  const { shown } = await import(`data:text/javascript,${encodeURIComponent(exporting)}`)
  t.match(shown, { hostport: 'ssh.example.com:22', decided_by: { type: 'none' } })
})

t.test('IP lists, for rules and expressions', async (t) => {
  const given = {
    ip_lists: [
      {
        name: 'tor',
        category: 'proxy.tor',
        entries: [
          '198.51.100.7',
          { cidr: '203.0.113.0/24', comment: 'an exit' },
          { cidr: '192.0.2.0/24', expires_at: '2020-01-01T00:00:00Z' },
        ],
      },
    ],
    ip_policies: [
      {
        id: 'ipp',
        rules: [
          { cidr: '0.0.0.0/0', action: 'allow', list: null },
          { list_id: 'tor', action: 'deny' },
        ],
      },
    ],
    tcp_edges: [
      { hostports: ['a:1'], ip_restriction: { ip_policy_ids: ['ipp'] } },
      { hostports: ['b:1'], policies: inboundOf("inList(conn.client_ip, 'tor')") },
      { hostports: ['c:1'], policies: inboundOf("'proxy' in conn.ip.categories") },
    ],
  }
  const compiled = await compile(given)
  const ask = (server_name: string, client_ip: string) =>
    explain(compiled, { type: 'tcp_connection', conn: { client_ip, server_name, server_port: 1 } })
  for (const [server, stopped] of [
    ['a', 'block'],
    ['b', 'deny'],
    ['c', 'deny'],
  ] as const)
    for (const [ip, want] of [
      ['203.0.113.9', stopped],
      ['192.0.2.1', 'allow'],
      ['198.51.100.8', 'allow'],
    ] as const)
      t.equal(ask(server, ip).decision, want, `${server} ${ip}`)
  const { ip_policies } = ask('a', '203.0.113.9').explanation
  t.match(
    ip_policies[0]?.rules.find(({ rule_id }) => rule_id === 'tor'),
    {
      cidr: '203.0.113.0/24',
      comment: 'an exit',
    },
  )
  const wrong: readonly [change: object, says: RegExp][] = [
    [{ ip_lists: [{ name: 'Tor' }] }, /"ip_lists\[0\]\.name" is "Tor"/],
    [{ ip_lists: [{ name: 'tor', entries: ['x'] }] }, /"ip_lists\[0\]\.entries\[0\]" is "x"/],
    [{ ip_lists: [...given.ip_lists, { id: 'x', name: 'tor' }] }, /each name of a list/],
    [{ ip_lists: [{ id: 'tor', name: 'exits' }] }, /no IP list "tor"/],
    [{ ip_lists: [{ id: 'other', name: 'tor' }] }, /"ip_lists" has no list with this id/],
    [
      { ip_policies: [{ id: 'ipp', rules: [{ cidr: '10.0.0.0/8', list_id: 'tor', action: 'deny' }] }] },
      /needs either "cidr" or "list_id"/,
    ],
  ]
  for (const [change, says] of wrong) await t.rejects(compile({ ...given, ...change }), says)
})

const inboundOf = (expression: string) => ({
  inbound: [{ expressions: [expression], actions: [{ type: 'deny' }] }],
})
