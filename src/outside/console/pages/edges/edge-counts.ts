/** The decisions at each of the edges that a list shows, and how often their expressions had no result, in the last day. */
import type { Client } from '../../../../words/client/client.js'
import { useAnswer } from '../../data/asking/api.js'

interface EdgeCounts {
  readonly allow: number
  readonly block: number
  readonly deny: number
  /** How often expressions of the edge and its routes had no result. */
  readonly noResult: number
}

/** By the id of the edge. An edge without traffic has zeros; one that is missing is not counted yet. */
export type CountsOfEdges = ReadonlyMap<string, EdgeCounts>

const nothing: EdgeCounts = { allow: 0, block: 0, deny: 0, noResult: 0 }

/** The API takes so many edges in a request, and lists so many places of failures. */
const idsMax = 100
const placesMax = 100
const lookEveryMs = 30_000

/** Undefined `ids`: they are not known yet. */
export function useEdgeCounts(ids: readonly string[] | undefined): {
  readonly counts: CountsOfEdges
  readonly isWaiting: boolean
} {
  const { data, isWaiting } = useAnswer([ids?.join()], (client) => countsOf(client, ids ?? []), {
    everyMs: lookEveryMs,
  })
  return { counts: data ?? new Map(), isWaiting }
}

async function countsOf(client: Client, ids: readonly string[]): Promise<CountsOfEdges> {
  const counts = new Map(ids.map((id) => [id, nothing]))
  const add = (id: string | null, more: Partial<EdgeCounts>): void => {
    const before = id === null ? undefined : counts.get(id)
    if (id !== null && before !== undefined) counts.set(id, sum(before, { ...nothing, ...more }))
  }
  for (let from = 0; from < ids.length; from += idsMax) {
    const asked = ids.slice(from, from + idsMax)
    const edgeId = asked.join()
    const stats = await client.stats({
      by: 'edge',
      interval: 'hour',
      since: '24h',
      edgeId,
      values: asked.length,
    })
    for (const { value, allow, block, deny } of stats.counts) add(value, { allow, block, deny })
    for (const { place, count } of await failuresOf(client, asked)) add(place.edge_id, { noResult: count })
  }
  return counts
}

const sum = (one: EdgeCounts, other: EdgeCounts): EdgeCounts => ({
  allow: one.allow + other.allow,
  block: one.block + other.block,
  deny: one.deny + other.deny,
  noResult: one.noResult + other.noResult,
})

type Failures = Awaited<ReturnType<Client['expressionFailures']>>['expression_failures']

/** If too many policies failed for one answer, fewer edges are asked about at once, so that each has its own. */
async function failuresOf(client: Client, ids: readonly string[]): Promise<Failures> {
  const { expression_failures, left_out } = await client.expressionFailures({
    since: '24h',
    edgeId: ids.join(),
    limit: placesMax,
  })
  if (left_out === 0 || ids.length === 1) return expression_failures
  const half = Math.ceil(ids.length / 2)
  return [...(await failuresOf(client, ids.slice(0, half))), ...(await failuresOf(client, ids.slice(half)))]
}
