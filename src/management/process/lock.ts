/** One running Weir per data directory: two would write to the same stores and lose acknowledged data. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, StartFault } from '../../ground/core/errors.js'
import { openFormatOf } from '../../ground/core/files/data-format.js'
import { tryLock } from './file-lock.mjs'

function tryLockIn(dir: string): ReturnType<typeof tryLock> {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    return tryLock(join(dir, 'weir.lock'))
  } catch (error) {
    throw new StartFault(`The data directory ${dir} (WEIR_DATA_DIR) can't be used: ${messageOf(error)}.`)
  }
}

/**
 * Locks the data directory, which is created if missing. However the holder ends, its lock becomes free. Throws a
 * `StartFault` that names the process if another one has the lock, or if the directory is of a later version.
 */
export function lockDataDir(dir: string): { close(): void } {
  const lock = tryLockIn(dir)
  if (lock.held) return opened(dir, lock.release)
  throw new StartFault(
    `The data directory ${dir} is in use by process ${lock.holderPid}. ` +
      'Stop that one first, or choose another directory (WEIR_DATA_DIR).',
  )
}

function opened(dir: string, release: () => void): { close(): void } {
  try {
    expectWhole(dir)
    openFormatOf(dir)
    return { close: release }
  } catch (error) {
    release()
    throw error
  }
}

/** A file that is there while a backup is restored into the directory. */
export const unfinishedRestore = (dir: string): string => join(dir, 'restore.unfinished')

function expectWhole(dir: string): void {
  if (!existsSync(unfinishedRestore(dir))) return
  throw new StartFault(
    `A backup was not restored to its end into ${dir}: delete what is there, all but secret.key, and restore it again.`,
  )
}
