/** Makes a backup while everything goes on. */

import type { Partition } from '../../../delivery/wire/partitions.js'
import { isoMillis, monotonicMs, now } from '../../../ground/core/clock.js'
import { dataFormat } from '../../../ground/core/files/data-format.js'
import { version, versionAndBuild } from '../../../ground/core/package.js'
import type { Nats } from '../../../ground/nats/nats.js'
import type { AnyResource } from '../../../words/resource/kind/define.js'
import { type BackupWriter, writeBackup } from './archive.js'
import { packedRows, type RowPage, type RowPlace, type Versions } from './copied-rows.js'
import {
  copyStreams,
  firstStreams,
  lastStreams,
  lettersLeft,
  lettersNow,
  movingStreams,
} from './copied-streams.js'
import {
  backupForm,
  type CopiedFile,
  checksumName,
  fileOf,
  type KindInBackup,
  leftOut,
  type Manifest,
  manifestName,
  type StreamInBackup,
  sha256,
} from './manifest.js'

export interface BackupOptions {
  readonly path: string
  /** As a user with all rights. */
  readonly nats: Pick<Nats, 'copies' | 'streamInfo'>
  readonly partitions: readonly Partition[]
  readonly resources: readonly AnyResource[]
  readonly keyFingerprint: string
  /** The process that has ClickHouse answers these. */
  readonly versions: () => Promise<Versions>
  readonly counts: () => Promise<Readonly<Record<string, number>>>
  readonly page: (kind: string, after: RowPlace | undefined) => Promise<RowPage>
  /** Called often: what is copied now, and how much of all. */
  readonly progressed: (what: string, done: number, of: number) => void
}

/** Copies of what moves, until no dead letter left meanwhile. */
const roundsMax = 3
/** What a row counts in the progress, next to the bytes of streams. */
const rowUnits = 512
/** And a kind: a statement takes as long as the server needs for so many bytes. */
const kindUnits = 4 * 1024 * 1024

/** Resolves with what it holds. Throws if it is not whole; then nothing is left of it. */
export async function makeBackup(options: BackupOptions): Promise<Manifest> {
  const writer = writeBackup(options.path)
  try {
    const manifest = await copyAll(options, writer)
    const bytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
    writer.add(manifestName, bytes)
    writer.add(checksumName, Buffer.from(`${sha256(bytes)}\n`))
    writer.finish()
    return manifest
  } finally {
    writer.close()
  }
}

async function copyAll(options: BackupOptions, writer: BackupWriter): Promise<Manifest> {
  const began_at = isoMillis(now())
  const { nats, partitions, keyFingerprint } = options
  const progress = await openProgress(options)
  const copy = (names: readonly string[], round = 0) =>
    copyStreams(names, { nats, partitions, writer, copied: progress.streams, round })
  const first = await copy(firstStreams)
  const versions = await options.versions()
  const { streams, left } = await copyMoving(options, (names, round) => copy(names, round))
  const last = await copy(lastStreams)
  const kinds: KindInBackup[] = []
  for (const { kind } of options.resources)
    kinds.push(await copyKind(kind, versions, options, writer, progress.rows))
  return {
    weir_backup: backupForm,
    version,
    build: versionAndBuild(),
    data_format: dataFormat,
    began_at,
    ended_at: isoMillis(now()),
    key_fingerprint: keyFingerprint,
    accounts: Object.keys(versions).length,
    kinds,
    streams: [...first, ...streams, ...last],
    letters_left: left,
    left_out: leftOut,
  }
}

/** Again if dead letters left the stream meanwhile: each that was sent again went against the order of the copies. */
async function copyMoving(
  { nats, partitions }: Pick<BackupOptions, 'nats' | 'partitions'>,
  copy: (names: readonly string[], round: number) => Promise<StreamInBackup[]>,
): Promise<{ readonly streams: StreamInBackup[]; readonly left: number }> {
  for (let round = 1; ; round += 1) {
    const before = await lettersNow(nats)
    const streams = await copy(movingStreams(partitions), round)
    const left = await lettersLeft(nats, before)
    if (left === 0 || round === roundsMax) return { streams, left }
  }
}

async function copyKind(
  kind: string,
  versions: Versions,
  { page }: Pick<BackupOptions, 'page'>,
  writer: BackupWriter,
  copied: (kind: string, rows: number, isLast: boolean) => void,
): Promise<KindInBackup> {
  const files: CopiedFile[] = []
  let count = 0
  let after: RowPlace | undefined
  do {
    const { rows, next } = await page(kind, after)
    // A later change, or an account that was made meanwhile.
    const kept = rows.filter((row) => Number(row['version']) <= (versions[String(row['account_id'])] ?? -1))
    if (kept.length > 0) {
      const file = `tables/${kind}.${String(files.length).padStart(5, '0')}.gz`
      const bytes = packedRows(kept)
      writer.add(file, bytes)
      files.push(fileOf(file, bytes))
    }
    count += kept.length
    copied(kind, rows.length, next === undefined)
    after = next
  } while (after !== undefined)
  return { kind, rows: count, files }
}

/** Bytes of streams as the server counts them, kinds and their rows; what is copied twice counts once. */
async function openProgress({ nats, partitions, counts, progressed }: BackupOptions) {
  const names = [...firstStreams, ...movingStreams(partitions), ...lastStreams]
  const infos = await Promise.all(names.map((name) => nats.streamInfo(name)))
  const sizes = new Map(names.map((name, index) => [name, infos[index]?.state.bytes ?? 0]))
  const rowsOf = Object.values(await counts())
  const of = sum(sizes.values()) + rowsOf.length * kindUnits + sum(rowsOf) * rowUnits
  const copiedOf = new Map<string, number>()
  let tables = 0
  let shownMs = 0
  const show = (what: string): void => {
    if (monotonicMs() - shownMs < showEveryMs) return
    shownMs = monotonicMs()
    progressed(what, Math.min(of, sum(copiedOf.values()) + tables), of)
  }
  const copied = (stream: string, bytes: number): void => {
    copiedOf.set(stream, Math.min(sizes.get(stream) ?? 0, (copiedOf.get(stream) ?? 0) + bytes))
    show(stream)
  }
  return {
    streams: { some: copied, all: (stream: string) => copied(stream, Number.POSITIVE_INFINITY) },
    rows(kind: string, rows: number, isLast: boolean): void {
      tables += rows * rowUnits + (isLast ? kindUnits : 0)
      show(kind)
    },
  }
}

const sum = (counts: Iterable<number>): number => [...counts].reduce((all, count) => all + count, 0)

const showEveryMs = 200
