/** When the demo's books balance, and the equations it names if they do not. */
import t from 'tap'
import { type Check, checksOf, holds, type Result } from '../../../src/outside/demo/books.js'
import { MetricsPage } from '../../../src/outside/demo/metrics-page.js'
import { checkLine } from '../../../src/outside/demo/report.js'
import type { Scenario } from '../../../src/outside/demo/scenario.js'

const balanced = `# HELP weir_records_in_total Records that came in.
weir_records_in_total 10
weir_records_bad_total 1
weir_records_evaluated_total{type="tcp_connection"} 9
weir_records_evaluated_total{type="http_request"} 0
weir_decisions_total{decision="allow"} 6
weir_decisions_total{decision="block"} 3
weir_events_produced_total{kind="tcp_connection_closed.v0",target="kinesis"} 5
weir_events_filtered_total{kind="tcp_connection_closed.v0",target="kinesis"} 4
weir_events_delivered_total{target="kinesis"} 5
weir_events_backlog{target="kinesis"} 0
`

const scenario = {
  situations: { targets: [], each: [] },
  heard: (_target: string, _type: string, evaluated: number) => evaluated,
  logs: () => undefined,
  unserved: 0,
} as unknown as Scenario

interface Numbers {
  metrics?: string
  unique?: number
  deadLetters?: number
  published?: number
}

function failedChecks({ metrics = balanced, unique = 5, deadLetters = 1, published = 10 }: Numbers): Check[] {
  const counts = { produced: 5, filtered: 4, delivered: 5, dead_lettered: 0, retried: 0 }
  const result = {
    scenario,
    published,
    metrics: new MetricsPage(metrics),
    deadLetters,
    destinations: [
      {
        destination: { kind: 'kinesis' },
        status: { counts },
        received: { events: unique, unique, duplicates: 0 },
      },
    ],
    situations: [],
    idsRepeat: false,
  } as unknown as Result
  return checksOf(result).filter((check) => !holds(check))
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
    name: 'a record without a decision',
    given: { metrics: without(/"allow"} 6/, '"allow"} 5') },
    broken: ['evaluated = allowed + blocked + denied'],
  },
  {
    name: 'an event that was neither produced nor filtered',
    given: { metrics: without(/(filtered_total.*) 4/, '$1 3') },
    broken: ['kinesis: filtered out', 'kinesis: tcp_connection_closed.v0: evaluated = produced + filtered'],
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
    for (const check of failed) t.match(checkLine(check), /^ {2}NOT {2}/)
  }
})
