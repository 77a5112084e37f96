/** A file system of a few megabytes, for tests that fill it. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { faultOf, mustRun, unmount } from './mounting.js'
import { tempDir } from './temp-dir.js'

interface SmallDisk {
  readonly dir: string
  /** Gives it another size. */
  resize(size: string): void
  /** Leaves no byte of it. */
  fill(): void
}

const fillBytes = Buffer.alloc(64 * 1024)

/**
 * On `dir`, which exists. It is unmounted after everything that was opened later is closed; a reason instead, if this user
 * may mount nothing.
 */
export function mountSmallDisk(
  t: { teardown(close: () => unknown): unknown },
  size: string,
  dir = tempDir(t),
): SmallDisk | string {
  if (process.platform !== 'linux') return 'it mounts a tmpfs, which is only on Linux'
  const refusal = faultOf('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'weir-test', dir)
  if (refusal !== undefined) return `a tmpfs cannot be mounted here: ${refusal}`
  t.teardown(() => unmount(dir))
  const resize = (to: string): void => mustRun('mount', '-o', `remount,size=${to}`, dir)
  const fill = (): void => {
    const file = openSync(join(dir, 'filling'), 'w')
    try {
      for (;;) writeSync(file, fillBytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    } finally {
      closeSync(file)
    }
  }
  return { dir, resize, fill }
}
