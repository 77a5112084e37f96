/**
 * Are two builds of the package equal? Clones the last commit twice, packs each clone as another builder would (another path,
 * umask, time zone and language), and compares the files.
 *
 *     node config/compare-packages.mjs
 *
 * Prints the hash, or the names of what differs, with exit code 1. Packages of npm are linked from this clone, because the lock
 * file has their hashes.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { env, stderr, stdout, umask } from 'node:process'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

const builders = [
  { name: 'one', umask: 0o022, env: { TZ: 'UTC', LANG: 'C', LC_ALL: 'C' } },
  { name: 'another-one', umask: 0o077, env: { TZ: 'Asia/Tokyo', LANG: 'tr_TR.UTF-8', LC_ALL: '' } },
]

/**
 * @param {string} dir
 * @param {typeof builders[number]} builder
 * @returns {string} the file
 */
function packBy(dir, builder) {
  const clone = join(dir, builder.name)
  const before = umask(builder.umask)
  try {
    execFileSync('git', ['clone', '--quiet', root, clone])
    // Links cost nothing. What `config/prepare.mjs` writes there is made anew.
    execFileSync('cp', ['-al', join(root, 'node_modules'), join(clone, 'node_modules')])
    for (const own of ['.weir-lock', '.bin/weir']) rmSync(join(clone, 'node_modules', own), { force: true })
    execFileSync('npm', ['pack', '--silent'], { cwd: clone, env: { ...env, ...builder.env }, stdio: 'pipe' })
  } finally {
    umask(before)
  }
  const name = readdirSync(clone).find((each) => each.endsWith('.tgz')) ?? ''
  return join(clone, name)
}

/** @param {string} file */
const hashOf = (file) => createHash('sha256').update(readFileSync(file)).digest('hex')

/**
 * The name, mode and hash of each file of a package.
 *
 * @param {string} dir
 * @param {string} file
 */
function contentsOf(dir, file) {
  const unpacked = mkdtempSync(join(dir, 'unpacked-'))
  execFileSync('tar', ['-xzf', file, '-C', unpacked])
  const listed = execFileSync('tar', ['-tvzf', file], { encoding: 'utf8' }).trimEnd().split('\n')
  return listed.map((line) => {
    const path = line.slice(line.indexOf('package/'))
    return `${path} ${line.slice(0, 10)} ${hashOf(join(unpacked, path)).slice(0, 16)}`
  })
}

// On the file system of the packages, or they could not be linked.
mkdirSync(join(root, 'dist'), { recursive: true })
const dir = mkdtempSync(join(root, 'dist', 'compared-'))
try {
  const [one = '', other = ''] = builders.map((builder) => packBy(dir, builder))
  if (hashOf(one) === hashOf(other)) {
    stdout.write(`Two builds of the package are equal: sha256 ${hashOf(one)}\n`)
  } else {
    const has = contentsOf(dir, one)
    const hasNot = contentsOf(dir, other)
    const differ = [
      ...has.filter((each) => !hasNot.includes(each)),
      ...hasNot.filter((each) => !has.includes(each)),
    ]
    stderr.write(
      `Two builds of the package differ:\n${differ.toSorted().join('\n') || 'in the order of files'}\n`,
    )
    process.exitCode = 1
  }
} finally {
  rmSync(dir, { recursive: true, force: true })
}
