/** The sentences of an overview about destinations in each state. */
import t from 'tap'
import { unansweredCause } from '../../../src/management/operate/advice/delivery-advice.js'
import { destinationAttention, worstFirst } from '../../../src/management/operate/destination-attention.js'
import type { Loss } from '../../../src/management/operate/destination-operations.js'
import type { DeliveryStatus } from '../../../src/words/shape/delivery-status.js'
import type { Attention } from '../../../src/words/shape/overview.js'
import { idleStatus } from '../../harness/idle-status.js'

const nowMs = Date.parse('2026-11-20T10:30:00.000Z')
const at = { nowMs, warningMs: 6 * 60 * 60_000 }
const since = '2026-11-20T10:02:10.000Z'
const fault = { at: since, code: 'ResourceNotFoundException', msg: 'Stream events not found.' }
const behind = { since, messages: 7, missed: 0, expires_at: null }
const waiting = (expires_at: string | null) => ({ events: 3, oldest_at: since, expires_at })

interface Case {
  readonly name: string
  readonly status?: Partial<DeliveryStatus>
  readonly losses?: readonly Loss[]
  readonly want: Partial<Attention>[]
}

const loss = (reason: Loss['reason'], minutesAgo: number): Loss => ({
  reason,
  events: 5,
  beganAtMs: nowMs - 90_000 * 60,
  endedAtMs: nowMs - minutesAgo * 60_000,
})

const failing = { type: 'destination_failing', severity: 'failing' } as const
const cases: Case[] = [
  { name: 'healthy', want: [] },
  {
    name: 'the target is missing',
    status: { state: 'paused', cause: 'configuration', since, last_error: fault },
    want: [
      {
        ...failing,
        sentence:
          'Destination "the audit trail" refuses every request since 2026-11-20T10:02:10Z: ResourceNotFoundException: Stream events not found.',
        since,
        latest: since,
        ids: ['ed_1'],
        kind: 'event_destination',
      },
    ],
  },
  {
    name: 'a fault of yesterday, in several lines',
    status: {
      state: 'failing',
      cause: 'transient',
      since: '2026-11-19T08:00:00.000Z',
      last_error: { ...fault, msg: 'no\n answer' },
    },
    want: [
      {
        ...failing,
        sentence: /fails or does not answer in time since 2026-11-19T08:00:00Z: \w+: no answer\.$/ as never,
      },
    ],
  },
  {
    name: 'throttled',
    status: { state: 'throttled', cause: 'throttle', since, backlog: waiting(null) },
    want: [{ type: 'destination_throttled', severity: 'attention', count: 3 }],
  },
  {
    name: 'paused by hand',
    status: { state: 'paused', cause: 'paused by hand', since, backlog: waiting(null) },
    want: [
      {
        type: 'destination_paused',
        severity: 'attention',
        sentence:
          'Destination "the audit trail" is paused by hand since 2026-11-20T10:02:10Z; 3 events wait.',
      },
    ],
  },
  {
    name: 'no deliverer',
    status: { state: 'paused', cause: unansweredCause, since },
    want: [{ type: 'deliverers_silent', severity: 'failing', count: 1, ids: ['ed_1'] }],
  },
  {
    name: 'behind',
    status: { behind },
    want: [{ type: 'destination_behind', severity: 'attention', count: 7 }],
  },
  {
    name: 'behind, with records missed',
    status: { behind: { ...behind, missed: 1 } },
    want: [
      {
        type: 'destination_behind',
        severity: 'failing',
        sentence: /lost the events of 1 message of records\.$/ as never,
      },
    ],
  },
  {
    name: 'failing, and its events will be dropped soon',
    status: { state: 'failing', cause: 'transient', since, backlog: waiting('2026-11-20T15:00:00.000Z') },
    want: [failing, { type: 'events_expiring', severity: 'failing', until: '2026-11-20T15:00:00.000Z' }],
  },
  {
    name: 'failing, and its events have time',
    status: { state: 'failing', cause: 'transient', since, backlog: waiting('2026-11-22T15:00:00.000Z') },
    want: [failing],
  },
  {
    name: 'healthy with an old backlog',
    status: { backlog: waiting('2026-11-20T11:00:00.000Z') },
    want: [],
  },
  {
    name: 'events dropped just now, some hours ago, and days ago',
    losses: [loss('age', 5), loss('vanished', 300), loss('age', 3 * 24 * 60)],
    want: [
      { type: 'events_dropped', severity: 'failing', count: 5 },
      { type: 'events_dropped', severity: 'attention', sentence: /vanished from the stream/ as never },
    ],
  },
]

for (const { name, status, losses = [], want } of cases)
  t.test(name, (t) => {
    const description = 'the audit trail'
    const shown = {
      destination_id: 'ed_1',
      description,
      status: { ...idleStatus, description, ...status },
    }
    const found = destinationAttention([shown], () => losses, at)
    t.equal(found.length, want.length)
    t.match(found, want)
    t.end()
  })

t.test('a destination without a description has its id, a long description is cut', (t) => {
  const status = { ...idleStatus, state: 'failing', cause: 'transient', since } as const
  const shown = (description: string | null) => ({ destination_id: 'ed_1', description, status })
  const [first, second] = destinationAttention([shown(null), shown('x'.repeat(200))], () => [], at)
  t.match(first!.sentence, /^Destination ed_1 fails/)
  t.match(second!.sentence, /^Destination "x{80}…" fails/)
  t.end()
})

t.test('the worst come first, and those of one severity keep their order', (t) => {
  const of = (severity: Attention['severity'], count: number) => ({ severity, count }) as Attention
  t.strictSame(
    worstFirst([of('notice', 1), of('failing', 2), of('attention', 3), of('failing', 4)]).map(
      ({ count }) => count,
    ),
    [2, 4, 3, 1],
  )
  t.end()
})
