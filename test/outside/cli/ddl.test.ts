/** `weir ddl`: which tables are printed, in which form, and what is refused. */
import t from 'tap'
import { ddlText, ownText } from '../../../src/outside/cli/ddl.js'
import { dialects } from '../../../src/words/event/event-ddl.js'
import { eventSchemas } from '../../../src/words/event/event-schemas.js'

const schemas = eventSchemas()
const tcp = 'tcp_connection_closed.v0'
const log = 'log.v0'

t.test('a table per kind; all kinds if none is named', (t) => {
  const names = (sql: string) => [...sql.matchAll(/^CREATE TABLE (\S+) \($/gm)].map(([, name]) => name)
  t.strictSame(names(ddlText(schemas, { dialect: 'duckdb', kind: [tcp, log] })), [
    'tcp_connection_closed_v0',
    'log_v0',
  ])
  t.equal(names(ddlText(schemas, { dialect: 'clickhouse' })).length, schemas.length)
  t.end()
})

t.test('one table for several kinds', (t) => {
  const sql = ddlText(schemas, { dialect: 'clickhouse', kind: [tcp, log], table: 'shop.order' })
  t.match(sql, 'CREATE TABLE shop.`order` (')
  t.match(sql, /bytes_in[\s\S]*metadata/)
  t.end()
})

t.test('a line of JSON for each table, in every dialect', (t) => {
  for (const dialect of dialects) {
    const lines = ddlText(schemas, { dialect, kind: [tcp, log], json: true })
      .trim()
      .split('\n')
    t.match(
      lines.map((line) => JSON.parse(line)),
      [
        { kinds: [tcp], table: 'tcp_connection_closed_v0', dialect },
        { kinds: [log], table: 'log_v0', dialect },
      ],
    )
  }
  t.end()
})

t.test('one schema is the file that programs take; several are named', (t) => {
  t.match(JSON.parse(ddlText(schemas, { dialect: 'bigquery', kind: [tcp] })), [{ name: 'event_id' }])
  const several = JSON.parse(ddlText(schemas, { dialect: 'json-schema', kind: [tcp, log] }))
  t.strictSame(Object.keys(several), [tcp, log])
  t.match(several[tcp], { $schema: /2020-12/, properties: { event_type: { const: tcp } } })
  t.notMatch(JSON.stringify(several), 'x-documented')
  t.end()
})

t.test('the tables of Weir itself have no other options', (t) => {
  t.equal(ownText(['CREATE a', 'CREATE b'], {}), 'CREATE a;\n\nCREATE b;\n')
  t.equal(ownText(['CREATE a', 'CREATE b'], { json: true }), '{"ddl":"CREATE a"}\n{"ddl":"CREATE b"}\n')
  t.throws(() => ownText([], { dialect: 'duckdb', json: true }), { message: /have no --dialect: leave it/ })
  t.end()
})

t.test('what is refused', (t) => {
  t.throws(() => ddlText(schemas, { dialect: 'duckdb', kind: ['log.v1'] }), {
    message: /no kind of event "log\.v1": did you mean "log\.v0"\? supported are "http_request_complete/,
  })
  t.throws(() => ddlText(schemas, { dialect: 'duck' }), { message: /no dialect "duck": .*"duckdb"/ })
  for (const table of ['', 'a;b', 'a.b.c', '1a', "a'b"])
    t.throws(() => ddlText(schemas, { dialect: 'duckdb', table }), {
      message: /^--table is .* database\.events\.$/,
    })
  t.throws(() => ddlText(schemas, { dialect: 'json-schema', table: 'a' }), {
    message: /^--table: .* leave it out/,
  })
  t.end()
})
