/**
 * Makes a clone ready to run: installs packages, finds or fetches a nats-server, bundles the programs, builds the database
 * of autonomous systems. Prints something only if it takes long, changes nothing if nothing is missing, and may run several
 * times at once.
 *
 *     node config/prepare.mjs [--no-nats-server] [--modules | --tests] [--types]
 *
 * `--modules` also compiles every source and test to a module of its own in `dist/src` and `dist/test`, as benchmarks and
 * the generated documents need it; `--tests` also prepares the test runner and bundles the test files. `--types` writes the
 * types of the package's entry points, as `npm pack` ships them, notes the present commit, and makes the modes of files
 * independent of the umask. A build without git is told the commit by the variable BUILT_FROM.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
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
import { natsServerMissing } from '../src/delivery/nats-server/find-nats-server.mjs'
import { tryLock } from '../src/management/process/file-lock.mjs'
import { builtFrom, writeBuiltFrom } from './built-from.mjs'
import { evenModes } from './even-modes.mjs'
import { provideNatsServer } from './provide-nats-server.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const path = {
  lockFile: join(root, 'package-lock.json'),
  installed: join(root, 'node_modules', '.weir-lock'),
  npmInstalled: join(root, 'node_modules', '.package-lock.json'),
  binLink: join(root, 'node_modules', '.bin', 'weir'),
  dist: join(root, 'dist'),
  programs: join(root, 'dist', 'programs'),
  bundled: join(root, 'dist', 'programs', '.bundled'),
  builtFrom: join(root, 'dist', 'programs', 'built-from.json'),
  console: join(root, 'dist', 'console'),
  evaluate: join(root, 'dist', 'evaluate'),
  types: join(root, 'dist', 'types'),
  typesWritten: join(root, 'dist', 'types', '.written'),
  playground: join(root, 'dist', 'playground'),
  reference: join(root, 'dist', 'reference'),
  asnPackage: join(root, 'node_modules', '@ip-location-db', 'asn'),
  asnBuilder: join(root, 'config', 'asn-database.mjs'),
  asnDatabase: join(root, 'dist', 'geo', 'asn.mmdb'),
  asnBuilt: join(root, 'dist', 'geo', '.built'),
  compiled: join(root, 'dist', '.compiled'),
  tests: join(root, 'dist', 'tests'),
  testsBundled: join(root, 'dist', 'tests', '.bundled'),
  tap: join(root, 'node_modules', '.bin', 'tap'),
  tapBuilt: join(root, 'node_modules', '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js'),
  lock: join(root, 'dist', '.prepare-lock'),
}

/** @param {string} line */
const say = (line) => stderr.write(`weir: ${line}\n`)

/** The reason why a clone can't run; its message is for a person. */
class PrepareError extends Error {}

/**
 * @param {{ natsServer: boolean, modules?: boolean, tests?: boolean, types?: boolean }} wanted
 */
export async function prepare({ natsServer, tests = false, modules = tests, types = false }) {
  const isReady = () =>
    isInstalled() &&
    isBundled() &&
    isAsnBuilt() &&
    (!modules || isCompiled()) &&
    (!tests || (isTapBuilt() && areTestsBundled())) &&
    (!types || areTypesWritten())
  if (!isReady()) {
    await alone(async () => {
      if (!isInstalled()) install()
      if (!isBundled()) await buildPrograms()
      if (!isAsnBuilt()) await buildAsn()
      if (modules && !isCompiled()) await compile()
      if (tests && !isTapBuilt()) buildTap()
      if (tests && !areTestsBundled()) await buildTests()
      if (types && !areTypesWritten()) await writeTypes()
    })
  }
  if (types) {
    // Programs that were built before the last commit may be those of it, too: what is packed says so.
    noteCommit()
    evenModes(root)
  }
  const reason = natsServer ? provideNatsServer(env, say) : undefined
  if (reason !== undefined) throw new PrepareError(`${natsServerMissing}\n(Fetching one failed: ${reason}.)`)
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
  // A link of an older version may lead nowhere.
  rmSync(path.binLink, { force: true })
  mkdirSync(dirname(path.binLink), { recursive: true })
  symlinkSync(join('..', '..', 'src', 'weir.mjs'), path.binLink)
  writeFileSync(path.installed, lockHash)
}

// --- programs and modules ---

/** Does every source have the same time and size as when the programs were bundled? */
function isBundled() {
  return readText(path.bundled) === bundleSignature()
}

/** Types are checked by `npm run check`, not here: a start should not wait for that. */
async function buildPrograms() {
  const signature = bundleSignature()
  say('Building …')
  // Loaded here, as all that builds: every start of a command in a clone loads this file.
  const { bundlePrograms } = await import('./bundle.mjs')
  const { bundleConsole, bundleReference } = await import('./bundle-console.mjs')
  const { bundleEvaluate } = await import('./bundle-evaluate.mjs')
  const { bundlePlayground } = await import('./bundle-playground.mjs')
  await building(bundlePrograms(root, path.programs))
  await building(bundleConsole(root, path.console))
  await building(bundleEvaluate(root, path.evaluate))
  await building(bundlePlayground(root, path.playground))
  await building(bundleReference(root, path.reference))
  noteCommit()
  writeFileSync(path.bundled, signature)
}

function noteCommit() {
  try {
    writeBuiltFrom(path.builtFrom, builtFrom(root, env.BUILT_FROM))
  } catch (error) {
    throw new PrepareError(error instanceof Error ? error.message : String(error))
  }
}

const bundleSignature = () =>
  signatureOf([
    ...withoutTypes(filesBelow('src', '.ts', '.mjs', '.tsx', '.css', '.html', '.ico', '.json', '.yaml')),
    'config/bundle.mjs',
    'config/bundle-console.mjs',
    'config/drawings.mjs',
    'config/recipes.mjs',
    ...filesBelow('docs/recipes', '.md'),
    'docs/doctor.md',
    'config/bundle-evaluate.mjs',
    'config/bundle-playground.mjs',
    'tsconfig.json',
  ])

/** The database changes with the package that it is built from, and with the code that builds it. */
const asnSignature = () => `${asnVersion()} ${hashOf(readFileSync(path.asnBuilder))}`

/** @returns {string} */
const asnVersion = () => JSON.parse(readFileSync(join(path.asnPackage, 'package.json'), 'utf8')).version

function isAsnBuilt() {
  return existsSync(path.asnDatabase) && readText(path.asnBuilt) === asnSignature()
}

async function buildAsn() {
  const signature = asnSignature()
  say('Building the database of autonomous systems …')
  const { buildAsnDatabase } = await import('./asn-database.mjs')
  buildAsnDatabase(path.asnPackage, asnVersion(), path.asnDatabase)
  writeFileSync(path.asnBuilt, signature)
}

/** Does every source and test have the same time and size as when it was compiled? */
function isCompiled() {
  return readText(path.compiled) === modulesSignature()
}

async function compile() {
  const signature = modulesSignature()
  const { buildModules } = await import('./bundle.mjs')
  await building(buildModules(root, moduleSources(), path.dist))
  writeFileSync(path.compiled, signature)
}

/** @param {Promise<void>} built */
async function building(built) {
  try {
    await built
  } catch (error) {
    throw new PrepareError(`Building failed: ${error instanceof Error ? error.message : error}`)
  }
}

const modulesSignature = () => signatureOf([...moduleSources(), 'config/bundle.mjs', 'tsconfig.json'])

const pages = ['console', 'playground', 'reference'].map((room) => join('src', 'outside', room))

const moduleSources = () => [
  ...sourcesBelow('src').filter((name) => !pages.some((page) => name.startsWith(page))),
  ...sourcesBelow('test'),
  ...filesBelow('fixtures', '.mjs'),
]

/** Some tests are of parts of pages, which are no modules of their own. */
const testsSignature = () =>
  signatureOf([
    ...moduleSources(),
    ...pages.flatMap((page) => sourcesBelow(page)),
    'config/bundle.mjs',
    'config/error-domain.mjs',
    'tsconfig.json',
  ])

/** Tests are bundled with the test runner, so after it was built. */
const areTestsBundled = () => readText(path.testsBundled) === testsSignature()

async function buildTests() {
  const signature = testsSignature()
  say('Building the tests …')
  const files = filesBelow('test', '.test.ts')
  const { bundleTests } = await import('./bundle.mjs')
  await building(bundleTests(root, files, path.tests))
  writeFileSync(path.testsBundled, signature)
}

const typesSignature = () =>
  signatureOf([...sourcesBelow('src'), 'config/declarations.mjs', 'config/type-writer.mjs', 'tsconfig.json'])

const areTypesWritten = () => readText(path.typesWritten) === typesSignature()

async function writeTypes() {
  const signature = typesSignature()
  say('Writing the types …')
  const { writeDeclarations } = await import('./declarations.mjs')
  writeDeclarations(root, path.types)
  writeFileSync(path.typesWritten, signature)
}

/** @param {string} dir */
const sourcesBelow = (dir) => withoutTypes(filesBelow(dir, '.ts', '.mjs'))

/** @param {readonly string[]} names */
const withoutTypes = (names) => names.filter((name) => !name.endsWith('.d.ts'))

/** @param {readonly string[]} names */
function signatureOf(names) {
  const lines = names.map((name) => {
    const { mtimeMs, size } = statSync(join(root, name))
    return `${name} ${mtimeMs} ${size}`
  })
  return hashOf([readText(path.installed), ...lines].join('\n'))
}

/**
 * Every start reads the tree, so it is read once for all extensions.
 *
 * @param {string} dir
 * @param {readonly string[]} extensions
 * @returns {string[]}
 */
function filesBelow(dir, ...extensions) {
  if (!existsSync(join(root, dir))) return []
  return readdirSync(join(root, dir), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && extensions.some((extension) => entry.name.endsWith(extension)))
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
 * @param {() => Promise<void>} work
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
      return await work()
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
    natsServer: !argv.includes('--no-nats-server') && !env.NATS_URL && !env.NATS_URL_FILE,
    modules: argv.includes('--modules') || argv.includes('--tests'),
    tests: argv.includes('--tests'),
    types: argv.includes('--types'),
  })
}
