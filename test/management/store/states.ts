/** View states made of a few rows, for tests of functions that only read them. */
import type { Row } from '../../../src/words/resource/kind/define.js'
import {
  policyKind,
  type RulesChunk,
  rowKey,
  ruleKind,
  rulesKey,
  stateKey,
} from '../../../src/words/view/keys.js'
import { ViewState } from '../../../src/words/view/view-state.js'

export const accountId = 'ac_1'

const rowOf = (id: string, version: number): Row => ({ id, account_id: accountId, version, created_at: 0 })

export const policyRow = (id: string, generation?: string): Row =>
  generation === undefined ? rowOf(id, 1) : { ...rowOf(id, 1), rules_generation: generation }

export const ruleRow = (id: string, policyId: string, version = 1): Row => ({
  ...rowOf(id, version),
  ip_policy_id: policyId,
  action: 'deny',
})

export const tcpEdgeRow = (id: string, hostports: readonly string[]): Row => ({
  ...rowOf(id, 1),
  hostports: [...hostports],
})

/** A key of the bucket and its value. */
interface Entry {
  readonly key: string
  readonly value: object
}

export const rulesIn = (
  policyId: string,
  generation: string,
  chunk: number,
  rules: readonly Row[],
): Entry => {
  const value: RulesChunk = { account_id: accountId, rules }
  return { key: rulesKey(policyId, generation, chunk), value }
}

const kindOf = ({ id }: Row): string => {
  const kinds = { ipp: policyKind, ipr: ruleKind, edgtcp: 'tcp_edge', ac: 'account', ak: 'api_key' }
  return kinds[id.slice(0, id.indexOf('_')) as keyof typeof kinds]
}

const isEntry = (given: Row | Entry): given is Entry => 'key' in given && 'value' in given

/** A state of one account at version 7 that took in these rows and entries in their order. */
export function stateWith(...given: readonly (Row | Entry)[]): ViewState {
  const state = new ViewState()
  const entries: Entry[] = [
    ...given.map((each) => (isEntry(each) ? each : { key: rowKey(kindOf(each), each.id), value: each })),
    { key: stateKey(accountId), value: { version: 7, stored: 7, counts: {} } },
  ]
  for (const [at, { key, value }] of entries.entries())
    state.apply({ key, revision: at + 1, value: Buffer.from(JSON.stringify(value)) })
  return state
}
