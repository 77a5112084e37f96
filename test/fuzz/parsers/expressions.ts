/** Expressions of policies and filters, and patterns in them. */
import { readdirSync, readFileSync } from 'node:fs'
import { policyScopes } from '../../../src/delivery/record/policy-scope.js'
import { isoMillis } from '../../../src/ground/core/clock.js'
import { WeirError } from '../../../src/ground/core/errors.js'
import { isTimestamp, millisOf, parseTimestamp, utcMicros } from '../../../src/ground/core/text/timestamp.js'
import { timeIn } from '../../../src/ground/core/text/units.js'
import { compileClosures, compileExpression, namesIn } from '../../../src/ground/expr/expression.js'
import { parseExpression, tokensOf } from '../../../src/ground/expr/parse.js'
import { Refusal } from '../../../src/ground/expr/problem.js'
import { compilePattern } from '../../../src/ground/expr/regex.js'
import { StepBudget } from '../../../src/ground/expr/run.js'
import { acceptedCoding, acceptedType } from '../../../src/management/exchange/accepted-forms.js'
import { numberIn, timeNamed } from '../../../src/management/exchange/query-values.js'
import { compileDecisionFilter } from '../../../src/management/insight/decision-filter.js'
import { Generator } from '../../ground/expr/generator.js'
import {
  expectSame,
  expectThat,
  type FuzzedParser,
  read,
  refused,
  refusedAt,
  tried,
} from '../engine/parser.js'

const samples = [
  'http.request.url.path == "/admin"',
  'conn.client_ip.inCidrRange("203.0.113.0/24") && !(geo.country == "DE")',
  "http.request.headers['x-role'][.value == 'admin'].length > 0 ? true : false",
  '["a", \'b\'] && conn.server_port in [22, 443] || -1.5 < 2',
  'http.request.user_agent.matches("^curl/(7|8)\\\\..*$")',
  '{a: 1, "b": 2}.a == 1',
]

/** Expressions of the cases that implementations agree on. */
const cases = (): string[] =>
  readdirSync('fixtures/expressions').flatMap((file) =>
    [
      ...readFileSync(`fixtures/expressions/${file}`, 'utf8').matchAll(
        /"(?:expression|text)": ("(?:[^"\\]|\\.)*")/g,
      ),
    ].map(([, text = '""']) => JSON.parse(text) as string),
  )

const words = [
  '&&',
  '||',
  '==',
  '?',
  ':',
  '(',
  ')',
  '[',
  ']',
  '.value',
  '|',
  ' in ',
  '!',
  '-',
  '"',
  "'",
  '\\',
  'conn.client_ip',
  '.matches("',
  '{',
  '}',
  '// x\n',
  '%',
  '^',
  '[.a',
  '__proto__',
]

const expressions: FuzzedParser = {
  name: 'expressions',
  sources: ['parse', 'tokens', 'expression', 'compile', 'check'].map((name) => `ground/expr/${name}.ts`),
  seeds: () => [...samples, ...cases().slice(0, 60)],
  words,
  made: (seed) => new Generator(seed).text(),
  keptPerByte: 200,
  msPerKiB: 40,
  read: (bytes) => {
    const text = bytes.toString()
    const parsed = tried(() => parseExpression(text), Refusal)
    tried(() => tokensOf(text), Refusal)
    const results = [compileExpression, compileClosures].map((compile) =>
      compile(text, policyScopes.http_request.outbound),
    )
    const [one, other] = results as [(typeof results)[0], (typeof results)[0]]
    expectSame(one.ok, other.ok, 'both ways to compile take the same')
    namesIn(text, policyScopes.http_request.outbound)
    if ('refused' in parsed) expectThat(!one.ok, 'what is no expression is not compiled')
    if (one.ok) return read(one.value.text)
    const { mark, msg } = one.problem
    expectThat(
      mark.line >= 1 && mark.column >= 1 && mark.offset + mark.length <= text.length,
      `a mark is beyond the text: ${JSON.stringify(mark)}`,
    )
    return refusedAt(msg, mark.offset, bytes)
  },
}

const patterns: FuzzedParser = {
  name: 'regular expressions of policies',
  sources: ['ground/expr/regex.ts'],
  seeds: () => ['^curl/(7|8)\\..*$', '(a+)+b', '[^\\w-]{2,5}?x|\\p{L}(?i:y)', '(?P<n>a)\\bz'],
  words: [
    '(',
    ')',
    '{1,1000}',
    '{2,}',
    '*',
    '+?',
    '[a-z',
    '\\p{L}',
    '(?i)',
    '|',
    '\\b',
    '(?P<a>',
    '[[:alpha:]]',
  ],
  bytesMax: 4_096,
  msPerKiB: 100,
  read: (bytes) => {
    const pattern = bytes.toString()
    const compiled = compilePattern(pattern)
    if (!compiled.ok) return refused(compiled.problem.msg)
    for (const text of ['', 'a'.repeat(1_000), pattern.slice(0, 1_000)])
      compiled.value(text, new StepBudget())
    return read(pattern.length)
  },
}

const filters: FuzzedParser = {
  name: 'filters of decisions',
  sources: ['management/insight/decision-filter.ts'],
  seeds: () => [
    'decision == "deny" && client_ip.inCidrRange("203.0.113.0/24")',
    'asn < 100 || server_name in ["a.example"]',
    'method == "get" && status_code >= 500',
  ],
  words: [...words, 'server_port', 'country', 'decided_by', 'method', '0.1', '1e400'],
  msPerKiB: 40,
  read: (bytes) => tried(() => compileDecisionFilter(bytes.toString()).condition),
}

/** Values of parameters and headers. */
const values: FuzzedParser = {
  name: 'values of queries',
  sources: [
    'management/exchange/query-values.ts',
    'management/exchange/accepted-forms.ts',
    'ground/core/text/units.ts',
    'ground/core/text/timestamp.ts',
  ],
  seeds: () => [
    '24h',
    '7d',
    '2026-11-25T10:00:00Z',
    '2016-12-31T23:59:60+00:00',
    '2026-11-25t10:00:00.123456789-23:59',
    '12',
    'application/json;q=0.5, text/*',
    'gzip;q=1.0, br',
  ],
  words: [
    'h',
    'ms',
    'd',
    'constructor',
    'valueOf',
    'T',
    'Z',
    '+00:00',
    '.5',
    ';q=',
    ', ',
    '9999-12-31T23:59:60Z',
  ],
  bytesMax: 16 * 1024,
  read: (bytes) => {
    const text = bytes.toString()
    acceptedType(text, ['application/json', 'text/csv'])
    acceptedCoding(text, ['gzip'])
    tried(() => numberIn('limit', text, { min: 1, max: 100 }))
    if (isTimestamp(text)) {
      const micros = utcMicros(text)
      expectThat(
        Number.isSafeInteger(parseTimestamp(text)) && Number.isSafeInteger(millisOf(text)),
        `the time of ${text}`,
      )
      if (micros !== undefined) expectSame(utcMicros(micros), micros, 'a time that is written and read again')
    }
    const ms = timeIn(text, 1_764_064_800_000)
    if (ms !== undefined) {
      expectThat(Number.isFinite(ms), `the time is ${ms}`)
      expectThat(isTimestamp(isoMillis(ms)), `the time ${ms} can't be shown`)
    }
    return tried(() => timeNamed('since', text), WeirError)
  },
}

export const expressionParsers: readonly FuzzedParser[] = [expressions, patterns, filters, values]
