/** `weir test FILE`: without a server, from YAML or JSON; what fails is explained, what is wrong has its line. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { compiled } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'

const policies = `# who may reach what
ip_policies:
  - id: office
    rules:
      - {cidr: 203.0.113.0/24, action: allow, description: fourth floor}
      - {cidr: 203.0.113.66, action: deny}
tcp_edges:
  - hostports: ['ssh.example.com:22']
    ip_restriction: {ip_policy_ids: [office]}
    policies:
      inbound:
        - name: only from home
          expressions: ["conn.geo.country_code != 'DE'"]
          actions: [{type: deny}]
        - name: not at night
          enforced: false
          actions: [{type: deny}]
tests:
  - name: the office reaches ssh
    given: &ssh
      type: tcp_connection
      country: DE
      conn: &conn {client_ip: 203.0.113.7, server_name: ssh.example.com, server_port: 22}
    expect: {decision: allow}
  - name: from abroad not
    given: {type: tcp_connection, conn: *conn, country: US}
    expect: {decision: deny, decided_by: {type: traffic_policy, name: only from home}}
  - name: nor at night, once that is enforced
    given: *ssh
    expect: {decision: allow, shadow: {decision: deny, decided_by: {name: not at night}}}
`

const failing = `${policies}  - name: "a <guest> & 'more' \\u0001"
    given: {type: tcp_connection, conn: {client_ip: 203.0.113.66, server_name: ssh.example.com, server_port: 22}}
    expect: {decision: allow}
  - name: by day
    given: *ssh
    expect: {decision: allow, shadow: {decision: allow}}
`

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs it in a directory without data, and without an environment that names a server. */
const weirTest = (dir: string, words: readonly string[], input?: string): Promise<Ended> =>
  new Promise((resolve) => {
    const env = { PATH: process.env['PATH'], HOME: dir, WEIR_DATA_DIR: join(dir, 'none') }
    const child = spawn(process.execPath, [compiled('programs/main.js'), 'test', ...words], { cwd: dir, env })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => (stdout += chunk))
    child.stderr.on('data', (chunk) => (stderr += chunk))
    child.on('close', (code) => resolve({ code, stdout, stderr }))
    child.stdin.end(input)
  })

async function tested(t: Test, text: string, ...words: readonly string[]): Promise<Ended & { dir: string }> {
  const dir = tempDir(t)
  writeFileSync(join(dir, 'policies.yaml'), text)
  return { ...(await weirTest(dir, ['policies.yaml', ...words])), dir }
}

t.test('All pass', async (t) => {
  const { code, stdout, stderr } = await tested(t, policies)
  t.same(
    [code, stdout, stderr],
    [
      0,
      'passed  the office reaches ssh\npassed  from abroad not\npassed  nor at night, once that is enforced\n3 passed, 0 failed\n',
      '',
    ],
  )
})

t.test('One fails: exit code 1, the explanation in words, as JSON, as JUnit', async (t) => {
  const { code, stdout, dir } = await tested(t, failing, '--junit', 'out.xml')
  t.equal(code, 1)
  t.match(stdout, /FAILED {2}a <guest> & 'more' /)
  t.match(stdout, / expected allow; it is block\n/)
  t.match(stdout, /The deny rule 203\.0\.113\.66\/32 contains the address\./)
  const inShadow = 'expected allow (if all were enforced: allow); it is allow (if all were enforced: deny)'
  t.match(
    stdout,
    `${inShadow}\n        Nothing refused it.\n        If everything were enforced, it would be denied by`,
  )
  t.match(stdout, /3 passed, 2 failed\n$/)
  t.notMatch(stdout, '\u0001', 'control characters do not reach a terminal')
  const xml = readFileSync(join(dir, 'out.xml'), 'utf8')
  t.match(xml, '<testsuites tests="5" failures="2" errors="0" skipped="0">')
  t.match(xml, `name="a &lt;guest&gt; &amp; 'more' \ufffd"`)
  t.match(xml, '<failure message="expected allow; it is block">')
  t.match(xml, `<failure message="${inShadow}">`)
  t.ok(isWellFormed(xml), xml)
  const json = JSON.parse((await tested(t, failing, '--json')).stdout)
  t.match(json, {
    passed: 3,
    failed: 2,
    tests: [
      { passed: true, shadow: null },
      {},
      { shadow: { decision: 'deny' } },
      { decision: 'block' },
      { shadow: { decision: 'deny', decided_by: { name: 'not at night' } } },
    ],
  })
  t.equal(json.tests[3].explanation.decided_by.rule_id, '203.0.113.66/32')
})

/** Elements open and close in order, and there is nothing between them that XML does not allow. */
function isWellFormed(xml: string): boolean {
  const open: string[] = []
  const tag = /<(\/?)([a-z]+)((?: [a-z]+="[^"<]*")*)(\/?)>|[^<]+|</g
  for (const [whole, slash, name, , end] of xml.replace(/^<\?xml [^>]*\?>\n/, '').matchAll(tag)) {
    if (whole === '<') return false
    if (name === undefined) {
      if (/&(?!(amp|lt|gt|quot|#\d+);)/.test(whole)) return false
    } else if (slash) {
      if (open.pop() !== name) return false
    } else if (!end) open.push(name)
  }
  return open.length === 0
}

t.test('JSON, and standard input', async (t) => {
  const json = JSON.stringify({
    tests: [
      {
        name: 'x',
        given: { type: 'tcp_connection', conn: { client_ip: '::1' } },
        expect: { decision: 'allow' },
      },
    ],
  })
  const { code, stdout } = await weirTest(tempDir(t), ['-'], json)
  t.same([code, stdout], [0, 'passed  x\n1 passed, 0 failed\n'])
})

t.test('What is wrong has its line and column, and exit code 1', async (t) => {
  const cases: readonly [string, RegExp][] = [
    ['tcp_edges:\n  - hostports: [ssh]', /policies\.yaml:2:17: "tcp_edges\[0\]\.hostports\[0\]" is "ssh": /],
    ['a: [', /policies\.yaml:1:\d+: It is not YAML: /],
    [
      'tests:\n  - {name: x, given: {type: tcp}, expect: {decision: allow}}',
      /:2:22: "tests\[0\]\.given" is refused/,
    ],
    [
      'tests:\n  - {name: x, given: {}, expect: {decision: maybe}}',
      /"tests\[0\]\.expect\.decision" is "maybe"/,
    ],
    [policies.replace('type: traffic_policy', 'kind: x'), /decided_by" has no member "kind"/],
    [policies.replace('name: not at night}}', 'rule: x}}'), /expect.shadow.decided_by" has no member "rule"/],
    [policies.replace("!= 'DE'", '! DE'), /:13:25: "tcp_edges.*expressions\[0\]" is not a valid expression/],
    ['ip_policies: 1\nip_policies: 2', /It is not YAML: Map keys must be unique/],
    ['a: &a [x,x]\nb: !!js/function x', /no member "a"|not YAML/],
    [bomb, /alias count/i],
    [`tests: ${'['.repeat(20_000)}`, /nested too deeply|not YAML/],
    [`# ${'x'.repeat(9 * 1024 * 1024)}`, /more than 8388608 bytes/],
  ]
  for (const [text, message] of cases) {
    const { code, stderr } = await tested(t, text)
    t.equal(code, 1, String(message))
    t.match(stderr, message)
  }
  t.match((await weirTest(tempDir(t), ['none.yaml'])).stderr, /The file none\.yaml can't be read/)
  t.match((await weirTest(tempDir(t), [])).stderr, /WEIR_API_URL/, 'without a file, it needs a service')
})

const bomb = [
  'a: &a [x,x,x,x,x,x,x,x,x,x]',
  ...'bcdefgh'
    .split('')
    .map((name, index) => `${name}: &${name} [${Array(10).fill(`*${'abcdefg'[index]}`).join(',')}]`),
].join('\n')
