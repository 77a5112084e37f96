/** Until what was just saved decides. An answer of the API says that a change is kept; other processes read it a moment later. */
import { readMetrics } from '../../src/demo/metrics-page.js'
import { rowKey } from '../../src/view/keys.js'
import { bucketNames } from '../../src/wire/names.js'
import { type RunningWeir, until } from './weir.js'

/** Resolves when every pipeline and everything that answers `decide` uses this row; counts and answers stay as they are. */
export async function untilInUse(
  { url, nats }: Pick<RunningWeir, 'url' | 'nats'>,
  kind: string,
  id: string,
): Promise<void> {
  const bucket = (await (await nats()).findBucket(bucketNames.config))!
  const { revision } = (await bucket.get(rowKey(kind, id)))!
  await until(`${id} is in use`, async () => {
    const metrics = await readMetrics(url)
    return Math.min(metrics.revisionOf('pipeline'), metrics.revisionOf('decide')) >= revision
  })
}
