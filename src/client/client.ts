/**
 * A client of the management API. What it can do and the types of it come from the declarations that the API itself is
 * made of, so that a new kind is there without a line here:
 *
 *     const weir = openClient({ url: 'http://127.0.0.1:8080', token: 'weir_…' })
 *     const policy = await weir.ipPolicy.create({ description: 'the office' })
 *     const edge = await weir.tcpEdge.create({ hostports: ['ssh.example.com:22'] })
 *     await weir.tcpEdge.ip_restriction.put(edge.id, { ip_policy_ids: [policy.id] })
 *     for await (const { id } of weir.tcpEdge.list({ filter: 'ip_restriction.enabled' })) console.log(id)
 *
 * It sends by `fetch` alone. Whatever the API refuses is thrown as an `ApiError`.
 */
import type { Static } from '../core/schema.js'
import { type AnyResource, anyResource, type Fields, isServed } from '../resource/define.js'
import type { DeliveryStatus, testEventSchema } from '../resource/delivery-status.js'
import type { shownSourceSchema, sourceChangesSchema, sourceSchema } from '../resource/event-subscription.js'
import { declarations } from '../resource/registry.js'
import type { RuleCounts } from '../resource/rule-counts.js'
import { Collection, type CreateOptions, type WriteOptions, written } from './collection.js'
import { Http, type HttpOptions } from './http.js'
import type { Kinds, NewResource } from './kinds.js'

export { ApiError } from './api-error.js'

export interface Client extends Kinds {
  /** The sources of an event subscription, by their types. */
  sources(subscriptionId: string): Collection<NewSource, SourceChanges, Source>
  /** Replaces all rules of an IP policy, as one change that is seen whole. */
  replaceRules(policyId: string, rules: readonly NewRule[], options?: WriteOptions): Promise<RuleCounts>
  /** Sends an event to a destination; refused where the destination does not accept it. */
  sendTestEvent(destinationId: string, options?: TestOptions): Promise<Static<typeof testEventSchema>>
  /** How delivery to a destination stands. */
  deliveryStatus(destinationId: string): Promise<DeliveryStatus>
}

/** A rule without its policy. */
export type NewRule = Omit<NewResource<'ipPolicyRule'>, 'ip_policy_id'>
export type NewSource = Static<typeof sourceSchema>
export type SourceChanges = Static<typeof sourceChangesSchema>
export type Source = Static<typeof shownSourceSchema>
export type TestOptions = Pick<CreateOptions, 'idempotencyKey'>

export function openClient(options: HttpOptions): Client {
  const http = new Http(options)
  const kinds = Object.fromEntries(
    Object.entries(declarations)
      .filter(([, declaration]) => isServed(declaration))
      .map(([name, declaration]) => [name, kindOf(http, anyResource(declaration))]),
  )
  const { eventSubscription, eventDestination, ipPolicy } = declarations
  const at = ({ path }: { readonly path: string }, id: string, what: string): string =>
    `${path}/${encodeURIComponent(id)}/${what}`
  const beyond: Omit<Client, keyof Kinds> = {
    sources: (id) => new Collection(http, at(eventSubscription, id, 'sources'), 'sources'),
    replaceRules: async (id, rules, options = {}) =>
      (await http.send('PUT', at(ipPolicy, id, 'rules'), {
        body: { rules },
        query: written(options),
      })) as never,
    sendTestEvent: async (id, { idempotencyKey } = {}) =>
      (await http.send('POST', at(eventDestination, id, 'send_test_event'), { idempotencyKey })) as never,
    deliveryStatus: async (id) => (await http.send('GET', at(eventDestination, id, 'status'))) as never,
  }
  return { ...(kinds as unknown as Kinds), ...beyond }
}

function kindOf(http: Http, { path, listName, fields, parent }: AnyResource): object {
  if (parent === undefined) return operationsAt(http, path, listName, fields)
  const under = (id: string): object =>
    operationsAt(http, path.replace(`{${parent.field}}`, encodeURIComponent(id)), listName, fields)
  return { under }
}

/** A collection, and what lies below its entries: modules and fields that can be detached, by their names. */
function operationsAt(http: Http, path: string, listName: string, fields: Fields): object {
  const collection = new Collection(http, path, listName)
  const parts = Object.entries(fields).flatMap(([name, { fields: members, isDetachable, shown }]) => {
    if (members !== undefined) return [name]
    return isDetachable && shown !== 'hidden' ? [shown.name ?? name] : []
  })
  return Object.assign(collection, Object.fromEntries(parts.map((name) => [name, collection.module(name)])))
}
