/** `GET /ip_policies/counts`: how many rules each IP policy has, and how much refers to it. */
import type { FastifyInstance } from 'fastify'
import { pluralOf } from '../../../ground/core/text/plural.js'
import { ipPolicy } from '../../../words/resource/ip-policy.js'
import { anyResource } from '../../../words/resource/kind/define.js'
import { ipPolicyCountExample, ipPolicyCountSchema } from '../../../words/shape/ip-policy-rules.js'
import { limitOf, queryText } from '../../exchange/query-values.js'
import { referencesIn } from '../../exchange/references.js'
import { readable } from '../../exchange/rows.js'
import { type ApiContext, queryOf, sendJson } from '../../http/context.js'
import { beforeIdOf, searchPage } from '../../http/lists/lists.js'
import { exampleLinks } from '../../http/openapi/examples.js'
import { describe, listSchema, pageQuery, routePath, shownBy } from '../../http/openapi/openapi.js'
import { countRules } from '../../store/change/plan.js'
import { rowsOfUsers } from './ip-policy-uses.js'

const policy = anyResource(ipPolicy)
const path = `${routePath(ipPolicy.path)}/counts`

const pageSchema = shownBy(listSchema('counts', ipPolicyCountSchema, 'IpPolicyCountList'), {
  counts: [ipPolicyCountExample],
  uri: exampleLinks.uri(path),
  next_page_uri: null,
})

export function registerIpPolicyCounts(app: FastifyInstance, context: ApiContext): void {
  const described = describe({
    operationId: 'list_ip_policy_counts',
    atOnce: 'list_search',
    summary: 'List how many rules and uses IP policies have',
    tag: pluralOf(ipPolicy.title),
    path,
    success: [200, pageSchema],
    query: pageQuery(policy),
  })
  app.get(path, described, async (request, reply) => {
    const query = queryOf(request, ['limit', 'before_id'])
    const limit = limitOf(query.limit)
    const { accountId } = request.caller
    const { page, last, hasMore } = await searchPage(context, {
      resource: policy,
      accountId,
      limit,
      beforeId: beforeIdOf(policy, query.before_id),
      isWanted: () => true,
      isDisconnected: () => reply.raw.destroyed,
    })
    const uses = await usesOf(context, accountId)
    const state = readable(context)
    const uri = context.presenter.links.uri(path)
    return sendJson(reply, {
      counts: page.map((text) => {
        const { id } = JSON.parse(text) as { readonly id: string }
        return { id, rules: countRules(state, id), uses: uses.get(id) ?? 0 }
      }),
      uri,
      next_page_uri: hasMore ? `${uri}?${queryText({ limit: String(limit), before_id: last })}` : null,
    })
  })
}

/** How many resources refer to each IP policy. */
async function usesOf(context: ApiContext, accountId: string): Promise<ReadonlyMap<string, number>> {
  const uses = new Map<string, number>()
  for await (const [{ fields }, row] of rowsOfUsers(context, accountId)) {
    const named = new Set<string>()
    for (const { kind, id } of referencesIn(fields, row)) if (kind === ipPolicy.kind) named.add(id)
    for (const id of named) uses.set(id, (uses.get(id) ?? 0) + 1)
  }
  return uses
}
