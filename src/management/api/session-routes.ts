/**
 * `/console/session`: signing in to the web console, who is signed in, and signing out. The version header is not needed,
 * and an API key only in the body that signs in.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isoSeconds } from '../../ground/core/clock.js'
import { badRequest, WeirError } from '../../ground/core/errors.js'
import { objectOf, Type } from '../../ground/core/schema.js'
import { apiKey, rightsOf } from '../../words/resource/api-key.js'
import type { Row } from '../../words/resource/kind/define.js'
import {
  type ConsoleSession,
  consoleSessionExample,
  consoleSessionSchema,
} from '../../words/shape/console-session.js'
import type { View } from '../../words/view/view.js'
import { accountRightsOf } from '../access/account-rights.js'
import { unauthenticated } from '../access/caller.js'
import type { Sessions } from '../access/sessions.js'
import { checkNames, objectBody } from '../exchange/body/input.js'
import type { Auth, SignedIn } from '../http/caller/auth.js'
import {
  checkConsoleRequest,
  consoleHeader,
  detourOf,
  isSecure,
  secureSessionCookie,
  sessionCookie,
  sessionTokenOf,
  setCookie,
} from '../http/caller/console-request.js'
import { queryOf, refuseBody, sendJson } from '../http/context.js'
import { checkContentType } from '../http/guard.js'
import { shownBy } from '../http/openapi/openapi.js'
import { consoleTag } from './parts/tags.js'

const path = '/console/session'
const signInBodyBytesMax = 4 * 1024
/** Longer than any token or code. */
const secretCharsMax = 200

interface SessionRouteOptions {
  readonly auth: Auth
  readonly sessions: Sessions
  readonly view: View
  readonly baseUrl: string | undefined
  /** Where proxies ask, if it is known here. */
  readonly decidePort?: number | undefined
}

const secret = (description: string) =>
  Type.Optional(Type.String({ description, minLength: 1, maxLength: secretCharsMax }))

const signInSchema = objectOf(
  {
    token: secret('The token of an API key.'),
    code: secret('The code of a sign-in link, which can be used once, on the machine that runs Weir.'),
  },
  { title: 'SignIn', description: 'One of the two.', examples: [{ token: 'weir_…' }] },
)

const consoleHeaders = Type.Object({
  [consoleHeader]: Type.Enum(['1'], { description: 'No form can send it, and no script of another site.' }),
})

const shownSession = shownBy(consoleSessionSchema, consoleSessionExample)
const cookieHeader = {
  'Set-Cookie': {
    type: 'string',
    description: `The cookie \`${sessionCookie}\`, over TLS \`${secureSessionCookie}\`, for browsers.`,
  },
}

const signInOperation = {
  operationId: 'sign_in',
  summary: 'Sign in to the web console',
  description:
    'The session lasts 8 hours, but not longer than the API key. A link that `weir console` prints has a code.',
  tags: [consoleTag.name],
  security: [],
  headers: consoleHeaders,
  body: signInSchema,
  response: { 201: { ...shownSession, headers: cookieHeader } },
}

const getOperation = {
  operationId: 'get_session',
  summary: 'Who is signed in to the web console',
  description: 'Without a cookie no one is: 204. 401: the session has ended.',
  tags: [consoleTag.name],
  security: [{ session: [] }],
  response: { 200: shownSession, 204: Type.Null({ description: 'No one is signed in.' }) },
}

const signOutOperation = {
  operationId: 'sign_out',
  summary: 'Sign out of the web console',
  tags: [consoleTag.name],
  security: [{ session: [] }],
  headers: consoleHeaders,
  response: { 204: Type.Null({ description: 'Done; there is no body.' }) },
}

/** They check the caller themselves. */
const config = { isOpen: true }

export function registerSessions(
  app: FastifyInstance,
  { auth, sessions, view, baseUrl, decidePort }: SessionRouteOptions,
): void {
  const shown = (key: Row, expiresMs: number): ConsoleSession => ({
    account_id: key.account_id,
    account_name: String(view.state.rows.get('account')?.get(key.account_id)?.['name'] ?? ''),
    account_rights: accountRightsOf(view.state, key.account_id) as ConsoleSession['account_rights'],
    api_key_id: key.id,
    api_key_description: String(key['description'] ?? ''),
    rights: rightsOf(key) as ConsoleSession['rights'],
    expires_at: isoSeconds(expiresMs),
    decide_port: decidePort ?? null,
  })
  const cookie = (request: FastifyRequest, reply: FastifyReply, token: string, maxAgeMs: number) =>
    reply.header(
      'set-cookie',
      setCookie(token, Math.max(0, Math.floor(maxAgeMs / 1000)), isSecure(request, baseUrl)),
    )
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('cache-control', 'no-store')
    // Before a body is read.
    checkConsoleRequest(request, baseUrl)
    checkContentType(request)
    done()
  })
  const options = { schema: signInOperation, config, bodyLimit: signInBodyBytesMax }
  app.post(path, options, async (request, reply) => {
    queryOf(request)
    const { key } = await signedIn(auth, request)
    const { token, session } = await sessions.begin(key)
    cookie(request, reply, token, session.expiresMs - session.createdMs)
    return sendJson(reply.code(201), shown(key, session.expiresMs))
  })
  app.get(path, { schema: getOperation, config }, async (request, reply) => {
    queryOf(request)
    refuseBody(request)
    if (sessionTokenOf(request, baseUrl) === undefined) return reply.code(204).send()
    const { principal, session } = await auth.checkSession(request)
    const key = view.state.rows.get(apiKey.kind)?.get(principal.credentialId ?? '')
    if (key === undefined || session === undefined)
      throw unauthenticated('The session has ended: sign in again.')
    return sendJson(reply, shown(key, session.expiresMs))
  })
  app.delete(path, { schema: signOutOperation, config }, async (request, reply) => {
    queryOf(request)
    refuseBody(request)
    await auth.endSession(request)
    return cookie(request, reply, '', 0).code(204).send()
  })
}

/** The messages never repeat the values: they are secrets. */
async function signedIn(auth: Auth, request: FastifyRequest): Promise<SignedIn> {
  const given = objectBody(request.body, {})
  checkNames(given, ['token', 'code'], 'sign-in')
  const { token, code } = given
  const value = token ?? code
  if (value === undefined || value === null || (token != null && code != null))
    throw badRequest('"token", of an API key, or "code", of a sign-in link, is needed: one of them.')
  const name = token == null ? 'code' : 'token'
  if (typeof value !== 'string' || value === '' || value.length > secretCharsMax)
    throw badRequest(`"${name}" must be a string of 1 to ${secretCharsMax} characters.`)
  if (name === 'token') return auth.signInByToken(request, value)
  const detour = detourOf(request)
  if (detour !== undefined)
    throw new WeirError(
      'ERR_FORBIDDEN',
      `A sign-in link works only in a browser on the machine that runs Weir, and this request came ${detour}. A mapped port of a container is such a detour, too. Sign in with an API key: "weir key create --account <id>", run where Weir runs, makes one.`,
    )
  return auth.signInByCode(request, value)
}
