/**
 * The relations of a row: its claims, which are values that must be unique in the deployment, the rows below its path,
 * and the rows that name it.
 */
import { EntryFaults } from '../../ground/core/entry-faults.js'
import { conflict, notFound, WeirError } from '../../ground/core/errors.js'
import type { AnyResource, Row } from '../../words/resource/kind/define.js'
import { resources } from '../../words/resource/registry.js'
import { childKindsOf } from '../../words/resource/shown-schema.js'
import { ruleKind } from '../../words/view/keys.js'
import { chunkIn, type ListRow, listChunkKind, listKind } from '../../words/view/list-chunks.js'
import type { ViewState } from '../../words/view/view-state.js'
import { referencesIn } from '../exchange/references.js'
import { rowsOf } from '../exchange/rows.js'
import type { Removal } from '../store/change/change.js'
import { type Claim, claimsOf } from '../store/change/plan.js'

/** Attempts to draw an unused value. Failing this often means the space is nearly exhausted. */
const drawsMax = 100

/** Claims that the row did not have before. */
export const newClaims = (
  resource: AnyResource,
  row: Row,
  before: readonly string[],
  more: Pick<Claim, 'drawAgain'> = {},
): Claim[] =>
  claimsOf(resource.kind, row)
    .filter((claim) => !before.includes(claim))
    .map((claim) => ({
      claim,
      id: row.id,
      taken: () => new WeirError('ERR_CONFLICT', resource.takenMessage?.(claim) ?? `${claim} is taken.`),
      overlaps: () =>
        new WeirError('ERR_NAME_RESERVED', resource.overlapMessage?.(claim) ?? `${claim} is reserved.`),
      ...more,
    }))

/** If claims are drawn at random, a value that is already taken is drawn again, a bounded number of times. */
export function redraws(resource: AnyResource, draw: () => void): Pick<Claim, 'drawAgain'> {
  if (!resource.claimsAreDrawn) return {}
  let left = drawsMax - 1
  return {
    drawAgain: () => {
      if (left === 0) return false
      left -= 1
      draw()
      return true
    },
  }
}

/** Removals of the resources below the row's path, and of the parts of a list. */
export const familyOf = (resource: AnyResource, row: Row, state: ViewState): Removal[] => [
  ...childKindsOf(resource).flatMap((child) =>
    [...rowsOf(state, row.id, child.kind)].map((each) => ({ kind: child.kind, row: each })),
  ),
  ...(resource.kind === listKind ? chunkRemovals(state, (row as ListRow).chunks) : []),
]

/** Removals of parts of a list: without their data, which their earlier versions have. */
export const chunkRemovals = (state: ViewState, ids: readonly string[]): Removal[] =>
  ids.flatMap((id) => {
    const row = chunkIn(state, id)
    return row === undefined ? [] : [{ kind: listChunkKind, row: { ...row, data: '' } as Row }]
  })

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

/** Throws unless the account has the lists of these rules. `placeOf`: what names the list, by the index of its rule. */
export function checkLists(
  state: ViewState,
  accountId: string,
  ids: readonly (string | null | undefined)[],
  placeOf = (index: number): string => `rules[${index}].list_id`,
): void {
  const faults = new EntryFaults()
  for (const [index, id] of ids.entries()) {
    if (!id || state.rows.get(listKind)?.get(id)?.account_id === accountId) continue
    const place = placeOf(index)
    faults.add(place, notFound(`"${place}" names ${JSON.stringify(id)}, which does not exist.`))
  }
  faults.throwIfAny()
}
