/** What the process with the store answers to `weir backup`: commands by name, with answers as text. */
import type { Sealer } from '../../../ground/core/seal.js'
import { resourceOf, resources } from '../../../words/resource/registry.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import type { Store } from '../store.js'
import { countOfRows, pageOfRows, type RowPlace, settledVersions } from './copied-rows.js'

interface Parts {
  readonly store: Store
  readonly clickhouse: Clickhouse
  readonly sealer: Pick<Sealer, 'fingerprint'>
}

type Answer = (parts: Parts, args: Readonly<Record<string, string>>) => Promise<string>

export const backupAnswers: Readonly<Record<string, Answer>> = {
  'backup key': async ({ sealer }) => sealer.fingerprint,
  'backup versions': async ({ store }) => JSON.stringify(await settledVersions(store)),
  'backup counts': async ({ clickhouse }) => JSON.stringify(await rowCounts(clickhouse)),
  'backup rows': async ({ clickhouse }, { kind = '', after }) =>
    JSON.stringify(await pageOfRows(clickhouse, resourceOf(kind), placeIn(after))),
}

const placeIn = (text: string | undefined): RowPlace | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as RowPlace)

/** Of each kind, for the progress. */
async function rowCounts(clickhouse: Clickhouse): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {}
  for (const { kind } of resources) counts[kind] = await countOfRows(clickhouse, kind)
  return counts
}
