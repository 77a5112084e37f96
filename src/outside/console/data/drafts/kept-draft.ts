/**
 * A draft of something that the API has, in the session's storage, so that it survives a reload; with what it began from, so
 * that a conflict is seen. `console/data/access/session.ts` empties the storage when someone signs out or another account
 * signs in.
 */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Client } from '../../../../words/client/client.js'
import { act } from '../asking/api.js'
import { keepText } from './tab-storage.js'

interface StoredDraft<Draft> {
  /** A draft of what held when this one began. */
  readonly base: Draft
  readonly draft: Draft
  /** Places in the body whose values were not stored, and are to be typed again after a reload. */
  readonly toType?: readonly string[]
}

interface DraftKind<Draft> {
  /** The id of the resource; for a new one, a name that no id has. */
  readonly id: string
  /** A draft of what holds now, which changes nothing. */
  readonly present: Draft
  /** As it would be sent: drafts with equal bodies are the same. */
  readonly bodyOf: (draft: Draft) => unknown
  /** A stored draft with the members that it lacks, because an earlier version of the page stored it. */
  readonly completed?: (draft: Partial<Draft>) => Draft
  /** The draft without values that must not be stored, such as secrets, and the places of these in the body. */
  readonly storable?: (draft: Draft) => { readonly draft: Draft; readonly leftOut: readonly string[] }
}

export interface KeptDraft<Draft> {
  readonly draft: Draft
  readonly base: Draft
  readonly isChanged: boolean
  /** Something else was saved since the draft began, by whomever. */
  readonly isConflict: boolean
  /** Places whose values a reload has dropped, and that are not typed again. */
  readonly missing: readonly string[]
  /** Another one if the draft was replaced: fields that remember what was typed then begin again. */
  readonly key: string
  change(draft: Draft): void
  /** Drops the draft: what holds now is the beginning of the next. */
  forget(): void
  /** The draft stays, as one of what holds now. */
  keepMine(): void
  /** The draft stays without what is missing. */
  goWithout(): void
  differsFromBase(present: Draft): boolean
}

export function useKeptDraft<Draft>(kind: DraftKind<Draft>): KeptDraft<Draft> {
  const { id, present, bodyOf, completed, storable } = kind
  const stored = useSignal(useMemo(() => readDraft(id, completed), [id]))
  const timesForgotten = useSignal(0)
  const textOf = (draft: Draft): string => JSON.stringify(bodyOf(draft))
  const isSame = (one: Draft, other: Draft): boolean => textOf(one) === textOf(other)
  const changes = ({ base, draft, toType = [] }: StoredDraft<Draft>): boolean =>
    !isSame(draft, base) || toType.length > 0
  // A draft that changes nothing gives way to what was saved since, and so does one that is what was saved: it was promoted,
  // or saved in another tab. Else it stays: what was typed may be spelled otherwise.
  const stays = (kept: StoredDraft<Draft>): boolean =>
    isSame(kept.base, present) || (changes(kept) && !isDone(kept))
  const isDone = ({ base, draft, toType = [] }: StoredDraft<Draft>): boolean =>
    !isSame(base, present) && isSame(draft, present) && toType.length === 0
  const held = stored.value !== undefined && stays(stored.value) ? stored.value : undefined
  if (stored.value !== undefined && isDone(stored.value)) sessionStorage.removeItem(keyOf(id))
  const { base, draft, toType = [] } = held ?? { base: present, draft: present }
  const typed = (of: Draft) => storable?.(of) ?? { draft: of, leftOut: [] }
  const missingIn = (of: Draft): readonly string[] => {
    const { leftOut } = typed(of)
    return toType.filter((place) => !leftOut.includes(place) && hasRoomFor(bodyOf(of), place))
  }
  const set = (next: StoredDraft<Draft>): void => {
    const { draft: safe, leftOut } = typed(next.draft)
    const { toType: missing = [] } = next
    writeDraft(id, { ...next, draft: safe, toType: [...new Set([...leftOut, ...missing])] })
    stored.value = next
  }
  const missing = missingIn(draft)
  return {
    draft,
    base,
    isChanged: held !== undefined && changes(held),
    isConflict: !isSame(base, present),
    missing,
    key: `${timesForgotten.value} ${textOf(base)}`,
    change: (next) => set({ base, draft: next, toType: missingIn(next) }),
    forget() {
      sessionStorage.removeItem(keyOf(id))
      stored.value = undefined
      timesForgotten.value += 1
    },
    keepMine: () => set({ base: present, draft, toType: missing }),
    goWithout: () => set({ base, draft, toType: [] }),
    differsFromBase: (other) => !isSame(base, other),
  }
}

const keyOf = (id: string): string => `weir-draft ${id}`

function readDraft<Draft>(
  id: string,
  completed: DraftKind<Draft>['completed'],
): StoredDraft<Draft> | undefined {
  try {
    const stored: StoredDraft<Draft> | null = JSON.parse(sessionStorage.getItem(keyOf(id)) ?? 'null')
    if (stored === null || completed === undefined) return stored ?? undefined
    return { ...stored, base: completed(stored.base), draft: completed(stored.draft) }
  } catch {
    return undefined
  }
}

/** Is there a draft that changes something? To begin another one drops it. */
export function isDraftBegun(id: string): boolean {
  const stored = readDraft<unknown>(id, undefined)
  return stored !== undefined && JSON.stringify(stored.draft) !== JSON.stringify(stored.base)
}

/** A draft that another page begins, such as a test of a decision that it shows. */
export function beginDraft<Draft>(id: string, base: Draft, draft: Draft): void {
  writeDraft(id, { base, draft })
}

const writeDraft = <Draft>(id: string, draft: StoredDraft<Draft>): void =>
  keepText(keyOf(id), JSON.stringify(draft))

/** Is there still the object that a place is in? */
function hasRoomFor(body: unknown, place: string): boolean {
  let holder = body
  for (const name of place.split('.').slice(0, -1))
    holder = (holder as Record<string, unknown> | null)?.[name]
  return typeof holder === 'object' && holder !== null
}

interface Saving<Draft> {
  /** A draft of what holds by now. */
  readonly latest: (client: Client) => Promise<Draft>
  readonly work: (client: Client) => Promise<unknown>
  /** The notice once the draft is saved. */
  readonly done: string
}

/** Saves a draft, and forgets it. The API takes whatever is sent, so this is the last look at what others have saved. */
export async function saveDraft<Draft>(
  kept: KeptDraft<Draft>,
  { latest, work, done }: Saving<Draft>,
): Promise<boolean> {
  const isDone = await act(done, async (client) => {
    if (kept.differsFromBase(await latest(client)))
      throw new Error('Nothing was saved: there was another save since this draft began')
    await work(client)
  })
  if (isDone) kept.forget()
  return isDone
}
