/** Server names are compared in one spelling, which is also that of hostports. */
import fc from 'fast-check'
import t from 'tap'
import { serverHost, serverSpelling } from '../../../src/delivery/record/spelling.js'
import { parseHost } from '../../../src/ground/core/address/host-name.js'

t.test('a server name in its one spelling', async (t) => {
  const cases = [
    ['Example.COM.', 'example.com'],
    ['.', '.'],
    ['a..', 'a.'],
    ['[2001:DB8::0]', '2001:db8::'],
    ['Bücher.Example.', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['a\u3002example', 'a\u3002example'],
    ['BÜ cher', 'bü cher'],
    ['ü:x', 'ü:x'],
  ]
  for (const [name = '', spelled] of cases) t.equal(serverHost(name), spelled, name)
})

t.test('a part of one', async (t) => {
  const cases = [
    ['.Example', '.example'],
    ['.Bücher.', '.xn--bcher-kva.'],
    ['::1', '::1'],
  ]
  for (const [part = '', spelled] of cases) t.equal(serverSpelling.part(part), spelled, part)
})

t.test('a name that a hostport may have is spelled as there', async () => {
  const letters = fc.constantFrom(...'aZ0-_.üßяא例😀．\u3002')
  const property = fc.property(fc.string({ unit: letters, minLength: 1 }), (name) => {
    const host = parseHost(name)
    return !host.ok || serverHost(name) === host.value
  })
  fc.assert(property, { numRuns: 2_000 })
})
