/** The entries of IP lists in files. */
import t from 'tap'
import { listEntriesIn } from '../../../src/outside/as-code/list-entries.js'
import { replaced } from '../../../src/outside/as-code/placeholders.js'

const read = (...given: readonly unknown[]) => {
  const faults: string[] = []
  const entries = listEntriesIn(given, 'l', (path, msg) => faults.push(`${path} ${msg}`))
  return { entries, faults }
}

t.test('entries are as the API shows them', async (t) => {
  const { entries, faults } = read(
    '192.0.2.1',
    { cidr: '2001:DB8::/32', comment: ' spaced\n' },
    { cidr: '10.0.0.0/8', expires_at: '2031-01-01T00:00:00+02:00' },
  )
  t.same(faults, [])
  t.same(entries, [
    { cidr: '192.0.2.1/32', comment: null, expires_at: null },
    { cidr: '2001:db8::/32', comment: 'spaced', expires_at: null },
    { cidr: '10.0.0.0/8', comment: null, expires_at: '2030-12-31T22:00:00Z' },
  ])
})

for (const [title, entry, expected] of [
  ['a text that is no range', 'nonsense', /^l\[0\] .*"nonsense" is not an IP address/],
  ['a number', 5, /^l\[0\] .*: 5 is not/],
  ['an unknown member', { cidr: '10.0.0.0/8', coment: 'x' }, /^l\[0\] .*There is no field "coment"/],
  ['a time that is none', { cidr: '10.0.0.0/8', expires_at: 'soon' }, /"soon" is not an RFC 3339 time/],
  ['a variable that is not there', replaced(`\${env:NO}`, '/f', {}, () => {}), /the environment has no NO/],
] as const)
  t.test(`${title} is a fault`, async (t) => {
    const { entries, faults } = read(entry)
    t.same(entries, [])
    t.equal(faults.length, 1)
    t.match(faults[0], expected)
  })
