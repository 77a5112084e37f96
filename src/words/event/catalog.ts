/**
 * Start here: every kind of traffic event, one line each. A kind is one file of this room; the API, the pipeline and
 * the documents take everything about it from its declaration. The room never knows how events are delivered.
 */
import { decisionDiffers } from './decision-differs.js'
import type { AnyTrafficEvent } from './define.js'
import { httpRequestComplete } from './http-request-complete.js'
import { log } from './log.js'
import { tcpConnectionClosed } from './tcp-connection-closed.js'

export const trafficEvents: AnyTrafficEvent[] = [
  httpRequestComplete,
  tcpConnectionClosed,
  log,
  decisionDiffers,
]
