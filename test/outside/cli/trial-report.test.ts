/** Trials as the command line prints them. */
import t from 'tap'
import { progressText, trialReport } from '../../../src/outside/cli/try/try.js'
import { type Trial, trialExample } from '../../../src/words/shape/trial.js'

const example = trialExample as Trial

t.test('a draft that changes decisions', async (t) => {
  const text = trialReport({ ...example, stopped_by: 'time' })
  for (const line of [
    'Records that were stored from 2026-11-20T09:00:00.000Z to 2026-11-20T10:00:00.000Z: the first is of 2026-11-20T09:00:00.125Z, the last of 2026-11-20T09:59:59.750Z.',
    'The trial ended early, at 2026-11-20T09:59:59.750Z: its limit of time was reached. This is about the records before.',
    'The draft removes what is there now: inbound[1] "office hours".',
    '310 of 7,514 records would be decided differently.',
    '  allow → allow  7,204',
    '  allow → deny   310',
    '  clients    203.0.113.66 (308)',
    '  countries  DE (310)',
    '  2026-11-20T09:00:12.250Z  203.0.113.66  DE  ssh.example.com:22  allow → deny  traffic_policy No scanners',
  ])
    t.ok(text.split('\n').includes(line), line)
  t.notMatch(text, /warnings|failures|log actions/, 'what stays the same is left out')
})

t.test('a draft that changes nothing but log actions', async (t) => {
  const { decisions } = example
  const quiet = { ...decisions!, changed: 0, examples: [], log_actions: { before: 12, after: 2_000 } }
  const text = trialReport({ ...example, decisions: quiet })
  t.match(text, /\n {2}log actions {2}12 → 2,000\n/)
  t.notMatch(text, /Examples/)
})

t.test('a subscription', async (t) => {
  const text = trialReport({
    ...example,
    decisions: null,
    events: {
      records: 3,
      events: 2,
      bytes: 1_300,
      per_hour: { events: 2, bytes: 3 * 1024 ** 2 },
      billing: { kinesis_payload_units: 2, firehose_bytes: 10_240, cloudwatch_logs_bytes: 900 },
      sources: [
        {
          type: 'tcp_connection_closed.v0',
          events: 2,
          bytes: 1_300,
          filtered: 1,
          failed: 1,
          names: [
            { name: 'conn.asn', records: 3, with_value: 0, note: 'No database has it.' },
            { name: 'conn.server_port', records: 3, with_value: 3, note: null },
          ],
        },
      ],
      sources_not_tried: ['ip_policy_created.v0'],
      examples: [],
    },
  })
  for (const line of [
    '3 records would have made 2 events of 1.3 KiB: per hour 2 events of 3.0 MiB.',
    '  tcp_connection_closed.v0  2 events  1.3 KiB  1 filtered  1 of them without a result',
    'conn.asn had a value in 0 of 3 records. No database has it.',
    'Not made from records, and not tried: ip_policy_created.v0.',
    '  Kinesis          2 payload units',
    '  Firehose         10.0 KiB',
    '  CloudWatch Logs  900 bytes',
  ])
    t.ok(text.split('\n').includes(line), line)
})

t.test('the progress of a trial', async (t) => {
  t.equal(progressText(example), '7,514 records, read until 2026-11-20 09:59:59')
  const progress = { records: 0, bytes: 0, at: null, share: 0 }
  t.equal(progressText({ ...example, progress }), '0 records, read until …')
})

t.test('a trial says by which time it went, and which records count at another one', async (t) => {
  const times = { ...example.times!, no_time: 1, past: 2, ahead: 0, left_out: 1_200 }
  t.strictSame(
    trialReport({ ...example, time: 'own', times })
      .split('\n')
      .slice(0, 4),
    [
      'Records that began from 2026-11-20T09:00:00.000Z to 2026-11-20T10:00:00.000Z: the first is of 2026-11-20T09:00:00.125Z, the last of 2026-11-20T09:59:59.750Z.',
      '1 record without a time of their own: counted when stored.',
      '2 records with a time of more than 5 years before: counted when stored.',
      '1,200 records stored since then that began before or after: left out.',
    ],
  )
  const none = { ...times, first: null, last: null }
  t.match(trialReport({ ...example, times: none }), /10:00:00\.000Z: there are none\.\n/)
})
