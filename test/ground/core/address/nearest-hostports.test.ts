/** Hostports that are like one that no edge serves. */
import fc from 'fast-check'
import t from 'tap'
import { nearestHostports } from '../../../../src/ground/core/address/nearest-hostports.js'

t.test('the same host first, then the same domain, then the same port', async (t) => {
  const served = [
    'a.other.org:80',
    'x.other.org:22',
    'www.example.com:443',
    'old.example.com:443',
    '*.example.com:8443',
  ]
  const cases: [name: string, want: string[]][] = [
    ['old.example.com:80', ['old.example.com:443', '*.example.com:8443', 'www.example.com:443']],
    ['new.example.com:443', ['*.example.com:8443', 'www.example.com:443', 'old.example.com:443']],
    ['192.0.2.1:80', ['a.other.org:80', 'x.other.org:22', 'www.example.com:443']],
    ['[::1]:80', ['a.other.org:80', 'x.other.org:22', 'www.example.com:443']],
  ]
  for (const [name, want] of cases) t.strictSame(nearestHostports(name, served, 3), want, name)
  t.strictSame(nearestHostports('a:1', [], 3), [])
})

t.test('as many as there are, each once, and the name itself comes first', async () => {
  const hostport = fc
    .tuple(fc.domain(), fc.integer({ min: 1, max: 9 }))
    .map(([host, port]) => `${host}:${port}`)
  fc.assert(
    fc.property(
      hostport,
      fc.uniqueArray(hostport, { maxLength: 20 }),
      fc.integer({ min: 1, max: 5 }),
      (name, served, max) => {
        const found = nearestHostports(name, served, max)
        if (found.length !== Math.min(max, served.length) || new Set(found).size !== found.length)
          return false
        return !served.includes(name) || found[0] === name
      },
    ),
  )
})
