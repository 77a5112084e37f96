/** `GET /ip_policies/{id}/uses`: the edges, routes, IP restrictions and bouncers that refer to an IP policy. */
import type { FastifyInstance } from 'fastify'
import { Slices } from '../../../ground/core/slices.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import { ipPolicy } from '../../../words/resource/ip-policy.js'
import { type AnyResource, anyResource, type Row } from '../../../words/resource/kind/define.js'
import { resourceOf } from '../../../words/resource/registry.js'
import { type IpPolicyUse, ipPolicyUsesSchema, usingKinds } from '../../../words/shape/ip-policy-rules.js'
import { referencesIn } from '../../exchange/references.js'
import { pathOf, readable } from '../../exchange/rows.js'
import { type ApiContext, queryOf, rowAt, sendJson } from '../../http/context.js'
import { describe, routePath } from '../../http/openapi/openapi.js'

const policy = anyResource(ipPolicy)

/** Uses that are listed; the others are counted. */
const usesListedMax = 1_000

export function registerIpPolicyUses(app: FastifyInstance, context: ApiContext): void {
  const path = `${routePath(ipPolicy.path)}/:id/uses`
  const described = describe({
    operationId: 'list_ip_policy_uses',
    atOnce: 'list_search',
    summary: 'List what refers to an IP policy',
    description: `Edges, routes, IP restrictions and bouncers whose decisions depend on it: at most ${usesListedMax}, and how many more there are.`,
    tag: pluralOf(ipPolicy.title),
    path,
    success: [200, ipPolicyUsesSchema],
  })
  app.get(path, described, async (request, reply) => {
    queryOf(request)
    const { id } = rowAt(context, request, policy)
    const uses: IpPolicyUse[] = []
    let count = 0
    for await (const [resource, row] of rowsOfUsers(context, request.caller.accountId)) {
      if (reply.raw.destroyed) break
      const field = fieldNaming(resource, row, id)
      if (field === undefined) continue
      count += 1
      if (uses.length < usesListedMax) uses.push(useOf(context, resource, row, field))
    }
    return sendJson(reply, { uses, uses_left_out: count - uses.length })
  })
}

/** Rows that may refer to a policy, in slices, so that other requests proceed. */
export async function* rowsOfUsers(
  context: ApiContext,
  accountId: string,
): AsyncGenerator<readonly [AnyResource, Row]> {
  const slices = new Slices()
  for (const resource of usingKinds.map(resourceOf)) {
    // The position is an id, not an index, because rows change during a pause.
    let position: string | undefined
    for (let isDue = true; isDue; ) {
      isDue = false
      const state = readable(context)
      for (const id of state.ids(accountId, resource.kind).below(position)) {
        const row = state.rows.get(resource.kind)?.get(id)
        if (row !== undefined) yield [resource, row]
        position = id
        isDue = slices.isDue()
        if (isDue) break
      }
      if (isDue) await slices.pause()
    }
  }
}

/** The field that names the policy, such as `ip_restriction.ip_policy_ids`. */
function fieldNaming({ fields }: AnyResource, row: Row, id: string): string | undefined {
  for (const reference of referencesIn(fields, row))
    if (reference.kind === ipPolicy.kind && reference.id === id) return reference.field
  return undefined
}

interface NamingRow {
  readonly description?: string | null
  readonly hostports?: readonly string[]
  readonly edge_id?: string
  readonly match?: string
  readonly type?: string
  readonly enforced?: boolean
  readonly ip_restriction?: { readonly enabled?: boolean } | null
}

/** A resource that names IP policies in this field. */
export function useOf(context: ApiContext, resource: AnyResource, row: Row, field: string): IpPolicyUse {
  const { description, hostports, edge_id, match, type, enforced, ip_restriction } = row as NamingRow
  const edge = edge_id === undefined ? undefined : readable(context).rows.get('https_edge')?.get(edge_id)
  return {
    kind: resource.kind as IpPolicyUse['kind'],
    id: row.id,
    uri: context.presenter.links.uri(pathOf(resource, row)),
    field,
    description: description ?? null,
    hostports: [...(hostports ?? (edge as NamingRow | undefined)?.hostports ?? [])],
    edge_id: edge_id ?? null,
    match: match ?? null,
    type: type ?? null,
    applies: enforced ?? ip_restriction?.enabled ?? true,
  }
}
