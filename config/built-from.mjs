/**
 * Notes next to the programs which commit they were built from, so that `weir --version` can say it where there is neither a
 * clone nor git. The day is that of the commit, not of the clock: two builds of one commit are equal.
 */
import { spawnSync } from 'node:child_process'
import { realpathSync, renameSync, writeFileSync } from 'node:fs'
import { pid } from 'node:process'

/** @typedef {{ readonly commit: string, readonly day: string, readonly changed: boolean }} BuiltFrom */

/** What a builder without the clone is told, such as that of the image: `git log -1 --format='%H %cs'`. */
const toldForm = /^([0-9a-f]{40}) (\d{4}-\d{2}-\d{2})$/

/**
 * @param {string} root of the package
 * @param {string | undefined} told
 * @returns {BuiltFrom | undefined} `undefined` if nothing says the commit
 */
export function builtFrom(root, told) {
  if (told === undefined || told === '') return fromGit(root)
  const [, commit = '', day = ''] = toldForm.exec(told) ?? []
  if (commit === '') throw new Error(`BUILT_FROM is "${told}": it must be a commit and a day, by ${command}.`)
  return { commit, day, changed: false }
}

const command = "git log -1 --format='%H %cs'"

/**
 * @param {string} root
 * @returns {BuiltFrom | undefined}
 */
function fromGit(root) {
  // Without a clone of its own, this directory may lie in another one, whose commit says nothing about Weir.
  const top = git(root, 'rev-parse', '--show-toplevel')
  if (top === undefined || realpathSync(top) !== realpathSync(root)) return undefined
  const [commit = '', day = ''] = git(root, 'log', '-1', '--format=%H %cs')?.split(' ') ?? []
  if (commit === '') return undefined
  return { commit, day, changed: git(root, 'status', '--porcelain') !== '' }
}

/**
 * @param {string} root
 * @param {readonly string[]} words
 */
function git(root, ...words) {
  // Others may work in the clone at the same time: it is not locked.
  const { status, stdout } = spawnSync('git', ['--no-optional-locks', ...words], {
    cwd: root,
    encoding: 'utf8',
  })
  return status === 0 ? stdout.trim() : undefined
}

/**
 * @param {string} file
 * @param {BuiltFrom | undefined} from
 */
export function writeBuiltFrom(file, from) {
  // In one step: a program may read it now.
  writeFileSync(`${file}.${pid}`, `${JSON.stringify(from ?? {})}\n`)
  renameSync(`${file}.${pid}`, file)
}
