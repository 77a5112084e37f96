/** An audit event of another service about an account that the pipeline learns of only now. */
import t from 'tap'
import { now } from '../../../src/ground/core/clock.js'
import { auditsOfServices } from '../../../src/judging/pipeline/audit-sources.js'
import { rowKey } from '../../../src/words/view/keys.js'
import { openSentView } from '../../words/view/sent-view.js'

const hourMs = 3_600_000
const accountId = 'ac_01M7Y46P1SGDTCFAVEJ96D4PD7'
const event = {
  account_id: accountId,
  object: {
    id: 'ipp_01M7Y46P1SGDTCFAVEJ96D4PD7',
    uri: 'https://weir.example/ip_policies/x',
    created_at: '2026-11-20T10:00:00Z',
  },
  principal: { id: accountId, subject: 'acme', source: 'API', credential: null },
}

for (const [name, aheadMs] of [
  ['clocks agree', 0],
  ['the clock of this machine is ahead', 2 * hourMs],
  ['it is behind', -2 * hourMs],
] as const)
  t.test(`${name}: what NATS has of the account by now is read first`, async (t) => {
    const { view, send, sendFirst } = await openSentView()
    t.teardown(() => view.close())
    sendFirst()
    await view.usable
    // NATS has one more entry than has arrived.
    send(4, rowKey('ip_policy', 'ipp_1'), { id: 'ipp_1', account_id: 'ac_1', version: 1, created_at: 0 }, 1)
    const source = auditsOfServices({ view } as never)
    const message = {
      subject: 'weir.audit.ip_policy.updated',
      data: Buffer.from(JSON.stringify(event)),
      storedAtMs: now() - aheadMs,
    }
    const reading = source.read(
      message as never,
      { sequence: 1, since: 's' } as never,
      new AbortController().signal,
    )
    await new Promise((resolve) => setImmediate(resolve))
    const row = { id: accountId, account_id: accountId, version: 1, created_at: 0, name: 'acme' }
    send(5, rowKey('account', accountId), row)
    send(6, `state.${accountId}`, { version: 1, stored: 1, counts: { account: 1 } })
    t.match(await reading, { counts: { audits: 1, audits_bad: 0 } })
  })
