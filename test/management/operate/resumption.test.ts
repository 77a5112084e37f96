/** The answer to a resume. */
import t from 'tap'
import { pausedByHand } from '../../../src/delivery/deliver/lane/health.js'
import { resumptionOf } from '../../../src/management/operate/advice/resumed.js'

const at = '2026-11-20T10:00:00.000Z'
const target = { http: { url: 'https://example.com/events' } }
const row = { id: 'ed_1', account_id: 'ac_1', created_at: 0, version: 1, target }
const before = { state: 'paused', cause: 'credentials', since: at, last_error: null } as const

t.test('the sentence and what was done', (t) => {
  const cases = [
    {
      name: 'paused by hand',
      got: resumptionOf({ ...row, paused: { at, source: 'API', api_key_id: null } }, undefined),
      want: {
        was_paused_by_hand: true,
        state: null,
        tried_now: true,
        msg: /paused by hand at 2026.* are sent/,
      },
    },
    {
      name: 'paused by a fault',
      got: resumptionOf(row, before),
      want: {
        was_paused_by_hand: false,
        state: 'paused',
        cause: 'credentials',
        tried_now: true,
        msg: /^It was not paused by hand\. It is paused since 2026-.*Z because of its credentials, and is tried now\. The server refuses/,
      },
    },
    {
      name: 'healthy',
      got: resumptionOf(row, { ...before, state: 'healthy', cause: null }),
      want: { was_paused_by_hand: false, state: 'healthy', msg: /It is healthy/ },
    },
    {
      name: 'no deliverer answers',
      got: resumptionOf(row, undefined),
      want: {
        was_paused_by_hand: false,
        tried_now: false,
        msg: /^It was not paused by hand\. No deliverer answered in time/,
      },
    },
    {
      name: 'resumed just before',
      got: resumptionOf(row, { ...before, cause: pausedByHand }),
      want: { was_paused_by_hand: false, tried_now: false, msg: /resumed before/ },
    },
  ]
  for (const { name, got, want } of cases) t.match(got, want, name)
  t.end()
})
