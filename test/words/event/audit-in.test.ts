/** Audit events of other services: what is taken, what is refused and with which sentence, and what they become. */
import t from 'tap'
import { auditObjects } from '../../../src/words/event/audit.js'
import { readAuditIn } from '../../../src/words/event/audit-in.js'
import { resources } from '../../../src/words/resource/registry.js'
import { resourceSchema } from '../../../src/words/resource/shown-schema.js'
import { Checks } from '../../harness/checks.js'

const account = 'ac_01M7Y46P1SGDTCFAVEJ96D4PD7'
const id = 'ipp_01M7Y46P1SGDTCFAVEJ96D4PD7'
const object = { id, uri: 'https://weir.example/ip_policies/x', created_at: '2026-11-20T10:00:00Z' }
const principal = { id: account, subject: 'acme', source: 'API', credential: null }
const valid = { account_id: account, object, principal }
const at = Date.parse('2026-11-20T10:00:01.234Z')
const subject = 'weir.audit.ip_policy.updated'

const read = (body: unknown, more: { subject?: string; position?: string; at?: number } = {}) =>
  readAuditIn({
    subject: more.subject ?? subject,
    data: Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    storedAtMs: more.at ?? at,
    position: more.position ?? 'stream 1',
  })

function taken(...args: Parameters<typeof read>) {
  const result = read(...args)
  if (!result.ok) throw new Error(result.problem.msg)
  return result.value
}

t.test('the envelope is the one of the API’s own events', (t) => {
  const { json, eventId, kind, accountId, resourceId } = taken(valid)
  t.strictSame(JSON.parse(json), {
    event_id: eventId,
    event_type: 'ip_policy_updated.v0',
    event_timestamp: '2026-11-20T10:00:01.234Z',
    account_id: account,
    principal,
    object,
  })
  t.match(eventId, /^ev_/)
  t.strictSame([kind, accountId, resourceId], ['ip_policy_updated.v0', account, id])
  t.end()
})

t.test('every object of audit events is known', (t) => {
  const declared = resources.flatMap(({ audit }) => audit ?? [])
  t.strictSame(declared.toSorted(), [...auditObjects].toSorted())
  for (const name of auditObjects) {
    const result = read({}, { subject: `weir.audit.${name}.created` })
    t.match(result, { problem: { msg: /^"account_id", "object", "principal" are required\.$/ } }, name)
  }
  t.end()
})

t.test('the same message gives the same id, another message another', (t) => {
  const first = taken(valid).eventId
  t.equal(taken(valid, { at: at + 5_000 }).eventId, first)
  t.not(taken(valid, { position: 'stream 2' }).eventId, first)
  t.not(taken(valid, { position: 'another 1' }).eventId, first)
  t.end()
})

t.test('an audit_id gives the same id wherever its message lies', (t) => {
  const named = { ...valid, audit_id: 'a-1' }
  const first = taken(named).eventId
  t.equal(taken(named, { position: 'stream 2' }).eventId, first)
  t.not(taken({ ...named, audit_id: 'a-2' }).eventId, first)
  t.not(taken(named, { subject: 'weir.audit.ip_policy.deleted' }).eventId, first, 'of another kind')
  t.not(taken({ ...valid, audit_id: 'stream 1' }).eventId, taken(valid).eventId, 'an id is no position')
  t.end()
})

const withObject = (more: object) => ({ ...valid, object: { ...object, ...more } })
const withPrincipal = (more: object) => ({ ...valid, principal: { ...principal, ...more } })
const key = {
  id: 'ak_1',
  uri: 'https://weir.example/api_keys/ak_1',
  created_at: '2026-11-20T10:00:00Z',
}

const refused: { name: string; body: unknown; subject?: string; says: RegExp }[] = [
  {
    name: 'an unknown object',
    body: valid,
    subject: 'weir.audit.edge.created',
    says: /"edge", which is not an object/,
  },
  {
    name: 'an unknown verb',
    body: valid,
    subject: 'weir.audit.ip_policy.made',
    says: /ends in "made".*created, updated, deleted/,
  },
  { name: 'no verb', body: valid, subject: 'weir.audit.ip_policy', says: /ends in ""/ },
  {
    name: 'a longer subject',
    body: valid,
    subject: 'weir.audit.ip_policy.created.now',
    says: /ends in "created.now"/,
  },
  { name: 'nothing', body: '', says: /not valid JSON/ },
  { name: 'what is no JSON', body: '{"account_id": secret', says: /^The message is not valid JSON\.$/ },
  { name: 'what is no UTF-8', body: Buffer.from([0x22, 0xff, 0x22]), says: /not valid UTF-8/ },
  { name: 'a list', body: [valid], says: /must be an object/ },
  { name: 'deep nesting', body: `${'['.repeat(100_000)}${']'.repeat(100_000)}`, says: /nested more than 64/ },
  { name: 'no account', body: { object, principal }, says: /^"account_id" is required/ },
  { name: 'no object', body: { account_id: account, principal }, says: /^"object" is required/ },
  { name: 'no principal', body: { account_id: account, object }, says: /^"principal" is required/ },
  { name: 'an unknown member', body: { ...valid, at: 1 }, says: /^"at" is unknown: supported are/ },
  {
    name: 'an account of the wrong type',
    body: { ...valid, account_id: 5 },
    says: /"account_id" is 5, but must be a string/,
  },
  { name: 'an empty audit_id', body: { ...valid, audit_id: '' }, says: /"audit_id" .*at least 1/ },
  {
    name: 'a long audit_id',
    body: { ...valid, audit_id: 'x'.repeat(129) },
    says: /"audit_id" .*at most 128/,
  },
  { name: 'an unknown field', body: withObject({ colour: 'red' }), says: /"object" has no field "colour"/ },
  {
    name: 'a field of the wrong type',
    body: withObject({ description: 5 }),
    says: /"object.description" is 5, but must be a string/,
  },
  {
    name: 'a long description',
    body: withObject({ description: 'x'.repeat(256) }),
    says: /"object.description" .*at most 255/,
  },
  {
    name: 'a time that is none',
    body: withObject({ created_at: 'yesterday' }),
    says: /"object.created_at" is "yesterday"/,
  },
  {
    name: 'an object without an id',
    body: { ...valid, object: { ...object, id: undefined } },
    says: /"object" lacks "id"/,
  },
  { name: 'an id of another kind', body: withObject({ id: 'ed_1' }), says: /"object.id" is "ed_1".*"ipp_"/ },
  {
    name: 'an unknown source',
    body: withPrincipal({ source: 'console' }),
    says: /"principal.source" is "console".*"API", "CLI"/,
  },
  {
    name: 'another principal',
    body: withPrincipal({ id: 'ac_2' }),
    says: /"principal.id" is "ac_2", but must be the "account_id"/,
  },
  {
    name: 'half a credential',
    body: withPrincipal({ credential: { id: 'ak_1' } }),
    says: /"principal.credential" lacks "uri"/,
  },
  {
    name: 'a token',
    body: { ...valid, object: { ...key, token: 'never-shown' } },
    subject: 'weir.audit.api_key.created',
    says: /^"object.token" must be null: events contain no secrets\.$/,
  },
]

const values = [
  null,
  true,
  5,
  1e300,
  '',
  'x',
  '\u0000',
  [],
  [null],
  [[5]],
  ['x', 'x'],
  {},
  { id: 5 },
  { a: { b: 1 } },
]

t.test('no value of any field of any object is too much for the check', (t) => {
  const checks = new Checks()
  for (const resource of resources) {
    if (resource.audit === undefined) continue
    const { properties } = resourceSchema(resource) as unknown as { properties: object }
    const whole = { ...object, id: `${resource.idPrefix}1` }
    for (const field of Object.keys(properties)) {
      for (const value of values) {
        const result = read(
          { ...valid, object: { ...whole, [field]: value } },
          { subject: `weir.audit.${resource.audit}.updated` },
        )
        checks.equal(
          typeof (result.ok ? result.value.json : result.problem.msg),
          'string',
          `${resource.audit}.${field}`,
        )
      }
    }
  }
  checks.report(t)
  t.end()
})

t.test('what is refused', (t) => {
  for (const { name, body, subject, says } of refused) {
    const result = read(body, subject === undefined ? {} : { subject })
    t.match(result, { ok: false, problem: { msg: says } }, name)
    t.notMatch(JSON.stringify(result), 'never-shown')
  }
  t.equal(
    read({ ...valid, object: { ...key, token: null } }, { subject: 'weir.audit.api_key.created' }).ok,
    true,
  )
  t.end()
})
