/** Ids of resources that select what is listed or watched. An id that the account does not know is refused: an answer would only be empty. */
import { notFound, shown } from '../../core/errors.js'
import { isId } from '../../core/ids.js'
import { type AnyResource, anyResource } from '../../resource/define.js'
import { eventDestination } from '../../resource/event-destination.js'
import { httpsEdge, httpsEdgeRoute } from '../../resource/https-edge.js'
import { ipPolicyRule } from '../../resource/ip-policy.js'
import { tcpEdge } from '../../resource/tcp-edge.js'
import { type ApiContext, readable } from '../context.js'

export const edgeResources: readonly AnyResource[] = [anyResource(tcpEdge), anyResource(httpsEdge)]
export const destinationResources: readonly AnyResource[] = [anyResource(eventDestination)]
export const routeResources: readonly AnyResource[] = [anyResource(httpsEdgeRoute)]
export const ruleResources: readonly AnyResource[] = [anyResource(ipPolicyRule)]

const isPresent = (context: ApiContext, accountId: string, { kind }: AnyResource, id: string): boolean =>
  readable(context).rows.get(kind)?.get(id)?.account_id === accountId

const unknown = (name: string, id: string) => notFound(`"${name}" names ${shown(id)}, which does not exist.`)

/** Throws unless the account has such a resource now. */
export function checkPresent(
  context: ApiContext,
  accountId: string,
  name: string,
  id: string,
  resources: readonly AnyResource[],
): void {
  if (!resources.some((resource) => isPresent(context, accountId, resource, id))) throw unknown(name, id)
}

/** Throws unless the account has such a resource or once had it: recorded decisions outlive a resource. */
export async function checkEverPresent(
  context: ApiContext,
  accountId: string,
  name: string,
  id: string,
  resources: readonly AnyResource[],
): Promise<void> {
  const resource = resources.find(({ idPrefix }) => isId(idPrefix, id))
  if (resource === undefined) throw unknown(name, id)
  if (isPresent(context, accountId, resource, id)) return
  if (!(await context.store.history.knows(accountId, resource, id, {}))) throw unknown(name, id)
}
