/**
 * `GET …/last_traffic` of domains, addresses and certificates: when traffic last went there. Weir sees no handshakes, only
 * decisions: they say whether something may still be in use.
 */
import type { FastifyInstance } from 'fastify'
import { isoMillis } from '../../../ground/core/clock.js'
import type { TObject } from '../../../ground/core/schema.js'
import { Slices } from '../../../ground/core/slices.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import { domain } from '../../../words/resource/domain.js'
import { type AnyResource, anyResource, type Row } from '../../../words/resource/kind/define.js'
import { reservedAddr } from '../../../words/resource/reserved-addr.js'
import { tlsCertificate } from '../../../words/resource/tls-certificate.js'
import {
  lastTrafficEntrySchema,
  lastTrafficExample,
  lastTrafficSchema,
} from '../../../words/shape/last-traffic.js'
import { limitOf, queryText } from '../../exchange/query-values.js'
import { readable } from '../../exchange/rows.js'
import { type ApiContext, queryOf, sendJson } from '../../http/context.js'
import { beforeIdOf, searchPage } from '../../http/lists/lists.js'
import { exampleLinks } from '../../http/openapi/examples.js'
import { describe, listSchema, pageQuery, routePath, shownBy } from '../../http/openapi/openapi.js'
import type { TrafficReader } from '../../store/logs/traffic-reader.js'

/** Names that an answer looks for: a statement with all of them fits a request to ClickHouse. */
const namesMax = 1_000

/** The names that traffic to an entry of a page is logged with. */
interface Named {
  readonly namesOf: ReadonlyMap<string, readonly string[]>
  readonly namesLeftOut: number
}

interface TrafficKind {
  readonly resource: AnyResource
  readonly about: string
  readonly named: (context: ApiContext, accountId: string, page: readonly Row[]) => Named | Promise<Named>
}

const kinds: readonly TrafficKind[] = [
  {
    resource: anyResource(domain),
    about: 'Traffic to the name, on any port; for a wildcard, to any name one label below it.',
    named: (_, __, page) => ownName(page, 'domain'),
  },
  {
    resource: anyResource(reservedAddr),
    about: 'Traffic to the address.',
    named: (_, __, page) => ownName(page, 'addr'),
  },
  {
    resource: anyResource(tlsCertificate),
    about: `Traffic to the domains that it is kept for: Weir sees no handshakes. At most ${namesMax} domains of a page are looked for.`,
    named: domainsWith,
  },
]

const ownName = (page: readonly Row[], field: string): Named => ({
  namesOf: new Map(page.map((row) => [row.id, [String(row[field])]])),
  namesLeftOut: 0,
})

/** The domains that name a certificate of the page, in slices, so that other requests proceed. */
async function domainsWith(context: ApiContext, accountId: string, page: readonly Row[]): Promise<Named> {
  const namesOf = new Map<string, string[]>(page.map(({ id }) => [id, []]))
  const slices = new Slices()
  let [count, position]: [number, string | undefined] = [0, undefined]
  for (let isDue = true; isDue; ) {
    isDue = false
    const state = readable(context)
    // The position is an id, not an index, because rows change during a pause.
    for (const id of state.ids(accountId, domain.kind).below(position)) {
      const row = state.rows.get(domain.kind)?.get(id)
      const names = namesOf.get(String(row?.['certificate_id']))
      if (row !== undefined && names !== undefined) {
        count += 1
        if (count <= namesMax) names.push(String(row['domain']))
      }
      position = id
      isDue = slices.isDue()
      if (isDue) break
    }
    if (isDue) await slices.pause()
  }
  return { namesOf, namesLeftOut: Math.max(0, count - namesMax) }
}

export function registerLastTraffic(
  app: FastifyInstance,
  context: ApiContext,
  traffic: Pick<TrafficReader, 'last' | 'mode'>,
): void {
  for (const kind of kinds) registerOne(app, context, traffic, kind)
}

function registerOne(
  app: FastifyInstance,
  context: ApiContext,
  traffic: Pick<TrafficReader, 'last' | 'mode'>,
  { resource, about, named }: TrafficKind,
): void {
  const path = `${routePath(resource.path)}/last_traffic`
  const page = listSchema('last_traffic', lastTrafficEntrySchema, '') as TObject
  const example = { ...lastTrafficExample, uri: exampleLinks.uri(path), next_page_uri: null }
  const described = describe({
    operationId: `list_last_traffic_of_${pluralOf(resource.kind)}`,
    atOnce: 'log_search',
    summary: `List when traffic last went to ${pluralOf(resource.title)}`,
    description: `In pages like those of their list. ${about} Records are counted, and questions of ingress nodes and proxies.`,
    tag: pluralOf(resource.title),
    path,
    success: [200, shownBy(lastTrafficSchema(page), example)],
    query: pageQuery(resource),
  })
  app.get(path, described, async (request, reply) => {
    const query = queryOf(request, ['limit', 'before_id'])
    const limit = limitOf(query.limit)
    const { accountId } = request.caller
    const found = await searchPage(context, {
      resource,
      accountId,
      limit,
      beforeId: beforeIdOf(resource, query.before_id),
      isWanted: () => true,
      isDisconnected: () => reply.raw.destroyed,
    })
    const rows = found.page.map((text) => JSON.parse(text) as Row)
    const { namesOf, namesLeftOut } = await named(context, accountId, rows)
    const { lastMs, oldestMs } = await knownOf(traffic, accountId, [...namesOf.values()].flat())
    const uri = context.presenter.links.uri(path)
    return sendJson(reply, {
      last_traffic: [...namesOf].map(([id, names]) => ({
        id,
        last_traffic_at: timeOrNull(latest(names.map((name) => lastMs.get(name)))),
      })),
      uri,
      next_page_uri: found.hasMore
        ? `${uri}?${queryText({ limit: String(limit), before_id: found.last })}`
        : null,
      log: traffic.mode,
      since: timeOrNull(oldestMs),
      names_left_out: namesLeftOut,
    })
  })
}

type Known = Awaited<ReturnType<TrafficReader['last']>>

/** Without a log nothing is known, which is no error: the rest of a page is. */
const knownOf = async (
  traffic: Pick<TrafficReader, 'last' | 'mode'>,
  accountId: string,
  names: readonly string[],
): Promise<Known> =>
  traffic.mode === 'off' ? { lastMs: new Map(), oldestMs: undefined } : traffic.last(accountId, names)

const latest = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

const timeOrNull = (ms: number | undefined): string | null => (ms === undefined ? null : isoMillis(ms))
