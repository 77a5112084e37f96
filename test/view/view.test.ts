/** The contents of a view at the time it reports a change. */
import t from 'tap'
import { silentLogger } from '../../src/core/log.js'
import { createRegistry } from '../../src/core/metrics.js'
import { createOccurrences } from '../../src/core/occurrences.js'
import type { Bucket, BucketWatcher } from '../../src/nats/bucket.js'
import { metaKey, policyKind, rowKey, stateKey } from '../../src/view/keys.js'
import { View } from '../../src/view/view.js'

const accountId = 'ac_1'
const policyId = 'ipp_1'
const meta = { deployment_id: 'dep_1', epoch: 1, accounts: 1, key_fingerprint: '' }
const stateOf = (version: number) => ({ version, stored: version, counts: { [policyKind]: 1 } })
const policyOf = (version: number) => ({ id: policyId, account_id: accountId, version, created_at: 0 })

/** A server whose entries the test sends: a real one can't be made to lag between two writes. */
async function openView() {
  let watcher: BucketWatcher | undefined
  let lastRevision = 0
  const bucket = {
    position: async () => ({ identity: 'one', lastRevision }),
    onReconnect: () => () => {},
    watch: async (given: BucketWatcher) => {
      watcher = given
      return { close: () => {} }
    },
  } as unknown as Bucket
  const view = new View(bucket, createOccurrences({ logger: silentLogger(), registry: createRegistry() }))
  await view.open()
  const send = (revision: number, key: string, value: object, pending = 0): void => {
    lastRevision = Math.max(lastRevision, revision + pending)
    watcher!.entry({ key, revision, value: Buffer.from(JSON.stringify(value)) }, pending)
  }
  send(1, metaKey, meta)
  send(2, rowKey(policyKind, policyId), policyOf(1))
  send(3, stateKey(accountId), stateOf(1))
  watcher!.current()
  await view.usable
  return { view, send, complete: () => watcher!.current() }
}

const policyIn = (view: View) => view.state.rows.get(policyKind)?.get(policyId)

t.test('a row that the next change has overwritten is awaited', async (t) => {
  const { view, send } = await openView()
  t.teardown(() => view.close())
  // Revision 4 held the row of version 2: it was written again, as revision 6, before it was delivered.
  send(5, stateKey(accountId), stateOf(2), 1)
  const seen = view.reached(accountId, 2).then(() => policyIn(view)?.version)
  await new Promise((resolve) => setTimeout(resolve, 50))
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

t.test('a read that another one replaces before its end ends with that one', async (t) => {
  const { view, complete } = await openView()
  t.teardown(() => view.close())
  const first = view.reread()
  await new Promise((resolve) => setTimeout(resolve, 50))
  const second = view.reread()
  await new Promise((resolve) => setTimeout(resolve, 50))
  complete()
  await t.resolves(Promise.all([first, second]))
})
