/**
 * The one test that `tap` runs: it runs all the others, some processes at a time. Files that take long, or need what no
 * other has touched, have a process of their own; the others share one, because its start takes longer than they do.
 * Arguments are handed on to them, but for the beginnings of the paths of those that are to run:
 *
 *     npm test -- --test-arg=core/ --test-arg=api/lists
 *
 * With `--full` each runs as thoroughly as it can, on the disk, and then once more, as usual, on the other versions of
 * Node and on the other nats-server: a current one, or the distribution's.
 *
 * Left to run them itself, `tap` puts the hooks of its coverage into every process of a test and into all that those
 * start, wanted or not. A role then takes more than twice as long to start, and most of the time here is starts.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { argv, env, execPath, versions } from 'node:process'
import t from 'tap'
import { otherNatsServers } from './harness/other-nats-servers.js'
import { otherNodes } from './harness/other-nodes.js'
import { compiled } from './harness/processes.js'
import { wings } from './harness/wings.js'

/**
 * For a process with one file, and twice that for one with many: long enough for the slowest on a busy machine, and short
 * enough that one that hangs is named before whoever waits for the tests gives up. A file sets none for all of itself: of
 * files that share a process, the last one's would be that of all.
 */
const timeoutSeconds = 900
/** For the last lines of a process that has ended. */
const lastOutputMs = 10_000
/** More than twice the cores of the smallest machine: most of a test is waiting. More only take turns on the cores. */
const filesAtATime = 6
/** MiB for new objects from the start, which V8 then collects more rarely: some percent of the CPU of a test of the API. */
const nodeOptions = ['--min-semi-space-size=16']
/**
 * Most code of a test is over before it pays to optimize it: a test of the API takes a sixth less CPU if V8 waits eight
 * times as long as usual. Later versions of Node have a cheaper compiler for such code, and other options.
 */
const ownNodeOptions = versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : []
/** These take longest, or their rooms' files do. Begun first, none is left at the end for the others to wait for. */
const longest = [
  ...['console/', 'integration/expired-events', 'integration/vanished-packs', 'playground/', 'store/'],
  ...[
    'docs/operating',
    'fuzz/',
    'expr/differential',
    'integration/',
    'cli/publish',
    'process/',
    'nats-server/',
  ],
  ...['deliver/', 'demo/', 'api/'],
]

const wing = new RegExp(`^(?:${Object.keys(wings).join('|')})/`)

/** The path from its room on: rooms are known by their names, in whichever wing they are. */
const inWing = (file: string): string => file.replace(wing, '')

const rank = (file: string): number => {
  const at = longest.findIndex((beginning) => inWing(file).startsWith(beginning))
  return at === -1 ? longest.length : at
}

/**
 * Files that share processes. Those of the API share a store in each; so do those of its clients and documents. What looks
 * at all of a store, or deletes parts of it, shares another, of which the accounts are the first; or it has one alone. What
 * looks at the heap has one, too: some hundred MiB of others' garbage change what the product does.
 */
const groups: readonly { readonly files: RegExp; readonly processes: number }[] = [
  { files: /^api\/(?!accounts|decision-log|idempotency|security|shared-dead-letters)/, processes: 5 },
  { files: /^api\/(accounts|idempotency|security)\./, processes: 1 },
  { files: /^(client\/client|docs\/(examples|fields))\./, processes: 1 },
  {
    files:
      /^((access|cli(?!\/publish\.)|core(?!\/clock\.)|evaluate|event|exchange|http(?!\/bounds\/memory-return\.)|insight|operate|outgoing|pki|record|resource|roles|scheduled|shape|view|wire|write)\/|console\/(completion|json-object|rule-files|shell)\.)/,
    processes: 2,
  },
  { files: /^(deliver|emulator)\//, processes: 2 },
  {
    files: /^(books|nats|pipeline(?!\/(?:preferred-partitions|quarantine)\.)|produce|trial)\//,
    processes: 2,
  },
  {
    files: /^store\/(answers|audit-relay|compare|foreign-rows|heads|plan|queues|rule-chunks|sealed-values)\./,
    processes: 1,
  },
  { files: /^integration\/(destination|event)-kind\./, processes: 1 },
  // These share a service and a browser.
  { files: /^console\/(?!completion|json-object|rule-files|shell)/, processes: 1 },
  // Those of a process share a service, see `integration/service.ts`. The last one ends it.
  {
    files:
      /^integration\/(abuse-reports|agents|audit-in|aws-clock|bouncers|compressed|counters|expression-failures|fed-lists|frozen|history|(kafka|nats)-destination|nats-credentials|published-records|re(play|sent)|sql|stored-events|trial|whole-path|without-service)\./,
    processes: 2,
  },
]

const memory = '/dev/shm'
const memoryBytesMin = 8 * 2 ** 30

/**
 * Tests kill processes, never the machine, so nothing that they look at depends on a disk. Databases that are made and
 * deleted by the hundred keep a disk busy, and the tests waiting.
 */
function temporaryDir(): string {
  try {
    const { bavail, bsize } = statfsSync(memory)
    const mount = readFileSync('/proc/self/mounts', 'utf8').match(/^\S+ \/dev\/shm \S+ (\S+)/m)
    // Some tests put programs there.
    const runsPrograms = mount?.[1]?.split(',').includes('noexec') === false
    return bavail * bsize >= memoryBytesMin && runsPrograms ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}

const options = argv.slice(2).filter((each) => each.startsWith('-'))
const wanted = argv.slice(2).filter((each) => !each.startsWith('-'))
const isWanted = (file: string): boolean =>
  wanted.length === 0 || wanted.some((path) => file.startsWith(path) || inWing(file).startsWith(path))

const files = readdirSync(compiled('tests'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.js') && isWanted(file))
  .toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b))

/** The files that each process runs: one, or its part of a group. */
const processes = files.flatMap((file) => {
  const group = groups.find(({ files }) => files.test(inWing(file)))
  if (group === undefined) return [[file]]
  const members = files.filter((each) => group.files.test(inWing(each)))
  const perProcess = Math.ceil(members.length / group.processes)
  const at = members.indexOf(file)
  return at % perProcess === 0 ? [members.slice(at, at + perProcess)] : []
})

/** A group keeps one core busy at most, and a file that starts processes more: they take turns. */
const shared = processes.filter((files) => files.length > 1)
const own = processes.filter((files) => files.length === 1)
const runs = [
  ...own.flatMap((files, index) => [files, ...shared.slice(index, index + 1)]),
  ...shared.slice(own.length),
]

/** `tap` sets NODE_OPTIONS for all it starts. npm, which some tests start, takes the first `node` of PATH. */
const runAll = (
  dirsOfPath: readonly string[],
  more: readonly string[],
  TMPDIR: string,
  suffix = '',
): void => {
  for (const files of runs) {
    const paths = files.map((file) => join('dist/tests', file))
    const imports = paths.map((path) => `import './${path}'`).join('\n')
    // A process that is started with `--eval` starts its own children so: a file that is alone is started as itself.
    const program = paths.length === 1 ? paths : ['--input-type=module', '--eval', imports, '--']
    // Without source maps, which every file would read: a failure is shown with its lines of the bundled file.
    const lazy = suffix === '' ? ownNodeOptions : []
    const args = ['-u', 'NODE_OPTIONS', 'node', ...nodeOptions, ...lazy, ...program, ...more]
    const seconds = timeoutSeconds * Math.min(files.length, 2)
    void t.spawn('env', args, {
      name: `${paths.join(' ')}${suffix}`,
      buffered: true,
      timeout: seconds * 1_000,
      env: {
        ...env,
        TMPDIR,
        PATH: [...dirsOfPath, env['PATH'] ?? ''].join(delimiter),
        TAP_TIMEOUT: String(seconds),
      },
      at: null,
      stack: '',
    })
  }
}

const isFull = options.includes('--full')
const usualOptions = options.filter((option) => option !== '--full')
const ownNode = dirname(execPath)

const others = isFull ? [...otherNodes(), ...(await otherNatsServers())] : []

t.setTimeout(0)
t.jobs = filesAtATime
// `tap` waits until nobody holds the output of a test: a process that one left behind would keep it waiting for ever.
t.on('spawn', (test) =>
  test.on('process', (child) =>
    child.once('exit', () => void setTimeout(() => child.stdout?.destroy(), lastOutputMs).unref()),
  ),
)
t.plan(others.reduce((count, { program }) => count + ('dir' in program ? runs.length : 1), runs.length))
const dir = env['TMPDIR'] ?? mkdtempSync(join(temporaryDir(), 'weir-tests-'))
// Servers that tests start as root serve files as another user.
if (env['TMPDIR'] === undefined) chmodSync(dir, 0o711)
if (env['TMPDIR'] === undefined) t.teardown(() => rmSync(dir, { recursive: true, force: true }))
runAll([ownNode], options, isFull ? tmpdir() : dir)
for (const { name, program } of others) {
  if ('dir' in program) runAll([program.dir, ownNode], usualOptions, dir, ` on ${name}`)
  else void t.test(name, { skip: program.missing }, () => {})
}
