/**
 * The work of a request that counts against a bound. It counts until the client has its answer or has disconnected, and
 * the work has ended as well: work that can't be stopped keeps its place.
 */

import { memoryUsage } from 'node:process'
import { Transform } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { after, type Timer } from '../../../ground/core/clock.js'
import { collectGarbage } from '../../../ground/core/collect-garbage.js'
import { ClientGone } from '../../../ground/core/errors.js'
import { resourceBytesMax } from '../../../ground/core/limits.js'
import { Slices } from '../../../ground/core/slices.js'
import { type AtOnce, type BoundName, boundsAtOnce } from './at-once.js'

/** A body with more is large: no single resource needs it. */
export const largeBodyBytes = resourceBytesMax

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The bound of the operation. */
    atOnce?: BoundName
  }
  interface FastifyRequest {
    /** Set if the request counts against a bound. */
    work: BoundedWork | undefined
  }
}

class BoundedWork {
  readonly #gone = new AbortController()
  readonly #releases: (() => void)[] = []
  /** The answer holds one; each piece of work under way holds one. */
  #holds = 1

  constructor({ raw }: Pick<FastifyReply, 'raw'>) {
    const closed = (): void => {
      if (!raw.writableFinished) this.#gone.abort(new ClientGone())
      this.#drop()
    }
    // Checking a key may have taken longer than the client stayed.
    if (raw.destroyed) closed()
    else raw.once('close', closed)
  }

  /** Aborted when the client has disconnected without an answer. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** Calls `release` when all has ended. */
  counts(release: () => void): void {
    if (this.#holds === 0) release()
    else this.#releases.push(release)
  }

  /** Rejects with `ClientGone` instead of beginning work for no one. */
  async run<T>(work: () => Promise<T> | T): Promise<T> {
    this.signal.throwIfAborted()
    this.#holds += 1
    try {
      return await work()
    } finally {
      this.#drop()
    }
  }

  #drop(): void {
    this.#holds -= 1
    if (this.#holds > 0) return
    for (const release of this.#releases.splice(0)) release()
  }
}

/** Slices of the work of a request. They end when its client has disconnected. */
export const slicesOf = ({ work }: Pick<FastifyRequest, 'work'>): Slices =>
  new Slices({ signal: work?.signal })

/** Bounds all routes that are registered later. The guard calls `admitAtOnce` once the caller of a request is known. */
export function boundWork(app: FastifyInstance, atOnce: AtOnce): void {
  app.decorateRequest('work', undefined)
  app.addHook('preParsing', (request, reply, body, done) => {
    done(null, countedBody(atOnce, request, reply, body))
  })
  app.addHook('onRoute', (route) => {
    const { handler } = route
    route.handler = function (request, reply) {
      const handle = () => handler.call(this, request, reply)
      return request.work === undefined ? handle() : request.work.run(handle)
    }
  })
}

/** Throws or rejects if the request would be one too many. A promise: it waits for its turn. */
export function admitAtOnce(
  atOnce: AtOnce,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  const { atOnce: name } = request.routeOptions.config
  countLargeBody(atOnce, request, reply)
  return name !== undefined && isCounted(name, request)
    ? countInTurn(atOnce, name, request, reply)
    : undefined
}

function countLargeBody(atOnce: AtOnce, request: FastifyRequest, reply: FastifyReply): void {
  if (isLargeAnyway(request.routeOptions.config.atOnce)) return
  const length = Number(request.headers['content-length'] ?? 0)
  // A body beyond the limit of its route is refused unread.
  if (length > largeBodyBytes && length <= request.routeOptions.bodyLimit)
    count(atOnce, 'large_body', request, reply)
}

/** The same for a page that needs no key; `address`: where the request comes from. */
export function admitOpenPage(atOnce: AtOnce, address: string, { raw }: Pick<FastifyReply, 'raw'>): void {
  raw.once('close', atOnce.take('open_page', address))
}

/** Bounds that allow for large bodies themselves. */
const isLargeAnyway = (name: BoundName | undefined): boolean => name === 'publish' || name === 'list_entries'

function isCounted(name: BoundName, { query }: FastifyRequest): boolean {
  const { parameters } = boundsAtOnce[name]
  return parameters?.some((parameter) => Object.hasOwn(query as object, parameter)) ?? true
}

function countInTurn(
  atOnce: AtOnce,
  name: BoundName,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  request.work ??= new BoundedWork(reply)
  const { work } = request
  const release = atOnce.takeInTurn(name, request.caller.accountId, work.signal)
  if (release instanceof Promise) return release.then((free) => work.counts(free))
  work.counts(release)
  return undefined
}

function count(atOnce: AtOnce, name: BoundName, request: FastifyRequest, reply: FastifyReply): void {
  const release = atOnce.take(name, request.caller.accountId)
  request.work ??= new BoundedWork(reply)
  request.work.counts(release)
  if (name === 'large_body') request.work.counts(memory.begin())
}

/** The body as it arrives. A body of unknown length counts as large once it has exceeded the limit. */
function countedBody(
  atOnce: AtOnce,
  request: FastifyRequest,
  reply: FastifyReply,
  body: RequestPayload,
): RequestPayload {
  const { isOpen, atOnce: name } = request.routeOptions.config
  if (isOpen || isLargeAnyway(name) || request.headers['transfer-encoding'] === undefined) return body
  let bytes = 0
  let isLarge = false
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > largeBodyBytes && !isLarge) {
        isLarge = true
        try {
          count(atOnce, 'large_body', request, reply)
        } catch (error) {
          return done(error as Error)
        }
      }
      done(null, chunk)
    },
  })
  body.on('error', (error) => counted.destroy(error))
  return body.pipe(counted)
}

/** In a series of bodies, only the last is followed by a collection. */
const quietMs = 1_000
/**
 * A collection stops the process for a millisecond per two to four MiB of living objects. With more than this it would
 * delay other requests; V8's own collection, which does most of its work in other threads, comes later.
 */
const heapBytesMax = 512 * 2 ** 20

/**
 * Gives memory back after large bodies. The hundred thousand objects of one outlive V8's young generation, and V8 (seen
 * with Node 20) collects old objects only when about as many again were made, or after eight seconds without work. An
 * API whose health is requested regularly never has eight such seconds, so it would keep some 100 MiB of garbage.
 */
export class MemoryReturn {
  readonly #collect: () => void
  #underWay = 0
  #timer: Timer | undefined

  constructor(collect = returnMemory) {
    this.#collect = collect
  }

  /** Work with a large body begins. Call the result at its end. */
  begin(): () => void {
    this.#underWay += 1
    this.#timer?.stop()
    return () => {
      this.#underWay -= 1
      if (this.#underWay === 0) this.#timer = after(quietMs, this.#collect)
    }
  }
}

function returnMemory(): void {
  if (memoryUsage().heapUsed <= heapBytesMax) collectGarbage('all')
}

const memory = new MemoryReturn()
