/** One running Weir per data directory: two would write to the same stores, and lose what both acknowledged. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { tryLock } from './file-lock.mjs'

export interface DataDirLock {
  close(): void
}

/** Another process uses the data directory; the message names it. */
export class DataDirInUse extends Error {
  readonly holderPid: number

  constructor(dir: string, holderPid: number) {
    super(
      `The data directory ${dir} is in use by process ${holderPid}. ` +
        'Stop that one first, or choose another directory (WEIR_DATA_DIR).',
    )
    this.name = 'DataDirInUse'
    this.holderPid = holderPid
  }
}

/**
 * Takes the data directory, made where it is missing; its holder's death frees it, however it died. Throws
 * `DataDirInUse`.
 */
export function lockDataDir(dir: string): DataDirLock {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const lock = tryLock(join(dir, 'weir.lock'))
  if (!lock.held) throw new DataDirInUse(dir, lock.holderPid)
  return { close: lock.release }
}
