/** Dead letters are announced before they are removed: to their account, once, whatever restarts. */
import t from 'tap'
import { warningMs } from '../../../src/delivery/deliver/expiry.js'
import {
  auditStream,
  deadAuditsSubject,
  deadEventsSubject,
  deadLetterHeaders,
  deadRecordsSubject,
  operatorSubject,
} from '../../../src/delivery/wire/names.js'
import { readPack } from '../../../src/delivery/wire/pack.js'
import { ExpiringDeadLetters } from '../../../src/management/operate/expiring-dead-letters.js'
import type { OperatorObjects } from '../../../src/words/event/operator-event.js'
import { openTestStore } from '../../harness/api.js'
import { all } from '../../harness/caller.js'

interface Announced {
  readonly event_type: string
  readonly account_id: string
  readonly object: OperatorObjects['dead_letters_expiring.v0']
}

const hourMs = 3_600_000
const retentionMs = 72 * hourMs

t.test('the warning comes six hours before, or in the middle of a short retention', (t) => {
  t.equal(warningMs(retentionMs), 6 * hourMs)
  t.equal(warningMs(4 * hourMs), 2 * hourMs)
  t.end()
})

t.test('letters of two accounts, and one of none', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const [me, other] = [await api.account('Quay'), await api.account('Orchard')]
  const { nats, presenter, store: writes } = api.parts
  const headers = { [deadLetterHeaders.reason]: 'It is wrong.' }
  const record = (account: string) => JSON.stringify({ account_id: account, conn: {} })
  const park = (subject: string, data: string, more = {}) =>
    store.admin.publish(subject, data, { headers: { ...headers, ...more } })
  const since = Date.now()
  for (let letter = 0; letter < 3; letter += 1) await park(deadRecordsSubject, record(me.accountId))
  await park(deadAuditsSubject, record(me.accountId))
  await park(deadRecordsSubject, record(other.accountId))
  // A publisher of records may name anything.
  await park(deadRecordsSubject, record('x.>'))
  const event = { [deadLetterHeaders.destination]: 'ed_1', [deadLetterHeaders.account]: me.accountId }
  await park(deadEventsSubject, '{"event_id":"ev_1"}\n', event)

  const reports: { letters: number; first_removed_at: string }[] = []
  const failures: unknown[] = []
  const occurrences = {
    deadLettersExpiring: (fields: object) => void reports.push(fields as never),
    deadLettersUnwatched: (fields: object) => void failures.push(fields),
  }
  const open = () => {
    const options = {
      nats,
      view: writes.view,
      links: presenter.links,
      retentionMs,
      occurrences,
    }
    const watch = new ExpiringDeadLetters(options)
    t.teardown(() => watch.close())
    return watch
  }
  const announcedTo = async (account: string) => {
    const found: Announced[] = []
    for (let sequence = 1; ; sequence += 1) {
      const subject = operatorSubject(account, 'dead_letters')
      const message = await store.admin.nextMessage(auditStream, subject, sequence)
      if (message === undefined) return found
      sequence = message.sequence
      found.push(...readPack(message.data).events.map(({ data }) => JSON.parse(data.toString())))
    }
  }
  // A window may end while the letters are stored: then there are two events, with the same sum.
  const sumOf = (events: readonly Announced[]) => events.reduce((sum, { object }) => sum + object.count, 0)

  const first = open()
  await first.lookAt(since + retentionMs - 13 * hourMs)
  t.strictSame(await announcedTo(me.accountId), [], 'too early for a word')
  t.strictSame(reports, [])

  const later = since + retentionMs - 5 * hourMs
  await first.lookAt(later)
  const announced = await announcedTo(me.accountId)
  t.equal(sumOf(announced), 5)
  t.equal(sumOf(await announcedTo(other.accountId)), 1)
  const letters = reports.reduce((sum, report) => sum + report.letters, 0)
  t.ok(letters >= 7, 'the log counts those of all accounts, and of none')
  const [{ event_type, account_id, object }] = announced as [Announced]
  t.match({ event_type, account_id }, { event_type: 'dead_letters_expiring.v0', account_id: me.accountId })
  const untilMs = Date.parse(object.first_removed_at)
  t.ok(untilMs >= since + retentionMs && untilMs < since + retentionMs + hourMs)
  const { searchParams } = new URL(object.uri)
  const [from, until] = [searchParams.get('since') ?? '', searchParams.get('until') ?? '']
  t.equal(
    (await all(me.deadLetters.list({ since: from, until }))).length,
    object.count,
    'the link lists them',
  )

  const reported = reports.length
  await first.lookAt(later + 1_000)
  await open().lookAt(later + 2_000)
  t.strictSame(await announcedTo(me.accountId), announced, 'neither again, nor by another process')
  t.strictSame(failures, [])
  const again = reports.slice(reported)
  t.ok(
    again.every((report) => report.letters < letters),
    'a new process logs those of no account again, at most',
  )
})
