/**
 * CrowdSec's local API, version 1, as far as bouncers use it. They read decisions: deny rules of IP policies, and entries of
 * IP lists. They send metrics, which are dropped. Errors have the form that these programs know.
 */
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { now } from '../../../ground/core/clock.js'
import { Turns } from '../../../ground/core/concurrency.js'
import type { WeirError } from '../../../ground/core/errors.js'
import type { KeyUses } from '../../access/key-uses.js'
import { acceptedCoding } from '../../exchange/accepted-forms.js'
import { problemHeadersOf } from '../../exchange/problem.js'
import { BouncerAuth, type BouncerAuthOptions, type BouncerCaller } from '../../http/caller/bouncer-auth.js'
import { refusalOf } from '../../http/refused-requests.js'
import { AccountBans } from '../../insight/bans/account-bans.js'
import type { PastRows } from '../../store/history/past-rows.js'
import { BouncerPulls } from './bouncer-pulls.js'
import { decisionsJson } from './decision-form.js'
import { asked, filterOf, type Query } from './decision-query.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, in requests for decisions. */
    bouncer: BouncerCaller
  }
}

interface BouncerRouteOptions extends BouncerAuthOptions {
  readonly pastRows: Pick<PastRows, 'at'>
  readonly keyUses: Pick<KeyUses, 'note' | 'lastPulls' | 'notePulls'>
}

/** An answer with 100,000 decisions takes a good part of a second. */
const answersAtOnceMax = 2
/** Requests of one account. */
const answersWaitingMax = 100
/** Shorter answers are not compressed. */
const compressedFromBytes = 1024
const metricsBytesMax = 1024 * 1024

const compress = promisify(gzip)
const hidden = { schema: { hide: true }, config: { isOpen: true } } as const

export function registerBouncers(app: FastifyInstance, options: BouncerRouteOptions): void {
  const { view, occurrences } = options
  const auth = new BouncerAuth(options)
  const pulls = new BouncerPulls(new AccountBans(options.pastRows, occurrences), options.keyUses)
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
      const asked = { all: query.startup === 'true', isWanted: filterOf(query) }
      const { added, deleted, sent } = await pulls.pull(view, caller, asked)
      reply.raw.once('finish', sent)
      const [gone, come] = [await decisionsJson(deleted, now()), await decisionsJson(added, now())]
      return `{"deleted":${gone},"new":${come}}`
    })
    return answer(request, reply, json)
  }
  const list = async (request: FastifyRequest, reply: FastifyReply) => {
    const query = request.query as Query
    const json = await inTurn(request.bouncer, async () => {
      const bans = await pulls.present(view, request.bouncer)
      const text = await decisionsJson(asked(bans, query, now()), now())
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
