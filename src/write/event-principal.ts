/** The author of a change, as its audit events name it. */
import type { EventPrincipal } from '../event/audit.js'
import type { Caller } from '../http/caller/caller.js'
import type { Links } from '../resource/define.js'
import type { ViewState } from '../view/view-state.js'

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
