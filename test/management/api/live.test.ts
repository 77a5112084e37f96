/**
 * Decisions and deliveries as they happen, over HTTP: whose they are, which are wanted, how many, and what a slow reader
 * gets.
 */
import t from 'tap'
import type { DecisionRow } from '../../../src/delivery/wire/decision-rows.js'
import {
  decisionRowsSubject,
  watchedDeliveriesSubject,
  watchedRowsSubject,
  watchedSubject,
} from '../../../src/delivery/wire/names.js'
import { type WatchedAttempt, writeWatchedDelivery } from '../../../src/delivery/wire/watched.js'
import { listenHttp } from '../../../src/ground/core/http-listen.js'
import { watchedLinesPerSecondMax } from '../../../src/ground/core/limits.js'
import { Live, watchersPerAccountMax } from '../../../src/management/insight/live.js'
import { openClient, type WatchDecisionsOptions, type WatchRate } from '../../../src/words/client/client.js'
import type { LoggedDecision } from '../../../src/words/shape/decisions/logged-decision.js'
import type { LiveDelivery } from '../../../src/words/shape/live.js'
import { openTestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'
import { until } from '../../harness/weir.js'

const row = (accountId: string, recordId: string, changes: Partial<DecisionRow> = {}): DecisionRow =>
  decisionRow({
    accountId,
    recordId,
    at: Date.parse('2026-11-20T10:00:00.250Z'),
    edgeId: 'edgtcp_1',
    clientIp: '203.0.113.9',
    asn: 0,
    ...changes,
  })

const kinesisTarget = {
  kinesis: {
    stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x',
    auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/x' } },
  },
}

t.test('watching decisions and deliveries', async (t) => {
  const store = await openTestStore(t)
  const listening = await listenHttp('127.0.0.1', 0, () => {})
  store.release.own(listening)
  const api = await store.api({ listening })
  const me = await api.account('Harbor')
  const other = await api.account('Meadow')

  /** Watches until the signal; `lines` and `rates` are what has come so far. */
  const watching = async (caller: Caller, options: WatchDecisionsOptions = {}) => {
    const stop = new AbortController()
    const lines: LoggedDecision[] = []
    const rates: WatchRate[] = []
    const client = openClient({ url: listening.url, token: caller.token })
    const decisions = client.watchDecisions({
      ...options,
      signal: stop.signal,
      rate: (rate) => rates.push(rate),
    })
    const ended = (async () => {
      for await (const line of decisions) lines.push(line)
    })()
    await until('the stream has begun', async () => rates.length > 0)
    return {
      lines,
      rates,
      ended,
      ids: () => lines.map(({ record_id }) => record_id),
      stop: () => stop.abort(),
    }
  }
  const watchingDeliveries = async (caller: Caller, id: string, where?: string) => {
    const stop = new AbortController()
    const lines: LiveDelivery[] = []
    const rates: WatchRate[] = []
    const client = openClient({ url: listening.url, token: caller.token })
    const options = { where, signal: stop.signal, rate: (rate: WatchRate) => void rates.push(rate) }
    const ended = (async () => {
      for await (const line of client.watchDeliveries(id, options)) lines.push(line)
    })()
    await until('the stream has begun', async () => rates.length > 0)
    return { lines, rates, ended, stop: () => stop.abort() }
  }
  const publish = (rows: readonly DecisionRow[], subject = decisionRowsSubject): void =>
    store.admin.emit(subject, rowBytes(rows))

  const edgeOf = async (caller: Caller, host: string) =>
    (await caller.tcpEdge.create({ hostports: [`${host}:22`] })).id

  t.test('of a challenger, a watcher sees what it decides differently', async (t) => {
    const edgeId = await edgeOf(me, 'challenged-live.example')
    const policies = { inbound: [{ expressions: [], actions: [{ type: 'deny' as const }] }] }
    const { id } = await me.challenger.create({ draft: { edges: [{ id: edgeId, policies }] } })
    const client = openClient({ url: listening.url, token: me.token })
    const stop = new AbortController()
    const lines: LoggedDecision[] = []
    const rates: WatchRate[] = []
    const ended = (async () => {
      const rate = (each: WatchRate): void => void rates.push(each)
      for await (const line of client.challengers.watch(id, { signal: stop.signal, rate })) lines.push(line)
    })()
    await until('the stream has begun', async () => rates.length > 0)
    const by = (challengerId: string, challengerDecision: DecisionRow['challengerDecision']) => ({
      challengerId,
      challengerDecision,
    })
    publish([
      row(me.accountId, 'not compared'),
      row(me.accountId, 'of another', by('chl_other', 'deny')),
      row(me.accountId, 'the same', by(id, 'allow')),
      row(other.accountId, 'of another account', by(id, 'deny')),
      row(me.accountId, 'differs', by(id, 'deny')),
    ])
    await until('a line has come', async () => lines.length > 0)
    t.match(lines, [{ record_id: 'differs', decision: 'allow', challenger: { id, decision: 'deny' } }])
    t.equal(lines.length, 1)
    stop.abort()
    await ended
    const foreign = await other.raw.send('GET', `/challengers/${id}/live`)
    t.match(foreign, { status: 404 })
    await me.challenger.delete(id)
  })

  t.test('a watcher sees its own account, from both subjects, and what it asks for', async (t) => {
    const all = await watching(me)
    const stopped = await watching(me, { where: "decision != 'allow' && country == 'DE'" })
    const edgeId = await edgeOf(me, 'watched.example')
    const edge = await watching(me, { edge: edgeId })
    const foreign = await watching(other)
    const blocked = row(me.accountId, 'blocked', {
      decision: 'block',
      decidedBy: 'restriction',
      decidedById: 'ipx_1',
      ruleId: 'ipr_1',
      edgeId,
    })
    publish([row(me.accountId, 'let in'), row(other.accountId, 'of another'), blocked])
    publish([row(me.accountId, 'not logged')], watchedRowsSubject)
    await until('all lines have come', async () => all.lines.length === 3 && foreign.lines.length === 1)
    t.strictSame(all.ids(), ['let in', 'blocked', 'not logged'])
    t.strictSame(stopped.ids(), ['blocked'])
    t.strictSame(edge.ids(), ['blocked'])
    t.strictSame(foreign.ids(), ['of another'])
    t.strictSame(all.lines[1], {
      id: '1795168800250-77-1',
      at: '2026-11-20T10:00:00.250Z',
      record_id: 'blocked',
      type: 'tcp_connection',
      edge_id: edgeId,
      route_id: null,
      server_name: 'ssh.example',
      server_port: 22,
      client_ip: '203.0.113.9',
      country: 'DE',
      asn: null,
      decision: 'block',
      decided_by: { type: 'restriction', id: 'ipx_1', policy: null, rule_id: 'ipr_1' },
      shadow: null,
      challenger: null,
      revision: 7,
      bytes_in: 5,
      bytes_out: 2 ** 40,
      sequence: 77,
      line: 1,
      source: 'record',
      weight: 1,
      method: null,
      path: null,
      status_code: null,
      own_at: null,
      own_at_refused: null,
    })
    for (const each of [all, stopped, edge, foreign]) each.stop()
    await Promise.all([all, stopped, edge, foreign].map(({ ended }) => ended))
  })

  t.test('a watcher of a destination sees events as they are sent there, with the outcome', async (t) => {
    const { id } = await me.eventDestination.create({ target: kinesisTarget })
    const said: string[] = []
    const listening = store.admin.subscribe(
      watchedSubject,
      (data) => said.push(Buffer.from(data).toString()),
      (error) => t.fail(error.message),
    )
    await store.admin.flush()
    const all = await watchingDeliveries(me, id)
    const failed = await watchingDeliveries(me, id, "outcome == 'failed' && event_type == 'log.v0'")
    t.ok(said.some((each) => JSON.parse(each).destinations.includes(id)))
    listening.close()
    const event = (number: number, event_type: string) => ({
      event_id: `ev_${number}`,
      event_type,
      event_timestamp: '2026-11-20T10:00:00.250Z',
      object: { number },
    })
    const attempt: WatchedAttempt = {
      accountId: me.accountId,
      destinationId: id,
      at: Date.parse('2026-11-20T10:00:00.911Z'),
      outcome: 'delivered',
      attempt: 2,
      requestId: 'r-1',
      errorCode: '',
      error: '',
      events: 2,
    }
    const sent = (changes: Partial<WatchedAttempt>, ...events: object[]): void =>
      store.admin.emit(
        watchedDeliveriesSubject,
        writeWatchedDelivery(
          { ...attempt, ...changes },
          events.map((each) => Buffer.from(`${JSON.stringify(each)}\n`)),
        ),
      )
    sent({}, event(1, 'log.v0'), event(2, 'log.v0'))
    sent({ destinationId: 'ed_other' }, event(3, 'log.v0'))
    store.admin.emit(watchedDeliveriesSubject, 'no delivery')
    const why = { outcome: 'failed', requestId: '', errorCode: 'Throttled', error: 'Slow down.' } as const
    sent({ ...why, events: 400 }, event(4, 'log.v0'), event(5, 'other.v0'))
    await until('all lines have come', async () => all.lines.length === 4 && failed.lines.length === 1)
    t.strictSame(all.lines[0], {
      at: '2026-11-20T10:00:00.911Z',
      destination_id: id,
      outcome: 'delivered',
      attempt: 2,
      request_id: 'r-1',
      error: null,
      event_id: 'ev_1',
      event_type: 'log.v0',
      event_timestamp: '2026-11-20T10:00:00.250Z',
      event: event(1, 'log.v0'),
    })
    t.match(failed.lines[0], {
      event_id: 'ev_4',
      request_id: null,
      error: { code: 'Throttled', msg: 'Slow down.' },
    })
    const seen = (rates: readonly WatchRate[]) => rates.reduce((sum, rate) => sum + rate.seen, 0)
    await until('the rates are said', async () => seen(all.rates) === 402 && seen(failed.rates) === 200)
    for (const each of [all, failed]) each.stop()
    await Promise.all([all, failed].map(({ ended }) => ended))
  })

  t.test("only one's own edges can be watched", async (t) => {
    const foreign = await edgeOf(other, 'foreign-watched.example')
    const deleted = await edgeOf(me, 'unwatched.example')
    await me.tcpEdge.delete(deleted)
    const unknown = [foreign, deleted, 'edgtcp_00000000000000000000000000', 'x', '']
    for (const id of unknown)
      t.equal(
        await me.raw.refused(404, 'GET', `/live?edge=${id}`),
        `"edge" names "${id}", which does not exist.`,
      )
  })

  t.test("only deliveries to one's own destinations can be watched", async (t) => {
    const { id } = await other.eventDestination.create({ target: kinesisTarget })
    for (const unknown of [id, 'ed_00000000000000000000000000'])
      t.match(
        await me.raw.refused(404, 'GET', `/live?destination=${unknown}`),
        new RegExp(`There is no .* "${unknown}"`),
      )
    t.match(await me.raw.refused(404, 'GET', '/live?destination=x'), /"x"/)
    t.match(await other.raw.refused(400, 'GET', `/live?destination=${id}&edge=edgtcp_1`), /"edge" selects/)
    await other.raw.refused(400, 'GET', `/live?destination=${id}&where=decision`)
  })

  t.test('many decisions are sampled, and the true rate is said', async (t) => {
    const watcher = await watching(me)
    const count = 5 * watchedLinesPerSecondMax
    publish(Array.from({ length: count }, (_, index) => row(me.accountId, `r${index}`)))
    const sum = (name: keyof WatchRate) => watcher.rates.reduce((total, rate) => total + rate[name], 0)
    await until('the rate is said', async () => sum('seen') === count)
    t.equal(sum('sent'), watcher.lines.length)
    t.ok(watcher.lines.length <= watchedLinesPerSecondMax)
    watcher.stop()
    await watcher.ended
  })

  t.test('a slow reader loses lines and is told how many, and others lose none', async (t) => {
    const fast = await watching(me)
    const ignored = { watchersUnheard: () => {}, watchedRowsMalformed: () => {} }
    const live = new Live({ nats: store.admin, occurrences: ignored, ownerOf: () => undefined })
    const rates: WatchRate[] = []
    const end = live.watchDecisions(me.accountId, {
      wants: () => true,
      send: ({ record_id }) => record_id === 'r0',
      rate: (rate) => rates.push(rate),
      ended: () => {},
    })
    await store.admin.flush()
    publish(Array.from({ length: 10 }, (_, index) => row(me.accountId, `r${index}`)))
    await until('the rate is said', async () => rates.some(({ seen }) => seen > 0))
    t.strictSame(
      rates.find(({ seen }) => seen > 0),
      { seen: 10, sent: 1, lost: 9 },
    )
    await until('the fast one has them', async () => fast.lines.length === 10)
    end()
    fast.stop()
    await fast.ended
  })

  t.test('a message without rows is left out, and the next one is not', async (t) => {
    const watcher = await watching(me)
    const whole = rowBytes([row(me.accountId, 'cut')])
    store.admin.emit(decisionRowsSubject, whole.subarray(0, whole.length - 1))
    store.admin.emit(decisionRowsSubject, 'no rows')
    publish([row(me.accountId, 'whole')])
    await until('the next one has come', async () => watcher.lines.length === 1)
    t.strictSame(watcher.ids(), ['whole'])
    t.match(api.log(), /"reason":"[^"]+".*holds no rows/)
    watcher.stop()
    await watcher.ended
  })

  t.test('whose decisions are watched is said to pipelines, while someone watches', async (t) => {
    const said: string[] = []
    const subscription = store.admin.subscribe(
      watchedSubject,
      (data) => said.push(Buffer.from(data).toString()),
      (error) => t.fail(error.message),
    )
    await store.admin.flush()
    const watcher = await watching(other)
    t.ok(said.length > 0)
    for (const each of said) t.ok(each.includes(other.accountId))
    watcher.stop()
    await watcher.ended
    subscription.close()
  })

  t.test('what is refused', async (t) => {
    t.match(await me.raw.refused(400, 'GET', '/live?where=decision%20%3D%3D'), /query parameter "where"/)
    await me.raw.refused(400, 'GET', '/live?where=nobody%20%3D%3D%201')
    await me.raw.refused(400, 'GET', '/live?what=1')
    const watchers = await Promise.all(Array.from({ length: watchersPerAccountMax }, () => watching(other)))
    const oneMore = openClient({ url: listening.url, token: other.token }).watchDecisions()
    await t.rejects(oneMore.next(), { name: 'ApiError', status_code: 429 })
    const mine = await watching(me)
    t.pass('another account may watch')
    mine.stop()
    for (const watcher of watchers) watcher.stop()
    await Promise.all([mine, ...watchers].map(({ ended }) => ended))
  })

  t.test('the stream ends with its key', async (t) => {
    const { id, token } = await me.apiKey.create({})
    const watcher = await watching(me.withToken(token!))
    await me.apiKey.delete(id)
    await watcher.ended
    const expires_at = new Date(Date.now() + 3_000).toISOString()
    const expiring = await me.apiKey.create({ expires_at })
    await (await watching(me.withToken(expiring.token!))).ended
    t.ok(Date.now() >= Date.parse(expiring.expires_at!), 'also when that expires')
  })
})
