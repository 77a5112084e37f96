/**
 * CrowdSec's local API, version 1, as far as bouncers use it: they read decisions, which are the deny rules of IP policies, and
 * send metrics, which are dropped. Errors have the form that these programs know.
 */
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  type Cidr,
  cidrContains,
  formatCidr,
  isOneAddress,
  parseCidr,
  rangesAround,
} from '../../core/address/cidr.js'
import type { Address } from '../../core/address/ip.js'
import { now } from '../../core/clock.js'
import { Turns } from '../../core/concurrency.js'
import { badRequest, shown, type WeirError } from '../../core/errors.js'
import { acceptedCoding } from '../../http/accepted-forms.js'
import { BouncerAuth, type BouncerAuthOptions } from '../../http/caller/bouncer-auth.js'
import type { KeyUses } from '../../http/caller/key-uses.js'
import { problemHeadersOf, refusalOf } from '../../http/problem.js'
import { type Ban, type Bans, BansOfAccounts } from '../../insight/bans.js'
import type { PastRows } from '../../store/history/past-rows.js'
import { BouncerPulls } from './bouncer-pulls.js'
import { decisionsJson } from './decision-form.js'

interface BouncerRouteOptions extends BouncerAuthOptions {
  readonly pastRows: Pick<PastRows, 'at'>
  readonly keyUses: Pick<KeyUses, 'note' | 'lastPull' | 'notePull'>
}

/** A pull of 100,000 decisions takes a good part of a second. */
const pullsAtOnceMax = 2
const pullsWaitingMax = 100
/** Shorter answers are not compressed. */
const compressedFromBytes = 1024
const metricsBytesMax = 1024 * 1024

const compress = promisify(gzip)
const hidden = { schema: { hide: true }, config: { isOpen: true } } as const

export function registerBouncers(app: FastifyInstance, options: BouncerRouteOptions): void {
  const { view, occurrences } = options
  const auth = new BouncerAuth(options)
  const pulls = new BouncerPulls(new BansOfAccounts(options.pastRows), options.keyUses)
  const turns = new Turns(pullsAtOnceMax, pullsWaitingMax)
  app.setErrorHandler((thrown: FastifyError | WeirError, request, reply) => {
    const error = refusalOf(occurrences, thrown, request)
    reply
      .status(error.status)
      .headers(problemHeadersOf(error))
      .send(JSON.stringify({ message: error.message }))
  })
  app.removeAllContentTypeParsers()
  // Metrics are dropped, so nothing reads them.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async () => undefined)

  const stream = async (request: FastifyRequest, reply: FastifyReply) => {
    const caller = await auth.check(request)
    const query = request.query as Query
    const json = await turns.take(async () => {
      const isWanted = filterOf(query)
      const { added, deleted } = await pulls.pull(view.state, caller, query.startup === 'true')
      const nowMs = now()
      const [gone, come] = [deleted.filter(isWanted), wantedIn(added, isWanted)]
      return `{"deleted":${await decisionsJson(gone, nowMs)},"new":${await decisionsJson(come, nowMs)}}`
    })
    return answer(request, reply, json)
  }
  const list = async (request: FastifyRequest, reply: FastifyReply) => {
    const caller = await auth.check(request)
    const query = request.query as Query
    const bans = await pulls.present(view.state, caller)
    const found = [...wantedIn(asked(bans, query), filterOf(query))]
    // Programs look for this word.
    return answer(request, reply, found.length === 0 ? 'null' : await decisionsJson(found, now()))
  }
  const head = async (request: FastifyRequest, reply: FastifyReply) => {
    await auth.check(request)
    return reply.status(200).headers(headers).send()
  }
  app.get('/v1/decisions/stream', hidden, stream)
  app.get('/v1/decisions', hidden, list)
  app.head('/v1/decisions/stream', hidden, head)
  app.head('/v1/decisions', hidden, head)
  app.post('/v1/usage-metrics', { ...hidden, bodyLimit: metricsBytesMax }, async (request, reply) => {
    await auth.check(request)
    return reply.status(201).headers(headers).send()
  })
}

const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' } as const

async function answer(request: FastifyRequest, reply: FastifyReply, json: string): Promise<FastifyReply> {
  reply.headers(headers)
  const coding = acceptedCoding(request.headers['accept-encoding'], ['gzip'])
  if (coding === undefined || json.length < compressedFromBytes) return reply.send(json)
  const body = await compress(json, { level: constants.Z_BEST_SPEED })
  return reply.headers({ 'Content-Encoding': coding, Vary: 'Accept-Encoding' }).send(body)
}

/** Other parameters of CrowdSec mean nothing here, and are ignored. */
interface Query {
  readonly startup?: string
  readonly scopes?: string
  readonly origins?: string
  readonly scenarios_containing?: string
  readonly scenarios_not_containing?: string
  readonly scope?: string
  readonly value?: string
  readonly type?: string
  readonly ip?: string
  readonly range?: string
  readonly contains?: string
}

type Wanted = (rule: Ban) => boolean

const wordsIn = (text: string | undefined): readonly string[] | undefined => {
  const words = String(text ?? '')
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '')
  return words.length === 0 ? undefined : words
}

function* wantedIn(rules: Iterable<Ban>, isWanted: Wanted): Generator<Ban> {
  for (const rule of rules) if (isWanted(rule)) yield rule
}

/** By scope, origin, type and words of the reason. */
function filterOf(query: Query): Wanted {
  const [scopes, origins, types] = [query.scopes, query.origins, query.type].map(wordsIn)
  const [having, lacking] = [query.scenarios_containing, query.scenarios_not_containing].map(wordsIn)
  if (origins?.includes('weir') === false || types?.includes('ban') === false) return () => false
  const scopeOf = ({ cidr }: Ban) => (isOneAddress(cidr) ? 'ip' : 'range')
  return (rule) => {
    const scenario = (rule.description || 'weir').toLowerCase()
    return (
      scopes?.includes(scopeOf(rule)) !== false &&
      having?.some((word) => scenario.includes(word)) !== false &&
      lacking?.some((word) => scenario.includes(word)) !== true
    )
  }
}

/** The bans that contain what is asked for; with `contains=false`, those within it. */
function* asked({ rules }: Bans, query: Query): Generator<Ban> {
  const { scope, value, contains } = query
  const text = query.ip ?? query.range ?? value
  const scoped = wordsIn(scope)
  if (scoped !== undefined && !['ip', 'range'].some((each) => scoped.includes(each))) return
  if (text === undefined) return yield* rules.values()
  const cidr = parseCidr(text, { hostBits: 'allow' })
  if (!cidr.ok) throw badRequest(`${shown(text)} is no address and no range.`)
  if (contains === 'false') {
    for (const rule of rules.values()) if (isWithin(rule.cidr, cidr.value)) yield rule
    return
  }
  for (const range of rangesAround(cidr.value)) {
    const rule = rules.get(formatCidr(range))
    if (rule !== undefined) yield rule
  }
}

function isWithin(text: string, outer: Cidr): boolean {
  const inner = parseCidr(text, { hostBits: 'allow' })
  return inner.ok && inner.value.prefix >= outer.prefix && cidrContains(outer, inner.value as Address)
}
