/**
 * Builds the packages for Debian and Ubuntu, with dpkg-deb alone: `weir`, with a nats-server, and `weir-clickhouse`, which is
 * the embedded ClickHouse. Two builds of one commit are equal.
 *
 *     node config/deb.mjs [--out DIR] [--only weir]
 *
 * The files are written to DIR, by default `dist`, and named on standard output. What goes into `weir` is what `npm pack`
 * packs, and the packages of npm that it needs, from this clone.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { argv, env, execPath, exit, stderr, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { prepareOrExit } from './prepare.mjs'
import { ownNatsServer } from './provide-nats-server.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const parts = join(root, 'config', 'debian')
const home = 'usr/lib/weir'

/** The command of each unit, and what it says about itself. */
const units = [
  { unit: 'weir', role: 'serve', description: 'everything on this machine' },
  { unit: 'weir-api', role: 'api', description: 'the management API' },
  { unit: 'weir-pipeline', role: 'pipeline', description: 'records in, events out' },
  { unit: 'weir-decide', role: 'decide', description: 'answers to weir.decide' },
  { unit: 'weir-deliver', role: 'deliver', description: 'events to their destinations' },
]
const unitFiles = units.map(({ unit }) => `${unit}.service`)

const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** @param {string} line */
const say = (line) => stderr.write(`weir: ${line}\n`)

/**
 * @param {string} command
 * @param {readonly string[]} args
 */
const output = (command, args) =>
  execFileSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  })

// --- what belongs to which package ---

/** Paths of the packages of npm that are needed to run, below the clone. */
const modules = (/** @type {readonly string[]} */ ...omitted) =>
  output('npm', ['ls', '--all', '--parseable', '--omit=dev', ...omitted])
    .trim()
    .split('\n')
    .map((path) => relative(root, path))
    .filter((path) => path !== '')

/**
 * One of these packages may lie in another: only what is its own is copied with it.
 *
 * @param {readonly string[]} paths
 * @param {string} tree
 */
function copyModules(paths, tree) {
  for (const path of paths) {
    const nested = join(root, path, 'node_modules')
    cpSync(join(root, path), join(tree, home, path), {
      recursive: true,
      filter: (source) => source !== nested,
    })
  }
}

/** @param {string} tree */
function copyWeir(tree) {
  const [packed] = JSON.parse(output('npm', ['pack', '--dry-run', '--json', '--ignore-scripts']))
  for (const { path } of packed.files) {
    const isDocument = /^docs\/|\.md$/.test(path) || path === 'LICENSE'
    cpSync(join(root, path), join(tree, isDocument ? 'usr/share/doc/weir' : home, path))
  }
  copyModules(modules('--omit=optional'), tree)
  cpSync(natsServer(), join(tree, home, 'bin', 'nats-server'))
  writeFileSync(join(tree, 'usr/share/doc/weir/copyright'), copyright)
  output(execPath, ['config/sbom.mjs', join(tree, 'usr/share/doc/weir/sbom.cdx.json')])
  for (const [part, path] of [
    ['weir', 'usr/bin/weir'],
    ['weir.jsonc', 'etc/weir/weir.jsonc'],
    ['sysusers.conf', 'usr/lib/sysusers.d/weir.conf'],
    ['tmpfiles.conf', 'usr/lib/tmpfiles.d/weir.conf'],
  ])
    write(join(tree, path ?? ''), partOf(part ?? ''), part === 'weir' ? 0o755 : 0o644)
  for (const each of units)
    write(join(tree, 'usr/lib/systemd/system', `${each.unit}.service`), unitText(each))
}

const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Comment: The packages of npm below /${home}/node_modules have licences of their own, next to them.

Files: *
Copyright: the contributors of Weir
License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.
`

function natsServer() {
  const found = ownNatsServer(env, say)
  if ('program' in found) return found.program
  say(`There is no nats-server for the package: ${found.reason}.`)
  return exit(1)
}

/** @param {typeof units[number]} unit */
function unitText({ unit, role, description }) {
  // The roles of `weir serve` are those of the others.
  const others = unit === 'weir' ? unitFiles.filter((name) => name !== 'weir.service') : ['weir.service']
  return partOf('unit.service')
    .replace('@DESCRIPTION@', description)
    .replace('@CONFLICTS@', `Conflicts=${others.join(' ')}`)
    .replace('@ROLE@', role)
}

/** @param {string} name */
const partOf = (name) => readFileSync(join(parts, name), 'utf8').replaceAll('@UNITS@', unitFiles.join(' '))

/**
 * @param {string} path
 * @param {string} text
 */
function write(path, text, mode = 0o644) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  chmodSync(path, mode)
}

// --- control files ---

/** A build of a later commit is a later version, by the second of the commit; where git does not tell it, by the day. */
function debianVersion() {
  const file = join(root, 'dist', 'programs', 'built-from.json')
  const { commit, day, changed } = JSON.parse(readFileSync(file, 'utf8'))
  if (commit === undefined) return own.version
  const time = secondOf(commit) ?? day.replaceAll('-', '')
  return `${own.version}+${time}.${commit.slice(0, 8)}${changed ? '.changed' : ''}`
}

/**
 * When a commit was made, in UTC; undefined without git.
 *
 * @param {string} commit
 */
function secondOf(commit) {
  const words = ['log', '-1', '--date=format-local:%Y%m%d%H%M%S', '--format=%cd', commit]
  const { status, stdout: time } = spawnSync('git', words, {
    cwd: root,
    encoding: 'utf8',
    env: { ...env, TZ: 'UTC' },
  })
  return status === 0 && time.trim() !== '' ? time.trim() : undefined
}

/**
 * @param {string} name
 * @param {string} tree
 * @param {Readonly<Record<string, string>>} fields
 */
function writeControl(name, tree, fields) {
  const text = Object.entries({
    Package: name,
    Version: debianVersion(),
    Architecture: output('dpkg', ['--print-architecture']).trim(),
    Maintainer: 'The contributors of Weir <weir@weir.invalid>',
    'Installed-Size': String(
      Math.ceil(filesBelow(tree).reduce((sum, file) => sum + statSync(file).size, 0) / 1024),
    ),
    Section: 'net',
    Priority: 'optional',
    ...fields,
  }).map(([field, value]) => `${field}: ${value}\n`)
  write(join(tree, 'DEBIAN', 'control'), text.join(''))
}

const packages = {
  weir: (/** @type {string} */ tree) => {
    copyWeir(tree)
    writeControl('weir', tree, {
      Depends: 'nodejs (>= 20.19), systemd, passwd',
      Recommends: `weir-clickhouse (= ${debianVersion()})`,
      Description: `${own.description}
 The roles are services of systemd: weir.service runs all of them on one machine.`,
    })
    write(join(tree, 'DEBIAN', 'conffiles'), '/etc/weir/weir.jsonc\n')
    for (const script of ['postinst', 'prerm', 'postrm'])
      write(join(tree, 'DEBIAN', script), partOf(script), 0o755)
  },
  'weir-clickhouse': (/** @type {string} */ tree) => {
    const needed = modules('--omit=optional')
    copyModules(
      modules().filter((path) => !needed.includes(path)),
      tree,
    )
    write(join(tree, 'usr/share/doc/weir-clickhouse/copyright'), copyright)
    writeControl('weir-clickhouse', tree, {
      Depends: `weir (= ${debianVersion()})`,
      Description: `the embedded ClickHouse of Weir
 Weir needs it unless the setting CLICKHOUSE_URL names a server.`,
    })
  },
}

/** @param {string} dir */
const filesBelow = (dir) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/**
 * As they are on the disk, modes depend on the umask of the builder.
 *
 * @param {string} tree
 */
function evenModes(tree) {
  chmodSync(tree, 0o755)
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isSymbolicLink()) continue
    chmodSync(path, entry.isDirectory() || statSync(path).mode & 0o100 ? 0o755 : 0o644)
  }
}

/**
 * @param {keyof typeof packages} name
 * @param {string} out
 */
function build(name, out) {
  const tree = mkdtempSync(join(tmpdir(), `${name}-deb-`))
  try {
    packages[name](tree)
    evenModes(tree)
    const file = join(
      out,
      `${name}_${debianVersion()}_${output('dpkg', ['--print-architecture']).trim()}.deb`,
    )
    const time = spawnSync('git', ['log', '-1', '--format=%ct'], {
      cwd: root,
      encoding: 'utf8',
    }).stdout?.trim()
    // Without it, the archive would have the times of the copies.
    const words = ['--build', '--root-owner-group', '-Zzstd', '-z9', tree, file]
    execFileSync('dpkg-deb', words, { env: { ...env, SOURCE_DATE_EPOCH: time || '0' }, stdio: 'pipe' })
    stdout.write(`${file}\n`)
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

const { values } = parseArgs({
  args: argv.slice(2),
  options: { out: { type: 'string', default: join(root, 'dist') }, only: { type: 'string' } },
})
const names = /** @type {(keyof typeof packages)[]} */ (Object.keys(packages))
if (values.only !== undefined && !(values.only in packages)) {
  say(`--only is "${values.only}": it must be one of ${names.join(', ')}.`)
  exit(1)
}
await prepareOrExit({ natsServer: false, types: true })
mkdirSync(values.out, { recursive: true })
for (const name of names.filter((each) => values.only === undefined || each === values.only))
  build(name, resolve(values.out))
