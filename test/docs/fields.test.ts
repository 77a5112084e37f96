/** The field reference: declarations, documents, `GET /fields` and `GET /schemas/…` say the same. */
import t from 'tap'
import { Compile } from 'typebox/compile'
import { optional, secretText, targetOptions } from '../../src/delivery/deliver/kind/target-options.js'
import { complaintAboutRecord } from '../../src/delivery/record/check.js'
import { policyScopes } from '../../src/delivery/record/policy-scope.js'
import { recordFields } from '../../src/delivery/record/record-fields.js'
import { recordSchemas } from '../../src/delivery/record/record-schemas.js'
import { recordTypes } from '../../src/delivery/record/traffic-record.js'
import * as limits from '../../src/ground/core/limits.js'
import { mapOf, objectOf, oneOf, Type } from '../../src/ground/core/schema.js'
import { checkExpression } from '../../src/ground/expr/expression.js'
import { expressionFunctions } from '../../src/ground/expr/functions.js'
import { inList } from '../../src/ground/expr/scope.js'
import { compileDecisionFilter } from '../../src/management/insight/decision-filter.js'
import { trafficEvents } from '../../src/words/event/catalog.js'
import { destinationSections } from '../../src/words/event/destination-sections.js'
import { eventSchemas } from '../../src/words/event/event-schemas.js'
import { fieldReference } from '../../src/words/event/field-reference.js'
import { withTables } from '../../src/words/event/field-tables.js'
import type { DecisionName } from '../../src/words/shape/decisions/logged-decision.js'
import { performanceTables } from '../bench/performance-tables.js'
import { chaosTables } from '../chaos/results.js'
import { clauseTables } from '../conformance/clause-table.js'
import { httpLines } from '../delivery/deliver/http-lines.js'
import { openTestStore } from '../harness/api.js'
import { attributeTables } from './attribute-table.js'
import { type Bound, boundRows, boundsTables } from './bounds-table.js'
import { chartTables } from './chart-table.js'
import { ddlTables } from './ddl-tables.js'
import { exitTables } from './exit-table.js'
import { pages } from './pages.js'
import { writerPages } from './writer-pages.js'

const reference = fieldReference()

t.test('generated parts of the documents are up to date; `npm run docs` writes them', (t) => {
  const others = {
    ...performanceTables,
    ...chaosTables,
    ...attributeTables,
    ...clauseTables,
    ...ddlTables,
    ...boundsTables,
    ...chartTables,
    ...exitTables,
    ...writerPages,
  }
  for (const { file, text } of pages) t.equal(withTables(text, reference, others), text, file)
  const marked = pages.flatMap(({ text }) =>
    [...text.matchAll(/<!-- generated: (\w+) -->/g)].map(([, name]) => name),
  )
  t.strictSame(marked.toSorted(), [
    'attributes',
    'bounds',
    'chaos',
    'costs',
    'destinations',
    'exampleTables',
    'exits',
    'fields',
    'functions',
    'hidden',
    'machines',
    'names',
    'performance',
    'plans',
    'promises',
    'records',
    'sqlTypes',
    'values',
    'writers',
  ])
  t.end()
})

t.test('every bound on bytes has one on items beside it', (t) => {
  for (const { what, items } of boundRows) t.ok(items.length > 0, what)
  const named = new Set(boundRows.flatMap(({ bytes, items }) => [...bytes, ...items.map(([name]) => name)]))
  // Bounds on data that Weir makes itself.
  const others = ['payloadHeadroomBytes', 'packBytesTarget']
  const sent = Object.keys(limits).filter((name) => /Bytes/.test(name) && !others.includes(name))
  for (const name of sent) t.ok(named.has(name as Bound), name)
  t.end()
})

t.test('the section of a destination kind comes from its declaration', (t) => {
  const options = targetOptions({
    mode: optional(oneOf(['a', 'b'], 'Which one.')),
    size: optional(Type.Integer({ minimum: 1, maximum: 2_000, description: 'How large.' })),
    hosts: Type.Array(Type.String({ maxLength: 9 }), { maxItems: 3 }),
    headers: optional(mapOf(Type.String(), { maxProperties: 4, description: 'Headers.' })),
    auth: optional(objectOf({ username: Type.String(), password: secretText() })),
  })
  const kind = { ...httpLines, options, limits: { ...httpLines.limits, lingerMs: 1_500 } }
  t.strictSame(destinationSections([kind]).split('\n'), [
    '### Web server',
    '',
    '`{"http_lines": {"url": "http://127.0.0.1:8080/events", …}}` · [more](destinations/http-lines.md)',
    '',
    'POST. The body is the lines of the events.',
    '',
    '| Member | Value | Meaning |',
    '|---|---|---|',
    '| `url` | text, required | Where events go, such as `http://127.0.0.1:8080/events`. |',
    '| `mode` | `a`, `b` | Which one. |',
    '| `size` | number, 1 to 2,000 | How large. |',
    '| `hosts` | list, up to 3: text, up to 9, required |  |',
    '| `headers` | map, up to 4 | Headers. |',
    '| `auth` | object |  |',
    '| `auth.username` | text, required |  |',
    '| `auth.password` | text, up to 4,096 | Stored encrypted, and never shown. |',
    '',
    '- An event is its JSON and a line feed, of at most 1 MiB.',
    '- At most 1,000 events in a request, and 512 KiB of them; up to 1 MiB with `WEIR_HTTP_LINES_REQUEST_MAX`.',
    '- A request that is not full waits up to 1.5 s for more events.',
  ])
  t.end()
})

t.test('every name and function of expressions is described', (t) => {
  const { names, functions } = reference.expressions
  for (const type of recordTypes) {
    const { names: known } = policyScopes[type].outbound
    t.strictSame(
      names
        .filter(({ records }) => records.includes(type))
        .flatMap(({ name, aliases }) => [name.replace("['x-name']", ''), ...aliases])
        .toSorted(),
      [...known.keys()].toSorted(),
    )
  }
  t.strictSame(
    functions.map(({ name }) => name),
    [...expressionFunctions.keys(), inList.name],
  )
  for (const { name, example } of functions) {
    t.equal(checkExpression<never>(example, policyScopes.tcp_connection.outbound), undefined, example)
    t.ok(example.includes(name), example)
  }
  t.end()
})

/** One of each type of JSON, and the borders of numbers. */
const values = [
  'text',
  '',
  '203.0.113.7',
  '2026-11-20T10:00:00Z',
  true,
  0,
  -1,
  1.5,
  65_535,
  65_536,
  2 ** 31 - 1,
  2 ** 31,
  Number.MAX_SAFE_INTEGER,
  2 ** 53,
  null,
  [],
  ['text'],
  {},
  { name: ['text'] },
  { name: 'text' },
  { name: [1] },
]

/** Formats are checked by `record/check.ts` alone. */
const needsFormat = new Set(['address', 'timestamp'])

t.test('the schemas of records say what is checked', (t) => {
  for (const { type, schema } of recordSchemas) {
    const compiled = Compile(schema)
    const recordWith = (name: string, value: unknown) => {
      const record = { record_id: 'r', type, conn: { client_ip: '203.0.113.7' } }
      const path = name.split('.')
      const leaf = path.pop()!
      let members: Record<string, unknown> = record
      for (const group of path) {
        members[group] ??= {}
        members = members[group] as Record<string, unknown>
      }
      members[leaf] = value
      return record
    }
    for (const [name, field] of Object.entries(recordFields[type])) {
      for (const value of values) {
        const record = recordWith(name, value)
        const isRight = complaintAboutRecord(record) === undefined
        if (needsFormat.has(field.type) && typeof value === 'string') continue
        t.equal(compiled.Check(record), isRight, `${type}: ${name} = ${JSON.stringify(value)}`)
      }
      t.notOk(
        complaintAboutRecord(recordWith(name, Symbol('no value of JSON'))) === undefined,
        `${name} is checked`,
      )
    }
    t.ok(compiled.Check({ ...recordWith('record_id', 'r'), unknown: 1 }), 'unknown members are allowed')
    t.notOk(compiled.Check({ ...recordWith('record_id', 'r'), type: 'other' }))
  }
  t.end()
})

t.test('the API serves the reference and the schemas, without a key', async (t) => {
  const store = await openTestStore(t)
  const { app } = await store.api()
  const get = async (url: string) => {
    const answer = await app.inject({ method: 'GET', url })
    t.equal(answer.statusCode, 200, url)
    return answer
  }
  const { decisions, ...others } = (await get('/fields')).json()
  t.strictSame(others, JSON.parse(JSON.stringify(reference)))
  const names = decisions as readonly DecisionName[]
  for (const { name, about } of names) t.ok(about.endsWith('.'), `${name} says what it means`)
  for (const { name, type } of names)
    compileDecisionFilter(type === 'number' ? `${name} == 1` : `${name} == 'x'`)
  t.match(
    names.find(({ name }) => name === 'decision'),
    { type: 'text', values: ['allow', 'block', 'deny'] },
  )
  const schemas = [...recordTypes, ...eventSchemas().map(({ kind }) => kind)]
  t.ok(schemas.length > trafficEvents.length + recordTypes.length)
  for (const name of schemas) {
    const answer = await get(`/schemas/${name}.json`)
    t.match(answer.headers['content-type'], /^application\/schema\+json/)
    const schema = answer.json()
    t.match(schema, { $schema: /2020-12/, $ref: /^#\/\$defs\// }, name)
    for (const [, definition = ''] of answer.payload.matchAll(/"#\/\$defs\/([^"]+)"/g))
      t.ok(definition in schema.$defs, `${name}: ${definition}`)
  }
  const { body } = await app
    .inject({ method: 'GET', url: '/schemas/unknown.json' })
    .then((a) => ({ body: a.json() }))
  t.match(body, { error_code: String })
})
