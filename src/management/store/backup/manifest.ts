/**
 * Start here for backups: what one holds, and in which order it is made.
 *
 * Everything goes on meanwhile, so the parts are of different moments. Each message is copied before what replaces it, so that
 * whatever moves on during the backup is in the copy once or twice, never not at all:
 *
 * 1. `weir_idempotency`: an answer that is known must be of a change that is in the copy, so these come first.
 * 2. The version of each account, once its last change is carried out. This is the moment of the configuration: rows of later
 *    changes are left out, so no change is in the copy by half.
 * 3. Records and audit events, each with the positions of their consumers from just before. A record that was acknowledged by
 *    then is in the packs, which are copied later; one that was not is processed again.
 * 4. `weir_behind`: records that a destination gets later. They were noted before they were acknowledged.
 * 5. The packs of events. One that left them by now was delivered, or is a dead letter, which come next.
 * 6. Dead letters. A letter that is sent again goes the other way, from here to the records: if any left the stream since the
 *    backup began, 3 to 6 are made again, up to three times; the manifest says if that did not help.
 * 7. `weir_key_use`, and the rows of ClickHouse up to the versions of 2.
 *
 * What ClickHouse can rebuild (`weir_config`, `weir_secrets`, `weir_heads`, `weir_claims`) is not copied, nor what nobody misses
 * (sessions, trials, fetches of lists, replays). The books begin again at zero: they name messages that came after the copy.
 */
import { createHash } from 'node:crypto'
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import { dataFormat } from '../../../ground/core/files/data-format.js'
import type { CopiedConsumer, CopiedStream } from '../../../ground/nats/stream-copies.js'

/** Raised when an older version would read a backup wrongly. */
export const backupForm = 1

export interface CopiedFile {
  readonly name: string
  readonly size: number
  readonly sha256: string
}

export interface StreamInBackup extends CopiedStream {
  readonly consumers: readonly CopiedConsumer[]
  /** Its files, in their order. */
  readonly files: readonly CopiedFile[]
}

export interface KindInBackup {
  readonly kind: string
  readonly rows: number
  readonly files: readonly CopiedFile[]
}

export interface Manifest {
  readonly weir_backup: number
  readonly version: string
  readonly build: string
  readonly data_format: number
  readonly began_at: string
  readonly ended_at: string
  /** Identifies the secret key, which is not in the backup. */
  readonly key_fingerprint: string
  readonly accounts: number
  readonly kinds: readonly KindInBackup[]
  readonly streams: readonly StreamInBackup[]
  /** Dead letters that left the stream while it was made; events of those that were sent again may be missing. */
  readonly letters_left: number
  /** For people. */
  readonly left_out: readonly string[]
}

export const manifestName = 'manifest.json'
/** Written last: a backup without it is not whole. */
export const checksumName = 'manifest.sha256'

export const leftOut: readonly string[] = [
  'the secret key (secret.key or WEIR_SECRET_KEY)',
  'the decision log and the logs of deliveries and failures',
  'the books, which begin again at zero',
  'sessions of the console, trials, replays, fetches of lists',
]

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export const fileOf = (name: string, bytes: Uint8Array): CopiedFile => ({
  name,
  size: bytes.length,
  sha256: sha256(bytes),
})

export const filesOf = ({ kinds, streams }: Pick<Manifest, 'kinds' | 'streams'>): CopiedFile[] =>
  [...kinds, ...streams].flatMap(({ files }) => files)

/** Throws a `StartFault` if it was changed, or is of a later version. */
export function parseManifest(bytes: Uint8Array, checksum: string): Manifest {
  if (sha256(bytes) !== checksum.trim())
    throw new StartFault(
      `${manifestName} is damaged: its checksum is not the one of ${checksumName}. Nothing was restored.`,
    )
  const manifest = parsed(bytes)
  if (manifest.weir_backup > backupForm || manifest.data_format > dataFormat)
    throw new StartFault(
      `The backup was made by Weir ${manifest.version}, whose data this version can't read: restore it with that one or a later one.`,
    )
  return manifest
}

function parsed(bytes: Uint8Array): Manifest {
  try {
    const manifest = JSON.parse(Buffer.from(bytes).toString()) as Manifest
    if (![manifest.weir_backup, manifest.data_format].every(Number.isSafeInteger))
      throw new Error('it has no form')
    return manifest
  } catch (error) {
    throw new StartFault(`${manifestName} is not that of a backup: ${messageOf(error)}.`)
  }
}

/** Throws a `StartFault` that names the file if it is not the one that was written. */
export function checkFile({ name, size, sha256: wanted }: CopiedFile, bytes: Uint8Array): void {
  if (bytes.length === size && sha256(bytes) === wanted) return
  throw new StartFault(`${name} of the backup is damaged: its checksum is not the one of the manifest.`)
}
