/** `weir status`: what a person sees, and what a script gets. */
import t from 'tap'
import { type State, showStatus, statusText } from '../../../src/outside/cli/status-report.js'
import { overviewSchema } from '../../../src/words/shape/overview.js'

type Attention = State['attention'][number]

const [example] = (overviewSchema as unknown as { readonly examples: [State] }).examples
const [worst] = example.attention as [Attention]

const well = {
  ...example,
  state: 'ok',
  sentence: 'All is well.',
  attention: [],
  unknown: [],
  destinations: [],
  decisions: { allow: 12_345, block: 6, deny: 0, since: '2026-11-19T10:00:00Z' },
  last_change: null,
} as const satisfies State

const notice = (sentence: string): Attention => ({ ...worst, severity: 'notice', sentence })

t.test('all is well', (t) => {
  const lines = statusText(well).split('\n')
  t.match(lines, [
    /^ok {12}All is well\.$/,
    /^decisions {5}12,345 allowed, 6 blocked, 0 denied since 2026-11-/,
    /^destinations {2}none$/,
    /^records {7}none wait$/,
    /^last change {3}none$/,
    /^as of {9}2026-11-/,
  ])
  t.equal(lines.length, 6)
  t.end()
})

t.test('something fails: its sentence once, then the others, and what is not known', (t) => {
  const attention = [worst, ...Array.from({ length: 7 }, (_, index) => notice(`Sentence ${index}.`))]
  const text = statusText({ ...well, ...example, attention, attention_left_out: 3 })
  t.equal(text.match(/refuses every request/g)?.length, 1)
  t.match(text, /^failing {7}Destination "the audit trail" refuses/)
  t.match(text, /^notice {8}Sentence 4\.$/m)
  t.notMatch(text, 'Sentence 5.')
  t.match(text, /^ {14}and 5 more: weir status --json/m)
  t.match(text, /^not known {5}unserved_names: The decision log was not read/m)
  t.match(text, /^destinations {2}1 \w+; 1,200 events wait$/m)
  t.match(statusText({ ...well, records_lag: null }), /^records {7}not known: NATS does not answer$/m)
  t.end()
})

t.test('the answer to a script: all that is known, even without the log of decisions', async (t) => {
  const printed: string[] = []
  const client = (overview: object) => ({
    overview: async () => overview as State,
    stats: async () => Promise.reject(new Error('The decision log is off.')),
    // biome-ignore lint/correctness/useYield: it fails before
    async *changes() {
      throw new Error('ClickHouse does not answer.')
    },
  })
  t.equal(await showStatus(client(well), { json: true }, (text) => printed.push(text)), true)
  t.match(JSON.parse(printed[0]!), {
    state: 'ok',
    decisions: { unknown: 'The decision log is off.' },
    last_change: { unknown: 'ClickHouse does not answer.' },
  })
  t.equal(await showStatus(client(example), {}, (text) => printed.push(text)), false)
  t.match(printed[1], /^decisions {5}not known: The decision log is off\.$/m)
  t.match(printed[1], /^last change {3}not known: ClickHouse does not answer\.$/m)
  const hostile = { ...well, sentence: 'All \u001b[2J is well.' }
  await showStatus(client(hostile), {}, (text) => printed.push(text))
  t.notMatch(printed[2], '\u001b')
})
