/** Restores a backup into a deployment that has nothing yet. */
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import type { Sealer } from '../../../ground/core/seal.js'
import type { Nats } from '../../../ground/nats/nats.js'
import type { AnyResource } from '../../../words/resource/kind/define.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { migrate } from '../clickhouse/migrate.js'
import { hasAccounts } from '../stored-rows.js'
import { type BackupReader, readBackup } from './archive.js'
import { countOfRows, insertRows, restoreOrder } from './copied-rows.js'
import {
  type CopiedFile,
  checkFile,
  checksumName,
  filesOf,
  type KindInBackup,
  type Manifest,
  manifestName,
  parseManifest,
} from './manifest.js'

type Progressed = (what: string, done: number, of: number) => void

interface OpenedBackup {
  readonly manifest: Manifest
  readonly reader: BackupReader
}

/** Reads all of it once: nothing is restored from a backup of which a part is damaged. */
export function openBackup(path: string, progressed: Progressed): OpenedBackup {
  const reader = readBackup(path)
  try {
    const manifest = parseManifest(reader.read(manifestName), reader.read(checksumName).toString())
    const files = filesOf(manifest)
    const of = sizeOf(files)
    let done = 0
    for (const file of files) {
      checkFile(file, reader.read(file.name))
      done += file.size
      progressed('checking', done, of)
    }
    return { manifest, reader }
  } catch (error) {
    reader.close()
    throw error
  }
}

const sizeOf = (files: readonly CopiedFile[]): number => files.reduce((sum, { size }) => sum + size, 0)

/** Throws a `StartFault` if its secrets were sealed with another key. */
export function expectKeyOf({ key_fingerprint }: Manifest, own: Pick<Sealer, 'fingerprint' | 'knows'>): void {
  if (own.knows(key_fingerprint)) return
  throw new StartFault(
    `The secret key here (${own.fingerprint}) is not the one of the backup (${key_fingerprint}): its secrets could not be read. ` +
      'Put the secret.key of that deployment into the data directory, or set WEIR_SECRET_KEY to its key.',
  )
}

interface Target {
  readonly clickhouse: Clickhouse
  /** As a user with all rights. */
  readonly nats: Nats
}

const ownStreams = /^(WEIR_|KV_weir_)/

/** Throws a `StartFault` if the servers have anything of Weir. */
export async function expectEmpty({ clickhouse, nats }: Target): Promise<void> {
  const advice =
    'A backup is restored into an empty deployment only: name an empty database and an empty account of NATS, or delete what is there.'
  if (await hasAccounts(clickhouse))
    throw new StartFault(`ClickHouse has accounts of Weir already. ${advice}`)
  const streams = await nats.copies.named(ownStreams)
  if (streams.length > 0)
    throw new StartFault(`NATS has streams of Weir already, such as ${streams[0]}. ${advice}`)
}

interface RestoreOptions extends Target {
  readonly resources: readonly AnyResource[]
  readonly replicas: number
  readonly keyFingerprint: string
  readonly progressed: Progressed
}

/** Streams first, then rows: as long as the accounts are missing, no API takes the database for one that is in use. */
export async function restoreBackup(
  { manifest, reader }: OpenedBackup,
  options: RestoreOptions,
): Promise<void> {
  const { clickhouse, nats, resources, replicas, keyFingerprint, progressed } = options
  const of = sizeOf(filesOf(manifest))
  let done = 0
  const read = (file: CopiedFile): Buffer => {
    const bytes = reader.read(file.name)
    checkFile(file, bytes)
    done += file.size
    return bytes
  }
  for (const { config, state, consumers, files } of manifest.streams) {
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      for (const file of files) {
        yield read(file)
        progressed(config.name, done, of)
      }
    }
    await nats.copies.restore({ config, state }, replicas, chunks()).catch((error: unknown) => {
      if (error instanceof StartFault) throw error
      throw new StartFault(`The stream ${config.name} was not restored: ${messageOf(error)}.`)
    })
    for (const consumer of consumers) await nats.copies.makeConsumer(config.name, consumer)
  }
  await migrate(clickhouse, resources, keyFingerprint)
  const byKind = new Map(manifest.kinds.map((kind) => [kind.kind, kind]))
  for (const resource of restoreOrder(resources)) {
    const kind = byKind.get(resource.kind)
    for (const file of kind?.files ?? []) {
      await insertRows(clickhouse, resource, read(file))
      progressed(resource.kind, done, of)
    }
    if (kind !== undefined) await expectRows(clickhouse, kind)
  }
  expectKnownKinds(manifest, resources)
}

async function expectRows(clickhouse: Clickhouse, { kind, rows }: KindInBackup): Promise<void> {
  const found = await countOfRows(clickhouse, kind)
  if (found !== rows)
    throw new StartFault(`ClickHouse has ${found} rows of ${kind}, and the backup ${rows}: it is not whole.`)
}

function expectKnownKinds({ kinds }: Manifest, resources: readonly AnyResource[]): void {
  const known = new Set(resources.map(({ kind }) => kind))
  const unknown = kinds.find(({ kind, rows }) => rows > 0 && !known.has(kind))
  if (unknown !== undefined)
    throw new StartFault(
      `The backup has resources of the kind ${unknown.kind}, which this version does not know.`,
    )
}
