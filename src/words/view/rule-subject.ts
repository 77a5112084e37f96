/** The subject of an IP policy's rule, for people. */
import type { DeclaredRow } from '../resource/registry.js'
import { listKind } from './list-chunks.js'
import type { ViewState } from './view-state.js'

type Subject = Pick<DeclaredRow<'ip_policy_rule'>, 'cidr' | 'list_id'>

/** Its range, or the name of its list. */
export const nameOfSubject = ({ rows }: Pick<ViewState, 'rows'>, { cidr, list_id }: Subject): string =>
  cidr ?? String(rows.get(listKind)?.get(list_id ?? '')?.['name'])

/** `10.0.0.0/8`, or `the list partners`. */
export const subjectInWords = (state: Pick<ViewState, 'rows'>, rule: Subject): string =>
  rule.cidr ?? `the list ${nameOfSubject(state, rule)}`
