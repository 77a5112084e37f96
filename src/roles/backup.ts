/**
 * `weir backup` and `weir restore`, put together: the process that has the store gives the rows, an admin of NATS the
 * streams.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { localNatsDir, readUserUrl } from '../delivery/nats-server/logins.js'
import { openPartitions } from '../delivery/wire/partitions-in-use.js'
import { StartFault } from '../ground/core/errors.js'
import { ReleaseStack } from '../ground/core/release.js'
import { type Nats, openNats } from '../ground/nats/nats.js'
import { lockDataDir, unfinishedRestore } from '../management/process/lock.js'
import { createRoleContext } from '../management/process/role-context.js'
import type { AdminCommand, RunCommand } from '../management/process/running-service.js'
import { openSealer, secretKeyFile } from '../management/process/secret-key.js'
import type { Settings } from '../management/process/settings.js'
import { type BackupOptions, makeBackup } from '../management/store/backup/backup.js'
import type { RowPage, Versions } from '../management/store/backup/copied-rows.js'
import type { Manifest } from '../management/store/backup/manifest.js'
import { expectEmpty, expectKeyOf, openBackup, restoreBackup } from '../management/store/backup/restore.js'
import { resources } from '../words/resource/registry.js'
import { openLocalNats } from './local-nats.js'
import { openDatabase } from './store-parts.js'

type Progressed = BackupOptions['progressed']

/** `ask` reaches the process that has the store. */
export async function backUp(
  settings: Settings,
  path: string,
  ask: RunCommand,
  progressed: Progressed,
): Promise<Manifest> {
  await using release = new ReleaseStack()
  const keyFingerprint = await ask({ command: 'backup key' })
  const nats = release.own(await openAdminNats(settings))
  const partitions = release.own(await openPartitions(nats, settings.nats.partitions))
  const json = async <T>(command: AdminCommand): Promise<T> => JSON.parse(await ask(command)) as T
  return await makeBackup({
    path,
    nats,
    partitions: partitions.all,
    resources,
    keyFingerprint,
    versions: () => json<Versions>({ command: 'backup versions' }),
    counts: () => json<Readonly<Record<string, number>>>({ command: 'backup counts' }),
    page: (kind, after) =>
      json<RowPage>({ command: 'backup rows', kind, ...(after && { after: JSON.stringify(after) }) }),
    progressed,
  })
}

/** On the local nats-server the user `admin`; elsewhere the one of NATS_URL, who needs the same rights. */
function openAdminNats({ nats, data }: Settings): Promise<Nats> {
  const local = nats.servers === undefined ? readUserUrl(localNatsDir(data.dir), 'admin') : undefined
  const servers = local === undefined ? nats.servers : [local]
  if (servers === undefined)
    throw new StartFault('The local nats-server has no user admin yet: start the service once.')
  const { replicas } = nats
  return openNats({ servers, name: 'weir backup', replicas, isUpNow: true })
}

/** Resolves with what was restored. The service must not run. */
export async function restoreFrom(
  settings: Settings,
  path: string,
  progressed: Progressed,
): Promise<Manifest> {
  await using release = new ReleaseStack()
  const { dir } = settings.data
  expectKey(settings)
  expectEmptyDirectory(dir)
  const opened = openBackup(path, progressed)
  release.add(() => opened.reader.close())
  const sealer = openSealer(settings.data)
  const keyFingerprint = sealer.fingerprint
  expectKeyOf(opened.manifest, sealer)
  release.own(lockDataDir(dir))
  const unfinished = unfinishedRestore(dir)
  writeFileSync(unfinished, `${path}\n`, { mode: 0o600, flush: true })
  const context = createRoleContext({ ...settings, ops: { ...settings.ops, logLevel: 'error' } }, 'cli')
  if (settings.nats.servers === undefined) release.own(await openLocalNats(settings, context.occurrences))
  const nats = release.own(await openAdminNats(settings))
  const clickhouse = release.own(await openDatabase(settings))
  await expectEmpty({ clickhouse, nats }).catch((error: unknown) => {
    // Nothing was written yet.
    rmSync(unfinished)
    throw error
  })
  const { replicas } = settings.nats
  await restoreBackup(opened, { clickhouse, nats, resources, replicas, keyFingerprint, progressed })
  rmSync(unfinished)
  return opened.manifest
}

/** A key that was made now could read nothing of the backup. */
function expectKey({ data }: Settings): void {
  if (data.secretKey !== undefined || existsSync(secretKeyFile(data.dir))) return
  throw new StartFault(
    `There is no secret key: put the secret.key of the deployment of the backup into ${data.dir}, or set WEIR_SECRET_KEY.`,
  )
}

/** Files that say nothing of a deployment. */
const harmless = new Set(['secret.key', 'lost+found', 'weir.lock', 'format.json'])

function expectEmptyDirectory(dir: string): void {
  const found = existsSync(dir) ? readdirSync(dir).filter((name) => !harmless.has(name)) : []
  if (found.length === 0) return
  throw new StartFault(
    `The data directory ${dir} is not empty (${found.slice(0, 3).join(', ')}): a backup is restored into an empty one only. ` +
      'Name another one (WEIR_DATA_DIR), or move away what is there, all but secret.key.',
  )
}
