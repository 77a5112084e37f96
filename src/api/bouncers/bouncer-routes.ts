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
import { BouncerAuth, type BouncerAuthOptions, type BouncerCaller } from '../../http/caller/bouncer-auth.js'
import type { KeyUses } from '../../http/caller/key-uses.js'
import { problemHeadersOf, refusalOf } from '../../http/problem.js'
import { type Ban, type Bans, BansOfAccounts } from '../../insight/bans.js'
import type { PastRows } from '../../store/history/past-rows.js'
import { BouncerPulls } from './bouncer-pulls.js'
import { decisionsJson } from './decision-form.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of requests for decisions. */
    bouncer: BouncerCaller
  }
}

interface BouncerRouteOptions extends BouncerAuthOptions {
  readonly pastRows: Pick<PastRows, 'at'>
  readonly keyUses: Pick<KeyUses, 'note' | 'lastPulls' | 'notePulls'>
}

/** An answer with 100,000 decisions takes a good part of a second. */
const answersAtOnceMax = 2
/** Of one account. */
const answersWaitingMax = 100
/** Shorter answers are not compressed. */
const compressedFromBytes = 1024
const metricsBytesMax = 1024 * 1024

const compress = promisify(gzip)
const hidden = { schema: { hide: true }, config: { isOpen: true } } as const

export function registerBouncers(app: FastifyInstance, options: BouncerRouteOptions): void {
  const { view, occurrences } = options
  const auth = new BouncerAuth(options)
  const pulls = new BouncerPulls(new BansOfAccounts(options.pastRows), options.keyUses)
  const turns = new Turns(answersAtOnceMax, answersWaitingMax)
  const inTurn = (caller: BouncerCaller, work: () => Promise<string>) =>
    turns.take(work, caller.bouncer.account_id)
  app.setErrorHandler((thrown: FastifyError | WeirError, request, reply) => {
    const error = refusalOf(occurrences, thrown, request)
    reply
      .status(error.status)
      .headers(problemHeadersOf(error))
      .send(JSON.stringify({ message: error.message }))
  })
  app.decorateRequest('bouncer')
  // Before a body is read.
  app.addHook('onRequest', async (request) => {
    request.bouncer = await auth.check(request)
  })
  app.removeAllContentTypeParsers()
  // Metrics are dropped, so nothing reads them.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async () => undefined)

  const stream = async (request: FastifyRequest, reply: FastifyReply) => {
    const { bouncer: caller } = request
    const query = request.query as Query
    const json = await inTurn(caller, async () => {
      const isWanted = filterOf(query)
      const { added, deleted, sent } = await pulls.pull(view.state, caller, query.startup === 'true')
      reply.raw.once('finish', sent)
      const [gone, come] = [
        await decisionsJson(deleted, isWanted, now()),
        await decisionsJson(added, isWanted, now()),
      ]
      return `{"deleted":${gone},"new":${come}}`
    })
    return answer(request, reply, json)
  }
  const list = async (request: FastifyRequest, reply: FastifyReply) => {
    const query = request.query as Query
    const json = await inTurn(request.bouncer, async () => {
      const bans = await pulls.present(view.state, request.bouncer)
      const [isWanted, isInside] = [filterOf(query), withinOf(query)]
      const isFound = (ban: Ban) => isWanted(ban) && isInside(ban)
      const text = await decisionsJson(asked(bans, query), isFound, now())
      // Programs look for this word.
      return text === '[]' ? 'null' : text
    })
    return answer(request, reply, json)
  }
  const head = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.status(200).headers(headers).send()
  app.get('/v1/decisions/stream', hidden, stream)
  app.get('/v1/decisions', hidden, list)
  app.head('/v1/decisions/stream', hidden, head)
  app.head('/v1/decisions', hidden, head)
  app.post('/v1/usage-metrics', { ...hidden, bodyLimit: metricsBytesMax }, async (_request, reply) =>
    reply.status(201).headers(headers).send(),
  )
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

function rangeAsked({ ip, range, value }: Query): Cidr | undefined {
  const text = ip ?? range ?? value
  if (text === undefined) return undefined
  const cidr = parseCidr(text, { hostBits: 'allow' })
  if (!cidr.ok) throw badRequest(`${shown(text)} is no address and no range.`)
  return cidr.value
}

/** With `contains=false`, the bans within what is asked for. */
function withinOf(query: Query): Wanted {
  const outer = query.contains === 'false' ? rangeAsked(query) : undefined
  return outer === undefined ? () => true : ({ cidr }) => isWithin(cidr, outer)
}

/** The bans that contain what is asked for; with `contains=false`, all. */
function* asked({ rules }: Bans, query: Query): Generator<Ban> {
  const scoped = wordsIn(query.scope)
  if (scoped !== undefined && !['ip', 'range'].some((each) => scoped.includes(each))) return
  const inner = rangeAsked(query)
  if (inner === undefined || query.contains === 'false') return yield* rules.values()
  for (const range of rangesAround(inner)) {
    const rule = rules.get(formatCidr(range))
    if (rule !== undefined) yield rule
  }
}

function isWithin(text: string, outer: Cidr): boolean {
  const inner = parseCidr(text, { hostBits: 'allow' })
  return inner.ok && inner.value.prefix >= outer.prefix && cidrContains(outer, inner.value as Address)
}
