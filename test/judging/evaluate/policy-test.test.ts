/** The country and the autonomous system that a policy test gives its client, in place of those of the databases. */
import t from 'tap'
import { assumedOf, withAssumed } from '../../../src/judging/evaluate/policy-test.js'
import { geoOf } from '../../harness/geo.js'

const known = { country_code: 'DE', country: 'Germany', city: 'Berlin', asn: 64_500, as_org: 'Example' }

t.test('what a test says about its client contradicts nothing that is known', (t) => {
  const cases: [string, { country?: string; asn?: number }, object][] = [
    ['nothing is said', {}, known],
    ['the same country', { country: 'DE' }, known],
    ['another country', { country: 'NL' }, { country_code: 'NL', asn: 64_500, as_org: 'Example' }],
    [
      'another system',
      { asn: 64_501 },
      { country_code: 'DE', country: 'Germany', city: 'Berlin', asn: 64_501 },
    ],
    ['both', { country: 'NL', asn: 64_501 }, { country_code: 'NL', asn: 64_501 }],
  ]
  for (const [name, given, found] of cases)
    t.strictSame(withAssumed(assumedOf(given))(geoOf(() => known)).lookup('192.0.2.1'), found, name)
  t.end()
})
