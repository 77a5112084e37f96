/** The configuration of one account, as the evaluator reads it. */
import type { ConfigurationSource } from '../../judging/evaluate/policy-source.js'
import type { DeclaredRow, KindName } from '../../words/resource/registry.js'
import type { ViewState } from '../../words/view/view-state.js'
import { rowsOf } from '../exchange/rows.js'

export const accountSource = (state: ViewState, accountId: string): ConfigurationSource => ({
  revision: state.revision,
  rowsOf: <Kind extends KindName>(kind: Kind) =>
    rowsOf(state, accountId, kind) as Iterable<unknown> as Iterable<DeclaredRow<Kind>>,
  rules: (ipPolicyId) => state.rules(ipPolicyId),
  listText: (chunkId) => state.listText(chunkId),
})
