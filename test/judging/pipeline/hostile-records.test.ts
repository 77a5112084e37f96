/**
 * JSON that is nested to exhaust a stack: every request is answered, every record goes to the dead letters with a reason.
 */
import fc from 'fast-check'
import t from 'tap'
import { PackWriter } from '../../../src/delivery/wire/pack.js'
import { decide, decideAgent } from '../../../src/judging/evaluate/reply.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { noGeo, noYield, TestConfiguration } from '../evaluate/configuration.js'

const view = await buildTrafficView(new TestConfiguration('ac_1'), undefined, noYield)

const ask = (text: string) =>
  JSON.parse(Buffer.from(decide(view.policySet, noGeo, Buffer.from(text))).toString())

const walk = (text: string) =>
  processMessage(
    { bytes: Buffer.from(text), storedAtMs: 0 },
    { view, geo: noGeo, buffers: { packOf: () => new PackWriter() } },
  )

const record = { record_id: 'r1', type: 'http_request', conn: { client_ip: '203.0.113.7' } }
const place = '"@"'

/** The text of a record that has `json` as its member `path`. */
function withMember(path: string, json: string): string {
  const root = structuredClone(record) as Record<string, unknown>
  const names = path.split('.')
  const last = names.pop()!
  let group = root
  for (const name of names) {
    group[name] ??= {}
    group = group[name] as Record<string, unknown>
  }
  group[last] = '@'
  return JSON.stringify(root).replace(place, () => json)
}

const members = [
  ...['record_id', 'type', 'account_id', 'edge_id', 'route_id', 'conn'],
  ...['client_ip', 'client_port', 'server_ip', 'server_name', 'server_port'].map((name) => `conn.${name}`),
  ...['start_ts', 'end_ts', 'bytes_in', 'bytes_out'].map((name) => `conn.${name}`),
  ...['body_length', 'headers.accept', 'method', 'user_agent'].map((name) => `http.request.${name}`),
  ...['host', 'path', 'query', 'raw', 'scheme'].map((name) => `http.request.url.${name}`),
  ...['body_length', 'headers.age', 'status_code'].map((name) => `http.response.${name}`),
  ...['cipher_suite', 'version', 'client_cert.serial_number', 'client_cert.subject.cn'].map(
    (name) => `tls.${name}`,
  ),
  'backend.connection_reused',
  ...['basic_auth.decision', 'basic_auth.username', 'circuit_breaker.decision'],
  ...['compression.algorithm', 'compression.bytes_saved'],
  ...['oauth.decision', 'oauth.app_client_id', 'oauth.user.id', 'oauth.user.name'],
  ...['user_agent_filter.decision', 'webhook_verification.decision'],
]

const lists = (depth: number): string => `${'['.repeat(depth)}1${']'.repeat(depth)}`
const objects = (depth: number): string => `${'{"":'.repeat(depth)}1${'}'.repeat(depth)}`

const nested = [
  { name: '3,000 lists', json: lists(3_000) },
  { name: '30,000 lists', json: lists(30_000) },
  { name: '3,000 objects', json: objects(3_000) },
  { name: '12,000 objects', json: objects(12_000) },
  { name: 'a list of deep lists', json: `[${Array.from({ length: 10 }, () => lists(3_000)).join()}]` },
]

/** One sentence that names the member: short, and nothing of a stack in it. */
const sentenceMax = 300
const isAbout = (member: string, msg: string): boolean =>
  msg.length <= sentenceMax && msg.endsWith('.') && msg.startsWith(`"${member}`) && !/stack/.test(msg)

t.test(
  'a member of the wrong type, nested deeply: answered, and parked with the same sentence',
  async (t) => {
    for (const member of members) {
      for (const { name, json } of nested) {
        // An object is what it must be, and its unknown members are ignored: what it lacks is named.
        const isGroup = member === 'conn' && json.startsWith('{')
        const text = withMember(member, json)
        const answer = ask(text)
        t.equal(answer.error_code, 'ERR_INVALID_REQUEST', `${member}: ${name}`)
        t.ok(isAbout(isGroup ? 'conn.client_ip' : member, answer.msg), `${member}: ${name}: ${answer.msg}`)
        const { bad } = walk(text)
        t.strictSame(
          bad.map(({ reason }) => reason),
          [answer.msg],
          `${member}: ${name}`,
        )
      }
    }
  },
)

t.test('nesting in ignored members is ignored', async (t) => {
  for (const { name, json } of nested) {
    const text = withMember('unknown', json)
    t.equal(ask(text).decision, 'allow', name)
    t.equal(walk(text).bad.length, 0, name)
  }
})

t.test('`explain` and the members of an agent check, nested deeply', async (t) => {
  for (const { name, json } of nested) {
    t.ok(isAbout('explain', ask(withMember('explain', json)).msg), name)
    for (const member of ['token', 'client_ip', 'bind']) {
      const request = JSON.stringify({ token: 'x', client_ip: '::1', bind: 'a', [member]: '@' })
      const bytes = Buffer.from(request.replace(place, () => json))
      const { error_code, msg } = JSON.parse(Buffer.from(decideAgent(view.policySet, bytes)).toString())
      t.equal(error_code, 'ERR_INVALID_REQUEST', `${member}: ${name}`)
      t.ok(isAbout(member, msg), `${member}: ${name}`)
    }
  }
})

t.test('the name of a header may be as long as a record', async (t) => {
  const headers = { [`x-${'y'.repeat(50_000)}`]: 'no list' }
  const { msg } = ask(JSON.stringify({ ...record, http: { request: { headers } } }))
  t.ok(isAbout('http.request.headers."x-yyy', msg), msg)
})

t.test('any JSON at any member is answered, and the record path says the same', (t) => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 6 }),
    fc.integer({ min: 1, max: 30_000 }).map((depth) => JSON.parse(lists(depth)) as unknown),
  )
  const text = (json: unknown): string => {
    // Nothing but the depth of lists can exhaust the writer of this test.
    let depth = 0
    for (let inner = json; Array.isArray(inner) && inner.length === 1; inner = inner[0]) depth += 1
    return depth > 100 ? lists(depth) : JSON.stringify(json)
  }
  fc.assert(
    fc.property(fc.constantFrom(...members), value, (member, json) => {
      const request = withMember(member, text(json))
      const answer = ask(request)
      const { bad } = walk(request)
      if (answer.decision !== undefined) return bad.length === 0
      const isSame = bad.length === 1 && bad[0]!.reason === answer.msg.replaceAll(/\p{Cc}/gu, ' ')
      // The path of decisions does without an id.
      return isSame || (member === 'record_id' && json === null)
    }),
    { seed: 3, numRuns: 300 },
  )
  t.end()
})
