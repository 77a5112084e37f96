/** Who is signed in, what the key may do, and whether changes are switched on. */
import { computed, signal } from '@preact/signals'
import type { KeyRight } from '../../../../words/resource/api-key.js'
import type { ConsoleSession } from '../../../../words/shape/console-session.js'

export type Right = KeyRight

/** Undefined until it is known; null: no one is signed in. */
export const session = signal<ConsoleSession | null | undefined>(undefined)

const reasonKey = 'weir-signed-out'
const accountKey = 'weir-account'

/** Why there is no session any more, for the page that asks for a key. */
export const signedOutBecause = signal(takeReason())

const editKey = 'weir-edit'
const isSwitchedOn = signal(sessionStorage.getItem(editKey) === 'on')

/** May the key do this? */
export function may(right: Right): boolean {
  const rights = session.value?.rights
  if (rights === undefined) return false
  if (rights === null || rights.includes('all')) return true
  return rights.includes(right) || (right === 'read' && rights.includes('write'))
}

/** May whoever is signed in see the whole deployment? An operator lets an account do so. */
export const maySeeDeployment = (): boolean =>
  may('read') && (session.value?.account_rights ?? []).includes('doctor')

/** Changes are switched on, and the key may make them. */
export const isEditing = computed(() => isSwitchedOn.value && may('write'))

export function toggleEditing(): void {
  if (may('write')) switchEditing(!isSwitchedOn.value)
}

/** For those who have said that they want to create something. */
export function startEditing(): void {
  if (may('write')) switchEditing(true)
}

function switchEditing(isOn: boolean): void {
  isSwitchedOn.value = isOn
  sessionStorage.setItem(editKey, isOn ? 'on' : 'off')
}

/**
 * Drops what the tab has of the account, drafts and what it has read, and loads the page again: the next person at this
 * browser sees nothing of it. `reason`: for the page that asks for a key.
 */
export function startAnew(reason = ''): void {
  sessionStorage.clear()
  if (reason !== '') sessionStorage.setItem(reasonKey, reason)
  location.reload()
}

function takeReason(): string {
  const reason = sessionStorage.getItem(reasonKey) ?? ''
  sessionStorage.removeItem(reasonKey)
  return reason
}

/** Someone is signed in. If that is another account than the tab was at, nothing of the earlier one stays. */
export function sessionFound(found: ConsoleSession): void {
  const before = sessionStorage.getItem(accountKey)
  if (before !== null && before !== found.account_id) {
    startAnew()
    return
  }
  sessionStorage.setItem(accountKey, found.account_id)
  if (session.value?.api_key_id !== found.api_key_id) session.value = found
  signedOutBecause.value = ''
}

export function sessionEnded(reason: string): void {
  session.value = null
  signedOutBecause.value = reason
}
