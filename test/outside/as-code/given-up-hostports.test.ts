/** Hostports that edges give up because another one gets them. */
import t from 'tap'
import type { Difference } from '../../../src/outside/as-code/difference.js'
import { hostportsGivenUp } from '../../../src/outside/as-code/given-up-hostports.js'
import { managedKinds } from '../../../src/outside/as-code/managed-kinds.js'

const edge = (
  action: Difference['action'],
  id: string,
  before: readonly string[],
  after: readonly string[] | null,
  name = 'tcpEdge',
): Difference => ({
  action,
  name: id,
  place: undefined,
  written: {},
  fields: [],
  parts: { counts: {} },
  refusal: undefined,
  id,
  kind: managedKinds.find((kind) => kind.name === name)!,
  live: { body: { hostports: before } } as never,
  body: { hostports: after },
})

for (const { title, differences, expected } of [
  {
    title: 'one moves',
    differences: [edge('update', 'a', ['a', 'm'], ['a']), edge('update', 'b', ['b'], ['b', 'm'])],
    expected: [['a', ['a']]],
  },
  {
    title: 'two are exchanged',
    differences: [edge('update', 'a', ['a', 'm'], ['a', 'n']), edge('update', 'b', ['b', 'n'], ['b', 'm'])],
    expected: [
      ['a', ['a']],
      ['b', ['b']],
    ],
  },
  {
    title: 'one moves to a new edge of another kind',
    differences: [edge('create', 'a', [], ['m']), edge('update', 'b', ['b', 'm'], ['b'], 'httpsEdge')],
    expected: [['b', ['b']]],
  },
  {
    title: 'no other edge gets them',
    differences: [edge('update', 'a', ['a', 'm'], ['a']), edge('update', 'b', ['b'], null)],
    expected: [],
  },
  {
    title: 'a deleted edge gives up all of them anyway',
    differences: [edge('delete', 'a', ['m'], ['m']), edge('create', 'b', [], ['m'])],
    expected: [],
  },
] as const)
  t.test(title, async (t) => {
    const found = hostportsGivenUp(differences).map(({ difference, hostports }) => [difference.id, hostports])
    t.same(found, expected)
  })
