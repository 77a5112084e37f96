/** All edges, of both kinds, with what was decided at each in the last day. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Client } from '../../../../words/client/client.js'
import { may } from '../../data/access/session.js'
import { useMore } from '../../data/asking/more.js'
import { after } from '../../data/clock.js'
import { go, hrefTo, parameter, setParameters } from '../../data/location.js'
import { type Edge, edgeFilter, isHttps, isTcp } from '../../data/resources/edges.js'
import { number } from '../../data/texts/format.js'
import { Choices, choiceIn } from '../../kit/choices.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Listing } from '../../parts/listing.js'
import { Empty, WaitsInLine } from '../../parts/states.js'
import { type CountsOfEdges, useEdgeCounts } from './edge-counts.js'

const kinds = [
  ['', 'all'],
  ['tcp', 'TCP'],
  ['https', 'HTTPS'],
] as const

type Decision = 'allow' | 'block' | 'deny'

const pageLength = 50
const searchAfterMs = 300

export function EdgeList() {
  const text = parameter('q')
  const kind = choiceIn('kind', kinds)
  const edges = useMore([text, kind], (client) => edgesOf(client, text, kind), pageLength)
  const { counts, isWaiting } = useEdgeCounts(edges.data?.entries.map(({ id }) => id))
  return (
    <div class="stack">
      <div class="row apart">
        <h1>Edges</h1>
        {may('write') && (
          <Link class="button main" to={['edges', 'new']}>
            New edge
          </Link>
        )}
      </div>
      <div class="row">
        <SearchField />
        <Choices label="Kind" name="kind" choices={kinds} />
      </div>
      <Listing answer={edges}>
        {(entries) => (
          <Table
            label="Edges"
            rows={busiestFirst(entries, counts)}
            columns={columnsOf(counts, isWaiting)}
            keyOf={({ id }) => id}
            onOpen={({ id }) => go(hrefTo(['edges', id]))}
            empty={<NoEdges isSearch={text !== ''} />}
          />
        )}
      </Listing>
    </div>
  )
}

/** Both lists have the newest first, and so has the one that is made of them. */
async function* edgesOf(client: Client, text: string, kind: string): AsyncGenerator<Edge, void, undefined> {
  const filter = edgeFilter(text)
  const options = { limit: pageLength, ...(filter === '' ? {} : { filter }) }
  const lists: AsyncIterable<Edge>[] = [
    ...(kind === 'https' ? [] : [client.tcpEdge.list(options)]),
    ...(kind === 'tcp' ? [] : [client.httpsEdge.list(options)]),
  ]
  const iterators = lists.map((list) => list[Symbol.asyncIterator]())
  const next = iterators.map((iterator) => iterator.next())
  for (;;) {
    const firsts = await Promise.all(next)
    let newest: { readonly edge: Edge; readonly index: number } | undefined
    for (const [index, { done, value }] of firsts.entries())
      if (done !== true && (newest === undefined || value.created_at > newest.edge.created_at))
        newest = { edge: value, index }
    if (newest === undefined) return
    yield newest.edge
    next[newest.index] = iterators[newest.index]!.next()
  }
}

function totalAt(counts: CountsOfEdges, id: string): number {
  const { allow = 0, block = 0, deny = 0 } = counts.get(id) ?? {}
  return allow + block + deny
}

/** Equal ones stay in the order of the API: the newest first. */
const busiestFirst = (edges: readonly Edge[], counts: CountsOfEdges): readonly Edge[] =>
  edges.toSorted((a, b) => totalAt(counts, b.id) - totalAt(counts, a.id))

/** Not known: not read yet, or it could not be; the frame of the page says why. */
const Unknown = ({ isWaiting }: { readonly isWaiting: boolean }) =>
  isWaiting ? <WaitsInLine /> : <span class="quiet">–</span>

const countAt = (value: number | undefined, id: string, decision: Decision, isWaiting: boolean) => {
  if (value === undefined) return <Unknown isWaiting={isWaiting} />
  if (value === 0) return <span class="quiet">0</span>
  return (
    <Link to={['search']} with={{ edge_id: id, decision, since: '24h' }} class={`word ${decision}`}>
      {number(value)}
    </Link>
  )
}

const noResultAt = (value: number | undefined, isWaiting: boolean) => {
  if (value === undefined) return <Unknown isWaiting={isWaiting} />
  return value === 0 ? <span class="quiet">0</span> : <span class="word warning">{number(value)}</span>
}

const columnsOf = (counts: CountsOfEdges, isWaiting: boolean): readonly Column<Edge>[] => {
  const countOf = (title: string, decision: Decision): Column<Edge> => ({
    title,
    isNumber: true,
    cell: ({ id }) => countAt(counts.get(id)?.[decision], id, decision, isWaiting),
  })
  return [
    {
      title: 'Hostports',
      isMain: true,
      isWide: true,
      cell: ({ id, hostports }) => (
        <Link to={['edges', id]}>{hostports.length === 0 ? 'no hostport' : hostportsText(hostports)}</Link>
      ),
    },
    { title: 'Kind', cell: ({ id }) => (isHttps(id) ? 'HTTPS' : 'TCP') },
    { title: 'Description', cell: ({ description }) => description ?? '' },
    { title: 'Rules', cell: rulesText },
    countOf('Allow, 24 h', 'allow'),
    countOf('Block', 'block'),
    countOf('Deny', 'deny'),
    {
      title: 'No result',
      isNumber: true,
      cell: ({ id }) => noResultAt(counts.get(id)?.noResult, isWaiting),
    },
  ]
}

const shownHostports = 3

const hostportsText = (hostports: readonly string[]): string =>
  hostports.length <= shownHostports
    ? hostports.join(', ')
    : `${hostports.slice(0, shownHostports).join(', ')} and ${number(hostports.length - shownHostports)} more`

/** The policies and routes of an edge, in a few words. */
function rulesText(edge: Edge): string {
  const { policies } = edge
  const policyCount = (policies?.inbound.length ?? 0) + (policies?.outbound.length ?? 0)
  const routes = isTcp(edge) ? 0 : edge.routes.length
  return [
    isTcp(edge) &&
      edge.ip_restriction !== null &&
      `IP policies${edge.ip_restriction.enabled ? '' : ' (off)'}`,
    policyCount > 0 &&
      `${number(policyCount)} traffic ${policyCount === 1 ? 'policy' : 'policies'}${policies?.enabled ? '' : ' (off)'}`,
    routes > 0 && `${number(routes)} ${routes === 1 ? 'route' : 'routes'}`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** Asks once the typing pauses. */
function SearchField() {
  const typed = useSignal(parameter('q'))
  useEffect(() => {
    const timer = after(searchAfterMs, () => setParameters({ q: typed.value }))
    return () => timer.stop()
  }, [typed.value])
  return (
    <input
      type="search"
      class="find"
      data-search
      aria-label="Search by hostport, description or id"
      placeholder="hostport, description or id"
      value={typed.value}
      onInput={(event) => {
        typed.value = event.currentTarget.value
      }}
    />
  )
}

const NoEdges = ({ isSearch }: { readonly isSearch: boolean }) =>
  isSearch ? (
    <Empty>No edge has this text in a hostport, its description or its id.</Empty>
  ) : (
    <Empty>
      <p>There is no edge yet. An edge is what clients connect to: a host name and a port.</p>
      {may('write') && <Link to={['edges', 'new']}>Create the first edge</Link>}
    </Empty>
  )
