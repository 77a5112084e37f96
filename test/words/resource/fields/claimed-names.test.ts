/** Which names a claim keeps from other accounts, and which hostports are for names of everybody. */
import fc from 'fast-check'
import t from 'tap'
import { isCatchAll, namesOfClaim, overlap } from '../../../../src/words/resource/fields/claimed-names.js'
import { NameTree } from '../../../../src/words/resource/fields/name-tree.js'

const own = 'weir.example.net'
const overlaps = (one: string, other: string): boolean | undefined => {
  const [first, second] = [one, other].map((claim) => namesOfClaim(claim, own))
  return first !== undefined && second !== undefined && overlap(first, second)
}

t.test('claims of two accounts', async (t) => {
  const cases: [one: string, other: string, want: boolean][] = [
    ['hostport.*.shop.example:443', 'hostport.pay.shop.example:443', true],
    ['hostport.*.shop.example:443', 'hostport.a.pay.shop.example:443', true],
    ['hostport.*.shop.example:443', 'hostport.*.pay.shop.example:443', true],
    ['hostport.*.shop.example:443', 'hostport.shop.example:443', true],
    ['hostport.*.shop.example:443', 'hostport.pay.shop.example:*', true],
    ['hostport.*.shop.example:*', 'hostport.pay.shop.example:8443', true],
    ['hostport.*.shop.example:443', 'hostport.*.shop.example:*', true],
    ['hostport.*.shop.example:443', 'hostport.pay.shop.example:8443', false],
    ['hostport.*.shop.example:443', 'hostport.*.shop.example:8443', false],
    ['hostport.*.shop.example:443', 'hostport.myshop.example:443', false],
    ['hostport.*.shop.example:443', 'hostport.shop.example.org:443', false],
    ['hostport.shop.example:*', 'hostport.shop.example:443', true],
    ['hostport.shop.example:*', 'hostport.pay.shop.example:443', false],
    ['hostport.shop.example:443', 'hostport.shop.example:8443', false],
    ['hostport.192.0.2.1:*', 'hostport.192.0.2.1:22', true],
    ['hostport.[2001:db8::1]:*', 'hostport.[2001:db8::1]:22', true],
    ['domain.shop.example', 'hostport.shop.example:443', true],
    ['domain.shop.example', 'hostport.a.pay.shop.example:22', true],
    ['domain.*.shop.example', 'hostport.shop.example:8443', true],
    ['domain.shop.example', 'hostport.*.pay.shop.example:*', true],
    ['domain.pay.shop.example', 'hostport.*.shop.example:443', true],
    ['domain.pay.shop.example', 'domain.shop.example', true],
    ['domain.*.pay.shop.example', 'domain.shop.example', true],
    ['domain.pay.shop.example', 'domain.bar.shop.example', false],
    // Catch-alls keep nothing, and the names of the deployment belong to those who reserved them.
    ['hostport.*:443', 'hostport.shop.example:443', false],
    ['hostport.*:*', 'domain.shop.example', false],
    ['hostport.*.example:443', 'hostport.shop.example:443', false],
    ['hostport.*.example.net:*', `hostport.1.tcp.eu.${own}:20000`, false],
    ['tcp_address.1.tcp.eu.example.org:20000', 'hostport.*.example.org:*', false],
  ]
  for (const [one, other, want] of cases) {
    t.equal(overlaps(one, other), want, `${one} and ${other}`)
    t.equal(overlaps(other, one), want, `${other} and ${one}`)
  }
})

t.test('hostports for names of everybody', async (t) => {
  const cases: Readonly<Record<string, boolean>> = {
    '*:443': true,
    '*:*': true,
    '*.com:443': true,
    '*.localhost:*': true,
    '*.example.com:443': false,
    'localhost:443': false,
    'example.com:*': false,
    '[::1]:443': false,
  }
  for (const [hostport, want] of Object.entries(cases)) t.equal(isCatchAll(hostport), want, hostport)
})

t.test('a tree finds what a comparison with each finds', async (t) => {
  const label = fc.constantFrom('a', 'b', 'c')
  const domain = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'))
  const port = fc.constantFrom('443', '22', '*')
  const claim = fc.oneof(
    fc
      .tuple(fc.boolean(), domain, port)
      .map(([isWide, name, at]) => `hostport.${isWide ? '*.' : ''}${name}:${at}`),
    fc.tuple(fc.boolean(), domain).map(([isWide, name]) => `domain.${isWide ? '*.' : ''}${name}`),
  )
  const step = fc.record({ claim, isSet: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), claim, (steps, asked) => {
      const tree = new NameTree<string>()
      const there = new Set<string>()
      for (const { claim: text, isSet } of steps) {
        const names = namesOfClaim(text, own)
        if (names === undefined) continue
        if (isSet) tree.set(names, text, text)
        else tree.delete(names, text)
        there[isSet ? 'add' : 'delete'](text)
      }
      const names = namesOfClaim(asked, own)
      if (names === undefined) return
      const want = [...there].filter((text) => overlaps(text, asked))
      t.strictSame([...tree.overlapping(names)].sort(), want.sort())
    }),
  )
})
