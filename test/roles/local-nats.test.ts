/** The API's rights on the local server when streams of partitions are gone. */
import t, { type Test } from 'tap'
import { roleInboxPrefix } from '../../src/delivery/nats-server/role-users.js'
import { partitionsUpTo, streamsOf } from '../../src/delivery/wire/partitions.js'
import { partitionsWithStreams } from '../../src/delivery/wire/partitions-in-use.js'
import { ensureStreams } from '../../src/delivery/wire/streams.js'
import { createLogger } from '../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../src/ground/core/telemetry/occurrences.js'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { loadSettings } from '../../src/management/process/settings.js'
import { openLocalNats } from '../../src/roles/local-nats.js'
import { tempDir } from '../harness/temp-dir.js'

const bounds = { storageMaxBytes: 64 * 1024 * 1024, retentionMs: 60 * 60_000 }
const occurrences = createOccurrences({
  logger: createLogger('test', 'silent'),
  registry: createRegistry(),
})

/** Runs the local server for so many partitions, for as long as `use` takes, which is a user of it. */
async function withServer(
  dataDir: string,
  partitions: number,
  user: string,
  use: (nats: Nats) => Promise<void>,
): Promise<void> {
  const environment = {
    ...process.env,
    WEIR_DATA_DIR: dataDir,
    WEIR_PARTITIONS: String(partitions),
    WEIR_NATS_PORT: '0',
  }
  const server = await openLocalNats(loadSettings({ environment }).settings, occurrences)
  const servers = [server.urlOf(user)]
  const inboxPrefix = roleInboxPrefix(user)
  const nats = await openNats({ servers, name: 'test', replicas: 1, inboxPrefix, occurrences })
  try {
    await use(nats)
  } finally {
    await nats.close()
    await server.close()
  }
}

for (const { name, before, deleted, partitions, left } of [
  {
    name: 'both streams of the last one',
    before: 2,
    partitions: 1,
    deleted: streamsOf(partitionsUpTo(2)).slice(2),
    left: 1,
  },
  { name: 'one stream of the last one', before: 2, partitions: 1, deleted: ['WEIR_RECORDS_1'], left: 2 },
  { name: 'one stream of another', before: 4, partitions: 2, deleted: ['WEIR_DELIVERIES_3'], left: 4 },
])
  t.test(`an API starts with fewer partitions; deleted: ${name}`, async (t: Test) => {
    const dataDir = tempDir(t)
    await withServer(dataDir, before, 'admin', async (nats) => {
      await ensureStreams(nats, { ...bounds, partitions: before })
      for (const stream of deleted) await nats.request(`$JS.API.STREAM.DELETE.${stream}`, '', 30_000)
    })
    await withServer(dataDir, partitions, 'api', async (nats) => {
      await ensureStreams(nats, { ...bounds, partitions })
      t.equal(await partitionsWithStreams(nats, partitions), left)
    })
  })
