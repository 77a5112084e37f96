/**
 * Distinguishes a process from a later one with the same process id. Plain JavaScript: it runs before anything is
 * compiled.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Field index after the command's name, which may contain spaces and brackets; `starttime` is field 22 of the line. */
const startTimeField = 22 - 3

/**
 * When the process started, as text that is only good for comparison; `undefined` if no such process runs. A zombie
 * counts as ended: it holds no files and no ports.
 *
 * @param {number} pid
 * @returns {string | undefined}
 */
export function processStart(pid) {
  if (!Number.isSafeInteger(pid) || pid < 1) return undefined
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid)
}

/** @param {number} pid */
function startFromProc(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[startTimeField]
  } catch {
    return undefined
  }
}

/** @param {number} pid */
function startFromPs(pid) {
  try {
    const stdio = /** @type {['ignore', 'pipe', 'ignore']} */ (['ignore', 'pipe', 'ignore'])
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio,
    }).trim()
    return line === '' || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '')
  } catch {
    return undefined
  }
}
