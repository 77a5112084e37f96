/** What a deletion takes with it, and what stands in its way. */
import { conflict } from '../core/errors.js'
import { referencesIn } from '../http/body/input.js'
import { rowsOf } from '../http/present.js'
import type { AnyResource, Row } from '../resource/define.js'
import { resources } from '../resource/registry.js'
import { childKindsOf } from '../resource/shown-schema.js'
import type { Removal } from '../store/change.js'
import { ruleKind } from '../view/keys.js'
import type { ViewState } from '../view/view-state.js'

/** Removals of the resources below the row's path. */
export const familyOf = (resource: AnyResource, row: Row, state: ViewState): Removal[] =>
  childKindsOf(resource).flatMap((child) =>
    [...rowsOf(state, row.id, child.kind)].map((each) => ({ kind: child.kind, row: each })),
  )

/** Throws if another resource of the account names this one. */
export function refuseWhileNamed(resource: AnyResource, row: Row, state: ViewState): void {
  for (const other of resources) {
    if (other.kind === ruleKind) continue
    for (const candidate of rowsOf(state, row.account_id, other.kind)) {
      for (const { path, id } of referencesIn(other.fields, candidate)) {
        if (id !== row.id) continue
        throw conflict(
          `The ${resource.title} ${row.id} can't be deleted: the ${other.title} ${candidate.id} names it in "${path}".`,
        )
      }
    }
  }
}
