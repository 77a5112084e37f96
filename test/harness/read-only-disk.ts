/** Disks that become read-only under running programs. */
import { spawnSync } from 'node:child_process'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { faultOf, mustRun, unmount } from './mounting.js'
import { tempDir } from './temp-dir.js'

interface FailingDisk {
  readonly dir: string
  /**
   * Nothing can be written from now on, also in files that are open: what the kernel does after an error of the disk. Before
   * that, everything was synced.
   */
  fail(): void
  /** Unmounts it, checks it, and mounts it again, as an operator does. No program may have a file of it open. */
  mend(): void
}

type Owner = { teardown(close: () => unknown): unknown }

/**
 * On `dir`, which exists, with an ext4 of its own in a file. It is unmounted after everything that was opened later is
 * closed; a reason instead, if this user may mount nothing.
 */
export function mountFailingDisk(t: Owner, bytes: number, dir = tempDir(t)): FailingDisk | string {
  if (process.platform !== 'linux') return 'it mounts a loop device, which is only on Linux'
  const image = join(tempDir(t), 'image')
  writeFileSync(image, '')
  truncateSync(image, bytes)
  const mount = ['mount', '-o', 'loop', image, dir] as const
  const refusal = faultOf('mkfs.ext4', '-q', '-F', '-m', '0', image) ?? faultOf(...mount)
  if (refusal !== undefined) return `a file system in a file cannot be mounted here: ${refusal}`
  t.teardown(() => unmount(dir))
  return {
    dir,
    fail: () => {
      mustRun('sync', '-f', dir)
      mustRun('mount', '-o', 'remount,abort', dir)
    },
    mend: () => {
      mustRun('umount', dir)
      const { status, stdout } = spawnSync('e2fsck', ['-f', '-p', image], { encoding: 'utf8' })
      // 1: it had faults, and has none any more.
      if (status !== 0 && status !== 1) throw new Error(`e2fsck: ${stdout}`)
      mustRun(...mount)
    },
  }
}

/** No file below `dir` can be opened for writing until the result is called. Files that are open are written as before. */
export function makeReadOnly(t: Owner, dir: string): () => void {
  let isCovered = true
  const uncover = (): void => {
    if (isCovered) mustRun('umount', '-l', dir)
    isCovered = false
  }
  // Made elsewhere, because nothing may have opened a file by it before.
  const cover = tempDir(t)
  mustRun('mount', '--bind', dir, cover)
  mustRun('mount', '-o', 'remount,bind,ro', cover)
  mustRun('mount', '--bind', cover, dir)
  t.teardown(uncover)
  unmount(cover)
  return uncover
}
