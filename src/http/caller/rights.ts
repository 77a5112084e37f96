/** Rights of accounts, which operators grant. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { WeirError } from '../../core/errors.js'
import type { AccountRight, AnyResource } from '../../resource/define.js'
import type { ViewState } from '../../view/view-state.js'
import { type ApiContext, readable } from '../context.js'

/** Does the account have the right that a kind needs? No one sees internal kinds. */
export function maySee(context: ApiContext, accountId: string, { right, isInternal }: AnyResource): boolean {
  if (isInternal) return false
  return right === undefined || rightsOf(context, accountId).includes(right)
}

export const accountRightsOf = ({ rows }: Pick<ViewState, 'rows'>, accountId: string): readonly string[] =>
  (rows.get('account')?.get(accountId)?.['rights'] ?? []) as readonly string[]

const rightsOf = (context: ApiContext, accountId: string): readonly string[] =>
  accountRightsOf(readable(context), accountId)

/** Route options: refuses accounts without the right before an id or a body is checked. */
export const rightNeeded = (context: ApiContext, { right }: AnyResource) =>
  right === undefined
    ? {}
    : {
        onRequest: (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
          checkRight(context, request, right)
          done()
        },
      }

function checkRight(
  context: ApiContext,
  { caller: { accountId } }: FastifyRequest,
  right: AccountRight,
): void {
  if (rightsOf(context, accountId).includes(right)) return
  throw new WeirError(
    'ERR_FORBIDDEN',
    `The account ${accountId} lacks the right "${right}", which an operator grants.`,
  )
}
