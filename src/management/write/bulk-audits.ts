/**
 * Audit events that a change itself does not hold, because there may be very many: of rules that were deleted with
 * their IP policy or replaced all at once, and of resources that were deleted with the one above them.
 */
import { Slices } from '../../ground/core/slices.js'
import { auditEvent, type EventPrincipal } from '../../words/event/audit.js'
import type { Links } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Caller } from '../access/caller.js'
import type { Presenter } from '../exchange/present.js'
import type { RenderBulk } from '../store/audit-relay.js'
import type { AuditEvent } from '../store/change/change.js'
import type { ChangedRow, ChangeRows } from '../store/change/change-rows.js'

/** Audit events of rules per message, and the bytes of their rules. With 2 KiB of overhead each, they fit 1 MiB. */
export const ruleEventsPerMessage = 250
const ruleBytesPerMessage = 256 * 1024

export const renderBulk = (rows: ChangeRows, presenter: Presenter, stateOf: () => ViewState): RenderBulk =>
  async function* (accountId, version, change) {
    const principal = eventPrincipal({ accountId, principal: change.principal }, stateOf(), presenter.links)
    const eventsOf = ({ kind, row, verb }: ChangedRow): AuditEvent[] => {
      const resource = resourceOf(kind)
      if (resource.audit === undefined) return []
      const { audit: object } = resource
      const shown = presenter.showAlone(resource, row)
      return [
        auditEvent({ object, verb, accountId, resourceId: row.id, version, at: change.at, principal, shown }),
      ]
    }
    const slices = new Slices()
    for await (const changed of messagesOf(rows.bulkRows(accountId, version, change))) {
      if (slices.isDue()) await slices.pause()
      yield changed.flatMap(eventsOf)
    }
  }

/**
 * Groups rows into messages by their size in ClickHouse, so that each process groups them alike. The size of their
 * events would differ: events contain URLs, and the base URL differs between processes.
 */
async function* messagesOf(pages: AsyncIterable<readonly ChangedRow[]>): AsyncGenerator<ChangedRow[]> {
  let rows: ChangedRow[] = []
  let bytes = 0
  for await (const page of pages) {
    for (const changed of page) {
      const own = Buffer.byteLength(JSON.stringify(changed.row))
      if (rows.length === ruleEventsPerMessage || (rows.length > 0 && bytes + own > ruleBytesPerMessage)) {
        yield rows
        rows = []
        bytes = 0
      }
      rows.push(changed)
      bytes += own
    }
  }
  if (rows.length > 0) yield rows
}

/** The author of a change, as its audit events name it. */
export function eventPrincipal(
  caller: Omit<Caller, 'address'>,
  state: ViewState,
  links: Links,
): EventPrincipal {
  const { accountId, accountName, principal } = caller
  const { credentialId, source } = principal
  return {
    id: accountId,
    subject: accountName ?? String(state.rows.get('account')?.get(accountId)?.['name'] ?? ''),
    source,
    credential: credentialId === null ? null : { id: credentialId, uri: links.of('api_key', credentialId) },
  }
}
