/** When certificates expire, as the metrics show it. */
import t from 'tap'
import { certificateExpiry } from '../../src/roles/operator-watches.js'
import type { Row } from '../../src/words/resource/kind/define.js'

const nowMs = Date.parse('2026-11-20T10:00:00Z')

/** The rows of one kind, by the member that holds their end. */
const rowsOf = (member: string, ends: readonly string[]) =>
  new Map(ends.map((end, index) => [String(index), { [member]: end } as unknown as Row]))

const cases = [
  { name: 'the first of several', ends: ['2026-12-20T10:00:00Z', '2026-12-01T10:00:00Z'], first: 1 },
  {
    name: 'one that expired in the last week',
    ends: ['2026-12-20T10:00:00Z', '2026-11-14T10:00:00Z'],
    first: 1,
  },
  { name: 'one that expired before', ends: ['2026-12-20T10:00:00Z', '2026-11-12T10:00:00Z'], first: 0 },
  { name: 'only one that expired long ago', ends: ['2020-01-01T00:00:00Z'], first: undefined },
  { name: 'none', ends: [], first: undefined },
]

for (const { name, ends, first } of cases)
  t.test(name, (t) => {
    for (const [kind, member] of [
      ['tls_certificate', 'not_after'],
      ['ssh_host_certificate', 'valid_until'],
    ] as const) {
      const levels = certificateExpiry({ rows: new Map([[kind, rowsOf(member, ends)]]) }, nowMs)
      const want = first === undefined ? [] : [[{ kind }, Date.parse(ends[first] ?? '') / 1000]]
      t.strictSame(levels, want, kind)
    }
    t.end()
  })
