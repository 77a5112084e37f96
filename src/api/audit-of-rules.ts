/** Audit events of rules that were deleted with their IP policy or replaced all at once. */
import { ruleBytesPerMessage, ruleEventsPerMessage } from '../core/limits.js'
import { auditEvent } from '../event/audit.js'
import { resourceOf } from '../resource/registry.js'
import type { RenderRules } from '../store/audit-relay.js'
import type { AuditEvent } from '../store/change.js'
import type { ChangedRule, ChangeRows } from '../store/change-rows.js'
import { ruleKind } from '../view/keys.js'
import type { ViewState } from '../view/view-state.js'
import type { Presenter } from './present.js'
import { eventPrincipal } from './writes.js'

export const renderRules = (rows: ChangeRows, presenter: Presenter, stateOf: () => ViewState): RenderRules =>
  async function* (accountId, version, change) {
    const resource = resourceOf(ruleKind)
    const state = stateOf()
    const principal = eventPrincipal({ accountId, principal: change.principal }, state, presenter.links)
    const eventOf = ({ rule, verb }: ChangedRule): AuditEvent =>
      auditEvent({
        object: resource.audit!,
        verb,
        accountId,
        resourceId: rule.id,
        version,
        at: change.at,
        principal,
        shown: presenter.show(resource, rule, state),
      })
    for await (const rules of messagesOf(rows.changedRules(accountId, version, change))) {
      yield rules.map(eventOf)
    }
  }

/**
 * Groups rules into messages by their size in ClickHouse, so that each process groups them alike. The size of their
 * events would differ: events contain URLs, and the base URL differs between processes.
 */
async function* messagesOf(pages: AsyncIterable<readonly ChangedRule[]>): AsyncGenerator<ChangedRule[]> {
  let rules: ChangedRule[] = []
  let bytes = 0
  for await (const page of pages) {
    for (const changed of page) {
      const own = Buffer.byteLength(JSON.stringify(changed.rule))
      if (rules.length === ruleEventsPerMessage || (rules.length > 0 && bytes + own > ruleBytesPerMessage)) {
        yield rules
        rules = []
        bytes = 0
      }
      rules.push(changed)
      bytes += own
    }
  }
  if (rules.length > 0) yield rules
}
