/** A view whose entries the test sends: a real server can't be made to lag between two writes. */
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import type { Bucket, BucketWatcher } from '../../../src/ground/nats/bucket.js'
import { metaKey, policyKind, rowKey, stateKey } from '../../../src/words/view/keys.js'
import { View } from '../../../src/words/view/view.js'

export const accountId = 'ac_1'
export const policyId = 'ipp_1'
export const meta = { deployment_id: 'dep_1', epoch: 1, accounts: 1, key_fingerprint: '' }
export const stateOf = (version: number) => ({ version, stored: version, counts: { [policyKind]: 1 } })
export const policyOf = (version: number) => ({
  id: policyId,
  account_id: accountId,
  version,
  created_at: 0,
})

/** Not usable before `sendFirst`, which sends an account with one IP policy. */
export async function openSentView() {
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
  const view = new View(
    bucket,
    createOccurrences({ logger: createLogger('test', 'silent'), registry: createRegistry() }),
  )
  await view.open()
  const send = (revision: number, key: string, value: object, pending = 0): void => {
    lastRevision = Math.max(lastRevision, revision + pending)
    watcher!.entry({ key, revision, value: Buffer.from(JSON.stringify(value)) }, pending)
  }
  const complete = (): void => watcher!.current()
  const sendFirst = (): void => {
    send(1, metaKey, meta)
    send(2, rowKey(policyKind, policyId), policyOf(1))
    send(3, stateKey(accountId), stateOf(1))
    complete()
  }
  return { view, send, sendFirst, complete }
}
