/**
 * Start here: decisions for proxies, on a port of the role `decide`: plain HTTP with little between a request and its
 * answer.
 *
 * A key counts here by its row in the view. A user who can write rows there could write policies as well, so asking
 * ClickHouse would protect nothing, and decisions must not depend on it. The `api` restriction guards the management
 * API, not this port.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { GeoLookup } from '../../delivery/record/geo.js'
import { parseDecisionRequest, parseJson } from '../../delivery/record/record.js'
import { monotonicMs, now } from '../../ground/core/clock.js'
import { badRequest, notFound, WeirError } from '../../ground/core/errors.js'
import {
  type ListeningServer,
  listenFault,
  listenHttp,
  type RefusedBecause,
  readBody,
} from '../../ground/core/http-listen.js'
import { newId } from '../../ground/core/ids.js'
import { failedLoginsPerMinuteMax, recordBytesMax } from '../../ground/core/limits.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { inSpan } from '../../ground/core/telemetry/tracing.js'
import { decideRecord, ofAccount } from '../../judging/evaluate/decide.js'
import type { Judgement } from '../../judging/evaluate/judgement.js'
import type { PolicySet } from '../../judging/evaluate/policy-set.js'
import { type Unserved, unservedFor, unservedIn } from '../../judging/evaluate/unserved.js'
import { isExpired } from '../../words/resource/api-key.js'
import {
  callerAddress,
  invalidKey,
  type KeyFinder,
  loginSource,
  trustOf,
  unauthenticated,
} from '../access/caller.js'
import { checkKeyRight, keyRightsOf, rightFor } from '../access/key-rights.js'
import type { KeyUses } from '../access/key-uses.js'
import { RateWindows } from '../access/rate-windows.js'
import { connectionLimits } from '../exchange/connection-limits.js'
import { problemBody, problemHeadersOf } from '../exchange/problem.js'
import { beginDecision } from './decision-span.js'
import { headersIn, recordOfProxy } from './forwarded-request.js'

interface DecisionPortOptions {
  readonly policySet: () => PolicySet
  readonly geo: GeoLookup
  readonly keysOf: KeyFinder
  readonly keyUses: Pick<KeyUses, 'note'>
  /** CIDRs of proxies whose statement about their client is trusted. */
  readonly trustedProxies: readonly string[]
  /** Called with the address of one that makes such a statement and is not among them. */
  readonly untrusted?: (address: string) => void
  readonly occurrences: Pick<
    Occurrences,
    'loginFailed' | 'requestFailed' | 'decisionTimed' | 'connectionRefused'
  >
  /** Called with each decision. */
  readonly noted: (judgement: Judgement) => void
}

/** Addresses whose failed logins are counted. */
const loginSourcesMax = 10_000

/** Proxies pass on their clients' Authorization, so the key has a header of its own. */
const keyHeader = 'weir-key'

/** Proxies describe their client in these. */
const forwardingHeaders = ['x-forwarded-for', 'x-forwarded-host', 'x-original-method', 'x-forwarded-method']

const decidePath = '/decide'
const proxyPath = '/decide/auth_request'

/** Undefined if no port is set. */
export async function openDecisionPort(
  host: string,
  port: number | undefined,
  options: DecisionPortOptions,
): Promise<ListeningServer | undefined> {
  if (port === undefined) return undefined
  const connectionRefused = (because: RefusedBecause) => options.occurrences.connectionRefused({ because })
  const listening = { http: connectionLimits, connectionRefused }
  return listenHttp(host, port, decisionListener(options), listening).catch((error: unknown) => {
    throw listenFault(error, host, port, 'WEIR_DECIDE_PORT')
  })
}

function decisionListener(options: DecisionPortOptions): RequestListener {
  const port = new DecisionPort(options)
  return (request, response) => {
    const startedMs = monotonicMs()
    const timed = () =>
      options.occurrences.decisionTimed({ over: 'http' }, (monotonicMs() - startedMs) / 1000)
    const span = beginDecision('http', { get: (name) => String(request.headers[name] ?? '') })
    const answering = inSpan(span, () => port.answer(request, response))
    const answered = answering.catch((error: unknown) => {
      const operationId = newId('op_')
      if (!(error instanceof WeirError))
        options.occurrences.requestFailed({ operation_id: operationId, path: proxyPath, err: error })
      refuse(response, error instanceof WeirError ? error : defect, operationId)
    })
    void answered.then(() => {
      timed()
      span?.set({ 'http.response.status_code': response.statusCode })
      span?.end(response.statusCode >= 500 ? String(response.statusCode) : undefined)
    })
  }
}

const defect = new WeirError('ERR_INTERNAL', 'Internal error. Search the log for the operation id.')

function refuse(response: ServerResponse, error: WeirError, operationId: string): void {
  const body = problemBody(error, operationId)
  response.writeHead(error.status, { ...problemHeadersOf(error), 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

class DecisionPort {
  readonly #options: DecisionPortOptions
  readonly #isTrusted: (address: string) => boolean
  readonly #failedLogins = new RateWindows({
    perMinute: failedLoginsPerMinuteMax,
    keysMax: loginSourcesMax,
  })

  constructor(options: DecisionPortOptions) {
    this.#options = options
    this.#isTrusted = trustOf(options.trustedProxies)
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request
    const peer = callerAddress(request.socket.remoteAddress)
    const accountId = this.#accountOf(request, peer)
    const [path = '', query = ''] = url.split('?', 2)
    const parameters = new URLSearchParams(query)
    if (path === decidePath && method === 'POST')
      return this.#decide(request, response, accountId, parameters)
    if (path === proxyPath) return this.#answerProxy(request, response, accountId, peer, parameters, '')
    // Envoy appends the path of the request that it asks about, whose query is the client's.
    const isAppended = path.startsWith(`${proxyPath}/`)
    if (isAppended)
      return this.#answerProxy(request, response, accountId, peer, noParameters, url.slice(proxyPath.length))
    throw notFound(`Only POST ${decidePath} and GET ${proxyPath} are answered here.`)
  }

  /** The account of the key. Throws if there is none, or it may not ask for decisions. */
  #accountOf({ headers }: IncomingMessage, peer: string): string {
    const own = headers[keyHeader]
    const token = typeof own === 'string' ? own : /^Bearer +(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1]
    if (token === undefined)
      throw unauthenticated(
        `The header "Weir-Key: <API key>" or "Authorization: Bearer <API key>" is needed.`,
      )
    const [key] = this.#options.keysOf(token)
    if (key === undefined || isExpired(key, now())) throw this.#loginFailed(peer, invalidKey())
    this.#options.keyUses.note(key.id, peer)
    checkKeyRight(keyRightsOf(key), rightFor('POST', decidePath))
    return key.account_id
  }

  /** The answer to a failed login: `reason`, unless there were too many. */
  #loginFailed(peer: string, reason: WeirError): WeirError {
    const waitSeconds = this.#failedLogins.take(loginSource(peer))
    if (waitSeconds !== undefined)
      return new WeirError('ERR_RATE_LIMIT', 'Too many failed logins from this address.', {
        retryAfterSeconds: waitSeconds,
      })
    this.#options.occurrences.loginFailed({ address: peer })
    return reason
  }

  /** The answer of `weir.decide`; the status shows the decision, too. */
  async #decide(
    request: IncomingMessage,
    response: ServerResponse,
    accountId: string,
    parameters: URLSearchParams,
  ): Promise<void> {
    const tooLarge = `The body is too large: at most ${recordBytesMax} bytes are allowed.`
    const refusal = new WeirError('ERR_BODY_TOO_LARGE', tooLarge)
    // If a body is cut off while it is read, the connection is gone, and there is no answer.
    if (Number(request.headers['content-length'] ?? 0) > recordBytesMax) throw refusal
    const bytes = await readBody(request, recordBytesMax, tooLarge).catch(() => {
      throw refusal
    })
    const json = parseJson(bytes)
    if (!json.ok) throw new WeirError('ERR_INVALID_JSON', json.problem.msg)
    const { answer, judgement } = this.#judged(json.value, accountId, unservedOf(parameters))
    const body = JSON.stringify(answer)
    response.writeHead(answer.decision === 'allow' ? 200 : 403, {
      ...headersOf(judgement),
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    })
    response.end(body)
  }

  async #answerProxy(
    { method = '', rawHeaders }: IncomingMessage,
    response: ServerResponse,
    accountId: string,
    peer: string,
    parameters: URLSearchParams,
    appendedUri: string,
  ): Promise<void> {
    const type = parameters.get('type') ?? undefined
    const edgeId = parameters.get('edge_id') ?? undefined
    const headers = headersIn(rawHeaders)
    if (forwardingHeaders.some((name) => headers[name] !== undefined) && !this.#isTrusted(peer))
      this.#options.untrusted?.(peer)
    const keyHeaders = headers[keyHeader] === undefined ? [keyHeader, 'authorization'] : [keyHeader]
    const asked = { method, headers, keyHeaders, appendedUri, peer, type, edgeId }
    const record = recordOfProxy(asked, accountId, this.#isTrusted, callerAddress)
    if (!record.ok) throw badRequest(record.problem.msg)
    const { judgement } = this.#judged(record.value, accountId, unservedOf(parameters))
    const isAllowed = judgement.decision === 'allow'
    // Envoy, which appends the path, takes only 200 for a yes.
    const status = isAllowed ? (appendedUri === '' ? 204 : 200) : 403
    response.writeHead(status, {
      ...headersOf(judgement),
      ...(status === 204 ? {} : { 'Content-Length': 0 }),
    })
    response.end()
  }

  #judged(request: unknown, accountId: string, asked: Unserved | undefined) {
    const parsed = parseDecisionRequest(request)
    if (!parsed.ok) throw badRequest(parsed.problem.msg)
    const { geo, noted } = this.#options
    const policySet = this.#options.policySet()
    const unserved = asked ?? unservedFor(policySet, accountId)
    const decided = decideRecord(policySet, geo, ofAccount(accountId, parsed.value), accountId, { unserved })
    if (!decided.ok) throw new WeirError(decided.problem.code, decided.problem.msg)
    noted(decided.value.judgement)
    return decided.value
  }
}

const noParameters = new URLSearchParams()

const unservedOf = (parameters: URLSearchParams): Unserved | undefined =>
  unservedIn(parameters.get('unserved') ?? undefined)

/** The decision and its cause: a token with parameters, as in RFC 8941; a name is percent-encoded. */
function headersOf({ decision, decidedBy }: Judgement): Record<string, string> {
  const { type, id, name, ruleId } = decidedBy
  const parameters = Object.entries({ id, rule_id: ruleId, name: name && encodeURIComponent(name) })
  const given = parameters.flatMap(([key, value]) => (value === null ? [] : [`;${key}="${value}"`]))
  return {
    'Weir-Decision': decision,
    'Weir-Decided-By': `${type}${given.join('')}`,
    'Cache-Control': 'no-store',
  }
}
