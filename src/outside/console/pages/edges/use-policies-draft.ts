/** The state of a draft of policies: what is edited, as a form or as JSON, and what is wrong in it. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { may } from '../../data/access/session.js'
import { api } from '../../data/asking/api.js'
import { failedTestsIn } from '../../data/asking/test-runs.js'
import { after } from '../../data/clock.js'
import { type KeptDraft, useKeptDraft } from '../../data/drafts/kept-draft.js'
import {
  bodyOf,
  type Draft,
  type DraftBody,
  draftOf,
  type Faults,
  faultsIn,
  noFaults,
  policiesDraftId,
} from '../../data/drafts/policies-draft.js'
import { type Place, policiesAt } from '../../data/resources/edges.js'

/** How long one must not have typed before the API is asked. */
const checkAfterMs = 350

export interface DraftState {
  readonly kept: KeptDraft<Draft>
  readonly body: DraftBody
  /** The body as JSON, or what was typed if that is none. */
  readonly text: string
  readonly faults: Faults
  /** The draft is right, but would break policy tests of the account: what the API said. */
  readonly refusal: unknown
  readonly isChecking: boolean
  change(draft: Draft): void
  changeText(text: string): void
}

export function useDraft(place: Place, present: DraftBody | null): DraftState {
  const kept = useKeptDraft<Draft>({
    id: policiesDraftId(place),
    present: draftOf(present),
    bodyOf: (draft) => bodyOf(draft).body,
  })
  /** JSON that can't be read yet, and the draft that it was typed into. */
  const broken = useSignal<{ readonly text: string; readonly key: string } | undefined>(undefined)
  const typed = broken.value?.key === kept.key ? broken.value.text : undefined
  const { body, faults: ownFaults } = bodyOf(kept.draft)
  const checked = useCheck(place, body)
  return {
    kept,
    body,
    text: typed ?? JSON.stringify(body, null, 2),
    faults: faultOfText(typed) ?? joined(ownFaults, checked.faults),
    refusal: checked.refusal,
    isChecking: checked.isChecking,
    change(next) {
      kept.change(next)
      broken.value = undefined
    },
    changeText(text) {
      const module = moduleIn(text)
      // JSON that is typed becomes the draft as soon as it is a module.
      if (module !== undefined) kept.change(draftOf(module))
      // The text stays as it was typed.
      const isKept = module !== undefined && JSON.stringify(module, null, 2) === text
      broken.value = isKept ? undefined : { text, key: kept.key }
    },
  }
}

const joined = (own: Faults, checked: Faults): Faults =>
  own.size === 0 ? checked : new Map([...checked, ...own])

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

/** The fault of the text as such. */
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
function useCheck(place: Place, body: DraftBody): Pick<DraftState, 'faults' | 'refusal' | 'isChecking'> {
  const found = useSignal<Pick<DraftState, 'faults' | 'refusal'>>({ faults: noFaults, refusal: undefined })
  const isChecking = useSignal(false)
  const text = JSON.stringify(body)
  useEffect(() => {
    if (!may('write')) return
    let isLatest = true
    isChecking.value = true
    const { id, policies } = policiesAt(api, place)
    const check = async (): Promise<void> => {
      const error = await policies.put(id, body, { validateOnly: true }).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (!isLatest) return
      const isRefused = failedTestsIn(error).length > 0
      found.value = {
        faults: error === undefined || isRefused ? noFaults : faultsIn(error),
        refusal: isRefused ? error : undefined,
      }
      isChecking.value = false
    }
    const timer = after(checkAfterMs, () => void check())
    return () => {
      isLatest = false
      timer.stop()
    }
  }, [text, place.edgeId, place.routeId])
  return { ...found.value, isChecking: isChecking.value }
}
