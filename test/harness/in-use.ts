/**
 * Until all that was just saved decides. An answer of the API says that a change is kept; other processes read it a moment
 * later.
 */

import { bucketNames } from '../../src/delivery/wire/names.js'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { total } from './metrics.js'
import { metricsOf } from './pages.js'
import type { Running } from './processes.js'
import { type RunningWeir, until } from './weir.js'

const stream = `KV_${bucketNames.config}`
/** Keys of the bucket that a configuration is compiled of. */
const compiledKeys = ['row.>', 'rules.>']

/** The revision with which a process has all that the API has answered so far. */
export async function newestRevision(nats: Nats): Promise<number> {
  const subjects = compiledKeys.map((keys) => `$KV.${bucketNames.config}.${keys}`)
  const entries = await Promise.all(subjects.map((subject) => nats.lastMessage(stream, subject)))
  return Math.max(...entries.map((entry) => entry?.sequence ?? 0))
}

/** The revision of the configuration that a pipeline reported last: its log level is `info`. */
export const revisionOf = (pipeline: Running): number =>
  Number(
    [...pipeline.output().matchAll(/"revision":(\d+),"msg":"A new configuration is in use/g)].at(-1)?.[1] ??
      0,
  )

/** Resolves when every pipeline and everything that answers `decide` uses all of it; counts and answers stay as they are. */
export async function untilInUse({ url, adminUrl }: Pick<RunningWeir, 'url' | 'adminUrl'>): Promise<void> {
  // Its own connection: one of a Weir that is killed later would keep the process of the test from ending.
  const nats = await openNats({ servers: adminUrl.split(','), name: 'test', replicas: 1 })
  const revision = await newestRevision(nats)
  await nats.close()
  await until(`revision ${revision} is in use`, async () => {
    const metrics = await metricsOf(url)
    const used = ['pipeline', 'decide'].map((role) =>
      total(metrics, 'weir_configuration_revision', `role="${role}"`),
    )
    return Math.min(...used) >= revision
  })
}
