/** Who changed last what differs, so that what was done by hand is seen. */
import type { Client } from '../../words/client/client.js'
import type { Plan } from './difference.js'
import type { LastChanges } from './plan-report.js'

/** Ids in the filter of one request, and requests. */
const idsAtOnce = 50
const requestsMax = 100
const changesAtOnce = 100

/** Of the differences that there are more of, some are missing. */
export async function lastChanges(client: Client, { differences }: Plan): Promise<LastChanges> {
  const last = new Map<string, LastChange>()
  const missing = new Set(differences.flatMap(({ live }) => live?.id ?? []))
  for (let requests = 0; missing.size > 0 && requests < requestsMax; requests += 1) {
    const asked = [...missing].slice(0, idsAtOnce)
    // Newest first. One that changed often may hide the others: these are asked for again.
    for (const change of await changesOf(client, asked)) {
      if (!missing.delete(change.id)) continue
      last.set(change.id, change)
    }
    // A change is found for each id in the end, unless the history lacks it.
    if (asked.every((id) => missing.has(id))) for (const id of asked) missing.delete(id)
  }
  return last
}

type LastChange = LastChanges extends ReadonlyMap<string, infer Each> ? Each : never

async function changesOf(client: Client, ids: readonly string[]) {
  const found: (LastChange & { readonly id: string })[] = []
  const filter = `id in ${JSON.stringify(ids).replaceAll('"', "'")}`
  for await (const change of client.changes({ filter, limit: changesAtOnce })) {
    found.push(change)
    if (found.length === changesAtOnce) break
  }
  return found
}
