/** Sessions of the web console, for a client without a token in a browser that keeps the cookie. */
import type { ConsoleSession } from '../shape/console-session.js'
import type { Http } from './http.js'

const path = '/console/session'

export class SessionClient {
  readonly #http: Http

  constructor(http: Http) {
    this.#http = http
  }

  /** With the token of an API key, or the code of a sign-in link. */
  signIn(by: { readonly token: string } | { readonly code: string }): Promise<ConsoleSession> {
    return this.#http.send('POST', path, { body: by })
  }

  /** Who is signed in; undefined without a cookie. If the session has ended, throws an `ApiError` with the status 401. */
  get(): Promise<ConsoleSession | undefined> {
    return this.#http.send('GET', path)
  }

  signOut(): Promise<void> {
    return this.#http.send('DELETE', path)
  }
}
