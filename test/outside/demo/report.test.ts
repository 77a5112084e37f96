/** The demo's report of a run says only what happened. */
import t from 'tap'
import { surveyRecords } from '../../../src/outside/demo/records-file.js'
import { replay } from '../../../src/outside/demo/replay.js'
import { Screen } from '../../../src/outside/demo/screen.js'
import { outage } from '../../../src/outside/demo/summary.js'
import { hasNoticed } from '../../../src/outside/demo/watch.js'
import type { DeliveryStatus } from '../../../src/words/shape/delivery-status.js'
import { idleStatus } from '../../harness/idle-status.js'

const refused = { at: '2026-11-20T10:00:00.000Z', code: 'ProvisionedThroughputExceededException', msg: '' }

t.test('an outage counts if the destination noticed it', async (t) => {
  const cases = [
    { name: 'all is well', given: {}, want: false },
    {
      name: 'no deliverer answered in time',
      given: { state: 'paused', cause: 'no deliverer answers' },
      want: false,
    },
    { name: 'recovered', given: { last_error: refused }, want: false },
    { name: 'a state without its error', given: { state: 'throttled' }, want: false },
    { name: 'throttled', given: { state: 'throttled', last_error: refused }, want: true },
    { name: 'failing', given: { state: 'failing', last_error: refused }, want: true },
  ]
  for (const { name, given, want } of cases)
    t.equal(hasNoticed({ ...idleStatus, ...given } as DeliveryStatus), want, name)
})

t.test('the report of an outage has the numbers of the run', async (t) => {
  t.match(outage({ outage: undefined }), /no event was for it/)
  t.equal(
    outage({ outage: { shard: 1, state: 'throttled', seconds: 1.5 } }),
    'Kinesis shard 1 refused every record for at least 1.5 s; its destination was throttled.',
  )
})

t.test('colours and progress on terminals', async (t) => {
  const cases = [
    {
      name: 'a terminal',
      isTTY: true,
      hasColors: () => true,
      want: ['… work', '\u001b[32mok'],
    },
    {
      name: 'a terminal without colours',
      isTTY: true,
      hasColors: () => false,
      want: ['… work', 'ok'],
    },
    { name: 'a pipe', isTTY: false, want: ['ok'], not: ['work', '\u001b'] },
  ]
  for (const { name, want, not = [], ...output } of cases) {
    let text = ''
    const screen = new Screen({ ...output, write: (more: string) => (text += more) })
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
    yield* texts
  }
  const { questions } = replay(await surveyRecords(lines(), () => {}))
  t.strictSame(
    questions.map(({ conn }) => [conn.server_name, conn.server_port]),
    [
      ['a', 5432],
      ['b', undefined],
      ['c', 443],
    ],
  )
})
