/** The demo's report of a run says only what happened. */
import t from 'tap'
import type { DestinationResult } from '../../../src/outside/demo/books.js'
import { surveyRecords } from '../../../src/outside/demo/records-file.js'
import { replay } from '../../../src/outside/demo/replay.js'
import { outageText } from '../../../src/outside/demo/report.js'
import { Screen } from '../../../src/outside/demo/screen.js'
import { outage } from '../../../src/outside/demo/summary.js'
import { feltError } from '../../../src/outside/demo/watch.js'
import type { DeliveryStatus } from '../../../src/words/shape/delivery-status.js'
import { idleStatus } from '../../harness/idle-status.js'

const status = (given: object): DeliveryStatus => ({ ...idleStatus, ...given })
const refused = { at: '2026-11-20T10:00:00.000Z', code: 'ProvisionedThroughputExceededException', msg: '' }

t.test('an outage counts if the destination noticed it', async (t) => {
  const cases = [
    { name: 'all is well', given: {}, want: undefined },
    {
      name: 'no deliverer answered in time',
      given: { state: 'paused', cause: 'no deliverer answers' },
      want: undefined,
    },
    { name: 'recovered', given: { last_error: refused }, want: undefined },
    { name: 'a state without its error', given: { state: 'throttled' }, want: undefined },
    { name: 'throttled', given: { state: 'throttled', last_error: refused }, want: refused.code },
    { name: 'failing', given: { state: 'failing', last_error: refused }, want: refused.code },
  ]
  for (const { name, given, want } of cases) t.equal(feltError(status(given)), want, name)
})

t.test('the report of an outage has the numbers of the run', async (t) => {
  const destinations = [
    {
      destination: { kind: 'kinesis' },
      status: status({ counts: { delivered: 100, retried: 12 } }),
      received: { events: 100, unique: 100, duplicates: 0 },
    },
  ] as unknown as DestinationResult[]
  t.match(outageText({ outage: undefined, destinations }), /No event was for the shard that failed/)
  const seen = { shard: 1, state: 'throttled', code: refused.code, arrived: 70, seconds: 1.5 } as const
  const text = outageText({ outage: seen, destinations })
  t.match(text, /"throttled" \(ProvisionedThroughputExceededException\); 70 events had arrived/)
  t.match(text, /sent again 12 times, and 0 arrived twice/)
  t.match(outage({ outage: undefined, destinations })[0], /no event was for it/)
  const [failed, healed] = outage({ outage: seen, destinations })
  t.match(
    failed,
    /^Kinesis shard 1 refused every record for at least 1\.5 s; its destination was throttled\.$/,
  )
  t.match(healed, /12 sent again, 0 arrived twice/)
})

t.test('colours and progress on terminals, details on request', async (t) => {
  const cases = [
    {
      name: 'a terminal',
      isTTY: true,
      hasColors: () => true,
      verbose: false,
      want: ['… work', '\u001b[32mok'],
    },
    {
      name: 'a terminal without colours',
      isTTY: true,
      hasColors: () => false,
      verbose: false,
      want: ['… work', 'ok'],
    },
    { name: 'a pipe', isTTY: false, verbose: false, want: ['ok'], not: ['work', '\u001b'] },
    { name: 'a pipe with details', isTTY: false, verbose: true, want: ['work: done', 'ok'], not: ['\u001b'] },
  ]
  for (const { name, verbose, want, not = [], ...output } of cases) {
    let text = ''
    const screen = new Screen({ ...output, write: (more: string) => (text += more) }, verbose)
    await screen.step('work', async () => {})
    screen.say(screen.paint('green', 'ok'))
    for (const part of want) t.ok(text.includes(part), `${name}: ${JSON.stringify(part)}`)
    for (const part of not) t.notOk(text.includes(part), `${name}: not ${JSON.stringify(part)}`)
  }
})

t.test("the replay asks for the file's own ports", async (t) => {
  const record = (server_name: string, server_port?: unknown) =>
    JSON.stringify({
      record_id: 'r',
      type: 'tcp_connection',
      conn: { client_ip: '10.0.0.1', server_name, server_port },
    })
  async function* lines() {
    const texts = [
      ...[record('a', 5432), record('a', 22), record('a', 5432), record('a', 5432)],
      ...[record('b', '443'), record('b', 70_000), record('b')],
      record('c', 443),
    ]
    for (const [index, text] of texts.entries()) yield { number: index + 1, text }
  }
  const { questions } = replay(await surveyRecords(lines(), 1_000, () => {}))
  t.strictSame(
    questions.map(({ conn }) => [conn.server_name, conn.server_port]),
    [
      ['a', 5432],
      ['b', undefined],
      ['c', 443],
    ],
  )
})
