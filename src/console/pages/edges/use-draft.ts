/** The state of a draft: what is edited, what is wrong in it, whether someone else saved meanwhile. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../../data/api.js'
import { after } from '../../data/clock.js'
import { type Place, policiesAt, presentPolicies } from '../../data/edges.js'
import { may } from '../../data/session.js'
import { bodyOf, type Draft, type DraftBody, draftOf, type Faults, faultsIn, noFaults } from './draft.js'
import { isSame, type StoredDraft, storeDraft, storedDraft } from './stored-draft.js'

/** How long one must not have typed before the API is asked. */
const checkAfterMs = 350

export interface DraftState {
  /** Of the edge or route. */
  readonly id: string
  readonly draft: Draft
  readonly body: DraftBody
  /** The body as JSON, or what was typed if that is none. */
  readonly text: string
  readonly base: DraftBody | null
  readonly faults: Faults
  readonly isChecking: boolean
  readonly isConflict: boolean
  change(draft: Draft): void
  changeText(text: string): void
  /** Drops the draft: what holds now is the beginning of the next. */
  forget(): void
  /** The draft stays, as one of what holds now. */
  keepMine(): void
  /** Asks once more whether someone else has saved meanwhile. */
  isOutdated(): Promise<boolean>
}

export function useDraft(place: Place, present: DraftBody | null): DraftState {
  const id = place.routeId ?? place.edgeId
  const stored = useSignal<StoredDraft | undefined>(storedDraft(id))
  /** JSON that can't be read yet. */
  const broken = useSignal<string | undefined>(undefined)
  const { base, draft } = withDraft(stored.value, present) ?? { base: present, draft: draftOf(present) }
  const { body, faults: ownFaults } = bodyOf(draft)
  const text = JSON.stringify(body, null, 2)
  const checked = useCheck(place, body)
  const set = (next: StoredDraft | undefined): void => {
    storeDraft(id, next)
    stored.value = next
    broken.value = undefined
  }
  return {
    id,
    draft,
    body,
    text: broken.value ?? text,
    base,
    faults: faultOfText(broken.value) ?? joined(ownFaults, checked.faults),
    isChecking: checked.isChecking,
    isConflict: !isSame(base, present),
    change: (next) => set({ base, draft: next }),
    changeText: (next) => changeText(next, { base, set, broken }),
    forget: () => set(undefined),
    keepMine: () => set({ base: present, draft }),
    isOutdated: async () => !isSame(base, await presentPolicies(api, place)),
  }
}

/** A draft that changes nothing gives way to what someone else has saved. */
const withDraft = (stored: StoredDraft | undefined, present: DraftBody | null): StoredDraft | undefined =>
  stored !== undefined && isSame(bodyOf(stored.draft).body, stored.base) && !isSame(stored.base, present)
    ? undefined
    : stored

const joined = (own: Faults, checked: Faults): Faults =>
  own.size === 0 ? checked : new Map([...checked, ...own])

interface TextTarget {
  readonly base: DraftBody | null
  readonly set: (next: StoredDraft) => void
  readonly broken: Signal<string | undefined>
}

/** What is typed as JSON becomes the draft as soon as it is a module. */
function changeText(text: string, { base, set, broken }: TextTarget): void {
  const module = moduleIn(text)
  if (module === undefined) broken.value = text
  else {
    set({ base, draft: draftOf(module) })
    // The text stays as it was typed.
    broken.value = JSON.stringify(module, null, 2) === text ? undefined : text
  }
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)

const isText = (value: unknown): boolean => typeof value === 'string'

/** A text that has the shape of the module; whether it is right, the API says. */
function moduleIn(text: string): DraftBody | undefined {
  try {
    const value: Record<string, unknown> | null = JSON.parse(text)
    if (typeof value !== 'object' || value === null || isList(value)) return undefined
    const { enabled = true, inbound = [], outbound = [] } = value
    if (typeof enabled !== 'boolean' || ![inbound, outbound].every(isPolicies)) return undefined
    const whole = (list: unknown) =>
      (list as DraftBody['inbound']).map((each) => ({ ...each, expressions: each.expressions ?? [] }))
    return { enabled, inbound: whole(inbound), outbound: whole(outbound) }
  } catch {
    return undefined
  }
}

const isPolicies = (list: unknown): boolean =>
  isList(list) &&
  list.every(
    (each: unknown) =>
      typeof each === 'object' &&
      each !== null &&
      isActions((each as Record<string, unknown>)['actions']) &&
      isTexts((each as Record<string, unknown>)['expressions'] ?? []),
  )

const isTexts = (list: unknown): boolean => isList(list) && list.every(isText)

const isActions = (list: unknown): boolean =>
  isList(list) &&
  list.every(
    (each: unknown) => typeof each === 'object' && each !== null && 'type' in each && isText(each.type),
  )

/** What is wrong with the text as such. */
function faultOfText(text: string | undefined): Faults | undefined {
  if (text === undefined || moduleIn(text) !== undefined) return undefined
  try {
    JSON.parse(text)
    return new Map([
      ['', 'It needs lists "inbound" and "outbound" of policies with "expressions" and "actions".'],
    ])
  } catch (error) {
    return new Map([['', `This is not JSON: ${error instanceof Error ? error.message : error}.`]])
  }
}

/** Asks the API what is wrong, shortly after the last change. A key that may not write can't ask: a trial says it, too. */
function useCheck(place: Place, body: DraftBody): { readonly faults: Faults; readonly isChecking: boolean } {
  const faults = useSignal<Faults>(noFaults)
  const isChecking = useSignal(false)
  const text = JSON.stringify(body)
  useEffect(() => {
    if (!may('write')) return
    let isLatest = true
    isChecking.value = true
    const { id, policies } = policiesAt(api, place)
    const check = async (): Promise<void> => {
      const found = await policies.put(id, body, { validateOnly: true }).then(() => noFaults, faultsIn)
      if (!isLatest) return
      faults.value = found
      isChecking.value = false
    }
    const timer = after(checkAfterMs, () => void check())
    return () => {
      isLatest = false
      timer.stop()
    }
  }, [text, place.edgeId, place.routeId])
  return { faults: faults.value, isChecking: isChecking.value }
}
