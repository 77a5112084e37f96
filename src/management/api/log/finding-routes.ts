/** `GET /findings`: what of the configuration can hardly be meant. */

import type { FastifyInstance } from 'fastify'
import type { GeoLookup } from '../../../delivery/record/geo.js'
import { getOrMake } from '../../../ground/core/maps.js'
import { Type } from '../../../ground/core/schema.js'
import type { AnyTrafficEvent } from '../../../words/event/define.js'
import { findingDays, findingsListedMax, findingsSchema } from '../../../words/shape/finding.js'
import type { KeyUses } from '../../access/key-uses.js'
import { wordIn } from '../../exchange/query-values.js'
import { readable } from '../../exchange/rows.js'
import { queryOf, sendJson } from '../../http/context.js'
import { describe } from '../../http/openapi/openapi.js'
import { type FindingsParts, findingsOf } from '../../insight/findings/findings.js'
import type { DestinationOperations } from '../../operate/destination-operations.js'
import { rowTimes } from '../../store/logs/row-times.js'
import { findingsTag } from '../parts/tags.js'
import type { WriteContext } from '../parts/write-context.js'

interface Parts extends Pick<FindingsParts, 'log' | 'failures' | 'occurrences'> {
  readonly geo: GeoLookup
  readonly eventKinds: readonly AnyTrafficEvent[]
  readonly destinations: Pick<DestinationOperations, 'sourceCounts'>
  readonly keyUses: Pick<KeyUses, 'lastUse'>
}

const querySchema = Type.Object({
  time: Type.Optional(
    Type.Enum([...rowTimes], {
      default: 'stored',
      description:
        'By which time `rule_never_matched` looks at traffic: when it was `stored`, or its `own`, with loaded records of the past.',
    }),
  ),
})

export function registerFindings(app: FastifyInstance, context: WriteContext, parts: Parts): void {
  const { destinations, keyUses } = parts
  const sources: FindingsParts = {
    ...parts,
    links: context.presenter.links,
    sourceCounts: (id) => destinations.sourceCounts(id),
    lastUse: (id) => keyUses.lastUse(id),
    listStatus: (list, nowMs) => context.statuses.of(list, nowMs),
    tcpDomain: context.writes.tcpDomain,
    policySet: (state, accountId) => context.policies.of(state, accountId),
  }
  const described = describe({
    operationId: 'get_findings',
    atOnce: 'findings',
    summary: 'Get what of the configuration can hardly be meant',
    description: `Each with its evidence, and where it makes sense with a draft without it. At most ${findingsListedMax} of a kind are listed. What depends on traffic is judged by the last ${findingDays} days, as far as the decision log has them.`,
    tag: findingsTag.name,
    path: '/findings',
    success: [200, findingsSchema],
    query: querySchema,
  })
  // Two people who look at the console, or two of its pages, wait for the same search, unless something changed since it
  // began.
  const searches = new Map<string, ReturnType<typeof findingsOf>>()
  app.get('/findings', described, async (request, reply) => {
    const time = wordIn('time', queryOf(request, ['time'])['time'] ?? 'stored', rowTimes)
    const { accountId } = request.caller
    const state = readable(context)
    const key = `${accountId} ${state.revision} ${time}`
    const search = getOrMake(searches, key, () =>
      findingsOf(sources, state, accountId, undefined, time).finally(() => searches.delete(key)),
    )
    return sendJson(reply, await search)
  })
}
