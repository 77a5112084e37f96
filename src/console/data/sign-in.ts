/** Signing in and out, and who is signed in. */
import { ApiError } from '../../client/client.js'
import { api } from './api.js'
import { session, sessionEnded, signedOutBecause } from './session.js'

/** Learns who is signed in. */
export async function findSession(): Promise<void> {
  try {
    session.value = (await api.session.get()) ?? null
  } catch (error) {
    if (!(error instanceof ApiError && error.status_code === 401)) throw error
    session.value = null
  }
}

/** Signs in by the token of an API key, or by the code of a link; throws an `ApiError`. */
export async function signIn(by: { readonly token: string } | { readonly code: string }): Promise<void> {
  session.value = await api.session.signIn(by)
  signedOutBecause.value = ''
}

export async function signOut(): Promise<void> {
  await api.session.signOut()
  sessionEnded('You have signed out.')
}
