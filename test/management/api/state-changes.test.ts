/**
 * A changed state of a destination is announced to its account: once, whatever restarts, and at most once a minute, with the
 * advice of its status.
 */
import t from 'tap'
import type { StateReport } from '../../../src/delivery/deliver/lane/health.js'
import { auditStream, operatorSubject, statesSubject } from '../../../src/delivery/wire/names.js'
import { readPack } from '../../../src/delivery/wire/pack.js'
import { StateChanges } from '../../../src/management/operate/state-changes.js'
import type { OperatorObjects } from '../../../src/words/event/operator-event.js'
import { openTestStore } from '../../harness/api.js'
import { idleDestinations, idleStatus } from '../../harness/idle-status.js'

interface Announced {
  readonly event_id: string
  readonly event_type: string
  readonly account_id: string
  readonly object: OperatorObjects['event_destination_state_changed.v0']
}

const minuteMs = 60_000
const target = {
  kinesis: {
    stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/events',
    auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/weir' } },
  },
}

t.test('states that deliverers report', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account('Quay')
  const { nats, presenter, store: writes } = api.parts
  const { id } = await me.eventDestination.create({ description: 'trail', target })
  let startMs = Date.now()
  const at = (minutes: number): number => startMs + minutes * minuteMs

  let status = idleStatus
  /** The reports of the deliverers; undefined: none is there. */
  let reports: StateReport[] | undefined
  const report = (state: StateReport['state'], cause: StateReport['cause'], more = {}): void => {
    const since = new Date(startMs).toISOString()
    reports = [{ destination_id: id, state, cause, since, has_succeeded: false, ...more }]
  }
  const deliverer = store.admin.answer(statesSubject, undefined, () => JSON.stringify(reports ?? []))

  const open = (): StateChanges => {
    const stateChangesUnannounced = ({ reason }: { reason?: unknown }): void => void t.fail(String(reason))
    const { links } = presenter
    const changes = new StateChanges({
      nats,
      view: writes.view,
      destinations: {
        statuses: async (rows) =>
          (await idleDestinations.statuses(rows)).map((each) => ({ ...each, status })),
      },
      links,
      occurrences: { stateChangesUnannounced },
    })
    // It looks at the times of the test alone.
    changes.close()
    return changes
  }
  const announced = async (): Promise<Announced[]> => {
    const found: Announced[] = []
    for (let next = 1; ; ) {
      const message = await store.admin.nextMessage(auditStream, operatorSubject(me.accountId, id), next)
      if (message === undefined) return found
      next = message.sequence + 1
      found.push(...readPack(message.data).events.map(({ data }) => JSON.parse(data.toString())))
    }
  }
  const states = async () =>
    (await announced()).map(({ object }) => `${object.old_state} ${object.new_state} ${object.cause}`)
  const looks = async (changes: StateChanges, minutes: number): Promise<void> => {
    for (let look = 0; look < 2; look += 1) await changes.lookAt(at(minutes))
  }

  const changes = open()
  report('healthy', null, { has_succeeded: true })
  await looks(changes, 0)
  t.strictSame(await states(), [], 'a destination that works is no news')

  report('failing', 'transient')
  await changes.lookAt(at(1))
  t.strictSame(await states(), [], 'one answer is not enough')
  await changes.lookAt(at(1))
  const expected = ['healthy failing transient']
  t.strictSame(await states(), expected)
  const [first] = await announced()
  t.match(first, {
    event_type: 'event_destination_state_changed.v0',
    account_id: me.accountId,
    object: {
      event_destination: { id, uri: new RegExp(`/event_destinations/${id}$`) },
      description: 'trail',
      advice: /^Requests fail/,
      since: new Date(startMs).toISOString(),
    },
  })

  await looks(changes, 3)
  const other = open()
  await looks(other, 3)
  t.strictSame(await states(), expected, 'neither again, nor by another process')

  report('healthy', null)
  await looks(changes, 4)
  t.strictSame(await states(), expected, 'a restarted deliverer has not tried yet')
  report('healthy', null, { has_succeeded: true })
  await looks(changes, 5)
  await looks(other, 5)
  expected.push('failing healthy null')
  t.strictSame(await states(), expected)

  for (const [state, cause] of [
    ['failing', 'transient'],
    ['throttled', 'throttle'],
    ['paused', 'credentials'],
  ] as const) {
    report(state, cause)
    await looks(changes, 5.5)
  }
  t.strictSame(await states(), expected, 'not within a minute')
  await looks(changes, 6.1)
  expected.push('healthy paused credentials')
  t.strictSame(await states(), expected, 'then the last state')

  await me.pauseDestination(id)
  startMs = Date.now()
  report('paused', 'paused by hand')
  await looks(changes, 8)
  report('healthy', null)
  await looks(other, 10)
  expected.push('paused paused paused by hand', 'paused healthy null')
  t.strictSame(await states(), expected, 'resumed, it is healthy until the opposite shows')
  const events = await announced()
  t.match(events.at(-2)?.object.advice, /^The API key ak_\w+ paused it at /)
  t.equal(new Set(events.map(({ event_id }) => event_id)).size, expected.length, 'each has an id of its own')

  await t.test('the advice is that of the status, which knows the last error', async (t) => {
    status = { ...idleStatus, state: 'paused', cause: 'configuration', advice: 'The stream is not there.' }
    report('paused', 'configuration')
    await looks(changes, 12)
    t.equal((await announced()).at(-1)?.object.advice, 'The stream is not there.')
    report('paused', 'credentials')
    await looks(changes, 14)
    t.match(
      (await announced()).at(-1)?.object.advice,
      /trust policy of the role/,
      'the status has another state by now',
    )
    expected.push('healthy paused configuration', 'paused paused credentials')
    t.strictSame(await states(), expected)
  })

  reports = [{ ...reports![0]!, destination_id: 'ed_unknown', state: 'failing', cause: 'transient' }]
  await looks(changes, 20)
  await deliverer.close()
  await looks(changes, 30)
  t.strictSame(await states(), expected, 'nothing is said of unknown destinations, or without a deliverer')
})
