/**
 * Makes a clone ready to run: installs packages, finds or fetches a nats-server, compiles. Prints something only if it
 * takes long, changes nothing if nothing is missing, and may run several times at once.
 *
 *     node config/prepare.mjs [--no-nats-server] [--tests]
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { argv, env, execPath, stderr } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { tryLock } from '../src/process/file-lock.mjs'
import { findNatsServer, natsServerMissing } from '../src/process/find-nats-server.mjs'
import { fetchNatsServer } from './fetch-nats-server.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const path = {
  lockFile: join(root, 'package-lock.json'),
  installed: join(root, 'node_modules', '.weir-lock'),
  npmInstalled: join(root, 'node_modules', '.package-lock.json'),
  binLink: join(root, 'node_modules', '.bin', 'weir'),
  dist: join(root, 'dist'),
  built: join(root, 'dist', '.built'),
  compiler: join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
  tap: join(root, 'node_modules', '.bin', 'tap'),
  tapBuilt: join(root, 'node_modules', '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js'),
  lock: join(root, 'dist', '.prepare-lock'),
}

/** @param {string} line */
const say = (line) => stderr.write(`weir: ${line}\n`)

/** The reason why a clone can't run; its message is for a person. */
class PrepareError extends Error {}

/**
 * @param {{ natsServer: boolean, tests?: boolean }} wanted
 */
export async function prepare({ natsServer, tests = false }) {
  const isReady = () => isInstalled() && isBuilt() && (!tests || isTapBuilt())
  if (!isReady()) {
    await alone(() => {
      if (!isInstalled()) install()
      if (!isBuilt()) build()
      if (tests && !isTapBuilt()) buildTap()
    })
  }
  if (natsServer && findNatsServer(env) === undefined) {
    const reason = fetchNatsServer(env, say)
    if (reason !== undefined)
      throw new PrepareError(`${natsServerMissing}\n(Fetching one failed: ${reason}.)`)
  }
}

// --- packages ---

/** Do the installed packages match the lock file? Those that `npm ci` or `npm install` installed count, too. */
function isInstalled() {
  const wanted = hashOf(readFileSync(path.lockFile))
  if (readText(path.installed) === wanted) return true
  if (!isInstalledByNpm()) return false
  finishInstall(wanted)
  return true
}

function isInstalledByNpm() {
  const installed = readText(path.npmInstalled)
  if (installed === undefined) return false
  const has = JSON.parse(installed).packages
  const wants = JSON.parse(readFileSync(path.lockFile, 'utf8')).packages
  return Object.entries(wants).every(
    ([name, { version, optional, devOptional, link }]) =>
      name === '' ||
      link ||
      has[name]?.version === version ||
      ((optional || devOptional) && has[name] === undefined),
  )
}

function install() {
  say('Installing packages (npm ci); the first time this takes a minute or two …')
  const npm = env.npm_execpath?.endsWith('.js') ? [execPath, env.npm_execpath] : ['npm']
  const [command = 'npm', ...args] = [
    ...npm,
    'ci',
    '--include=dev',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  run(command, args, 'npm ci failed: see its message above. Without a network, bring node_modules along.')
  finishInstall(hashOf(readFileSync(path.lockFile)))
}

/**
 * npm does not link the programs of the root package, but `npx weir` needs the link.
 *
 * @param {string} lockHash
 */
function finishInstall(lockHash) {
  if (lstatSync(path.binLink, { throwIfNoEntry: false }) === undefined) {
    mkdirSync(dirname(path.binLink), { recursive: true })
    symlinkSync(join('..', '..', 'src', 'weir.mjs'), path.binLink)
  }
  writeFileSync(path.installed, lockHash)
}

// --- compiling ---

/** Does every source have the same time and size as when it was compiled? */
function isBuilt() {
  return readText(path.built) === sourcesSignature()
}

/** Types are checked by `npm run check`, not here: a start should not wait for that. */
function build() {
  const signature = sourcesSignature()
  say('Compiling …')
  removeOrphans()
  // Without its output, the compiler's incremental state is wrong.
  if (!existsSync(path.built)) rmSync(join(path.dist, '.tsbuildinfo'), { force: true })
  run(
    execPath,
    [path.compiler, '-p', join(root, 'tsconfig.json'), '--noCheck'],
    'Compiling failed: see above.',
  )
  writeFileSync(path.built, signature)
}

function sourcesSignature() {
  const sources = [
    ...filesBelow('src', '.ts'),
    ...filesBelow('test', '.ts'),
    ...filesBelow('src', '.mjs'),
    ...filesBelow('fixtures', '.mjs'),
    'tsconfig.json',
  ]
  const lines = sources.map((name) => {
    const { mtimeMs, size } = statSync(join(root, name))
    return `${name} ${mtimeMs} ${size}`
  })
  return hashOf([readText(path.installed), ...lines].join('\n'))
}

/** A compiled test whose source was deleted would still run. */
function removeOrphans() {
  for (const output of [...filesBelow('dist/src', '.js'), ...filesBelow('dist/test', '.js')]) {
    const source = output.slice('dist/'.length).replace(/\.js$/, '.ts')
    if (!existsSync(join(root, source)))
      for (const end of ['', '.map']) rmSync(join(root, output + end), { force: true })
  }
}

/**
 * @param {string} dir
 * @param {string} extension
 * @returns {string[]}
 */
function filesBelow(dir, extension) {
  if (!existsSync(join(root, dir))) return []
  return readdirSync(join(root, dir), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort()
}

// --- tap ---

/** As published, tap compiles every file of every test once more, which takes longer than most tests. */
function isTapBuilt() {
  return readText(path.tapBuilt)?.includes('@tapjs/typescript') === false
}

/** Rebuilds tap with the plugins that package.json names. */
function buildTap() {
  say('Preparing the test runner …')
  run(execPath, [path.tap, 'build'], 'tap build failed: see above.')
}

// --- one at a time ---

/**
 * Runs `work` while no other preparation of this clone runs.
 *
 * @param {() => void} work
 */
async function alone(work) {
  mkdirSync(path.dist, { recursive: true })
  for (let waits = 0; ; waits += 1) {
    const lock = tryLock(path.lock)
    if (!lock.held) {
      if (waits === 5) say(`Waiting for process ${lock.holderPid}, which prepares this directory …`)
      await sleep(200)
      continue
    }
    try {
      return work()
    } finally {
      lock.release()
    }
  }
}

// --- helpers ---

/**
 * Standard output is reserved for the program that runs afterwards.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} failure
 */
function run(command, args, failure) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (error !== undefined) throw new PrepareError(`${failure} (${error.message})`)
  if (status !== 0) throw new PrepareError(failure)
}

/** @param {string} file */
function readText(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** @param {string | Uint8Array} content */
const hashOf = (content) => createHash('sha256').update(content).digest('hex')

/**
 * @param {Parameters<typeof prepare>[0]} wanted
 */
export async function prepareOrExit(wanted) {
  try {
    await prepare(wanted)
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error
    say(error.message)
    process.exit(1)
  }
}

if (argv[1] !== undefined && import.meta.url === pathToFileURL(resolve(argv[1])).href) {
  await prepareOrExit({
    natsServer: !argv.includes('--no-nats-server') && !env.NATS_URL,
    tests: argv.includes('--tests'),
  })
}
