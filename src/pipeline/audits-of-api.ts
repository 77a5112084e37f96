/** Audit events of the API, which renders them when it makes a change. */

import { messageOf } from '../core/errors.js'
import { auditHeaders, auditStream } from '../wire/names.js'
import { readPack } from '../wire/pack.js'
import type { AuditPipelineDeps, AuditSource } from './audit-pipeline.js'
import type { RoutedAudit } from './audit-routes.js'

export const auditsOfApi = ({ view, occurrences }: AuditPipelineDeps): AuditSource => ({
  stream: auditStream,
  input: 'audit',
  read: async ({ data, headers }) => {
    const accountId = headers?.get(auditHeaders.account) ?? ''
    const version = Number(headers?.get(auditHeaders.version) || 0)
    // A subscription made before a change receives it, even if the change arrives here first.
    await view.reached(accountId, version).catch((error: unknown) => {
      occurrences.auditUnrouted({ account_id: accountId, reason: messageOf(error) })
    })
    return { events: eventsIn(data, accountId) }
  },
})

function* eventsIn(pack: Uint8Array, accountId: string): Generator<RoutedAudit> {
  for (const { data, partitionKey, timestampMs } of readPack(pack).events) {
    const json = data.toString('utf8', 0, data.length - 1)
    const { event_type: kind } = JSON.parse(json) as { event_type: string }
    yield { accountId, kind, partitionKey, timestampMs, json }
  }
}
