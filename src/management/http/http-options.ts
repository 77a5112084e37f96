/** How the API's server takes connections and requests. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyHttpOptions } from 'fastify'
import type { ListeningServer } from '../../ground/core/http-listen.js'
import { newId } from '../../ground/core/ids.js'
import { requestBodyBytesMax } from '../../ground/core/limits.js'
import { trustOf } from '../access/caller.js'
import { connectionLimits } from '../exchange/connection-limits.js'
import { answerUnreadable, type Connections } from './http-errors.js'

/** Longer than any request line, so that ids are checked by their form and never by fastify. */
const pathParamCharsMax = 16 * 1024

/** Passes the requests of a listening server to the API once it is complete. */
export function takeoverOf(listening: Pick<ListeningServer, 'server' | 'answerWith'> | undefined) {
  let done = (): void => {}
  const options: Pick<FastifyHttpOptions<Server>, 'serverFactory'> = {}
  if (listening !== undefined)
    options.serverFactory = (answer) => {
      done = () => listening.answerWith(answer)
      return listening.server
    }
  return { options, done: () => done() }
}

/** `trustedProxies`: CIDRs whose `X-Forwarded-For` is believed. */
export const httpOptions = (
  trustedProxies: readonly string[],
  connections: Connections,
): FastifyHttpOptions<Server> => ({
  bodyLimit: requestBodyBytesMax,
  requestTimeout: connectionLimits.requestTimeout,
  keepAliveTimeout: connectionLimits.keepAliveTimeout,
  trustProxy: trustedProxies.length === 0 ? false : trustOf(trustedProxies),
  genReqId: () => newId('op_'),
  routerOptions: { maxParamLength: pathParamCharsMax },
  forceCloseConnections: 'idle',
  // Requests that arrive during the stop are still answered; the store is closed afterwards.
  return503OnClosing: false,
  http: connectionLimits,
  clientErrorHandler: (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    else void connections.unreadable(socket as Socket, () => answerUnreadable(error, socket as Socket))
  },
  // Resources have only the methods that the document describes, and HEAD is not one.
  exposeHeadRoutes: false,
})
