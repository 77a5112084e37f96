/**
 * A lock file that names its holder and is free once the holder has ended. Plain JavaScript: it runs before anything is
 * compiled.
 *
 * The file is written under another name and linked into place, so that it is never seen half written. Only one process
 * may replace a stale file: if two found it stale and each removed it, the second would remove the first one's new lock.
 * So a replacement is itself done under a lock, named after the stale holder; the process that has it checks again, and
 * only then renames its own file over the stale one. If a process ends while it holds that second lock, the same rule
 * applies to it.
 */
import { createHash } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { pid } from 'node:process'
import { processStart } from '../../delivery/nats-server/process-start.mjs'

let locks = 0

/**
 * Takes the lock, or returns its holder.
 *
 * @param {string} path of the lock's file, in a directory that exists
 * @returns {{ held: true, release: () => void } | { held: false, holderPid: number }}
 */
export function tryLock(path) {
  locks += 1
  const mine = `${pid} ${processStart(pid)} ${locks}`
  const aside = `${path}.${pid}-${locks}`
  writeFileSync(aside, mine, { mode: 0o600 })
  try {
    const holderPid = place(aside, path)
    if (holderPid !== undefined) return { held: false, holderPid }
    return { held: true, release: () => release(path, mine) }
  } finally {
    rmSync(aside, { force: true })
  }
}

/**
 * Puts the file in place; returns the holder's process id if another process has the lock.
 *
 * @param {string} aside
 * @param {string} path
 * @returns {number | undefined}
 */
function place(aside, path) {
  for (;;) {
    if (link(aside, path)) return undefined
    const holder = read(path)
    if (holder === undefined) continue
    const holderPid = aliveHolder(holder)
    if (holderPid !== undefined) return holderPid
    const succession = tryLock(
      `${path}.after-${createHash('sha256').update(holder).digest('hex').slice(0, 16)}`,
    )
    if (!succession.held) return succession.holderPid
    try {
      if (read(path) !== holder) continue
      renameSync(aside, path)
      return undefined
    } finally {
      succession.release()
    }
  }
}

/** @param {string} holder */
function aliveHolder(holder) {
  const [holderPid = '', start] = holder.split(' ')
  return start !== undefined && processStart(Number(holderPid)) === start ? Number(holderPid) : undefined
}

/**
 * @param {string} aside
 * @param {string} path
 */
function link(aside, path) {
  try {
    linkSync(aside, path)
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  }
}

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * @param {string} path
 * @param {string} mine
 */
function release(path, mine) {
  if (read(path) === mine) rmSync(path, { force: true })
}
