/** Which resource each entry of a file describes, and what entries are called. */
import t from 'tap'
import { managedKinds } from '../../../src/outside/as-code/managed-kinds.js'
import { matched } from '../../../src/outside/as-code/matched.js'
import { namesOf } from '../../../src/outside/as-code/wanted.js'

const kindCalled = (name: string) => managedKinds.find((kind) => kind.name === name)!
const edges = kindCalled('tcpEdge')
const policies = kindCalled('ipPolicy')

/** The places of the resources that are found. */
const found = (kind: typeof edges, present: readonly object[], wanted: readonly object[]): number[] => {
  const live = present.map((body) => ({ body: { ...body } }))
  const bodies = wanted.map((body) => ({ ...body }))
  return matched(
    kind,
    live,
    bodies,
    bodies.map((_, n) => `unknown-${n}`),
  ).map((one) => live.indexOf(one!))
}
const edge = (description: string, ...hostports: string[]) => ({ description, hostports })

t.test('an edge is found by the hostports that it keeps, in any order of the entries', async (t) => {
  const present = [edge('A', 'a:1', 'moves:1'), edge('B', 'b:1')]
  const [a, b] = [edge('A', 'a:1'), edge('B', 'moves:1', 'b:1')]
  t.same(found(edges, present, [a, b]), [0, 1])
  t.same(found(edges, present, [b, a]), [1, 0])
  const swapped = [edge('A', 'b:1'), edge('B', 'a:1', 'moves:1')]
  t.same(found(edges, present, swapped), [1, 0], 'edges that exchange all have exchanged the rest')
})

t.test('names are compared as the API writes them', async (t) => {
  t.same(found(edges, [edge('', '[2001:db8::a]:22')], [edge('', '[2001:0DB8::A]:22')]), [0])
  t.same(found(edges, [edge('', 'xn--bcher-kva.example:22')], [edge('', 'Bücher.example:22')]), [0])
  const domain = { domain: 'xn--bcher-kva.example' }
  t.same(found(kindCalled('domain'), [domain], [{ domain: 'Bücher.Example' }]), [0])
})

t.test('members of wrong types describe nothing', async (t) => {
  for (const hostports of ['x', 5, [5], {}, null]) t.same(found(edges, [], [{ hostports }]), [-1])
})

t.test('equal descriptions are taken in their order', async (t) => {
  const same = { description: 'same' }
  t.same(found(policies, [same, same], [same, same, same]), [0, 1, -1])
})

t.test('names of entries differ, and those that are given are kept', async (t) => {
  const faults: string[] = []
  const named = (...entries: { id?: string; description?: string; hostports?: unknown }[]) =>
    namesOf(
      entries.map(({ id, ...values }, n) => ({ id, values, place: { file: 'f', path: `p[${n}]` } })),
      (_place, msg) => faults.push(msg),
    )
  t.same(named({ description: 'Same' }, { description: 'same' }, {}), ['same', 'same-2', 'p[2]'])
  t.same(named({ description: 'office' }, { id: 'office' }), ['office-2', 'office'])
  t.same(named({ hostports: 5 }), ['p[0]'])
  t.same(faults, [])
  named({ id: 'a' }, { id: 'a' })
  t.match(faults, [/"p\[1\]\.id" is "a", as that of "p\[0\]"/])
})
