/** The tables of the declared kinds, and rows on their way into them and back. */
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  addColumnSql,
  columnsOf,
  createTableSql,
  createViewsSql,
  decodeRow,
  type EncodedRow,
  rowEncoder,
} from '../../../../src/management/store/clickhouse/tables.js'
import { storedFields } from '../../../../src/words/resource/fields/fields.js'
import type { Column, Field, Fields, Row } from '../../../../src/words/resource/kind/define.js'
import { resourceOf, resources } from '../../../../src/words/resource/registry.js'

const origin = { changedAt: 2_000, changedBy: 'ak_1' }

/** An encoded row, as ClickHouse returns it: 64-bit integers as numbers, times as text. */
const throughClickhouse = (encoded: object): EncodedRow => JSON.parse(JSON.stringify(encoded))

const timeMs = fc.integer({ min: 0, max: Date.UTC(2299, 0) })

/** A value of JSON that is not null and means the same after JSON.stringify. */
const json = fc
  .jsonValue()
  .filter((value) => value !== null)
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown)

const valuesOf: Record<Exclude<Column, 'module' | 'none'>, fc.Arbitrary<unknown>> = {
  text: fc.string({ unit: 'binary' }),
  texts: fc.array(fc.string(), { minLength: 1 }),
  flag: fc.boolean(),
  integer: fc.maxSafeInteger(),
  time: timeMs,
  json,
}

const valueFor = ({ column, fallback, fields = {} }: Field<never, null>): fc.Arbitrary<unknown> => {
  if (column === 'none') throw new Error('A field that is only observed is not stored.')
  const value = column === 'module' ? fieldsOf(fields) : valuesOf[column]
  // A list that is never null is empty if it is unset; another field has the value that it has if none is sent.
  const unset = column === 'texts' && fallback !== null ? [] : (fallback ?? null)
  return fc.oneof(value, fc.constant(unset))
}

const fieldsOf = (fields: Fields): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(
    Object.fromEntries(
      Object.entries(storedFields(fields)).map(([name, field]) => [
        name,
        name === 'enabled' ? fc.boolean() : valueFor(field as never),
      ]),
    ),
    { noNullPrototype: true },
  )

t.test('a row of any kind is decoded to what was encoded', async (t) => {
  for (const resource of resources) {
    const encode = rowEncoder(resource, origin)
    const columns = columnsOf(resource).map(({ name }) => name)
    const rows = fc
      .tuple(fieldsOf(resource.fields), fc.string(), fc.string(), fc.maxSafeNat(), timeMs)
      .map(([fields, id, account_id, version, created_at]): Row => {
        return { id, account_id, version, created_at, ...fields }
      })
    const isSame = (row: Row, deleted: boolean) => {
      const encoded = throughClickhouse(encode(row, deleted))
      deepStrictEqual(Object.keys(encoded).toSorted(), columns.toSorted(), 'a value per column')
      deepStrictEqual(decodeRow(resource, encoded), row)
    }
    t.doesNotThrow(() => fc.assert(fc.property(rows, fc.boolean(), isSame), { numRuns: 30 }), resource.kind)
  }
})

t.test('how values are stored', async (t) => {
  const head = { id: 'x_1', account_id: 'ac_1', version: 3, created_at: 1_500 }
  const encoded = (kind: string, row: object, deleted = false) =>
    rowEncoder(resourceOf(kind), origin)({ ...head, ...row }, deleted)
  t.match(encoded('ip_policy', {}), {
    account_id: 'ac_1',
    id: 'x_1',
    version: 3,
    deleted: false,
    created_at: '1970-01-01 00:00:01.500',
    changed_at: '1970-01-01 00:00:02.000',
    changed_by: 'ak_1',
    description: null,
  })
  t.match(encoded('ip_policy', {}, true), { deleted: true })
  const restriction = { enabled: false, ip_policy_ids: ['ipp_1'] }
  const cases = [
    { name: 'an unset list', row: {}, want: { hostports: [] } },
    { name: 'an unset module', row: {}, want: { ip_restriction_enabled: null } },
    {
      name: 'a module has a column per field',
      row: { ip_restriction: restriction },
      want: { ip_restriction_enabled: false, ip_restriction_ip_policy_ids: ['ipp_1'] },
    },
  ]
  for (const { name, row, want } of cases) t.match(encoded('tcp_edge', row), want, name)
  const target = { kinesis: { stream_arn: 'arn' } }
  t.match(encoded('event_destination', { target }), { target: JSON.stringify(target) }, 'JSON is text')
})

t.test('a row that is older than a column', async (t) => {
  const encoded = { id: 'ipr_1', account_id: 'ac_1', version: 3, created_at: '2026-01-01 00:00:00.000' }
  const rule = { ...encoded, cidr: '10.0.0.0/8', action: 'deny', enforced: null }
  t.match(decodeRow(resourceOf('ip_policy_rule'), rule), { enforced: true, description: null })
})

t.test('every module has the field by which an unset one is recognized', async (t) => {
  for (const { kind, fields } of resources)
    for (const [name, field] of Object.entries(fields))
      if (field.column === 'module') t.ok('enabled' in (field.fields ?? {}), `${kind}.${name}`)
})

t.test('the statements that create a table and its views', async (t) => {
  const destination = resourceOf('event_destination')
  const table = createTableSql(destination)
  t.match(table, /^CREATE TABLE IF NOT EXISTS event_destination_versions \(\n {2}`account_id` String,\n/)
  t.match(table, /`created_at` DateTime64\(3, 'UTC'\),/)
  t.match(table, /`sealed_secret` Nullable\(String\)/)
  t.match(table, /ENGINE = ReplacingMergeTree ORDER BY \(account_id, id, version\)/)
  t.match(table, /fsync_after_insert = 1, fsync_part_directory = 1/)
  const [current = '', history = ''] = createViewsSql(destination)
  t.match(current, /^CREATE OR REPLACE VIEW event_destinations AS SELECT /)
  t.match(history, /^CREATE OR REPLACE VIEW event_destinations_history AS SELECT .*`deleted`/)
  for (const view of [current, history])
    t.notMatch(view, /sealed_secret|secret_digest/, 'secrets stay hidden')
  t.notMatch(current, /`deleted`/)
  for (const resource of resources) {
    const names = columnsOf(resource).map(({ name }) => name)
    t.equal(new Set(names).size, names.length, `${resource.kind}: no column appears twice`)
  }
  const column = { name: 'note', type: 'Nullable(String)', hidden: false }
  t.equal(
    addColumnSql(resourceOf('ip_policy'), column),
    'ALTER TABLE ip_policy_versions ADD COLUMN IF NOT EXISTS `note` Nullable(String)',
  )
})
