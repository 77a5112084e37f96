/**
 * Debian's Apache, which can't ask Weir itself: its log becomes records as `docs/recipes/apache.md` says, and HAProxy before
 * it asks, as the page says, too. What it serves of private content is denied in both, however the target is spelled.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { combined } from '../../src/delivery/ingest/formats/combined.js'
import { recordOfLine } from '../../src/delivery/ingest/lines/format.js'
import { LineSplitter } from '../../src/delivery/ingest/lines/line-splitter.js'
import { freePort } from '../../src/delivery/nats-server/nats-probe.js'
import { eachOf } from '../../src/ground/core/concurrency.js'
import { haproxy } from '../harness/asking-proxies.js'
import { untilInUse } from '../harness/in-use.js'
import { run } from '../harness/processes.js'
import { recipe } from '../harness/recipe.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import {
  ask,
  decisionOfRecord,
  hostOf,
  type OpenedSite,
  opened,
  policySetAt,
  servedIn,
} from './served-targets/asked.js'
import { apache, isInstalled } from './served-targets/servers.js'
import { hostileTargets } from './served-targets/targets.js'
import { key, openWeir } from './served-values/open.js'

const isFull = process.argv.includes('--full')
// Many requests to many sites.
const timeoutMs = 1_800_000
t.setTimeout(timeoutMs)
const targetsPerSite = Number(process.env['TARGETS'] ?? (isFull ? 20_000 : 300))
const seed = Number(process.env['SEED'] ?? 49)
const atOnce = 16

const packaged = '/etc/apache2'
const recipeLog = '/var/log/apache2/weir.log'
const skip =
  isInstalled(apache) && existsSync(join(packaged, 'apache2.conf'))
    ? false
    : "Debian's Apache is not installed"

/** The text that the page says to paste. Places of tests have spaces. */
const pastedInto = (log: string): string => recipe('apache', 'apache log', { [recipeLog]: `"${log}"` })

/** The arguments of the page's command. */
const publishArgs = (log: string, port: number): string[] =>
  recipe('apache', 'apache publish', { '--server-port 443': `--server-port ${port}` })
    .trim()
    .split(' ')
    .slice(1)
    .map((word) => (word === recipeLog ? log : word))

/** Debian's Apache with its default host, which has a log of its own, as a proxy, and what the page says to paste. */
function startPackaged(dir: string, port: number, app: string): ChildProcess {
  const conf = join(dir, 'apache2')
  cpSync(packaged, conf, { recursive: true, dereference: true })
  for (const each of ['run', 'log']) mkdirSync(join(conf, each))
  const set = (file: string, change: (text: string) => string): void =>
    writeFileSync(join(conf, file), change(readFileSync(join(conf, file), 'utf8')))
  set('ports.conf', () => `Listen 127.0.0.1:${port}\n`)
  const proxied = `AllowEncodedSlashes NoDecode\nProxyPass "/" "http://${app}/" nocanon\n</VirtualHost>`
  set('sites-enabled/000-default.conf', (text) =>
    text.replace('*:80', `*:${port}`).replace('</VirtualHost>', proxied),
  )
  const modules = ['proxy', 'proxy_http'].map((name) =>
    readFileSync(join(packaged, `mods-available/${name}.load`), 'utf8'),
  )
  writeFileSync(join(conf, 'mods-enabled/proxies.load'), modules.join('\n'))
  const pasted = pastedInto(join(conf, 'log/weir.log'))
  writeFileSync(join(conf, 'conf-enabled/weir.conf'), pasted)
  // The package's files have them without quotes: they are relative, as places of tests have spaces.
  const env = {
    ...process.env,
    APACHE_RUN_USER: 'www-data',
    APACHE_RUN_GROUP: 'www-data',
    APACHE_PID_FILE: 'run/pid',
    APACHE_RUN_DIR: 'run',
    APACHE_LOCK_DIR: 'run',
    APACHE_LOG_DIR: 'log',
  }
  return spawn(apache.program, ['-d', conf, '-D', 'FOREGROUND'], { cwd: dir, env })
}

/** Each names `/admin` for some server, and none begins with it. */
const disguised = [
  ...[
    '/x/../admin',
    '/x/%2e%2e/admin',
    '//admin',
    '/./admin/',
    '/%61dmin',
    '/x%2f..%2fadmin',
    '/x/..;/admin',
  ],
  ...[
    '/x\\..\\admin',
    '/%5cadmin',
    '/%252561dmin',
    '//h/admin',
    '/admin/.',
    '/admin;x',
    '/admin/x%2f..%2f..%2fpublic',
  ],
]

t.test(
  'its log becomes records: the recipe, with the configuration of the package',
  { skip, timeout: timeoutMs },
  async (t) => {
    const served: string[] = []
    const app = createServer(({ url = '' }, response) => {
      served.push(url)
      response.end('served')
    })
    await once(app.listen(0, '127.0.0.1'), 'listening')
    t.teardown(() => app.close())
    const weir = await startWeir(tempDir(t), { WEIR_LOG_LEVEL: 'warn', WEIR_DECISION_LOG: 'all' })
    t.teardown(() => weir.stop())
    const port = await freePort()
    const edge = await weir.api.httpsEdge.create({ hostports: [`www.example.com:${port}`] })
    await weir.api.httpsEdgeRoute.under(edge.id).create({
      match_type: 'path_prefix',
      match: '/admin',
      policies: { inbound: [{ name: 'nobody', expressions: [], actions: [{ type: 'deny' }] }] },
    })
    await untilInUse(weir)
    const dir = tempDir(t)
    const child = startPackaged(dir, port, `127.0.0.1:${(app.address() as AddressInfo).port}`)
    t.teardown(() => child.kill())
    const log = join(dir, 'apache2/log/weir.log')
    const publish = run('programs/main.js', publishArgs(log, port), {
      NATS_URL: weir.natsUrl,
      WEIR_DATA_DIR: dir,
    })
    t.teardown(() => publish.stop())
    const host = `Host: www.example.com:${port}`
    let said = ''
    child.stderr?.on('data', (text) => (said += String(text)))
    await until('it serves', async () => {
      if (child.exitCode !== null) throw new Error(said)
      return (await ask(port, '/', 0, host))?.status === 200
    })
    const plain = ['/page?n=1', '/administrator?x=/../admin', '/public/admin.html']
    for (const target of [...plain, ...disguised]) await ask(port, target, 0, host)
    const decided = async () => {
      const { counts } = await weir.api.stats({ by: 'edge', since: '1h' })
      const own = counts.find(({ value }) => value === edge.id)
      return { allow: own?.allow ?? 0, deny: own?.deny ?? 0 }
    }
    await until('every request is a record', async () => {
      if (publish.child.exitCode !== null) throw new Error(publish.output())
      const { allow, deny } = await decided()
      return allow + deny >= 1 + plain.length + disguised.length
    })
    t.strictSame(await decided(), { allow: 1 + plain.length, deny: disguised.length })
    t.ok(served.length > plain.length + 1, 'Apache passes some on: it does not ask')
  },
)

/** By the number of the request, which its user agent is: what Weir decides about the line. */
function decisionsIn(log: string, siteOf: (index: number) => OpenedSite): ReadonlyMap<number, string> {
  const decisions = new Map<number, string>()
  for (const { text } of new LineSplitter().push(readFileSync(log))) {
    const { 1: number } = / "n-(\d+)"$/.exec(text) ?? []
    // Apache had not read as far of a request that it refused.
    if (number === undefined) continue
    const index = Number(number)
    // A target that names a host, or none (`http:///`), would be one of another edge.
    const line = text.replace(/^\S*/, hostOf(siteOf(index).site))
    const made = recordOfLine(combined, { text: line }, { serverPort: 80 }, 'r-1')
    decisions.set(index, made.ok ? decisionOfRecord(JSON.parse(made.value)) : `refused: ${made.problem.msg}`)
  }
  return decisions
}

t.test('a line of its log is decided as what it served', { skip, timeout: timeoutMs }, async (t) => {
  const log = join(tempDir(t), 'weir.log')
  const sites = await opened(t, apache, pastedInto(log))
  const targets = [...hostileTargets(seed, targetsPerSite)]
  const siteOf = (index: number): OpenedSite => sites[Math.floor(index / targets.length)]!
  const private_: { readonly index: number; readonly what: string }[] = []
  const indices = sites.flatMap((_, site) => targets.map((_, at) => site * targets.length + at))
  await eachOf(indices, atOnce, async (index) => {
    const { site, port } = siteOf(index)
    const target = targets[index % targets.length]!
    const answer = await ask(port, target, index, `Host: h\r\nUser-Agent: n-${index}`)
    const what = answer === undefined ? '' : servedIn(answer, site)
    if (what !== '')
      private_.push({ index, what: `${site.name}: ${JSON.stringify(target)} served as ${what}` })
  })
  const decisions = decisionsIn(log, siteOf)
  const passed = private_.filter(({ index }) => ['allow', undefined].includes(decisions.get(index)))
  t.comment(`${private_.length} of ${indices.length} served private content, ${decisions.size} lines`)
  t.ok(private_.length > sites.length && [...decisions.values()].includes('allow'))
  t.strictSame(
    passed.slice(0, 20).map(({ index, what }) => `${what}: ${decisions.get(index)}`),
    [],
    `${passed.length} targets passed`,
  )
})

t.test(
  'HAProxy before it asks: nothing private is served',
  { skip: skip || (haproxy.program === undefined ? 'HAProxy is not installed' : false), timeout: timeoutMs },
  async (t) => {
    const targets = [...hostileTargets(seed, targetsPerSite)]
    const passed: string[] = []
    for (const { site, port: app } of await opened(t, apache)) {
      const port = await freePort()
      const weir = await openWeir(t, await policySetAt(port))
      const child = haproxy.start(haproxy.program!, {
        dir: tempDir(t),
        port,
        key,
        weir: weir.address,
        app: `127.0.0.1:${app}`,
        edgeId: '',
      })
      t.teardown(() => child.kill())
      const host = `Host: ${hostOf(site)}`
      await until('it serves', async () => (await ask(port, '/public/x', 0, host))?.status === 200)
      let allowed = 0
      await eachOf([...targets.entries()], atOnce, async ([index, target]) => {
        const answer = await ask(port, target, index, host)
        if (answer === undefined) return
        if (![400, 403].includes(answer.status)) allowed += 1
        const served = servedIn(answer, site)
        if (served !== '') passed.push(`${site.name}: ${JSON.stringify(target)} served as ${served}`)
      })
      t.ok(allowed > 0, `${site.name}: ${allowed} of ${targets.length} are let in`)
      child.kill()
    }
    t.strictSame(passed.slice(0, 20), [], `${passed.length} targets passed`)
  },
)
