import t from 'tap'
import { insteadOf, nearestNames } from '../../../src/ground/core/nearest.js'

const known = ['WEIR_PORT', 'WEIR_HOST', 'conn.client_ip', 'conn.client_port', 'ip', 'storageMax']

const cases = [
  { name: 'a letter missing', typed: 'storageMx', want: ['storageMax'] },
  { name: 'neighbours swapped', typed: 'WEIR_PROT', want: ['WEIR_PORT', 'WEIR_HOST'] },
  { name: 'another case', typed: 'Conn.Client_IP', want: ['conn.client_ip', 'conn.client_port'] },
  { name: 'nothing like it', typed: 'somethingElseAltogether', want: [] },
  { name: 'far too long', typed: 'x'.repeat(10_000), want: [] },
]

t.test('the nearest known names', (t) => {
  for (const { name, typed, want } of cases) t.strictSame(nearestNames(typed, known), want, name)
  t.strictSame(nearestNames('WEIR_PROT', known, 1), ['WEIR_PORT'], 'at most as many as asked for')
  t.end()
})

t.test('what is said instead of a name', (t) => {
  t.equal(insteadOf('cidrr', ['cidr', 'action']), 'did you mean "cidr"? supported are "cidr", "action"')
  t.equal(insteadOf('x', ['description']), 'supported are "description"')
  t.equal(insteadOf('x', []), 'none are supported')
  t.end()
})
