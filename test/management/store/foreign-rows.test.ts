/** The results of comparing one row in the bucket with its row in ClickHouse. */
import t from 'tap'
import { type EncodedRow, rowEncoder } from '../../../src/management/store/clickhouse/tables.js'
import { rowComparer } from '../../../src/management/store/foreign-rows.js'
import { eventDestination } from '../../../src/words/resource/event-destination.js'
import { ipPolicy } from '../../../src/words/resource/ip-policy.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { resourceOf } from '../../../src/words/resource/registry.js'
import { tcpEdge } from '../../../src/words/resource/tcp-edge.js'

const origin = { changedAt: 2_000, changedBy: 'ak_1' }

/** A row as ClickHouse returns it. */
const storedRow = (kind: string, row: Row, deleted = false): EncodedRow =>
  JSON.parse(JSON.stringify(rowEncoder(resourceOf(kind), origin)(row, deleted)))

const head = { account_id: 'ac_1', version: 5, created_at: 1_000 }
const policy: Row = { ...head, id: 'ipp_1', description: 'office', metadata: null }
const edge: Row = { ...head, id: 'edgtcp_1', hostports: ['a.example.com:1'], ip_restriction: null }
const restriction = { enabled: true, ip_policy_ids: ['ipp_1', 'ipp_2'] }
const destination: Row = {
  ...head,
  id: 'ed_1',
  format: 'json',
  target: { kinesis: null },
  secret_digest: 'd',
}

interface Case {
  readonly name: string
  readonly kind?: string
  readonly row: Row
  /** The row in ClickHouse. */
  readonly stored: Row | undefined
  readonly deleted?: boolean
  readonly want: 'same' | 'behind' | 'foreign'
}

const cases: readonly Case[] = [
  { name: 'the same row', row: policy, stored: policy, want: 'same' },
  { name: 'an unknown row', row: policy, stored: undefined, want: 'foreign' },
  { name: 'a deleted row', row: policy, stored: policy, deleted: true, want: 'foreign' },
  { name: 'another content', row: { ...policy, description: 'all' }, stored: policy, want: 'foreign' },
  { name: 'an older version', row: { ...policy, version: 4 }, stored: policy, want: 'behind' },
  {
    name: 'an older version of a row that was deleted',
    row: { ...policy, version: 4 },
    stored: policy,
    deleted: true,
    want: 'behind',
  },
  { name: 'a newer version', row: { ...policy, version: 6 }, stored: policy, want: 'foreign' },
  {
    name: 'a version that is not a number',
    row: { ...policy, version: 'x' as never },
    stored: policy,
    want: 'foreign',
  },
  {
    name: 'another time of creation',
    row: { ...policy, created_at: 2_000 },
    stored: policy,
    want: 'foreign',
  },
  {
    name: 'a time of creation that is not a time',
    row: { ...policy, created_at: 'x' as never },
    stored: policy,
    want: 'foreign',
  },
  { name: 'a field left out', row: { ...policy, metadata: undefined }, stored: policy, want: 'same' },
  {
    name: 'a member that the kind does not have, such as the generation of rules',
    row: { ...policy, rules_generation: '9' },
    stored: policy,
    want: 'same',
  },
  {
    name: 'other hostports',
    kind: tcpEdge.kind,
    row: { ...edge, hostports: ['b.example.com:1'] },
    stored: edge,
    want: 'foreign',
  },
  { name: 'the same module', kind: tcpEdge.kind, row: edge, stored: edge, want: 'same' },
  {
    name: 'a module that was switched off',
    kind: tcpEdge.kind,
    row: { ...edge, ip_restriction: { ...restriction, enabled: false } },
    stored: { ...edge, ip_restriction: restriction },
    want: 'foreign',
  },
  {
    name: 'a module that was removed',
    kind: tcpEdge.kind,
    row: edge,
    stored: { ...edge, ip_restriction: restriction },
    want: 'foreign',
  },
  {
    name: 'a sealed value, which the bucket does not have',
    kind: eventDestination.kind,
    row: destination,
    stored: { ...destination, sealed_secret: 'v1.sealed' },
    want: 'same',
  },
  {
    name: 'another target',
    kind: eventDestination.kind,
    row: { ...destination, target: { firehose: null } },
    stored: { ...destination, sealed_secret: 'v1.sealed' },
    want: 'foreign',
  },
]

t.test('a row in the bucket and in ClickHouse', async (t) => {
  for (const { name, kind = ipPolicy.kind, row, stored, deleted = false, want } of cases) {
    const encoded = stored === undefined ? undefined : storedRow(kind, stored, deleted)
    t.equal(rowComparer(resourceOf(kind))(row, encoded), want, name)
  }
})
