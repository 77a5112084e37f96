/** `GET /ip_policies/{id}/rules`: the rules of an IP policy, and how often each decided. */
import type { FastifyInstance } from 'fastify'
import { isoSeconds } from '../../ground/core/clock.js'
import { objectOf, orNull, type TObject, Type } from '../../ground/core/schema.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import { pastTimeForms } from '../../ground/core/text/units.js'
import { ipPolicy, ipPolicyRule } from '../../words/resource/ip-policy.js'
import { anyResource } from '../../words/resource/kind/define.js'
import { type RuleUseCounts, usedRuleSchema } from '../../words/shape/ip-policy-rules.js'
import { coversIn, coversParameter } from '../exchange/covering.js'
import { compileFilter } from '../exchange/list-filter.js'
import { limitOf, queryText, timeOf } from '../exchange/query-values.js'
import { type ApiContext, pathParams, queryOf, rowAt, sendJson } from '../http/context.js'
import { beforeIdOf, searchPage } from '../http/lists/lists.js'
import { exampleLinks, shownExample } from '../http/openapi/examples.js'
import {
  describe,
  filterParameter,
  listSchema,
  pageQuery,
  routePath,
  shownBy,
} from '../http/openapi/openapi.js'
import type { LogReader, RuleUse } from '../store/logs/log-reader.js'

const policy = anyResource(ipPolicy)
const rule = anyResource(ipPolicyRule)

const querySchema = Type.Object({
  ...pageQuery(rule).properties,
  filter: filterParameter,
  covers: coversParameter,
  counts_since: Type.Optional(
    Type.String({
      description: `Each deny rule comes with how often it has blocked since then: ${pastTimeForms}. The sums of the decision log are read, which are kept for eight days at least.`,
    }),
  ),
})

const { properties } = listSchema('rules', usedRuleSchema, '') as TObject
const counts_since = orNull(Type.String(), {
  description: 'The minute from which decisions are counted: RFC 3339 in UTC. Null if none are.',
})
const pageSchema = shownBy(
  objectOf(
    { ...properties, counts_since },
    { title: 'UsedIpPolicyRuleList', description: 'A page, newest first.' },
  ),
  {
    rules: [{ ...shownExample(rule), counts: null }],
    uri: exampleLinks.uri('/ip_policies/ipp_01M80GWQAHY27RZNTZV6JM67P3/rules'),
    next_page_uri: null,
    counts_since: null,
  },
)

interface ShownRule {
  readonly id: string
  readonly action: string
}

export function registerRuleList(
  app: FastifyInstance,
  context: ApiContext,
  log: Pick<LogReader, 'ruleUses'>,
): void {
  const path = `${routePath(ipPolicy.path)}/:id/rules`
  const described = describe({
    operationId: 'list_ip_policy_rule_uses',
    atOnce: 'list_search',
    summary: 'List the rules of an IP policy',
    description: 'With `counts_since`, how often each of them decided.',
    tag: pluralOf(ipPolicy.title),
    path,
    success: [200, pageSchema],
    query: querySchema,
  })
  app.get(path, described, async (request, reply) => {
    const query = queryOf(request, ['limit', 'before_id', 'filter', 'covers', 'counts_since'])
    const { id } = rowAt(context, request, policy)
    const { accountId } = request.caller
    const limit = limitOf(query.limit)
    const sinceMs = timeOf('counts_since', query.counts_since)
    const { filter } = query
    const matches = filter === undefined ? undefined : compileFilter(rule, filter)
    const { page, last, hasMore } = await searchPage(context, {
      resource: rule,
      accountId,
      limit,
      beforeId: beforeIdOf(rule, query.before_id),
      isWanted: (row, state) =>
        row['ip_policy_id'] === id && matches?.(context.presenter.show(rule, row, state)) !== false,
      covers: coversIn(query.covers),
      isDisconnected: () => reply.raw.destroyed,
    })
    const rules = page.map((text) => JSON.parse(text) as ShownRule)
    const uses = sinceMs === undefined ? undefined : await usesOf(log, accountId, rules, sinceMs)
    const uri = context.presenter.links.uri(path.replace(':id', pathParams(request)['id'] ?? ''))
    const since = sinceMs === undefined ? undefined : startOfMinute(sinceMs)
    const next = queryText({ ...query, limit: String(limit), before_id: last, counts_since: since })
    return sendJson(reply, {
      rules: rules.map((shown) => ({ ...shown, counts: uses === undefined ? null : countsOf(shown, uses) })),
      uri,
      next_page_uri: hasMore ? `${uri}?${next}` : null,
      counts_since: since ?? null,
    })
  })
}

const startOfMinute = (ms: number): string => isoSeconds(Math.floor(ms / 60_000) * 60_000)

async function usesOf(
  log: Pick<LogReader, 'ruleUses'>,
  accountId: string,
  rules: readonly ShownRule[],
  sinceMs: number,
): Promise<ReadonlyMap<string, RuleUse>> {
  const ids = rules.filter(({ action }) => action === 'deny').map(({ id }) => id)
  return new Map((await log.ruleUses(accountId, ids, sinceMs)).map((use) => [use.ruleId, use]))
}

function countsOf({ id, action }: ShownRule, uses: ReadonlyMap<string, RuleUse>): RuleUseCounts | null {
  if (action !== 'deny') return null
  const use = uses.get(id)
  if (use === undefined) return { blocked: 0, asked: 0, last_at: null }
  return { blocked: use.blocked, asked: use.asked, last_at: isoSeconds(use.lastMs) }
}
