import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { processStart } from '../../../src/delivery/nats-server/process-start.mjs'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry, metricsText } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { openOpsServer } from '../../../src/management/process/ops-server.js'
import { readRuntime, removeRuntime, writeRuntime } from '../../../src/management/process/running-service.js'
import { type RoleSpec, Supervisor } from '../../../src/management/process/supervisor.js'
import { tempDir } from '../../harness/temp-dir.js'
import { endNow } from '../../harness/tree.js'
import { until as untilHolds } from '../../harness/weir.js'

const { bundleTests } = (await import(resolve('config/bundle.mjs'))) as {
  bundleTests(root: string, files: readonly string[], directory: string): Promise<void>
}

/** Bundled, because it starts thirty times, in half of the time. It finds its files as in a checkout. */
async function bundledRole(): Promise<string> {
  const dir = tempDir(t)
  for (const name of ['package.json', 'node_modules']) symlinkSync(resolve(name), join(dir, name))
  await bundleTests(process.cwd(), ['test/management/process/supervised-role.ts'], join(dir, 'dist', 'tests'))
  symlinkSync(resolve('dist', 'programs'), join(dir, 'dist', 'programs'))
  return join(dir, 'dist', 'tests', 'management', 'process', 'supervised-role.js')
}

const program = await bundledRole()

/** A supervisor over roles that write what happens to them; `roles`: name and behaviour. */
function setUp(t: Test, roles: readonly (readonly [name: string, behaviour?: string])[], limits = {}) {
  const file = join(t.testdir({ happened: '' }), 'happened')
  const registry = createRegistry()
  const occurrences = createOccurrences({ logger: createLogger('test', 'silent'), registry })
  const specs = roles.map(
    ([name, behaviour = '']): RoleSpec => ({
      name,
      module: program,
      argv: [name, file, behaviour],
      secrets: [],
      env: (last) => ({ LAST: last?.['pid'] ?? 'none' }),
      readyTimeoutMs: 20_000,
      stopTimeoutMs: 20_000,
      ...limits,
    }),
  )
  const happened = () => happenedIn(file)
  const kills = async () => {
    const [, killed = '0'] = /^weir_process_kills_total\{.*\} (\d+)$/m.exec(await metricsText(registry)) ?? []
    return Number(killed)
  }
  const start = () => new Supervisor({ roles: specs, occurrences, registry })
  /** Resolves when all are ready. If one can't start, stops all of them and rejects. */
  const open = async () => {
    const supervisor = start()
    try {
      await supervisor.ready
    } catch (error) {
      await supervisor.close()
      throw error
    }
    return supervisor
  }
  return { happened, kills, start, open }
}

t.test('roles are stopped one after the other, in order', async (t) => {
  const { open, happened } = setUp(t, [['api'], ['pipeline'], ['deliver']])
  const supervisor = await open()
  t.strictSame(await supervisor.failing(), {}, 'all are ready')
  await supervisor.close()
  const stops = happened().filter((line) => line.includes('stop'))
  const inOrder = ['api', 'pipeline', 'deliver'].flatMap((name) => [`${name} stops`, `${name} stopped`])
  t.strictSame(stops, inOrder)
})

t.test('a killed role is restarted on its earlier address', async (t) => {
  const { open, happened } = setUp(t, [['api'], ['deliver']])
  const supervisor = await open()
  const { pid } = supervisor.addressesOf('deliver')
  process.kill(Number(pid), 'SIGKILL')
  await until(async () => 'deliver' in (await supervisor.failing()))
  await until(async () => !('deliver' in (await supervisor.failing())))
  t.not(supervisor.addressesOf('deliver')['pid'], pid)
  t.match(happened().at(-1), new RegExp(`^deliver starts \\d+ ${pid}$`))
  t.match(await supervisor.metrics(), /weir_process_restarts_total\{role="deliver"\} 1\n/)
  await supervisor.close()
})

t.test('a role that cannot work, and a frozen one, are reported by name', async (t) => {
  const { open } = setUp(t, [['pipeline', 'fails'], ['deliver']])
  const supervisor = await open()
  await until(async () => 'pipeline.nats' in (await supervisor.failing()))
  t.strictSame(await supervisor.failing(), { 'pipeline.nats': 'Away.' })
  const other = supervisor.addressesOf('deliver')
  t.strictSame(await readyz(other), { status: 503, parts: ['pipeline.nats'] }, 'another role reports it')
  const pid = Number(supervisor.addressesOf('deliver')['pid'])
  process.kill(pid, 'SIGSTOP')
  await until(async () => 'deliver' in (await supervisor.failing()))
  t.match(await supervisor.failing(), { deliver: 'The process deliver does not answer.' })
  process.kill(pid, 'SIGCONT')
  await until(async () => !('deliver' in (await supervisor.failing())))
  await supervisor.close()
})

t.test('metrics of all processes are added up, and any of them can tell the sum', async (t) => {
  const { open } = setUp(t, [['api'], ['deliver']])
  const supervisor = await open()
  t.match(await supervisor.metrics(), /weir_test_total\{kind="a"\} 4\n/)
  const answer = await fetch(`${supervisor.addressesOf('api')['ops']}/metrics`)
  t.match(answer.headers.get('content-type'), 'text/plain')
  t.match(await answer.text(), /weir_test_total\{kind="a"\} 4\n/)
  await supervisor.close()
})

const failures = [
  {
    name: 'a role that cannot start says why',
    behaviour: 'refuses',
    says: 'deliver does not start: A file is missing.',
  },
  {
    name: 'a role that ends while it starts',
    behaviour: 'crashes',
    says: 'deliver does not start: exit code 3',
  },
  {
    name: 'a role that takes too long',
    behaviour: 'hangs',
    says: 'not ready after 5 s',
    limits: { readyTimeoutMs: 5000 },
  },
]

t.test('a start that fails stops what had started', async (t) => {
  for (const { name, behaviour, says, limits } of failures) {
    const { open, happened } = setUp(t, [['api'], ['deliver', behaviour]], limits)
    await t.rejects(open(), { message: says }, name)
    t.strictSame(await alive(happened()), [], `${name}: nothing is left running`)
  }
})

t.test('a role that is stopped while it starts ends by itself, and closes what it opened', async (t) => {
  for (const behaviour of ['waits', 'hangs']) {
    const { start, happened, kills } = setUp(t, [['deliver', behaviour]])
    const supervisor = start()
    await until(() => happened().length === 1 && happened()[0] !== '')
    await supervisor.close()
    await t.rejects(supervisor.ready, /does not start/)
    const closed = behaviour === 'waits' ? ['deliver stops', 'deliver stopped'] : []
    t.strictSame(happened().slice(1), closed, behaviour)
    t.equal(await kills(), 0, behaviour)
  }
})

t.test('a role that is stopped before it has loaded stops', async (t) => {
  const { start, kills } = setUp(t, [['deliver', 'waits'], ['api']])
  await start().close()
  t.equal(await kills(), 0)
})

t.test('roles that wait for one that cannot start are not killed', async (t) => {
  const { open, happened, kills } = setUp(t, [
    ['api', 'refuses'],
    ['deliver', 'waits'],
  ])
  await t.rejects(open(), { message: 'api does not start: A file is missing.' })
  t.strictSame(await alive(happened()), [])
  t.equal(await kills(), 0)
})

t.test('a role that does not stop in time is killed', async (t) => {
  const { open, happened } = setUp(t, [['api', 'clings'], ['deliver']], { stopTimeoutMs: 1000 })
  const supervisor = await open()
  await supervisor.close()
  t.strictSame(await alive(happened()), [])
  t.equal(happened().at(-1), 'deliver stopped', 'the others still get their turn')
})

t.test('signals to the whole group do not stop a child', async (t) => {
  const { open, happened } = setUp(t, [['api']])
  const supervisor = await open()
  const pid = Number(supervisor.addressesOf('api')['pid'])
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.kill(pid, signal)
  t.equal((await readyz(supervisor.addressesOf('api'))).status, 200, 'it still answers')
  await supervisor.close()
  t.strictSame(happened(), [`api starts ${pid} none`, 'api stops', 'api stopped'])
})

t.test('a child whose parent has ended stops', async (t) => {
  const file = join(t.testdir({ happened: '' }), 'happened')
  const child = fork(program, ['api', file, ''], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  await until(() => readFileSync(file, 'utf8') !== '')
  const exit = once(child, 'exit')
  child.disconnect()
  t.strictSame(await exit, [null, 'SIGKILL'])
  t.match(readFileSync(file, 'utf8'), 'api stopped')
})

t.test('a child whose main thread is blocked when its parent is killed ends all the same', async (t) => {
  const file = join(t.testdir({ happened: '' }), 'happened')
  const fork = `require('node:child_process').fork(...${JSON.stringify([program, ['api', file, 'blocks']])})`
  const parent = spawn(process.execPath, ['-e', fork], { stdio: 'ignore' })
  await until(() => readFileSync(file, 'utf8') !== '')
  const [pid] = await alive(happenedIn(file))
  t.teardown(() => endNow(pid!))
  parent.kill('SIGKILL')
  await until(() => processStart(pid!) === undefined)
})

t.test('a role that runs alone stops at a signal', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const file = join(t.testdir({ happened: '' }), 'happened')
    const child = spawn(process.execPath, [program, 'deliver', file, ''], { stdio: 'ignore' })
    await until(() => readFileSync(file, 'utf8') !== '')
    const exit = once(child, 'exit')
    child.kill(signal)
    t.strictSame(await exit, [0, null], signal)
    t.match(readFileSync(file, 'utf8'), 'deliver stopped', signal)
  }
})

t.test('the server of a role without the API', async (t) => {
  let failing: Record<string, string> = {}
  const metrics = async () => 'weir_x 1\n'
  const server = await openOpsServer({ host: '127.0.0.1', port: 0, failing: () => failing, metrics })
  const status = async (path: string, method = 'GET') => (await fetch(server.url + path, { method })).status
  t.equal(await status('/healthz'), 200)
  t.equal(await status('/readyz'), 200)
  t.equal((await fetch(`${server.url}/metrics`)).headers.get('x-content-type-options'), 'nosniff')
  t.equal(await status('/metrics?x=1', 'HEAD'), 200)
  t.equal(await status('/other'), 404)
  t.equal(await status('/healthz', 'POST'), 405)
  failing = { nats: 'The connection to NATS is lost.' }
  t.strictSame(await readyz({ ops: server.url }), { status: 503, parts: ['nats'] })
  t.equal(await status('/healthz'), 200, 'alive all the same')
  const port = Number(new URL(server.url).port)
  await t.rejects(openOpsServer({ host: '127.0.0.1', port, failing: () => ({}), metrics }), {
    code: 'EADDRINUSE',
  })
  await server.close()
})

t.test('the addresses of a running service are found while it runs', (t) => {
  const dir = t.testdir()
  const runtime = {
    apiUrl: 'http://127.0.0.1:1',
    natsUrl: 'nats://127.0.0.1:2',
    adminUrl: 'http://127.0.0.1:2',
    adminToken: 'x'.repeat(32),
  }
  t.equal(readRuntime(dir), undefined, 'none ran here')
  writeRuntime(dir, runtime)
  writeRuntime(dir, runtime)
  t.strictSame(readRuntime(dir), runtime)
  removeRuntime(dir)
  t.equal(readRuntime(dir), undefined, 'it was stopped')
  const left = t.testdir({ 'runtime.json': JSON.stringify({ pid: process.pid, start: '1', ...runtime }) })
  t.equal(readRuntime(left), undefined, 'it was killed, and its number belongs to another process')
  t.end()
})

const happenedIn = (file: string): string[] => readFileSync(file, 'utf8').trim().split('\n')

async function readyz(addresses: Readonly<Record<string, string>>) {
  const answer = await fetch(`${addresses['ops']}/readyz`)
  const { failing = {} } = (await answer.json()) as { failing?: object }
  return { status: answer.status, parts: Object.keys(failing).sort() }
}

/** The numbers of the processes that started and still run. */
async function alive(happened: readonly string[]): Promise<number[]> {
  const pids = happened.flatMap((line) => / starts (\d+)/.exec(line)?.[1] ?? []).map(Number)
  return pids.filter((pid) => processStart(pid) !== undefined)
}

const until = (holds: () => Promise<boolean> | boolean): Promise<void> =>
  untilHolds('what the test waits for', holds)
