/** Who is signed in, what the key may do, and whether changes are switched on. */
import { computed, signal } from '@preact/signals'
import { ApiError } from '../../client/api-error.js'
import { root } from './location.js'

export interface Session {
  readonly account_id: string
  readonly account_name: string | null
  readonly api_key_id: string
  readonly api_key_description: string | null
  /** Null: everything. */
  readonly rights: readonly Right[] | null
  /** RFC 3339. */
  readonly expires_at: string
}

export type Right = 'read' | 'write' | 'decide' | 'publish' | 'all'

/** Undefined until it is known; null: no one is signed in. */
export const session = signal<Session | null | undefined>(undefined)

/** Why there is no session any more, for the page that asks for a key. */
export const signedOutBecause = signal('')

/** Every write needs it: a form of another site can't send it. */
export const consoleHeaders = { 'weir-console': '1' }

const editKey = 'weir-edit'
const isSwitchedOn = signal(sessionStorage.getItem(editKey) === 'on')

/** May the key do this? */
export function may(right: Right): boolean {
  const rights = session.value?.rights
  if (rights === undefined) return false
  if (rights === null || rights.includes('all')) return true
  return rights.includes(right) || (right === 'read' && rights.includes('write'))
}

/** Changes are switched on, and the key may make them. */
export const isEditing = computed(() => isSwitchedOn.value && may('write'))

export function toggleEditing(): void {
  if (!may('write')) return
  isSwitchedOn.value = !isSwitchedOn.value
  sessionStorage.setItem(editKey, isSwitchedOn.value ? 'on' : 'off')
}

/** Learns who is signed in. */
export async function findSession(): Promise<void> {
  const response = await request('GET')
  session.value = response.status === 401 ? null : await bodyOf(response)
}

/** Signs in by the token of an API key, or by the code of a link; throws an `ApiError`. */
export async function signIn(by: { readonly token: string } | { readonly code: string }): Promise<void> {
  session.value = await bodyOf(await request('POST', by))
  signedOutBecause.value = ''
}

export async function signOut(): Promise<void> {
  await request('DELETE')
  sessionEnded('You have signed out.')
}

export function sessionEnded(reason: string): void {
  session.value = null
  signedOutBecause.value = reason
}

async function request(method: 'GET' | 'POST' | 'DELETE', body?: object): Promise<Response> {
  return fetch(`${root}console/session`, {
    method,
    headers: { ...consoleHeaders, ...(body && { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
  })
}

async function bodyOf(response: Response): Promise<Session> {
  const text = await response.text()
  if (!response.ok) throw new ApiError('The session', response.status, text)
  return JSON.parse(text)
}
