/** The output of `weir destination`. */
import t from 'tap'
import {
  attemptText,
  checkText,
  iamPolicyText,
  statusText,
} from '../../../src/outside/cli/destination-commands.js'
import { operatorAction } from '../../../src/words/event/operator-actions.js'
import type { DeliveryStatus, DestinationCheck } from '../../../src/words/shape/delivery-status.js'
import { idleStatus } from '../../harness/idle-status.js'
import { targetShown } from '../../harness/targets.js'

t.test('the report of a check', (t) => {
  const nothing = { proved: [], not_proved: [], error: null, advice: null, actions: [] }
  const cases: { name: string; check: DestinationCheck; want: string[] }[] = [
    {
      name: 'unproved: what works, and what was not looked at',
      check: {
        ...nothing,
        result: 'unproved',
        proved: ['A works.', 'B works.'],
        not_proved: ['The right to C.'],
      },
      want: ['ed_1  unproved', '  A works.', '  B works.', '  Not proved: The right to C.'],
    },
    {
      name: 'failed: why, and what to do',
      check: {
        ...nothing,
        result: 'failed',
        error: { code: 'X', msg: 'It is missing.' },
        advice: 'Create it.',
        actions: [operatorAction('edit_target', 'ed_1')],
      },
      want: [
        'ed_1  failed',
        '  X: It is missing.',
        '  Create it.',
        '  edit target: PATCH /event_destinations/ed_1',
      ],
    },
  ]
  for (const { name, check, want } of cases) t.same(checkText('ed_1', check).split('\n'), want, name)
  t.end()
})

t.test('policies to copy', (t) => {
  const policy = { Version: '2012-10-17' as const, Statement: [] }
  const shown = JSON.stringify(policy, undefined, 2)
  t.equal(iamPolicyText({ policy, trust_policy: null, notes: [] }), `Of the user:\n${shown}`)
  t.equal(
    iamPolicyText({ policy, trust_policy: policy, notes: ['Replace it.'] }),
    `Of the role:\n${shown}\n\nTrust policy of the role:\n${shown}\n\nReplace it.`,
  )
  t.end()
})

const stream_arn = 'arn:aws:kinesis:us-east-1:123456789012:stream/events'
const role = { role_arn: 'arn:aws:iam::123456789012:role/weir' }
const trail = {
  id: 'ed_1',
  description: 'trail',
  target: targetShown({ kinesis: { stream_arn, auth: { role, creds: null } } }),
}
const noCounts = 'produced 0, filtered 0, delivered 0, dead_lettered 0, dropped 0, retried 0'

t.test('the report of a status', (t) => {
  const cases: { name: string; changed: Partial<DeliveryStatus>; want: string[] }[] = [
    {
      name: 'nothing happened yet',
      changed: {},
      want: ['ed_1  healthy  trail', `  kinesis  ${stream_arn}`, '  0 events wait', `  ${noCounts}`],
    },
    {
      name: 'in trouble: why, what to do, and what waits',
      changed: {
        state: 'paused',
        cause: 'credentials',
        advice: 'Set new keys.',
        actions: [operatorAction('try_now', 'ed_1')],
        since: '2026-11-20T10:00:00.000Z',
        backlog: {
          events: 7,
          oldest_at: '2026-11-20T09:59:00.000Z',
          expires_at: '2026-11-23T09:59:00.000Z',
        },
        last_success_at: '2026-11-20T09:58:00.000Z',
        last_error: { at: '2026-11-20T10:00:00.000Z', code: 'ExpiredToken', msg: 'It has expired.' },
      },
      want: [
        'ed_1  paused (credentials)  trail',
        `  kinesis  ${stream_arn}`,
        '  since 2026-11-20T10:00:00.000Z',
        '  last error 2026-11-20T10:00:00.000Z: ExpiredToken: It has expired.',
        '  Set new keys.',
        '  try now: weir destination resume ed_1',
        '  7 events wait, the oldest since 2026-11-20T09:59:00.000Z, kept until 2026-11-23T09:59:00.000Z',
        '  last success 2026-11-20T09:58:00.000Z',
        `  ${noCounts}`,
      ],
    },
  ]
  for (const { name, changed, want } of cases)
    t.same(statusText(trail, { ...idleStatus, ...changed }).split('\n'), want, name)
  t.end()
})

t.test('an attempt is a line', (t) => {
  const attempt = {
    at: '2026-11-20T10:00:02.117Z',
    took_ms: 41,
    outcome: 'partial' as const,
    events: 500,
    accepted: 380,
    bytes: 256_410,
    request_id: 'c0ffee00',
    error: { code: 'Throttled', msg: 'Rate exceeded.' },
  }
  t.equal(
    attemptText(attempt),
    '2026-11-20T10:00:02.117Z  partial    380 of 500 events  256410 bytes  41 ms  c0ffee00  Throttled: Rate exceeded.',
  )
  const unanswered = {
    ...attempt,
    outcome: 'delivered' as const,
    accepted: 500,
    request_id: null,
    error: null,
  }
  t.match(attemptText(unanswered), /delivered {2}500 of 500 events {2}256410 bytes {2}41 ms$/)
  t.end()
})
