/** Files can describe every kind that the API serves, in an order in which each is made after those that it names. */
import t from 'tap'
import { undecidingSections } from '../../../src/judging/evaluate/portable/policy-file.js'
import { leftOut, managedKinds } from '../../../src/outside/as-code/managed-kinds.js'
import { kindTable } from '../../../src/words/client/kind-table.js'
import type { Fields } from '../../../src/words/resource/kind/define.js'

t.test('every kind is described, or left out for a reason', async (t) => {
  const known = [...managedKinds.map(({ name }) => name as string), ...Object.keys(leftOut)]
  t.same(known.toSorted(), Object.keys(kindTable).toSorted())
})

t.test('a kind refers to kinds before it', async (t) => {
  const before = new Set<string>()
  const kindsIn = (fields: Fields): string[] =>
    Object.values(fields).flatMap(({ reference, fields: members }) => [
      ...(reference === undefined || reference.foreignPath !== undefined ? [] : [reference.kind]),
      ...(members === undefined ? [] : kindsIn(members)),
    ])
  for (const { name, resource } of managedKinds) {
    for (const kind of kindsIn(resource.fields)) t.ok(before.has(kind), `${name} after ${kind}`)
    before.add(resource.kind)
  }
})

t.test('weir test knows the sections that decide, and leaves out the others', async (t) => {
  const deciding = ['ip_lists', 'ip_policies', 'tcp_edges', 'https_edges', 'ip_restrictions', 'policy_tests']
  const sections = managedKinds.map(({ section }) => section)
  t.same([...deciding, ...undecidingSections].toSorted(), sections.toSorted())
})
