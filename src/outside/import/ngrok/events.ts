/** Event destinations, and subscriptions with their sources. */
import { isObject } from '../../../ground/core/json-object.js'
import { sourceProblems } from '../../../words/event/check-source.js'
import type { ImportRun } from '../draft/import-run.js'
import { type Item, idIn } from '../draft/item.js'
import { describedIn } from './ip-policies.js'

/** The same three in both. */
const targets = ['firehose', 'kinesis', 'cloudwatch_logs']

export function readEventDestination(run: ImportRun, item: Item): void {
  const target = item.get('target')
  const set = isObject(target) ? Object.entries(target).filter(([, value]) => value !== null) : []
  const [[kind, value] = []] = set
  if (set.length !== 1 || !isObject(value)) {
    item.refuse('It has no target.')
    return
  }
  if (!targets.includes(kind!)) {
    item.refuse(`Weir has no target ${kind}. One of the kind http may do: see docs/destinations.md.`)
    return
  }
  const auth = isObject(value['auth']) ? value['auth'] : {}
  const isRole = isObject(auth['role'])
  const creds = isObject(auth['creds']) ? auth['creds'] : {}
  const body = {
    ...describedIn(item),
    format: item.get('format'),
    target: {
      [kind!]: {
        ...value,
        auth: isRole
          ? { role: auth['role'] }
          : { creds: { aws_access_key_id: creds['aws_access_key_id'], aws_secret_access_key: null } },
      },
    },
  }
  if (!run.account.add('eventDestination', item, item.id, body)) return
  if (isRole)
    item.change(
      "Weir assumes its role with the account's id as external id: let it trust Weir (weir destination iam-policy).",
    )
}

export function readEventSubscription(run: ImportRun, item: Item): void {
  const sources = item
    .list('sources')
    .map((value, index) => item.childOf('event_source', `sources[${index}]`, value, ['uri']))
    .filter(({ isReadable }) => isReadable)
    .map((source) => ({ source, body: sourceIn(source) }))
  const taken = sources.filter(({ body }) => body !== undefined)
  if (taken.length === 0) {
    item.refuse('It has no source that Weir has.')
    return
  }
  const ids = item.list('destinations').flatMap((each) => idIn(each) ?? [])
  const body = {
    ...describedIn(item),
    sources: taken.map((each) => each.body),
    destination_ids: [...new Set(ids)].filter((id) => run.account.has(id)),
  }
  if (!run.account.add('eventSubscription', item, item.id, body)) return
  for (const { source } of taken) source.become(item.made!)
  for (const id of ids) if (!run.account.has(id)) item.change(`The destination ${id} is not taken.`)
}

function sourceIn(source: Item): object | undefined {
  const type = source.text('type') ?? ''
  const [fields, filter] = [source.get('fields'), source.get('filter')]
  if (!isTexts(fields ?? []) || typeof (filter ?? '') !== 'string') {
    source.refuse('Its fields must be a list of texts, and its filter a text.')
    return undefined
  }
  const body = { type, ...(fields !== undefined && { fields }), ...(filter !== undefined && { filter }) }
  const problems = sourceProblems(body as Parameters<typeof sourceProblems>[0])
  if (problems.length === 0) return body
  source.refuse(problems.map(({ msg }) => msg).join(' '))
  return undefined
}

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
