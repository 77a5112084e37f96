/** The results of comparing NATS with ClickHouse for an account. */
import t from 'tap'
import {
  compare,
  type SeenAccount,
  type SideBuckets,
  seenIn,
} from '../../../src/management/store/reconcile.js'
import type { StoredVersion } from '../../../src/management/store/stored-rows.js'
import { policyRow, stateWith, tcpEdgeRow } from './states.js'

type Versions = Readonly<Record<string, number>>

const seenOf = (rows: Record<string, Versions>, more: Partial<SeenAccount> = {}): SeenAccount => ({
  version: 5,
  stored: 5,
  isWhole: true,
  rows: new Map(Object.entries(rows).map(([kind, versions]) => [kind, new Map(Object.entries(versions))])),
  ...more,
})

const storedOf = (kinds: Record<string, readonly StoredVersion[]>) => new Map(Object.entries(kinds))
const present = (id: string, version: number): StoredVersion => ({ id, version, deleted: false })
const deleted = (id: string, version: number): StoredVersion => ({ id, version, deleted: true })
const policies = (...rows: StoredVersion[]) => storedOf({ ip_policy: rows })

interface Case {
  readonly name: string
  readonly seen?: SeenAccount
  readonly stored?: ReadonlyMap<string, readonly StoredVersion[]>
  readonly head?: number
  readonly secrets?: Versions
  readonly want: 'same' | 'behind' | 'ahead' | 'both'
}

const cases: readonly Case[] = [
  {
    name: 'both the same',
    seen: seenOf({ ip_policy: { a: 5 } }),
    stored: policies(present('a', 5)),
    want: 'same',
  },
  {
    name: 'deleted in both',
    seen: seenOf({}),
    stored: policies(deleted('a', 5)),
    want: 'same',
  },
  { name: 'nothing in the bucket', stored: policies(present('a', 5)), want: 'behind' },
  {
    name: 'a row is missing from the bucket',
    seen: seenOf({ ip_policy: { a: 4 } }),
    stored: policies(present('a', 4), present('b', 5)),
    want: 'behind',
  },
  {
    name: 'the bucket has an older version',
    seen: seenOf({ ip_policy: { a: 4 } }),
    stored: policies(present('a', 5)),
    want: 'behind',
  },
  {
    name: 'the bucket has a row that was deleted',
    seen: seenOf({ ip_policy: { a: 4 } }),
    stored: policies(deleted('a', 5)),
    want: 'behind',
  },
  {
    name: 'fewer rows than the account says',
    seen: seenOf({ ip_policy: { a: 5 } }, { isWhole: false }),
    stored: policies(present('a', 5)),
    want: 'behind',
  },
  {
    name: 'the head is older than the rows',
    seen: seenOf({ ip_policy: { a: 5 } }),
    stored: policies(present('a', 5)),
    head: 4,
    want: 'behind',
  },
  {
    name: 'a change that wrote no rows is in the bucket',
    seen: seenOf({ ip_policy: { a: 5 } }, { version: 9 }),
    stored: policies(present('a', 5)),
    head: 9,
    want: 'same',
  },
  {
    name: 'a row that ClickHouse does not have',
    seen: seenOf({ ip_policy: { a: 5, b: 3 } }),
    stored: policies(present('a', 5)),
    want: 'ahead',
  },
  {
    name: 'a newer version than in ClickHouse',
    seen: seenOf({ ip_policy: { a: 6 } }),
    stored: policies(present('a', 5), present('b', 5)),
    want: 'both',
  },
  {
    name: 'a version that is not a number',
    seen: seenOf({ ip_policy: { a: Number.NaN } }),
    stored: policies(present('a', 5)),
    want: 'ahead',
  },
  {
    name: 'the account stored more than ClickHouse has',
    seen: seenOf({ ip_policy: { a: 4 } }),
    stored: policies(present('a', 4)),
    want: 'ahead',
  },
  {
    name: 'nothing in ClickHouse',
    seen: seenOf({ ip_policy: { a: 5 } }),
    want: 'ahead',
  },
  {
    name: 'a forged API key',
    seen: seenOf({ ip_policy: { a: 5 }, api_key: { k: 9 } }),
    stored: policies(present('a', 5)),
    want: 'same',
  },
  {
    name: 'a forged version of a real API key is replaced',
    seen: seenOf({ api_key: { k: 9 } }),
    stored: storedOf({ api_key: [present('k', 5)] }),
    want: 'behind',
  },
  {
    name: 'a sealed value is missing',
    seen: seenOf({ event_destination: { d: 5 } }),
    stored: storedOf({ event_destination: [present('d', 5)] }),
    want: 'behind',
  },
  {
    name: 'a sealed value is older',
    seen: seenOf({ event_destination: { d: 5 } }),
    stored: storedOf({ event_destination: [present('d', 5)] }),
    secrets: { 'event_destination.d': 4 },
    want: 'behind',
  },
  {
    name: 'a sealed value of the same version',
    seen: seenOf({ event_destination: { d: 5 } }),
    stored: storedOf({ event_destination: [present('d', 5)] }),
    secrets: { 'event_destination.d': 5 },
    want: 'same',
  },
]

t.test('an account in NATS and in ClickHouse', async (t) => {
  for (const { name, seen, stored, head = 5, secrets = {}, want } of cases) {
    const side: SideBuckets = {
      heads: new Map([['ac_1', head]]),
      secrets: new Map(Object.entries(secrets)),
    }
    const { behind, ahead } = compare(
      new Map(seen === undefined ? [] : [['ac_1', seen]]),
      new Map(stored === undefined ? [] : [['ac_1', stored]]),
      side,
    )
    const isBehind = want === 'behind' || want === 'both'
    t.equal(behind.has('ac_1'), isBehind, `${name}: behind`)
    t.strictSame(ahead, want === 'ahead' || want === 'both' ? ['ac_1'] : [], `${name}: ahead`)
  }
})

t.test('an account without a head is behind', async (t) => {
  const { behind } = compare(
    new Map([['ac_1', seenOf({ ip_policy: { a: 5 } }, { version: 8 })]]),
    new Map([['ac_1', policies(present('a', 5))]]),
    { heads: new Map(), secrets: new Map() },
  )
  t.strictSame([...behind], [['ac_1', 8]], 'with the highest version known')
})

t.test('what a state holds of its accounts', async (t) => {
  const seen = seenIn(stateWith(policyRow('ipp_1'), tcpEdgeRow('edgtcp_1', [])))
  t.strictSame(
    [...seen],
    [
      [
        'ac_1',
        {
          version: 7,
          stored: 7,
          isWhole: false,
          rows: new Map([
            ['ip_policy', new Map([['ipp_1', 1]])],
            ['tcp_edge', new Map([['edgtcp_1', 1]])],
          ]),
        },
      ],
    ],
  )
})
