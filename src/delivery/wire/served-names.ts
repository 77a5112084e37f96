/**
 * Which of some names an edge serves: a question of programs that publish records of a log, on `weir.decide`, so that they
 * can say what nothing applies to. It is no decision: nothing is counted or logged.
 */
import type { typeNumbers } from './decision-rows.js'

export interface AskedName {
  readonly type: keyof typeof typeNumbers
  readonly server_name: string
  readonly server_port: number
}

export interface ServedQuestion {
  /** Whose edges; else those that records find that name no account. */
  readonly account_id?: string | undefined
  readonly served_names: readonly AskedName[]
}

export interface ServedAnswer {
  /** In the order of the names. */
  readonly served: readonly boolean[]
  /** The account of the records: the one that is named, else the deployment's if there is no other. */
  readonly account_id: string | null
  /** Hostports of edges of the account, those first that are most like the first name that is not served. */
  readonly edges: readonly string[]
  /** There are more edges than were looked at, or than these. */
  readonly more_edges: boolean
}

export const namesAskedMax = 100
