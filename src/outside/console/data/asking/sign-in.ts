/** Signing in and out, and who is signed in. */
import { ApiError } from '../../../../words/client/client.js'
import { session, sessionFound, startAnew } from '../access/session.js'
import { notify } from '../notices.js'
import { api, errorDetails, errorText } from './api.js'

/** Learns who is signed in. */
export async function findSession(): Promise<void> {
  const found = await unlessEnded(() => api.session.get())
  if (found === undefined) session.value = null
  else sessionFound(found)
}

/**
 * All tabs have one cookie: another one may have signed in to another account, and what is done here would be done there.
 */
addEventListener('focus', () => {
  // If the API does not answer, whatever asks next says so.
  if (session.value) void findSession().catch(() => {})
})

/** Signs in by the token of an API key, or by the code of a link; throws an `ApiError`. */
export async function signIn(by: { readonly token: string } | { readonly code: string }): Promise<void> {
  sessionFound(await api.session.signIn(by))
}

export async function signOut(): Promise<void> {
  try {
    await unlessEnded(() => api.session.signOut())
    startAnew('You have signed out.')
  } catch (error) {
    notify({
      kind: 'bad',
      text: `You are still signed in: ${errorText(error)}`,
      details: errorDetails(error),
    })
  }
}

/** Undefined if the session has ended already. */
async function unlessEnded<Result>(ask: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ApiError && error.status_code === 401) return undefined
    throw error
  }
}
