/** The configuration of one account, as the evaluator reads it. */
import type { ConfigurationSource } from '../evaluate/policy-source.js'
import type { DeclaredRow, KindName } from '../resource/registry.js'
import type { ViewState } from '../view/view-state.js'
import { rowsOf } from './present.js'

export const accountSource = (state: ViewState, accountId: string): ConfigurationSource => ({
  revision: state.revision,
  rowsOf: <Kind extends KindName>(kind: Kind) =>
    rowsOf(state, accountId, kind) as Iterable<unknown> as Iterable<DeclaredRow<Kind>>,
  rules: (ipPolicyId) => state.rules(ipPolicyId),
  listText: (chunkId) => state.listText(chunkId),
})
