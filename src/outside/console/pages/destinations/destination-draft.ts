/** A destination as it is written. */
import type { Client } from '../../../../words/client/client.js'
import type { ChangedField } from '../../../../words/shape/decisions/change-schema.js'
import type { TargetTile } from '../../../../words/shape/delivery/target-words.js'
import { changedFields } from '../../data/drafts/differences.js'
import { type Destination, targetOf } from './target.js'
import { emptyTarget, type Member, type TargetKind, type Value } from './target-members.js'
import { maskedTarget, storableTarget } from './target-secrets.js'

export interface Draft {
  readonly description: string
  readonly kind: string
  readonly target: Value
  readonly blocks: boolean
}

type Body = Parameters<Client['eventDestination']['create']>[0]

export const bodyOf = ({ description, kind, target, blocks }: Draft): Body =>
  // The schema of the target is known at run time only; the API checks it.
  ({ description, target: { [kind]: target }, on_expiry: blocks ? 'block' : 'drop' }) as Body

/** The draft that a tile begins with. */
export const emptyDraft = (kind: TargetKind, tile: TargetTile): Draft => ({
  description: '',
  kind: kind.name,
  target: { ...emptyTarget(kind), ...tile.begin },
  blocks: false,
})

export function draftOf(destination: Destination): Draft {
  const [kind, target] = targetOf(destination)
  return {
    description: destination.description ?? '',
    kind,
    target,
    blocks: destination.on_expiry === 'block',
  }
}

/** Without secrets; of a kind that this page does not know, nothing is known to be none. */
export const storable =
  (kinds: readonly Member[]) =>
  (draft: Draft): { readonly draft: Draft; readonly leftOut: readonly string[] } => {
    const kind = kinds.find(({ name }) => name === draft.kind)
    const place = `target.${draft.kind}`
    const { target, leftOut } =
      kind === undefined ? { target: {}, leftOut: [place] } : storableTarget(kind, draft.target, place)
    return { draft: { ...draft, target }, leftOut }
  }

/** How one draft differs from another. Secrets are not shown. */
export function draftDifference(kinds: readonly Member[], before: Draft, after: Draft): ChangedField[] {
  const shown = (draft: Draft): Body => {
    const kind = kinds.find(({ name }) => name === draft.kind)
    return bodyOf(kind === undefined ? draft : { ...draft, target: maskedTarget(kind, draft.target) })
  }
  return changedFields(shown(before), shown(after))
}
