/** The rules of the house that no other tool checks: who may import whom, who alone may do what, how large things get. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { settingNames } from '../src/management/process/setting-layers.js'
import { Checks } from './harness/checks.js'
import { wings } from './harness/wings.js'

/** Beside the wings: the room where all meet, and the files next to it. */
const besides = ['roles', '.']

const rooms = [...Object.values(wings).flat(), ...besides]

/** Folders of the console, in the same order: `kit` knows nothing of Weir. The files next to them come last. */
const consoleFolders = ['data', 'kit', 'parts', 'pages', '']

/** The parts of `data` that `kit` may import: the browser's page and texts, but nothing that asks the API. */
const knownToKit = /^src\/outside\/console\/(kit\/.*|data\/(texts\/)?[a-z-]+\.ts)$/

interface Never {
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly why: string
}

/** The rooms that answer those who manage Weir, and those of the command line. */
const management = [
  'exchange',
  'access',
  'write',
  'scheduled',
  'insight',
  'operate',
  'http',
  'api',
  'cli',
  'roles',
]

/** The design, as imports that never happen, types included. */
const never: readonly Never[] = [
  {
    from: ['pipeline', 'deliver', 'evaluate', 'produce', 'trial', 'books', 'decide', 'view'],
    to: ['store'],
    why: 'traffic flows while ClickHouse is away: it lives on the view alone',
  },
  {
    from: ['pipeline', 'deliver', 'evaluate', 'produce', 'trial', 'books'],
    to: management,
    why: 'traffic knows nothing of HTTP',
  },
  {
    from: ['store', 'exchange', 'access', 'write', 'scheduled', 'http', 'api'],
    to: ['pipeline'],
    why: 'a change is announced by the bucket, not by calls',
  },
  {
    from: ['process'],
    to: ['pipeline', 'store', 'insight', 'operate', 'api'],
    why: 'a process never knows what its role does',
  },
  {
    from: [
      'exchange',
      'access',
      'write',
      'scheduled',
      'decide',
      'telemetry',
      'process',
      'insight',
      'operate',
    ],
    to: ['http', 'api'],
    why: 'answers are made without knowing how they are asked for',
  },
  { from: ['books'], to: ['deliver'], why: 'counting is independent of how events are sent' },
  { from: ['deliver', 'outgoing'], to: ['resource'], why: 'delivery moves bytes and knows no resources' },
  { from: ['emulator'], to: ['deliver'], why: 'an emulator that shares code with its client proves nothing' },
]

/** Packages that a room never knows. */
const neverPackages: Readonly<Record<string, readonly string[]>> = {
  fastify: [
    'exchange',
    'access',
    'write',
    'scheduled',
    'decide',
    'telemetry',
    'process',
    'insight',
    'operate',
  ],
}

/** Rooms that use a few others only. */
const uses: Readonly<Record<string, readonly string[]>> = {
  // `deliver`: the table of destination kinds, which loads little. `outgoing`: `weir listen` forwards events. `event`: `weir
  // ddl` prints its declarations. `ingest`, `nats`: `weir publish` is an ingress node. `evaluate`, `record`: `weir test FILE`
  // decides without a server.
  cli: [
    'as-code',
    'import',
    'client',
    'process',
    'core',
    'deliver',
    'outgoing',
    'event',
    'shape',
    'ingest',
    'nats',
    'nats-server',
    'evaluate',
    'record',
  ],
  // What can be managed is what is declared and what the client does.
  'as-code': ['client', 'core', 'resource', 'shape'],
  // An import makes what files describe. `event`: the kinds of events. `deliver`: the form of a secret.
  import: ['as-code', 'client', 'core', 'resource', 'event', 'deliver', 'shape'],
  // It is bundled for browsers: of all but the client it knows types.
  console: ['client', 'core', 'shape', 'resource', 'event', 'wire'],
  // It is bundled for browsers, with the evaluator: it decides in the page.
  playground: ['console', 'core', 'evaluate', 'record', 'shape'],
  // It is bundled for browsers: it reads the API's document.
  reference: ['console', 'core'],
}

/** Rooms that only some others may import. Files next to the rooms are `.`. */
const importedOnlyBy: Readonly<Record<string, readonly string[]>> = {
  console: ['playground', 'reference'],
  playground: [],
  reference: [],
  emulator: ['demo'],
  demo: ['.'],
  roles: ['.'],
}

/** The modules that `main.ts` loads before it knows the command: `weir --version` and a role's start pay for them. */
const loadedByEveryCommand = {
  rooms: [
    '.',
    'cli',
    'core',
    'wire',
    'expr',
    'record',
    'outgoing',
    'deliver',
    'event',
    'nats',
    'nats-server',
    'telemetry',
    'process',
  ],
  // The members of targets are schemas, and settings derive from the kinds of targets.
  packages: ['commander', 'jsonc-parser', 'pino', 'pino-pretty', 'prom-client', 'typebox'],
}

/** Packages that are no client of anything: a vocabulary of declarations, a parser. */
const plainPackages = new Set(['typebox', 'fastify', 'jsonc-parser', 'preact', '@preact/signals'])

/** Files that are bundled for browsers are needed to build, not to run. */
const isBundled = (file: string): boolean => /^src\/outside\/(console|playground|reference)\//.test(file)

/** A kind of destination is a client of ClickHouse, too. */
const clickhouseKind = [
  'src/delivery/deliver/kinds/clickhouse.ts',
  'src/delivery/deliver/clickhouse/table-client.ts',
]

/** Clients that several files know together: those of a subject that is too large for one. */
const shared = [
  { packages: /^@codemirror\//, files: /^src\/outside\/console\/parts\/editor\/[a-z-]*\.ts$/ },
  // Where it is used, and where a page loads it late.
  { packages: /^re2js$/, files: /^src\/(ground\/expr\/regex|outside\/playground\/late-re2js)\.ts$/ },
  { packages: /^@opentelemetry\//, files: /^src\/management\/telemetry\/[a-z-]*\.ts$/ },
  { packages: /^@nats-io\//, files: /^src\/ground\/nats\/(outside\/)?[a-z0-9-]*\.ts$/ },
  {
    packages: /^@clickhouse\/client$/,
    files:
      /^src\/(management\/store\/clickhouse\/(clickhouse|errors)|delivery\/deliver\/clickhouse\/table-client)\.ts$/,
  },
]

/** Programs of others import it: see `exports` of package.json. */
const entryPoint = 'src/judging/evaluate/portable/evaluate-anywhere.ts'

/** Builds put them in the place of others: see `config/bundle-playground.mjs` and `test/simulate/build.ts`. */
const replacements = [
  'test/simulate/world/clock.ts',
  'test/simulate/world/ulid.ts',
  'src/outside/playground/late-re2js.ts',
  'src/outside/playground/plain-link.tsx',
  'src/outside/playground/plain-names.ts',
]

/** The clocks of Node and of browsers. */
const clocks = ['src/ground/core/clock.ts', 'src/outside/console/data/clock.ts']

/** The files that one thing is left to. */
const alone = [
  { what: 'process.env', pattern: /\bprocess\.env\b/, files: ['src/management/process/settings.ts'] },
  {
    what: 'the time',
    pattern: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/,
    files: clocks,
  },
  {
    what: 'timers',
    pattern: /(?<![.\w])set(Timeout|Interval|Immediate)\(|node:timers/,
    files: clocks,
  },
  {
    what: 'names of partitions',
    pattern: /['"](WEIR_(RECORDS|DELIVERIES)|weir\.deliveries)|`weir\.deliveries/,
    files: ['src/delivery/wire/partitions.ts'],
  },
  { what: 'chance', pattern: /\bMath\.random\(|\brandomUUID\(/, files: ['src/ground/core/clock.ts'] },
]

/** A file that runs before anything is compiled can't import the clock. */
const isLauncher = (file: string): boolean => file.endsWith('.mjs')

const forbidden = [
  { what: 'something left to do', pattern: /\b(TODO|FIXME|XXX)\b/ },
  { what: 'a test that silences the others', pattern: /\.only\(/ },
  { what: 'a silenced type error', pattern: /@ts-(ignore|nocheck)/ },
]

/** Files that list the files of their room: one file per kind, however small. */
const catalogs = [
  'src/delivery/ingest/formats.ts',
  'src/delivery/deliver/kinds.ts',
  'src/words/event/catalog.ts',
  'src/words/resource/registry.ts',
]

const smallFileLines = 60
/** Smaller files with one importer, of their own room, and why they are not part of it. */
const smallFiles: Readonly<Record<string, string>> = {
  'src/management/api/ip-lists/ip-list-preview.ts':
    'a route of its own; its importer lists the routes of all rooms',
  'src/management/api/ip-lists/ip-list-refresh.ts':
    'a route of its own; its importer lists the routes of all rooms',
  'src/management/api/overview-routes.ts': 'a route of its own; its importer lists the routes of all rooms',
  'src/outside/cli/import/import-report.ts': 'sentences; its importer reads and writes files',
  'src/outside/import/ngrok/list-pages.ts': 'the form of answers; its importer knows what is in the lists',
  'src/outside/cli/policy-tests/junit.ts': 'a format of its own; its importer runs tests and shows them',
  'src/words/client/session.ts': 'its importer, the list of all operations, is as long as a file may be',
  'src/words/client/targets.ts': 'its importer, the list of all operations, is as long as a file may be',
  'src/outside/console/data/drafts/yaml-expression.ts':
    'its importer, the editor, is as long as a file may be',
  'src/outside/console/data/recipes.ts': 'the build puts the text of the documents in its place',
  'src/delivery/deliver/advice/file-advice.ts': 'sentences, beside those of the other kinds',
  'src/delivery/deliver/lane/credentials-age.ts':
    'a state machine of its own; the lane, the longest file, only asks it',
  'src/delivery/deliver/lane/hand-pause.ts':
    'a state machine of its own; the run of a destination only asks it',
  'src/delivery/deliver/malformed-packs.ts':
    'its importer, the run of a destination, is as long as a file may be',
  'src/delivery/nats-server/ending.ts': 'its importer, the life of the server, is as long as a file may be',
  'src/ground/nats/server-2-9.ts': 'the workaround for one version of nats-server, which goes as a whole',
  'src/judging/pipeline/recent-work.ts': 'a measure of its own, next to the fetching that it guides',
  'src/outside/as-code/given-up-hostports.ts': 'a function without requests; its importer makes them',
  'src/outside/as-code/list-entries.ts': 'the form of one kind of parts; its importer compares all of them',
  'src/outside/as-code/tokens-file.ts': 'the only file that is written; its importer makes requests',
  'src/outside/playground/example.ts': 'the build takes its place',
  'src/management/operate/advice/billed-units.ts':
    'what a service bills; its importer only puts a status together',
  'src/management/store/logs/own-reached.ts':
    'its importer, the reader of the log, is as long as a file may be',
  'src/outside/as-code/claimed-twice.ts': 'a check of a whole plan; its importer is as long as a file may be',
  'src/management/write/row-values.ts': 'the plans of writes are as long as a file may be',
  'src/management/write/state-lookups.ts': 'the plans of writes are as long as a file may be',
  'src/delivery/deliver/advice/http-advice.ts': 'sentences, beside those of the other kinds',
  'src/delivery/deliver/deleted-destinations.ts': 'its importer, the deliverer, is as long as a file may be',
  'src/delivery/nats-server/jetstream-calls.ts':
    'the grammar of subjects that the users of roles may publish to',
  'src/delivery/outgoing/host-lookup.ts':
    'how a name is looked up; its importer says which addresses are allowed',
  'src/judging/trial/changed-examples.ts':
    'which records are shown is chosen apart from how they are counted',
  'src/judging/trial/side.ts': 'one of the two configurations that its importer compares',
  'src/management/api/account-trial-routes.ts': 'a route of its own: a list of routes is no place for one',
  'src/delivery/record/record-shapes.ts': 'state of the whole process, which its importer reads records with',
  'src/ground/expr/spelling.ts': 'a pass over the tree, next to the other passes',
  'src/judging/evaluate/agents/named-by-accounts.ts':
    'the names that agents claim; its importer is as long as a file may be',
  'src/management/operate/targets/target-test.ts':
    'a test of a target, next to what else is done with targets',
  'src/management/store/clickhouse/tls-agent.ts': 'TLS; its importer is as long as a file may be',
  'src/outside/console/pages/ip-lists/new/use-step.tsx': 'a step of a flow, next to the other steps',
  'src/roles/begun-api-counters.ts': 'counters of the API alone; other roles must not load what it imports',
  'src/words/shape/explanation/readings.ts': 'a part of an answer; its importer is as long as a file may be',
}

const fileLinesMax = 300
/** Longer, up to 400 lines, and the idea that a cut would split. */
const longFiles: Readonly<Record<string, string>> = {
  'src/delivery/deliver/destination-run.ts': 'the states of a run, each next to what leads out of it',
  'src/delivery/deliver/lane/lane.ts': 'the way of a batch, whose steps share the state of its requests',
  'src/ground/nats/bucket.ts': 'one bucket: reads, writes and watches keep one promise',
  'src/ground/nats/nats.ts': 'one connection, and what is opened on it',
  'src/judging/pipeline/catch-ups.ts': 'the states of a destination that is behind, as drawn at its top',
  'src/management/insight/decision-filter.ts': 'each condition of a filter beside the SQL that it becomes',
  'src/management/insight/trials.ts': 'the states of a trial, each next to what leads out of it',
  'src/management/access/sessions.ts': 'a session from its beginning to its end, in memory and in the bucket',
  'src/management/scheduled/feeds/feed-turn.ts': 'one fetch, from the lock to the stored state',
  'src/words/client/client.ts': 'the list of all operations',
  'src/words/event/define.ts': 'the kinds of fields, beside what each may be declared with',
  'src/words/resource/fields/ip-list-source.ts':
    'one member of a resource: its schema, its checks, how it is shown',
}
const longFileLinesMax = 400
const filesAtTopMax = 30
const functionLinesMax = 70
const topLevel = [
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'Dockerfile',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'config',
  'docker-compose.yml',
  'docs',
  'fixtures',
  'package-lock.json',
  'package.json',
  'src',
  'test',
  'tsconfig.json',
]
/** Made by running, and kept out of the repository. */
const generated = ['data', 'dist', 'node_modules']
/** Streams, which share our prefix with the settings. */
const streams = [
  'WEIR_RECORDS',
  'WEIR_DELIVERIES',
  'WEIR_DEADLETTER',
  'WEIR_AUDIT',
  'WEIR_AUDIT_IN',
  'WEIR_BOOKS',
  'WEIR_PROBE',
  'WEIR_DECISIONS',
]

interface Source {
  readonly file: string
  readonly text: string
  readonly tree: ts.SourceFile
}

interface Import {
  readonly from: string
  readonly typesOnly: boolean
  readonly isDynamic: boolean
  /** As the other file exports them; `*` if any may be used. */
  readonly names: readonly string[]
}

const filesBelow = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(tsx?|mjs)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()

const read = (file: string): Source => {
  const text = readFileSync(file, 'utf8')
  return { file, text, tree: ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true) }
}

const sources = filesBelow('src').map(read)
const tests = filesBelow('test').map(read)

const importsRead = new Map<Source, readonly Import[]>()

function importsOf(source: Source): readonly Import[] {
  const known = importsRead.get(source)
  if (known !== undefined) return known
  const imports: Import[] = []
  const visit = (node: ts.Node): void => {
    const isStatic = ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
    if (isStatic && node.moduleSpecifier !== undefined && ts.isStringLiteral(node.moduleSpecifier)) {
      const from = node.moduleSpecifier.text
      imports.push({ from, typesOnly: isTypesOnly(node), isDynamic: false, names: namesOf(node) })
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [from] = node.arguments
      if (from !== undefined && ts.isStringLiteral(from))
        imports.push({ from: from.text, typesOnly: false, isDynamic: true, names: awaitedNames(node) })
    }
    ts.forEachChild(node, visit)
  }
  visit(source.tree)
  importsRead.set(source, imports)
  return imports
}

function namesOf(node: ts.ImportDeclaration | ts.ExportDeclaration): string[] {
  const named = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause
  if (named === undefined || ts.isNamespaceImport(named) || ts.isNamespaceExport(named)) return ['*']
  return named.elements.map((element) => (element.propertyName ?? element.name).text)
}

/** The names in `const { a, b } = await import('…')` and `(await import('…')).a`. */
function awaitedNames(call: ts.CallExpression): string[] {
  let outer: ts.Node = call.parent
  while (ts.isAwaitExpression(outer) || ts.isParenthesizedExpression(outer)) outer = outer.parent
  if (ts.isPropertyAccessExpression(outer)) return [outer.name.text]
  if (!ts.isVariableDeclaration(outer) || !ts.isObjectBindingPattern(outer.name)) return ['*']
  return outer.name.elements.map(({ propertyName, name }) => (propertyName ?? name).getText())
}

function exportedNames({ file, tree }: Source): string[] {
  // Programs that use the client need its types.
  const ofClient = roomOf(file) === 'client'

  return tree.statements.flatMap((node) => {
    const isExported =
      ts.canHaveModifiers(node) &&
      ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
    if (!isExported) return []
    if (ts.isVariableStatement(node))
      return node.declarationList.declarations.map(({ name }) => name.getText())
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
      return ofClient ? [] : [node.name.text]
    const isNamed = ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)
    return isNamed && node.name !== undefined ? [node.name.text] : []
  })
}

function isTypesOnly(node: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(node)) return node.isTypeOnly
  const clause = node.importClause
  if (clause === undefined) return false
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true
  const named = clause.namedBindings
  const everyNameIsType =
    named !== undefined && ts.isNamedImports(named) && named.elements.every((element) => element.isTypeOnly)
  return clause.name === undefined && everyNameIsType
}

/** The source that a relative import means. */
function target(file: string, from: string): string {
  const path = normalize(join(dirname(file), from)).replace(/\.js$/, '.ts')
  return existsSync(path) || !existsSync(`${path}x`) ? path : `${path}x`
}

const isWing = (name: string): boolean => Object.hasOwn(wings, name)

const roomOf = (file: string): string => {
  const [, first = '', second = '', ...rest] = file.split('/')
  if (isWing(first)) return rest.length === 0 ? '' : second
  return second === '' ? '.' : first
}

const wingOf = (file: string): string | undefined => file.split('/').slice(1, 2).find(isWing)

const dirOf = (room: string): string => {
  const wing = Object.keys(wings).find((name) => wings[name]?.includes(room) === true)
  return wing === undefined ? `src/${room}` : `src/${wing}/${room}`
}

const packageOf = (from: string): string =>
  from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/')

t.test('every file is in a room, and every room in its wing', (t) => {
  const checks = new Checks()
  for (const { file } of sources) {
    const room = roomOf(file)
    checks.ok(rooms.includes(room) && (room === '.' || file.startsWith(`${dirOf(room)}/`)), file)
  }
  checks.report(t)
  t.end()
})

t.test('the order of rooms is that of the document', (t) => {
  const [, drawn = ''] = /```\n(ground [^`]+)```/.exec(readFileSync('docs/architecture.md', 'utf8')) ?? []
  const lines = drawn.trim().split('\n')
  t.strictSame(
    lines.map((line) => line.trim().split(/\s+/)),
    [...Object.entries(wings).map(([wing, rooms]) => [wing, ...rooms]), ['roles', 'main.ts']],
  )
  const described = readFileSync('docs/architecture.md', 'utf8').matchAll(/^\| `([a-z-]+)` \| .* \| .* \|$/gm)
  const names = [...described].map(([, name]) => name)
  t.strictSame(names.filter((name) => rooms.includes(name ?? '')).toSorted(), rooms.slice(0, -1).toSorted())
  t.end()
})

t.test('a wing imports only from those above', (t) => {
  const checks = new Checks()
  const order = [...Object.keys(wings), undefined]
  for (const source of sources) {
    for (const { from } of importsOf(source).filter((each) => each.from.startsWith('.'))) {
      const imported = target(source.file, from)
      if (!imported.startsWith('src/')) continue
      const isAbove = order.indexOf(wingOf(imported)) <= order.indexOf(wingOf(source.file))
      checks.ok(isAbove, `${source.file} imports ${imported}`)
    }
  }
  checks.report(t)
  t.end()
})

t.test('a file imports from its own room or one to its left', (t) => {
  const checks = new Checks()
  for (const source of sources) {
    for (const { from } of importsOf(source).filter((each) => each.from.startsWith('.'))) {
      const imported = target(source.file, from)
      const isLeft = rooms.indexOf(roomOf(imported)) <= rooms.indexOf(roomOf(source.file))
      const isPreparation = isLauncher(source.file) && imported.startsWith('config/')
      checks.ok(isLeft || isPreparation, `${source.file} imports ${imported}`)
      checks.ok(isPreparation || imported.startsWith('dist/') || existsSync(imported), `${imported} exists`)
    }
  }
  checks.report(t)
  t.end()
})

t.test('a folder of the console imports only from those to its left', (t) => {
  const checks = new Checks()
  const home = 'src/outside/console/'
  const folderOf = (file: string): number => {
    const [first = '', ...rest] = file.slice(home.length).split('/')
    return consoleFolders.indexOf(rest.length === 0 ? '' : first)
  }
  for (const source of sources.filter(({ file }) => file.startsWith(home))) {
    checks.ok(folderOf(source.file) >= 0, `${source.file} is in a folder that has a place`)
    for (const { from } of importsOf(source).filter((each) => each.from.startsWith('.'))) {
      const imported = target(source.file, from)
      const isLeft = !imported.startsWith(home) || folderOf(imported) <= folderOf(source.file)
      checks.ok(isLeft, `${source.file} imports ${imported}`)
      const isOfKit = source.file.startsWith(`${home}kit/`)
      checks.ok(!isOfKit || knownToKit.test(imported), `${source.file} knows ${imported}`)
    }
  }
  checks.report(t)
  t.end()
})

t.test('no folders import each other in a circle', (t) => {
  const graph = new Map<string, Set<string>>()
  for (const source of sources) {
    const folder = dirname(source.file)
    const imported = graph.get(folder) ?? new Set()
    for (const { from } of importsOf(source).filter((each) => each.from.startsWith('.')))
      imported.add(dirname(target(source.file, from)))
    graph.set(folder, imported)
  }
  const reached = new Map([...graph.keys()].map((folder) => [folder, reachedFrom(folder, graph)]))
  const isTied = (one: string, other: string): boolean =>
    one !== other && reached.get(one)?.has(other) === true && reached.get(other)?.has(one) === true
  const found = new Set(
    [...graph.keys()].flatMap((folder) => {
      const tied = [...graph.keys()].filter((other) => isTied(folder, other))
      return tied.length === 0 ? [] : [[folder, ...tied].toSorted().join(' · ')]
    }),
  )
  t.strictSame([...found], [], 'untie it')
  t.end()
})

/** All that can be reached over one edge or several. */
function reachedFrom(start: string, graph: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set<string>()
  const visit = (node: string): void => {
    for (const next of graph.get(node) ?? []) {
      if (reached.has(next)) continue
      reached.add(next)
      visit(next)
    }
  }
  visit(start)
  return reached
}

t.test('a room shows at most so many files at its top, and no name is in more than two rooms', (t) => {
  const roomsOf = new Map<string, Set<string>>()
  const atTop = new Map<string, number>()
  for (const { file } of sources) {
    const room = roomOf(file)
    if (dirname(file) === dirOf(room)) atTop.set(room, (atTop.get(room) ?? 0) + 1)
    roomsOf.set(basename(file), (roomsOf.get(basename(file)) ?? new Set()).add(room))
  }
  for (const [room, files] of atTop) t.ok(files <= filesAtTopMax, `${room}: ${files} files`)
  // Each page that is built begins with it.
  roomsOf.delete('main.tsx')
  for (const [name, rooms] of roomsOf) t.ok(rooms.size <= 2, `${name}: ${[...rooms].join(', ')}`)
  t.end()
})

t.test('imports that never happen', (t) => {
  const checks = new Checks()
  for (const source of sources) {
    const room = roomOf(source.file)
    for (const { from } of importsOf(source)) {
      checks.ok(neverPackages[packageOf(from)]?.includes(room) !== true, `${source.file} imports ${from}`)
      if (
        /^(@clickhouse\/|chdb)/.test(from) &&
        !(from === '@clickhouse/client' && clickhouseKind.includes(source.file))
      )
        checks.equal(room, 'store', `${source.file}: only store and its kind of destination know ClickHouse`)
      if (!from.startsWith('.')) continue
      const to = roomOf(target(source.file, from))
      const broken = never.find((each) => each.from.includes(room) && each.to.includes(to))
      checks.equal(broken, undefined, `${source.file} imports ${from}: ${broken?.why}`)
      checks.ok(room === to || (uses[room]?.includes(to) ?? true), `${source.file} imports ${from}`)
      const only = importedOnlyBy[to]
      checks.ok(only === undefined || room === to || only.includes(room), `${source.file} imports ${from}`)
    }
  }
  checks.report(t)
  t.end()
})

t.test('what every command loads is little', (t) => {
  const loaded = new Set<string>()
  const load = (file: string): void => {
    if (loaded.has(file)) return
    loaded.add(file)
    t.ok(loadedByEveryCommand.rooms.includes(roomOf(file)), `main.ts loads ${file}`)
    for (const { from, typesOnly, isDynamic } of importsOf(sources.find((each) => each.file === file)!)) {
      if (typesOnly || isDynamic || from.startsWith('node:')) continue
      if (from.startsWith('.')) load(target(file, from))
      else t.ok(loadedByEveryCommand.packages.includes(packageOf(from)), `${file} loads ${from}`)
    }
  }
  load('src/main.ts')
  t.end()
})

t.test('an export has a user', (t) => {
  const checks = new Checks()
  const used = new Set<string>()
  for (const source of [...sources, ...tests, ...filesBelow('config').map(read)]) {
    for (const { from, names } of importsOf(source)) {
      if (from.startsWith('.')) for (const name of names) used.add(`${target(source.file, from)} ${name}`)
    }
  }
  for (const source of [...sources, ...tests]) {
    const { file } = source
    if (used.has(`${file} *`) || replacements.includes(file)) continue
    for (const name of exportedNames(source)) checks.ok(used.has(`${file} ${name}`), `${file}: ${name}`)
  }
  checks.report(t)
  t.end()
})

t.test('no export is for tests alone', (t) => {
  const checks = new Checks()
  const used = new Set<string>()
  for (const source of [...sources, ...filesBelow('config').map(read)]) {
    for (const { from, names } of importsOf(source))
      for (const name of from.startsWith('.') ? names : [])
        used.add(`${target(source.file, from).replace(/^dist\//, '')} ${name}`)
  }
  const own = sources.filter(
    ({ file }) => roomOf(file) !== 'client' && file !== entryPoint && !replacements.includes(file),
  )
  for (const source of own) {
    const { file, text } = source
    const code = withoutComments(text)
    for (const name of exportedNames(source)) {
      const isUsedHere = [...code.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length > 1
      checks.ok(isUsedHere || used.has(`${file} ${name}`) || used.has(`${file} *`), `${file}: ${name}`)
    }
  }
  checks.report(t)
  t.end()
})

t.test('a small file with one importer has a reason to be a file', (t) => {
  const importers = new Map<string, Set<string>>()
  const onDemand = new Set<string>()
  for (const source of sources) {
    for (const { from, isDynamic } of importsOf(source).filter((each) => each.from.startsWith('.'))) {
      const imported = target(source.file, from)
      importers.set(imported, (importers.get(imported) ?? new Set()).add(source.file))
      if (isDynamic) onDemand.add(imported)
    }
  }
  const small = sources.filter(({ file, text }) => {
    const [importer = '', ...others] = importers.get(file) ?? []
    if (
      importer === '' ||
      others.length > 0 ||
      roomOf(importer) !== roomOf(file) ||
      catalogs.includes(importer)
    )
      return false
    return text.split('\n').length <= smallFileLines && !onDemand.has(file) && !replacements.includes(file)
  })
  t.strictSame(
    small.map(({ file }) => file).toSorted(),
    Object.keys(smallFiles).toSorted(),
    'merge it into its importer, or list it with the reason',
  )
  t.end()
})

t.test('one file of each room says "Start here"', (t) => {
  for (const room of rooms) {
    const files = sources.filter(({ file }) => roomOf(file) === room)
    const chiefs = files
      .filter(({ text }) => /^\/\*\*\s+(\* )?Start here: /.test(text))
      .map(({ file }) => file)
    t.equal(chiefs.length, 1, `${room}: ${chiefs.join(', ')}`)
    const namesake = `${dirOf(room)}/${room}.ts`
    if (existsSync(namesake)) t.strictSame(chiefs, [namesake], `${room}: the file with its name`)
  }
  t.end()
})

t.test('no file imports itself by way of others', (t) => {
  const graph = new Map(
    sources.map((source) => [
      source.file,
      importsOf(source)
        .filter(({ from }) => from.startsWith('.'))
        .map(({ from }) => target(source.file, from)),
    ]),
  )
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (path.includes(file) || done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  t.strictSame(cycles, [])
  t.end()
})

t.test('a third-party client is known to one file', (t) => {
  const users = new Map<string, Set<string>>()
  for (const source of sources) {
    for (const { from, typesOnly } of importsOf(source)) {
      if (typesOnly || from.startsWith('.') || from.startsWith('node:')) continue
      const name = packageOf(from)
      users.set(name, (users.get(name) ?? new Set()).add(source.file))
    }
  }
  for (const [name, files] of users) {
    const together = shared.find(({ packages }) => packages.test(name))
    const strangers = [...files].filter((file) => together?.files.test(file) !== true)
    if (together !== undefined) t.strictSame(strangers, [], `${name} is known where it belongs`)
    else if (!plainPackages.has(name)) t.equal(files.size, 1, `${name}: ${strangers.join(', ')}`)
  }
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  ) as Record<string, object>
  for (const [name, files] of users) {
    const isForBrowsers = [...files].every(isBundled)
    const here = isForBrowsers ? devDependencies : { ...dependencies, ...optionalDependencies }
    t.ok(name in { ...here }, `${name} is a dependency`)
  }
  t.end()
})

t.test('what is left to one file is done nowhere else', (t) => {
  const checks = new Checks()
  for (const { file, text } of sources.filter(({ file }) => !isLauncher(file))) {
    const code = withoutComments(text)
    for (const { what, pattern, files } of alone)
      if (!files.includes(file)) checks.ok(!pattern.test(code), `${file}: ${what}`)
  }
  checks.report(t)
  t.end()
})

t.test('a file that a comment names exists', (t) => {
  const checks = new Checks()
  const form = /(?<![\w./@*$-])((?:[\w.-]+\/)*[\w.-]*\w\.(?:tsx?|mjs|md))\b(?![\w/(])/g
  // Named from the top, from its room on, or by its name alone if it is in the same directory.
  const bases = [
    '',
    ...['src', 'test'].flatMap((top) => [top, ...Object.keys(wings).map((wing) => join(top, wing))]),
  ]
  let named = 0
  for (const { file, text } of [...sources, ...tests]) {
    for (const [, name = ''] of commentsIn(text).matchAll(form)) {
      named += 1
      const isThere = [...bases, dirname(file)].some((base) => existsSync(join(base, name)))
      checks.ok(isThere, `${file}: ${name}`)
    }
  }
  t.ok(named > 100, `${named} of them`)
  checks.report(t)
  t.end()
})

t.test('nothing is left behind', (t) => {
  const checks = new Checks()
  for (const { file, text } of [...sources, ...tests].filter(({ file }) => file !== 'test/tidy.test.ts')) {
    for (const { what, pattern } of forbidden) checks.ok(!pattern.test(text), `${file}: ${what}`)
  }
  checks.report(t)
  t.end()
})

t.test('members stand on lines of their own, not packed by a spread', (t) => {
  const packed: string[] = []
  for (const { file, tree } of [...sources, ...tests]) {
    const visit = (node: ts.Node): void => {
      const isPacked = ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression)
      if (isPacked) packed.push(`${file}:${tree.getLineAndCharacterOfPosition(node.pos).line + 1}`)
      ts.forEachChild(node, visit)
    }
    visit(tree)
  }
  t.strictSame(packed, [])
  t.end()
})

t.test('comparisons that are collected are reported: otherwise no test would fail by them', (t) => {
  const count = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length
  const forgetful = tests
    .filter(({ text }) => count(text, /= new Checks\(\)/g) !== count(text, /\.report\(t\)/g))
    .map(({ file }) => file)
  t.strictSame(forgetful, [])
  t.end()
})

t.test('names', (t) => {
  const checks = new Checks()
  for (const { file } of [...sources, ...tests]) {
    checks.match(basename(file), /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|d))?\.(tsx?|mjs)$/, file)
    checks.ok(basename(file) !== 'index.ts', file)
  }
  for (const { file, tree } of sources) {
    checks.ok(!tree.statements.some(ts.isExportAssignment), `${file}: a default export`)
  }
  checks.report(t)
  t.end()
})

t.test('sizes', (t) => {
  const checks = new Checks()
  for (const { file, text, tree } of sources) {
    const isListed = Object.hasOwn(longFiles, file)
    const linesMax = isListed ? longFileLinesMax : fileLinesMax
    const lines = text.split('\n').length
    checks.ok(lines <= linesMax, `${file} has at most ${linesMax} lines`)
    if (isListed) checks.ok(lines > fileLinesMax, `${file} needs no reason any more`)
    for (const { name, lines } of functionsOf(tree)) {
      checks.ok(
        lines <= functionLinesMax,
        `${file}: ${name} has ${lines} of at most ${functionLinesMax} lines`,
      )
    }
  }
  checks.report(t)
  t.end()
})

t.test('the lock file names the packages of every platform, or `npm ci` refuses it on the others', (t) => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>
  }
  for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
    for (const name of Object.keys(optionalDependencies)) {
      const places = [`${path}/node_modules/${name}`, `node_modules/${name}`]
      t.ok(
        places.some((place) => place in packages),
        `${name}, of ${path}`,
      )
    }
  }
  t.end()
})

/** ClickHouse for platforms whose packages the registry that this lock file was made with does not serve. */
const unverifiable = ['lib-darwin-arm64', 'lib-darwin-x64', 'lib-linux-arm64-gnu'].map(
  (name) => `node_modules/@chdb/${name}`,
)

t.test('the lock file has the hash of each package', (t) => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { integrity?: string; inBundle?: boolean }>
  }
  const without = Object.entries(packages)
    .filter(([path, { integrity, inBundle }]) => path !== '' && integrity === undefined && !inBundle)
    .map(([path]) => path)
  t.strictSame(without, unverifiable)
  t.end()
})

t.test('what stands at the top', (t) => {
  const names = readdirSync('.').filter((name) => !name.startsWith('.') && !generated.includes(name))
  for (const name of names.filter((name) => !/\.(log|tgz)$/.test(name))) t.ok(topLevel.includes(name), name)
  t.end()
})

t.test('everything that is said to happen is reported somewhere', (t) => {
  const tables = ['occurrences', 'api-occurrences', 'traffic-occurrences', 'measurements'].map(
    (name) => `src/ground/core/telemetry/${name}.ts`,
  )
  const declared = sources
    .filter(({ file }) => tables.includes(file))
    .flatMap(({ text }) => [
      ...text.matchAll(/^ {2}(\w+): (?:info|warn|error|bounded\w+|count|gauge|levels|timing)\(/gm),
    ])
    .map(([, name = '']) => name)
  t.ok(declared.length > 50, 'the tables are read')
  const users = sources.filter(({ file }) => !tables.includes(file)).map(({ text }) => withoutComments(text))
  for (const name of declared) {
    const call = new RegExp(`\\.${name}\\(`)
    t.ok(
      users.some((text) => call.test(text)),
      name,
    )
  }
  t.end()
})

t.test('every setting that is spoken of exists', (t) => {
  const documents = ['.', 'docs', 'docs/concepts'].flatMap((dir) =>
    readdirSync(dir)
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(dir, name)),
  )
  const pages = [...documents, 'Dockerfile', 'docker-compose.yml', 'config/default.jsonc']
  const texts = [...sources, ...pages.map((file) => ({ file, text: readFileSync(file, 'utf8') }))]
  for (const { file, text } of texts) {
    for (const [name] of text.matchAll(/\bWEIR_[A-Z_]*[A-Z]\b/g)) {
      t.ok(settingNames.includes(name) || streams.includes(name), `${file}: ${name}`)
    }
  }
  t.end()
})

/** Good enough for sources that lint has seen: a comment begins a line or follows a space. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}

function commentsIn(text: string): string {
  return (text.match(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm) ?? []).join('\n')
}

/** Functions with a body, and how many lines each takes, its own inner functions included. */
function functionsOf(tree: ts.SourceFile): { name: string; lines: number }[] {
  const found: { name: string; lines: number }[] = []
  const lineAt = (position: number) => tree.getLineAndCharacterOfPosition(position).line
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const lines = lineAt(node.end) - lineAt(node.getStart(tree)) + 1
      found.push({ name: node.name?.getText(tree) ?? `line ${lineAt(node.getStart(tree)) + 1}`, lines })
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}
