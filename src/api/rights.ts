/** Kinds that only accounts with a right may use. */
import type { FastifyRequest } from 'fastify'
import { WeirError } from '../core/errors.js'
import type { AccountRight, AnyResource } from '../resource/define.js'
import { type ApiContext, readable } from './context.js'

/** Of a route: refuses accounts without the right before anything is said about an id or a body. */
export const rightNeeded = (context: ApiContext, { right }: AnyResource) =>
  right === undefined
    ? {}
    : { onRequest: async (request: FastifyRequest) => checkRight(context, request, right) }

function checkRight(
  context: ApiContext,
  { caller: { accountId } }: FastifyRequest,
  right: AccountRight,
): void {
  const account = readable(context).rows.get('account')?.get(accountId)
  if ((account?.['rights'] as readonly string[] | undefined)?.includes(right)) return
  throw new WeirError(
    'ERR_FORBIDDEN',
    `The account ${accountId} lacks the right "${right}", which an operator grants.`,
  )
}
