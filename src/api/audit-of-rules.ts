/** The audit events of rules that went with their IP policy. */
import { auditEvent } from '../event/audit.js'
import { resourceOf } from '../resource/registry.js'
import type { RenderRemovedRules } from '../store/audit-relay.js'
import type { ChangeRows } from '../store/change-rows.js'
import { ruleKind } from '../store/keys.js'
import type { ViewState } from '../store/view-state.js'
import type { Presenter } from './present.js'
import { eventPrincipal } from './writes.js'

export const renderRemovedRules =
  (rows: ChangeRows, presenter: Presenter, stateOf: () => ViewState): RenderRemovedRules =>
  async (accountId, version, change) => {
    const removed = await rows.removedRules(accountId, version, change.emptiedPolicies)
    const resource = resourceOf(ruleKind)
    const state = stateOf()
    const principal = eventPrincipal({ accountId, principal: change.principal }, state, presenter.links)
    return removed.map((rule) =>
      auditEvent({
        object: resource.audit!,
        verb: 'deleted',
        accountId,
        resourceId: rule.id,
        version,
        at: change.at,
        principal,
        shown: presenter.show(resource, rule, state),
      }),
    )
  }
