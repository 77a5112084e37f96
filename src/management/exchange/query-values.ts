/** Values of query parameters that several lists know. */
import { isoMillis, now } from '../../ground/core/clock.js'
import { badRequest, notFound, shown } from '../../ground/core/errors.js'
import { isId } from '../../ground/core/ids.js'
import { pageEntriesMax } from '../../ground/core/limits.js'
import { Type } from '../../ground/core/schema.js'
import {
  durationMs,
  durationText,
  pastTimeForms,
  pastTimeFormsPlain,
  timeIn,
} from '../../ground/core/text/units.js'
import { eventDestination } from '../../words/resource/event-destination.js'
import { eventSubscription } from '../../words/resource/event-subscription.js'
import { httpsEdge, httpsEdgeRoute } from '../../words/resource/https-edge.js'
import { ipPolicyRule } from '../../words/resource/ip-policy.js'
import { type AnyResource, anyResource } from '../../words/resource/kind/define.js'
import { tcpEdge } from '../../words/resource/tcp-edge.js'
import type { Store } from '../store/store.js'
import { type Readers, readable } from './rows.js'

const minuteMs = 60_000

interface Bounds {
  readonly nowMs: number
  /** Records are kept for so long. */
  readonly retentionMs: number
}

/**
 * A time in a request about recorded traffic, or how long ago it is, in milliseconds since the epoch. `name`: the member,
 * parameter or option, as messages call it.
 */
export function timeNamed(name: string, text: string, nowMs: number = now()): number {
  const ms = timeIn(text, nowMs)
  if (ms !== undefined) return ms
  throw badRequest(`${name} is ${shown(text)}: ${pastTimeFormsPlain} is needed.`)
}

/** The same, before now and within the retention. */
export function pastTime(name: string, text: string, { nowMs, retentionMs }: Bounds): number {
  const ms = timeNamed(name, text, nowMs)
  if (ms >= nowMs) throw badRequest(`${name} is ${shown(text)}: ${pastTimeFormsPlain} is needed, before now.`)
  // A request takes its time.
  if (ms < nowMs - retentionMs - minuteMs)
    throw badRequest(`${name} is ${shown(text)}: records are kept for ${durationText(retentionMs)} only.`)
  return ms
}

/** The kinds of resources whose ids select what is listed or watched. */
export const edgeResources: readonly AnyResource[] = [anyResource(tcpEdge), anyResource(httpsEdge)]
export const destinationResources: readonly AnyResource[] = [anyResource(eventDestination)]
export const subscriptionResources: readonly AnyResource[] = [anyResource(eventSubscription)]
export const routeResources: readonly AnyResource[] = [anyResource(httpsEdgeRoute)]
export const ruleResources: readonly AnyResource[] = [anyResource(ipPolicyRule)]

const isPresent = (context: Readers, accountId: string, { kind }: AnyResource, id: string): boolean =>
  readable(context).rows.get(kind)?.get(id)?.account_id === accountId

const unknown = (name: string, id: string) => notFound(`"${name}" names ${shown(id)}, which does not exist.`)

/** Throws unless the account has such a resource now: an answer would only be empty. */
export function checkPresent(
  context: Readers,
  accountId: string,
  name: string,
  id: string,
  resources: readonly AnyResource[],
): void {
  if (!resources.some((resource) => isPresent(context, accountId, resource, id))) throw unknown(name, id)
}

/** The configuration and its history, from which answers about the past are read. */
export interface HistoryReaders extends Readers {
  readonly store: Readers['store'] & Pick<Store, 'history'>
}

/** Throws unless the account has such a resource or once had it: recorded decisions outlive a resource. */
export async function checkEverPresent(
  context: HistoryReaders,
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

const time = (description: string) =>
  Type.Optional(Type.String({ description: `${description}: ${pastTimeForms}.` }))

export const timeParameters = {
  since: time('Entries of this time or later'),
  until: time('Entries before this time'),
}

export const sourceParameter = Type.Optional(
  Type.String({
    description:
      '`record`: decisions about records. `asked`: those that ingress nodes and proxies asked for. `history`: about records of the past that were loaded. Several are separated by commas. A list has all by default. Sums are of records by default, because one connection may be asked about and published; with `time=own`, of those of the past, too.',
  }),
)

/** Milliseconds since the epoch. */
export const timeOf = (name: string, text: string | undefined): number | undefined =>
  text === undefined ? undefined : timeNamed(`The query parameter "${name}"`, text)

type Query = Readonly<Record<string, string | undefined>>

interface NumberBounds {
  readonly min: number
  /** Default: no bound. */
  readonly max?: number
}

/** A query parameter that is a whole number. Throws a `WeirError`. */
export function numberIn(name: string, text: string, { min, max }: NumberBounds): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : -1
  if (number >= min && number <= (max ?? Number.MAX_SAFE_INTEGER)) return number
  const allowed = max === undefined ? `from ${min} is needed` : `from ${min} to ${max} is allowed`
  throw badRequest(`The query parameter "${name}" is ${shown(text)}: a whole number ${allowed}.`)
}

/** The number of entries on a page. */
export const limitOf = (text: string | undefined, max = pageEntriesMax): number =>
  text === undefined ? max : numberIn('limit', text, { min: 1, max })

/** A query parameter that is a version of the account. */
export const versionIn = (name: string, text: string): number => numberIn(name, text, { min: 1 })

/** A query parameter that is one of these words. Throws a `WeirError`. */
export function wordIn<const Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const known = words.find((word) => word === text)
  if (known !== undefined) return known
  throw badRequest(`The query parameter "${name}" is ${shown(text)}: ${words.join(', ')} are allowed.`)
}

/** The values that are given, as a query. */
export const queryText = (query: Query): string =>
  Object.entries(query)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&')

/** The query with the times that its lengths of time mean now, so that the next page begins and ends where this one does. */
export function withFixedTimes<Q extends Query>(query: Q): Q {
  const fixed = Object.keys(timeParameters).flatMap((name) => {
    const text = query[name]
    return text === undefined || durationMs(text) === undefined
      ? []
      : [[name, isoMillis(timeOf(name, text)!)]]
  })
  return { ...query, ...Object.fromEntries(fixed) }
}
