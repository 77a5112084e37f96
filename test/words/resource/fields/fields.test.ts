/** The values that a declaration's fields accept, fill in and show. */
import t from 'tap'
import { Type } from '../../../../src/ground/core/schema.js'
import { compileCheck } from '../../../../src/ground/core/schema-check.js'
import {
  assigned,
  bodySchema,
  completed,
  defaulted,
  derived,
  hidden,
  labels,
  moduleField,
  observed,
  oneTimeToken,
  renderFields,
  repeatedEntry,
  required,
  storedFields,
  writable,
} from '../../../../src/words/resource/fields/fields.js'
import { reference, references } from '../../../../src/words/resource/fields/reference-fields.js'
import { links } from '../lookups.js'

const fields = {
  name: required(Type.String()),
  note: writable(Type.String()),
  end: writable(Type.String(), { unset: 'null' }),
  port: defaulted(Type.Integer(), 22),
  kind: { ...writable(Type.String()), complete: (text: string) => text.toUpperCase() },
  part: moduleField('Part', { size: defaulted(Type.Integer(), 1) }),
  policy_id: reference('ip_policy', 'ipp_', { shownAs: 'policy', unset: 'null' }),
  edge_ids: references('tcp_edge', 'edgtcp_', { shownAs: 'edges', min: 0, max: 2 }),
  made: derived(Type.String()),
  born: assigned(Type.String()),
  used: observed(Type.String()),
  hash: hidden(Type.String()),
  token: oneTimeToken(),
}

t.test('bodies: only fields that clients set, null for omitted ones', async (t) => {
  const check = compileCheck(bodySchema(fields))
  const valid: object[] = [
    { name: 'a' },
    { name: 'a', note: null, end: null, port: null, part: null },
    { name: 'a', part: { size: 2, enabled: false } },
    { name: 'a', policy_id: 'ipp_1', edge_ids: ['edgtcp_1', 'edgtcp_2'] },
  ]
  for (const body of valid) t.equal(check(body, ''), undefined, JSON.stringify(body))
  const refused: object[] = [
    {},
    { name: null },
    ...['made', 'born', 'used', 'hash', 'token', 'unknown'].map((name) => ({ name: 'a', [name]: 'x' })),
    { name: 'a', part: { weight: 1 } },
    { name: 'a', policy_id: 'edgtcp_1' },
    { name: 'a', edge_ids: ['edgtcp_1', 'edgtcp_1'] },
    { name: 'a', edge_ids: ['edgtcp_1', 'edgtcp_2', 'edgtcp_3'] },
  ]
  for (const body of refused) t.type(check(body, ''), 'string', JSON.stringify(body))
})

t.test('omitted fields are filled in, given ones completed', async (t) => {
  const unset = { note: null, end: null, port: 22, kind: null, part: null, policy_id: null, edge_ids: null }
  const rest = { made: null, born: null, used: null, hash: null, token: null }
  t.strictSame(completed(fields, { name: 'a', note: null }), { name: 'a', ...unset, ...rest })
  t.match(completed(fields, { name: 'a', kind: 'x', part: {} }), {
    kind: 'X',
    part: { enabled: true, size: 1 },
  })
})

t.test('rows as clients see them', async (t) => {
  const { hash: _, ...visible } = fields
  const row = {
    ...completed(fields, { name: 'a' }),
    edge_ids: [],
    born: 'b',
    hash: 'secret',
    token: 'secret',
  }
  t.strictSame(renderFields(fields, row, links), {
    name: 'a',
    end: null,
    port: 22,
    part: null,
    policy: null,
    edges: [],
    born: 'b',
    used: null,
    token: null,
  })
  const whole = {
    ...row,
    note: 'n',
    policy_id: 'ipp_1',
    edge_ids: ['edgtcp_1'],
    part: { enabled: true, size: 3 },
  }
  t.match(renderFields(fields, whole, links), {
    note: 'n',
    policy: { id: 'ipp_1', uri: '/ip_policy/ipp_1' },
    edges: [{ id: 'edgtcp_1', uri: '/tcp_edge/edgtcp_1' }],
    part: { enabled: true, size: 3 },
  })
  t.match(
    renderFields(fields, { ...whole, port: undefined }, links),
    { port: 22 },
    'a row that is older than the field',
  )
  const { used: __, ...stored } = visible
  t.strictSame(
    Object.keys(storedFields(visible)),
    Object.keys(stored),
    'what is observed is no part of a row',
  )
})

t.test('lists with repeated entries', async (t) => {
  const cases: [values: string[], complaint: string | undefined][] = [
    [[], undefined],
    [['a', 'b'], undefined],
    [['a', 'b', 'a', 'a'], '"a" appears twice'],
    [['a', 'b', 'b', 'a'], '"b", "a" appear twice'],
  ]
  for (const [values, complaint] of cases) t.equal(repeatedEntry(values), complaint, values.join())
})

t.test('names of labels', async (t) => {
  const check = compileCheck(labels)
  t.equal(check({ region: 'eu', ü: '' }, 'labels'), undefined)
  t.match(check({ '': 'x' }, 'labels'), /1 to 255 bytes/)
  t.match(check({ ['ü'.repeat(128)]: 'x' }, 'labels'), /1 to 255 bytes/)
})
