/** Destinations of Outpost (`GET /tenants/{id}/destinations`), each with its topics. */
import { StartFault, shown } from '../../ground/core/errors.js'
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import { sourcesPerSubscriptionMax } from '../../ground/core/limits.js'
import { subscribableKinds } from '../../words/event/check-source.js'
import type { ImportRun } from './draft/import-run.js'
import type { Item } from './draft/item.js'
import type { Document } from './input/document.js'
import type { RemoteApi } from './input/remote-api.js'
import { targetOf } from './outpost-targets.js'

const shownOnly = ['id', 'created_at', 'updated_at', 'target', 'target_url', 'type', 'tenant_id']

/** At the address of a tenant, such as https://outpost.example.com/api/v1/tenants/acme. */
export async function* askOutpost(api: RemoteApi): AsyncGenerator<Document> {
  yield { name: 'GET /destinations ', value: await api.get('/destinations') }
}

export function importOutpost(documents: readonly Document[], run: ImportRun): void {
  for (const { name, value } of documents) {
    const list = isObject(value) ? (value['destinations'] ?? value['models']) : value
    if (!Array.isArray(list))
      throw new StartFault(
        `${name || 'The input '}has no list of destinations: it must be what GET /tenants/{id}/destinations answers.`,
      )
    const place = list === value ? name : `${name}destinations`
    for (const item of run.items('destination', place, list, shownOnly)) readDestination(run, item)
  }
}

function readDestination(run: ImportRun, item: Item): void {
  const topics = topicsOf(item)
  const filter = item.child('filter')
  const disabledAt = item.get('disabled_at')
  const metadata = item.get('metadata')
  const found = targetOf(item, run.options.awsAccount)
  if ('reason' in found) {
    item.refuse(found.reason)
    return
  }
  const body = {
    description: item.text('id'),
    ...(isObject(metadata) && Object.keys(metadata).length > 0 && { metadata: JSON.stringify(metadata) }),
    target: found.target,
  }
  if (!run.account.add('eventDestination', item, item.id, body, { hidden: found.hidden })) return
  for (const change of found.changes) item.change(change)
  filter?.refuse('It is about events of Outpost: a source of Weir has a filter in its own language.')
  const reason =
    filter !== undefined
      ? 'Its destination has a filter, and without it more would be sent: add a subscription with one.'
      : disabledAt !== undefined
        ? 'Its destination was disabled: add a subscription once it is to get events.'
        : undefined
  for (const topic of topics) if (reason !== undefined) topic.refuse(reason)
  if (reason === undefined) subscribe(run, item, topics)
}

function topicsOf(item: Item): Item[] {
  const topics = item.get('topics')
  const found = Array.isArray(topics)
    ? topics.map((value: unknown, index) => item.childOf('topic', `topics[${index}]`, { value }))
    : [item.childOf('topic', 'topics', { value: topics })]
  for (const topic of found) topic.call(topic.get('value'))
  return found
}

/** The kinds of Weir's events that a topic, or a pattern with `*`, names. */
function kindsOf(topic: unknown): readonly string[] {
  if (typeof topic !== 'string' || topic === '') return []
  const parts = topic.split('*')
  return subscribableKinds().filter((kind) => isOf(kind, parts))
}

/** Does it have these parts, in their order, and begin and end with the first and the last one? */
function isOf(kind: string, [first = '', ...parts]: readonly string[]): boolean {
  const last = parts.pop()
  if (last === undefined) return kind === first
  if (!kind.startsWith(first)) return false
  let at = first.length
  for (const part of parts) {
    const found = kind.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return kind.length - last.length >= at && kind.endsWith(last)
}

function subscribe(run: ImportRun, item: Item, topics: readonly Item[]): void {
  const kinds = new Set<string>()
  const taken = topics.filter((topic) => {
    const value = topic.get('value')
    const own = kindsOf(value)
    for (const kind of own) kinds.add(kind)
    if (own.length === 0)
      topic.refuse(`Weir has no event kind ${shown(value)}, and passes on no events of other programs.`)
    else if (value !== own[0]) topic.change(`It stands for the ${own.length} kinds of events that Weir has.`)
    return own.length > 0
  })
  const all = [...kinds]
  for (let from = 0; from < all.length; from += sourcesPerSubscriptionMax) {
    const part = all.slice(from, from + sourcesPerSubscriptionMax)
    const made = run.account.make('eventSubscription', `esb_${item.id}_${from}`, {
      description: `${item.id}${from === 0 ? '' : ` (${from / sourcesPerSubscriptionMax + 1})`}`,
      sources: part.map((type): JsonObject => ({ type })),
      destination_ids: [item.id],
    })
    for (const topic of taken) topic.become(made)
  }
}
