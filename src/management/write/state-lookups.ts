/** The lookups of a resource's checks, in the state that a write is planned with. */

import type { Lookups } from '../../words/resource/kind/define.js'
import { policyBansOf } from '../../words/view/deny-rules.js'
import type { ViewState } from '../../words/view/view-state.js'
import { accountRightsOf } from '../access/account-rights.js'
import { rowsOf } from '../exchange/rows.js'
import { countRules } from '../store/change/plan.js'

type StateLookups = Omit<Lookups, 'nameInBody' | 'sourceProblems' | 'tcpDomain'>

export const stateLookups = (state: ViewState, accountId: string): StateLookups => ({
  get: (kind, id) => {
    const row = state.rows.get(kind)?.get(id)
    return row?.account_id === accountId ? row : undefined
  },
  all: (kind) => rowsOf(state, accountId, kind),
  ofAllAccounts: (kind) => state.rows.get(kind)?.values() ?? [],
  children: (kind, parentId) => rowsOf(state, parentId, kind),
  rules: (policyId) => state.rules(policyId)?.rules ?? [],
  countRules: (policyId) => countRules(state, policyId),
  bansOf: (policyId) => policyBansOf(state, policyId),
  hasRight: (right) => accountRightsOf(state, accountId).includes(right),
})
