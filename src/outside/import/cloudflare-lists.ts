/**
 * Lists of Cloudflare: `GET /accounts/{id}/rules/lists`, and the items of each, `GET …/rules/lists/{list}/items`. An answer
 * with items does not name its list, so the file does.
 */
import { entryOrFault } from '../../ground/core/address/list-formats.js'
import { utf8Length } from '../../ground/core/bytes.js'
import { StartFault, shown } from '../../ground/core/errors.js'
import { isObject } from '../../ground/core/json-object.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { IpListEntry } from '../../words/shape/ip-lists/ip-list-entries.js'
import type { ImportRun } from './draft/import-run.js'
import type { Item } from './draft/item.js'
import type { Document } from './input/document.js'
import type { RemoteApi } from './input/remote-api.js'

const times = ['created_on', 'modified_on']
const descriptionBytesMax = 255

interface ItemsPage {
  readonly place: string
  readonly entries: readonly unknown[]
}

interface Answers {
  readonly lists: ItemsPage[]
  /** By the id or the name of the list. */
  readonly items: Map<string, ItemsPage[]>
}

/** As `lists` and `items` of one file have them. */
export async function* askCloudflare(api: RemoteApi): AsyncGenerator<Document> {
  const lists = await api.get('/rules/lists')
  const items: Record<string, unknown[]> = {}
  for (const list of resultOf(lists)) {
    const id = isObject(list) ? String(list['id']) : ''
    items[id] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const query: string = cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`
      const page = await api.get(`/rules/lists/${encodeURIComponent(id)}/items${query}`)
      items[id].push(page)
      cursor = cursorIn(page)
    }
  }
  yield { name: '', value: { lists, items } }
}

const resultOf = (answer: unknown): readonly unknown[] =>
  isObject(answer) && Array.isArray(answer['result']) ? answer['result'] : []

/** Of the next page. */
function cursorIn(answer: unknown): string | undefined {
  const info = isObject(answer) ? answer['result_info'] : undefined
  const cursors = isObject(info) ? info['cursors'] : undefined
  const after = isObject(cursors) ? cursors['after'] : undefined
  return typeof after === 'string' && after !== '' ? after : undefined
}

export function importCloudflareLists(documents: readonly Document[], run: ImportRun): void {
  const { lists, items } = answersIn(documents)
  const names = new Set<string>()
  for (const { place, entries } of lists)
    for (const list of run.items('list', place, entries, times)) {
      const pages = [list.id, list.text('name') ?? ''].flatMap((key) => items.get(key) ?? [])
      for (const key of [list.id, list.text('name') ?? '']) items.delete(key)
      readList(run, list, pages, names)
    }
  for (const [key, pages] of items)
    for (const { place, entries } of pages)
      for (const item of run.items('list_item', place, entries))
        item.refuse(`The list ${key} is not in the input.`)
  run.remark('Times of creation are not kept.')
}

function readList(run: ImportRun, list: Item, pages: readonly ItemsPage[], names: Set<string>): void {
  const items = pages.flatMap(({ place, entries }) =>
    run.items('list_item', place, entries, ['id', ...times]),
  )
  const [kind, count] = [list.get('kind'), list.get('num_items')]
  // How many rules of Cloudflare ask about it.
  list.get('num_referencing_filters')
  if (kind !== 'ip') {
    const hint = kind === 'asn' ? ' An expression may ask for conn.asn.' : ''
    list.refuse(`An IP list of Weir holds addresses, and not the kind ${shown(kind)}.${hint}`)
    for (const item of items) item.refuse('Its list is not taken.')
    return
  }
  if (typeof count === 'number' && count > items.length)
    throw new StartFault(
      `The list ${list.name} has ${count} items, and the input has ${items.length} of them: a page is missing.`,
    )
  const entries = entriesOf(items)
  const body = { name: nameFor(list, names), description: descriptionOf(list) }
  const isTaken = run.account.add('ipList', list, list.id, body, {
    entries: entries.map(({ entry }) => entry),
  })
  for (const { item } of entries)
    if (isTaken) item.become(list.made!)
    else item.refuse('Its list is not taken.')
}

/** Names of lists begin and end with a letter or digit. */
function nameFor(list: Item, names: Set<string>): string {
  const given = list.text('name') ?? ''
  const own = given.toLowerCase().replaceAll(/^[_-]+|[_-]+$/g, '')
  let name = own
  for (let n = 2; names.has(name); n += 1) name = `${own}-${n}`
  names.add(name)
  if (name !== given) list.change(`It is called ${shown(name)}.`)
  return name
}

function descriptionOf(list: Item): string | undefined {
  let text = list.text('description')
  if (text === undefined || utf8Length(text) <= descriptionBytesMax) return text
  list.change(`Its description is cut after ${descriptionBytesMax} bytes.`)
  while (utf8Length(text) > descriptionBytesMax) text = [...text].slice(0, -1).join('')
  return text
}

function entriesOf(items: readonly Item[]): { item: Item; entry: IpListEntry }[] {
  return items.flatMap((item) => {
    const comment = item.text('comment')
    item.call(item.get('ip'))
    const found = entryOrFault(item.get('ip'), comment)
    if (typeof found === 'string') {
      item.refuse(found)
      return []
    }
    if ((comment ?? null) !== found.comment) item.change('Its comment is cut, or has other white space.')
    return [{ item, entry: { cidr: found.cidr, comment: found.comment, expires_at: null } }]
  })
}

function answersIn(documents: readonly Document[]): Answers {
  const answers: Answers = { lists: [], items: new Map() }
  const addItems = (key: string, page: ItemsPage): void =>
    void getOrMake(answers.items, key, (): ItemsPage[] => []).push(page)
  for (const { name, value } of documents) {
    if (isObject(value) && ('lists' in value || 'items' in value)) {
      answers.lists.push(...pagesIn(value['lists'], `${name}lists`))
      if (value['items'] !== undefined && !isObject(value['items']))
        throw new StartFault(
          `${name}items must be an object: by the id of the list, the answer with its items.`,
        )
      for (const [key, own] of Object.entries(value['items'] ?? {}))
        for (const page of pagesIn(own, `${name}items.${key}`)) addItems(key, page)
      continue
    }
    const [, key] = /([^/\\]+?)(?:\.\d+)?\.json $/.exec(name) ?? []
    for (const page of pagesIn(value, `${name}`)) {
      if (key === undefined || key === 'lists') answers.lists.push(page)
      else addItems(key, page)
    }
  }
  return answers
}

/** Of an answer, or of several. Throws if one is not whole, or says that it failed. */
function pagesIn(value: unknown, place: string): ItemsPage[] {
  if (value === undefined) return []
  if (Array.isArray(value)) return value.flatMap((each, index) => pagesIn(each, `${place}[${index}]`))
  const path = place === '' || place.endsWith(' ') ? `${place}result` : `${place}.result`
  if (!isObject(value) || !Array.isArray(value['result']) || value['success'] === false)
    throw new StartFault(`${path} is not there: an answer of Cloudflare's API that succeeded is needed.`)
  return [{ place: path, entries: value['result'] }]
}
