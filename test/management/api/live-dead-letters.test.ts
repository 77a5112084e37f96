/** Dead letters as they arrive, over HTTP: those of the own account, with reason, place and the first bytes. */
import t from 'tap'
import {
  deadAuditsSubject,
  deadEventsSubject,
  deadLetterHeaders,
  deadRecordsSubject,
} from '../../../src/delivery/wire/names.js'
import { listenHttp } from '../../../src/ground/core/http-listen.js'
import { openClient } from '../../../src/words/client/client.js'
import type { LiveDeadLetter } from '../../../src/words/shape/live.js'
import { openTestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'
import { until } from '../../harness/weir.js'

const target = {
  kinesis: {
    stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x',
    auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/x' } },
  },
}

t.test('dead letters', async (t) => {
  const store = await openTestStore(t)
  const listening = await listenHttp('127.0.0.1', 0, () => {})
  store.release.own(listening)
  const api = await store.api({ listening })
  const [me, other] = [await api.account('Harbor'), await api.account('Meadow')]
  const watching = async (caller: Caller, where?: string) => {
    const stop = new AbortController()
    const lines: LiveDeadLetter[] = []
    const rates: number[] = []
    const client = openClient({ url: listening.url, token: caller.token })
    const ended = (async () => {
      const options = { where, signal: stop.signal, rate: () => void rates.push(1) }
      for await (const line of client.watchDeadLetters(options)) lines.push(line)
    })()
    await until('the stream has begun', () => rates.length > 0)
    const close = async () => {
      stop.abort()
      await ended
    }
    return { lines, close }
  }
  const destinationOf = async (caller: Caller) => (await caller.eventDestination.create({ target })).id
  const [mine, theirs] = [await destinationOf(me), await destinationOf(other)]
  const edge = await me.tcpEdge.create({ hostports: ['dead.example:22'] })

  const bad = (text: string, line: number) =>
    store.admin.publish(deadRecordsSubject, text, {
      headers: {
        [deadLetterHeaders.reason]: 'It is bad.',
        [deadLetterHeaders.stream]: 'WEIR_RECORDS',
        [deadLetterHeaders.sequence]: '77',
        [deadLetterHeaders.line]: String(line),
      },
    })
  const undeliverable = (destination: string, text: string) =>
    store.admin.publish(deadEventsSubject, text, {
      headers: {
        [deadLetterHeaders.reason]: 'ValidationException: Too large.',
        [deadLetterHeaders.destination]: destination,
        [deadLetterHeaders.eventId]: 'ev_1',
        [deadLetterHeaders.originalSize]: '3000000',
      },
    })

  await t.test('a watcher sees those of its own account, and what it asks for', async (t) => {
    const all = await watching(me)
    const events = await watching(me, "kind == 'event'")
    const foreign = await watching(other)
    const byAccount = JSON.stringify({ account_id: me.accountId, conn: 7 })
    const byEdge = JSON.stringify({ edge_id: edge.id })
    for (const [index, text] of ['{', 'null', '[]', '{"account_id":7}', byAccount, byEdge].entries())
      await bad(text, index + 1)
    await bad(JSON.stringify({ account_id: other.accountId }), 7)
    await undeliverable(theirs, 'x')
    await undeliverable('ed_gone', 'x')
    await undeliverable(mine, 'y'.repeat(2_000))
    await store.admin.publish(deadAuditsSubject, JSON.stringify({ account_id: me.accountId }), {
      headers: {
        [deadLetterHeaders.reason]: 'It is bad.',
        [deadLetterHeaders.stream]: 'WEIR_AUDIT_IN',
        [deadLetterHeaders.sequence]: '9',
        [deadLetterHeaders.subject]: 'weir.audit.domain.created',
      },
    })
    await until('all have come', () => all.lines.length === 4 && foreign.lines.length === 2)
    const record = {
      kind: 'record',
      reason: 'It is bad.',
      sequence: 77,
      subject: null,
      destination_id: null,
      event_id: null,
    }
    const event = {
      kind: 'event',
      reason: 'ValidationException: Too large.',
      sequence: null,
      line: null,
      subject: null,
      destination_id: mine,
      event_id: 'ev_1',
      text: 'y'.repeat(1_024),
      size: 3_000_000,
    }
    const ofAudit = JSON.stringify({ account_id: me.accountId })
    const audit = { ...record, kind: 'audit', sequence: 9, line: null, subject: 'weir.audit.domain.created' }
    const shown = all.lines.map(({ at: _, ...line }) => line)
    t.strictSame(shown, [
      { ...record, line: 5, text: byAccount, size: byAccount.length },
      { ...record, line: 6, text: byEdge, size: byEdge.length },
      event,
      { ...audit, text: ofAudit, size: ofAudit.length },
    ])
    t.strictSame(
      events.lines.map(({ kind }) => kind),
      ['event'],
    )
    t.strictSame(
      foreign.lines.map(({ line, destination_id }) => [line, destination_id]),
      [
        [7, null],
        [null, theirs],
      ],
    )
    for (const each of [all, events, foreign]) await each.close()
  })

  await t.test('what is asked wrongly', async (t) => {
    t.match(await me.raw.refused(400, 'GET', '/live?dead=yes'), /"dead" is "yes"/)
    t.match(await me.raw.refused(400, 'GET', `/live?dead=true&destination=${mine}`), /must be left out/)
    await me.raw.refused(400, 'GET', '/live?dead=true&where=decision')
  })
})
