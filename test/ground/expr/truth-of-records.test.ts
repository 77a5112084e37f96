/** Expressions that are said to be constant, over generated records. */
import fc from 'fast-check'
import t from 'tap'
import { geoOf } from '../../../src/delivery/record/geo-entry.js'
import { PolicyContext } from '../../../src/delivery/record/policy-context.js'
import { policyScopes } from '../../../src/delivery/record/policy-scope.js'
import { parseRecord } from '../../../src/delivery/record/record.js'
import { compileClosures, truthOf } from '../../../src/ground/expr/expression.js'
import { ExpressionFailure, StepBudget } from '../../../src/ground/expr/run.js'
import type { Truth } from '../../../src/ground/expr/truth.js'

/** Values that records have, and that expressions compare them with: few, so that they are often the same. */
const texts = [
  '',
  'a',
  'b',
  'ab',
  'A',
  'de',
  'DE',
  '22',
  '10.0.0.1',
  '\\u0000',
  '2026-11-20T13:19:00.000000Z',
]
const ports = [0, 1, 22, 23, 65_535]
const literals = [
  ...texts.map((text) => `'${text}'`),
  ...ports.map(String),
  ...['-1', '22.5', '65536', '100000', 'true', 'null', "'2026'"],
]
const textNames = [
  'conn.client_ip',
  'conn.server_ip',
  'conn.server_name',
  'conn.start_ts',
  'conn.geo.country_code',
  'conn.geo.city',
  "http.request.headers['a']",
  "http.request.cookies['a']",
  'http.request.method',
  'http.request.url.path',
]
const names = [
  ...textNames,
  'conn.server_port',
  'conn.client_port',
  'conn.asn',
  'conn.geo.latitude',
  'http.request.url.ambiguous',
]

const name = fc.constantFrom(...names)
const literal = fc.constantFrom(...literals)
const operator = fc.constantFrom('==', '!=', '<', '<=', '>', '>=')
const leaf = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(name, operator, literal).map((parts) => parts.join(' ')) },
  fc.tuple(literal, operator, name).map((parts) => parts.join(' ')),
  fc.tuple(name, operator, name).map((parts) => parts.join(' ')),
  fc
    .tuple(name, fc.array(literal, { maxLength: 3 }))
    .map(([each, items]) => `${each} in [${items.join(', ')}]`),
  fc
    .tuple(
      fc.constantFrom(...textNames),
      fc.constantFrom('startsWith', 'endsWith', 'contains'),
      fc.constantFrom(...texts),
    )
    .map(([each, ask, text]) => `${ask}(${each}, '${text}')`),
  fc
    .tuple(fc.constantFrom('lower', 'upper', 'double', 'size'), name, literal)
    .map(([f, each, to]) => `${f}(${each}) == ${to}`),
  fc
    .tuple(name, fc.constantFrom('+', '-', '*', '%'), literal, operator, literal)
    .map((parts) => parts.join(' ')),
  fc.constantFrom("'x' in conn.ip.categories", 'true', 'false', 'conn.geo.city', 'conn.server_port'),
)
const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc
      .tuple(tie('expression'), fc.constantFrom('&&', '||'), tie('expression'))
      .map(([a, by, b]) => `((${a}) ${by} (${b}))`),
    fc
      .tuple(tie('expression'), fc.constantFrom('&&', '||'), tie('expression'))
      .map(([a, by, b]) => `((${a}) ${by} (${b}))`),
    tie('expression').map((each) => `!(${each})`),
    fc
      .tuple(tie('expression'), tie('expression'), tie('expression'))
      .map(([test, yes, no]) => `((${test}) ? (${yes}) : (${no}))`),
  ),
}))

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof(arbitrary, fc.constantFrom(undefined, null))
const port = maybe(fc.oneof(fc.constantFrom(...ports), fc.integer({ min: 0, max: 65_535 })))
const text = maybe(fc.oneof(fc.constantFrom(...texts), fc.string({ maxLength: 3 })))
const header = fc.constantFrom({}, { a: ['a'] }, { a: [''] }, { A: ['b', 'a'] }, { cookie: ['a=ab; a=b'] })

const record = fc
  .record({
    client_ip: fc.constantFrom('10.0.0.1', '::1', '2001:db8::22'),
    server_ip: text,
    server_name: text,
    server_port: port,
    client_port: port,
    start_ts: maybe(
      fc.constantFrom('2026-11-20T13:19:00Z', '2026-11-20T14:19:00+01:00', '1999-01-01T00:00:00.5Z'),
    ),
  })
  .chain((conn) =>
    fc
      .record({ method: text, headers: header, url: fc.record({ path: text }) })
      .map((request) => ({ record_id: 'r', type: 'http_request', conn, http: { request } })),
  )
/** As a database has it, which may hold anything. */
const geo = fc
  .record({
    country_code: text,
    city: text,
    latitude: fc.constantFrom(0, 22, 90, 91, -90.5),
    autonomous_system_number: port,
  })
  .map(geoOf)

const outcomesOf: Readonly<Record<Truth, readonly (boolean | 'fails')[]>> = {
  always: [true],
  unless_fails: [true, 'fails'],
  never: [false, 'fails'],
  fails: ['fails'],
}

const scope = policyScopes.http_request.inbound

t.test('an expression that is said to be constant is, for every record', async (t) => {
  const counts = { constant: 0, other: 0 }
  fc.assert(
    fc.property(
      expression,
      fc.array(fc.tuple(record, geo), { minLength: 20, maxLength: 20 }),
      (text, records) => {
        const compiled = compileClosures(text, scope)
        if (!compiled.ok) return
        const truth = truthOf(text, scope)
        counts[truth === undefined ? 'other' : 'constant'] += 1
        if (truth === undefined) return
        for (const [each, known] of records) {
          const parsed = parseRecord(Buffer.from(JSON.stringify(each)))
          if (!parsed.ok) throw new Error(parsed.problem.msg)
          const context = new PolicyContext(parsed.value, 'edghttps_1', { lookup: () => known })
          const outcome = outcomeOf(() => compiled.value.isTrue(context, new StepBudget()))
          if (!outcomesOf[truth].includes(outcome))
            throw new Error(`${text} is ${outcome}, and said to be ${truth}`)
        }
      },
    ),
    { numRuns: 3_000 },
  )
  t.ok(counts.constant > 300, `${counts.constant} are constant`)
  t.ok(counts.other > 300, `${counts.other} are not`)
})

function outcomeOf(run: () => boolean): boolean | 'fails' {
  try {
    return run()
  } catch (error) {
    if (error instanceof ExpressionFailure) return 'fails'
    throw error
  }
}
