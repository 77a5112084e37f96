/** The contents of a view at the time it reports a change. */
import t from 'tap'
import { yieldTurn } from '../../../src/ground/core/clock.js'
import { StartFault } from '../../../src/ground/core/errors.js'
import { dataFormat } from '../../../src/ground/core/files/data-format.js'
import { metaKey, policyKind, rowKey, stateKey } from '../../../src/words/view/keys.js'
import type { View } from '../../../src/words/view/view.js'
import { accountId, meta, openSentView, policyId, policyOf, stateOf } from './sent-view.js'

/** Usable. */
async function openView() {
  const sent = await openSentView()
  sent.sendFirst()
  await sent.view.usable
  return sent
}

/** Nothing in a view waits for a timer: what it does by itself is done after some turns of the event loop. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await yieldTurn()
}

const policyIn = (view: View) => view.state.rows.get(policyKind)?.get(policyId)

t.test('a row that the next change has overwritten is awaited', async (t) => {
  const { view, send } = await openView()
  t.teardown(() => view.close())
  // Revision 4 held the row of version 2: it was written again, as revision 6, before it was delivered.
  send(5, stateKey(accountId), stateOf(2), 1)
  const seen = view.reached(accountId, 2).then(() => policyIn(view)?.version)
  await turns()
  send(6, rowKey(policyKind, policyId), policyOf(3))
  t.equal(await seen, 3, 'not the one before the change')
})

t.test('nothing is awaited if no entries are pending', async (t) => {
  const { view, send } = await openView()
  t.teardown(() => view.close())
  send(4, rowKey(policyKind, policyId), policyOf(2))
  send(5, stateKey(accountId), stateOf(2))
  await view.reached(accountId, 2)
  t.equal(policyIn(view)?.version, 2)
})

t.test('without accounts that are being repaired, it is usable before it is complete', async (t) => {
  const { view, send, complete } = await openSentView()
  t.teardown(() => view.close())
  const changed: string[] = []
  view.onChange((kind) => changed.push(kind))
  send(1, metaKey, { ...meta, accounts: 3 })
  send(2, rowKey(policyKind, policyId), policyOf(1))
  send(3, stateKey(accountId), stateOf(1))
  send(4, stateKey('ac_partial'), stateOf(1))
  complete()
  t.notOk(view.isUsable)
  view.useWithout(new Set(['ac_partial']))
  t.notOk(view.isUsable, 'it also lacks one of which nothing is there')
  view.useWithout(new Set(['ac_partial', 'ac_missing']))
  await view.usable
  t.notOk(view.isComplete)
  t.throws(() => view.checkServed('ac_missing'), { code: 'ERR_UNAVAILABLE' })
  view.checkServed(accountId)
  t.strictSame(changed, ['*'])
  send(5, rowKey(policyKind, policyId), policyOf(2))
  t.strictSame(changed, ['*', policyKind])
  const reread = view.reread()
  await turns()
  t.equal(policyIn(view)?.version, 2, 'stays in use while it is read again')
  send(1, metaKey, { ...meta, accounts: 3 })
  send(5, rowKey(policyKind, policyId), policyOf(2))
  send(6, stateKey(accountId), stateOf(2))
  for (const [revision, id] of ['ac_partial', 'ac_missing'].entries())
    send(7 + revision, stateKey(id), { version: 2, stored: 2, counts: {} })
  complete()
  await reread
  t.notOk(view.isComplete, 'before the repairs are over')
  view.useWithout(new Set())
  t.ok(view.isComplete)
})

t.test('a read that another one replaces before its end ends with that one', async (t) => {
  const { view, complete } = await openView()
  t.teardown(() => view.close())
  const first = view.reread()
  await turns()
  const second = view.reread()
  await turns()
  complete()
  await t.resolves(Promise.all([first, second]))
})

t.test('a configuration of a later version is not used by a role that starts', async (t) => {
  const { view, send, complete } = await openSentView()
  t.teardown(() => view.close())
  const refused = view.usable.catch((error: unknown) => error)
  send(1, metaKey, { ...meta, format: dataFormat + 1, version: '9.8.7' })
  send(2, rowKey(policyKind, policyId), policyOf(1))
  send(3, stateKey(accountId), stateOf(1))
  complete()
  const fault = await refused
  t.ok(fault instanceof StartFault)
  t.match(
    (fault as Error).message,
    `in NATS was written by Weir 9.8.7 in format ${dataFormat + 1}, and this is Weir`,
  )
  t.notOk(view.isUsable)
})

t.test('a role that runs goes on when a later version raises the format', async (t) => {
  const { view, send } = await openView()
  t.teardown(() => view.close())
  send(4, metaKey, { ...meta, format: dataFormat + 1, version: '9.8.7' })
  send(5, rowKey(policyKind, policyId), policyOf(2))
  send(6, stateKey(accountId), stateOf(2))
  await view.reached(accountId, 2)
  t.equal(policyIn(view)?.version, 2)
})
