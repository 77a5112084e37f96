/** When the demo's books balance, and the equations it names if they do not. */
import t from 'tap'
import { type Account, type Check, checkLine, checksOf, holds } from '../../../src/outside/demo/books.js'
import { MetricsPage } from '../../../src/outside/demo/metrics-page.js'
import type { Scenario } from '../../../src/outside/demo/scenario.js'

const balanced = `# HELP weir_records_in_total Records that came in.
weir_records_in_total 10
weir_records_bad_total 1
weir_records_evaluated_total{type="tcp_connection"} 9
weir_records_evaluated_total{type="http_request"} 0
weir_restriction_warnings_total{asked_by="record"} 3
weir_events_produced_total{kind="tcp_connection_closed.v0",target="kinesis"} 5
weir_events_delivered_total{target="kinesis"} 5
weir_events_backlog{target="kinesis"} 0
`

const scenario = {
  situations: { targets: [], each: [{ says: 'blocked', endpoint: 'a:22', expected: 2 }] },
  events: { kinesis: 5 },
  malformed: 1,
  unserved: 0,
  warnings: 2,
} as unknown as Scenario

interface Numbers {
  metrics?: string
  unique?: number
  deadLetters?: number
  published?: number
  blocked?: number
  repeated?: number
}

function failedChecks({
  metrics = balanced,
  unique = 5,
  deadLetters = 1,
  published = 10,
  blocked = 2,
  repeated,
}: Numbers): Check[] {
  const account = {
    scenario,
    published,
    metrics: new MetricsPage(metrics),
    badRecords: Array.from({ length: deadLetters }, () => ({})),
    destinations: [
      {
        destination: { kind: 'kinesis' },
        status: { counts: { delivered: 5 } },
        received: { events: repeated ?? unique, unique },
      },
    ],
    situations: [blocked],
    idsRepeat: repeated !== undefined,
  } as unknown as Account
  return checksOf(account).filter((check) => !holds(check))
}

const without = (line: RegExp, instead: string): string => balanced.replace(line, instead)

const cases = [
  { name: 'everything as it must be', given: {}, broken: [] },
  { name: 'a record that never arrived', given: { published: 11 }, broken: ['records in = evaluated + bad'] },
  {
    name: 'a bad record without a dead letter',
    given: { deadLetters: 0 },
    broken: ['bad records lie in the dead letters'],
  },
  {
    name: 'an event that only the books know',
    given: { unique: 4 },
    broken: ['kinesis: each event arrived'],
  },
  {
    name: 'an unserved record, although each has an edge',
    given: { metrics: `${balanced}weir_records_unserved_total 1\n` },
    broken: ['records that no edge serves'],
  },
  {
    name: 'fewer warnings than connections that a restriction would block',
    given: { metrics: without(/(warnings_total.*) 3/, '$1 1') },
    broken: ['at least as many warnings of the restriction that is not enforced'],
  },
  {
    name: 'an event that was never produced',
    given: { metrics: without(/((?:produced|delivered)_total.*) 5/g, '$1 4') },
    broken: ['kinesis: produced = delivered + dead-lettered + dropped + backlog'],
  },
  {
    name: 'a situation that was not decided as it must be',
    given: { blocked: 1 },
    broken: ['blocked at a:22'],
  },
  { name: 'ids that repeat, whose events a consumer drops', given: { unique: 3, repeated: 5 }, broken: [] },
  {
    name: 'an event that is missing, although ids repeat',
    given: { unique: 3, repeated: 4 },
    broken: ['kinesis: each event arrived'],
  },
  {
    name: 'an event that was neither delivered nor dead-lettered',
    given: { metrics: without(/(delivered_total.*) 5/, '$1 4') },
    broken: ['kinesis: produced = delivered + dead-lettered + dropped + backlog'],
  },
]

t.test('books', async (t) => {
  for (const { name, given, broken } of cases) {
    const failed = failedChecks(given)
    t.strictSame(
      failed.map(({ says }) => says),
      broken,
      name,
    )
    for (const check of failed) t.match(checkLine(check), /^ {2}.*: .* \d+, .* \d+/)
  }
})
