/**
 * The client of the API for dead letters, for an operator: its requests are commands to the process that owns the
 * store.
 */

import type { AdminCommand } from '../../management/process/running-service.js'
import { DeadLetterClient } from '../../words/client/dead-letters.js'
import type { Http, Method, Request } from '../../words/client/http.js'

/** Sends a command to the process that owns the store; resolves with its answer. */
export type AskOwner = (command: AdminCommand) => Promise<string>

export const operatorDeadLetters = (ask: AskOwner): DeadLetterClient =>
  new DeadLetterClient(operatorHttp(ask))

const operatorHttp = (ask: AskOwner): Pick<Http, 'send'> => ({
  async send<Body>(method: Method, path: string, { query = {}, body = {} }: Request = {}): Promise<Body> {
    const parts = { query: JSON.stringify(query), body: JSON.stringify(body) }
    return JSON.parse(await ask({ command: 'dead', method, path, ...parts })) as Body
  },
})
