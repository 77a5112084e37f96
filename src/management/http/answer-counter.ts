/** Counts and times the answers to requests. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { monotonicMs } from '../../ground/core/clock.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'

/** Statuses of the management API's answers, without those that only a proxy or a client's own protocol causes. */
export const answeredStatuses = [
  ...['200', '201', '202', '204', '304'],
  ...['400', '401', '403', '404', '405', '409', '412', '413', '415', '422', '429', '500', '503'],
]

/**
 * Called when a request begins: counts and times its answer, if that is sent completely.
 *
 * By the event `close` and not by the hook `onResponse`, which listens to `finish`: with a second listener of that event,
 * V8 keeps each request and its answer past the collection of young objects, which is a third of a read's CPU.
 */
export const answerCounter =
  (occurrences: Occurrences) =>
  (request: FastifyRequest, reply: FastifyReply): void => {
    const begunMs = monotonicMs()
    // An answer is closed once, so nothing has to take this listener away.
    reply.raw.on('close', () => {
      if (!reply.raw.writableFinished) return
      const { method, routeOptions } = request
      const seconds = (monotonicMs() - begunMs) / 1000
      occurrences.requestServed({ method, status: String(reply.statusCode) })
      // The pattern, not the path: paths hold ids, and anyone can make up new ones.
      occurrences.requestTimed({ method, route: routeOptions.url ?? 'none' }, seconds)
    })
  }
