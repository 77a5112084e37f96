/** Processes that must end do so in time, whatever they are doing. */
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../../src/delivery/nats-server/nats-probe.js'
import { OwnNats } from '../harness/own-nats.js'
import { compiled, type Running, run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { endNow, isAlive, processesBelow, type TreeProcess } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'

/** Usually 5 s; without the forced exit, as long as the statement. */
const endedWithinMs = 60_000
/** Runs for 300 s: it sleeps once for each block of numbers, which has 65,409 of them. */
const longStatement = 'select sum(sleep(3)) from (select number from system.numbers limit 6540900)'
const longStatements = "select count() from system.processes where query like 'select sum(sleep%'"
/** The pause after which a second signal no longer counts as a repetition of the first one. */
const impatienceMs = 1_200

const serve = (dataDir: string): Running =>
  run('programs/main.js', ['serve'], { WEIR_DATA_DIR: dataDir, WEIR_PORT: '0' })

/** Sends a long query to the service on this directory; resolves when it runs. */
async function runLongStatement(t: Test, dir: string): Promise<void> {
  const env = { WEIR_DATA_DIR: dir }
  const asking = run('programs/main.js', ['sql', longStatement], env)
  t.teardown(() => asking.kill())
  await until('the statement runs', async () => {
    const counting = run('programs/main.js', ['sql', longStatements, '--format', 'tsv'], env)
    await counting.ended
    return /^1$/m.test(counting.output())
  })
}

/** Sends SIGKILL to the parent only; resolves when all its descendants have ended. */
async function killParent(t: Test, parent: Pick<Running, 'pid' | 'kill'>): Promise<void> {
  const below = processesBelow(parent.pid)
  t.teardown(() => {
    for (const { pid } of below.filter(isAlive)) endNow(pid)
  })
  t.ok(below.length > 0, 'it has processes below it')
  await parent.kill()
  const left = (): TreeProcess[] => below.filter(isAlive)
  await until('all have ended', () => left().length === 0, endedWithinMs).catch(() => {})
  t.strictSame(left(), [], 'no process is left')
}

const hasRole = ({ pid }: Running, name: string): boolean =>
  processesBelow(pid).some(({ role }) => role === name)

/** Times during a start, from the first process to the last. */
const moments = [
  { name: 'the API is forked', hasCome: (serving: Running) => hasRole(serving, 'api') },
  {
    name: 'the API opens its store',
    hasCome: (_: Running, dir: string) => existsSync(join(dir, 'clickhouse')),
  },
  { name: 'the decisions are forked', hasCome: (serving: Running) => hasRole(serving, 'decide') },
]

for (const { name, hasCome } of moments) {
  t.test(`serve is killed while it starts: ${name}`, async (t) => {
    const dir = tempDir(t)
    const serving = serve(dir)
    t.teardown(() => serving.kill())
    await until(name, () => hasCome(serving, dir))
    await killParent(t, serving)
  })
}

for (const isDirectoryDeleted of [false, true]) {
  t.test(`serve is killed while a statement runs; directory deleted: ${isDirectoryDeleted}`, async (t) => {
    const dir = tempDir(t)
    const weir = await startWeir(dir)
    t.teardown(() => weir.process.kill())
    await runLongStatement(t, dir)
    if (isDirectoryDeleted) rmSync(join(dir, 'clickhouse'), { recursive: true })
    await killParent(t, weir.process)
  })
}

t.test('a pipeline is killed while its quarantine waits for NATS', async (t) => {
  const NATS_URL = `nats://127.0.0.1:${await freePort()}`
  const env = { ...process.env, NATS_URL, WEIR_DATA_DIR: tempDir(t) }
  const fork = `require('node:child_process').fork(${JSON.stringify(compiled('programs/main.js'))}, ['quarantine'])`
  const pipeline = spawn(process.execPath, ['-e', fork], { env, stdio: 'ignore' })
  const pid = pipeline.pid ?? 0
  await until('it has a child', () => processesBelow(pid).length > 0)
  await killParent(t, { pid, kill: async () => void pipeline.kill('SIGKILL') })
})

t.test('a standalone API gets a second signal while a statement runs', async (t) => {
  const dir = tempDir(t)
  const nats = new OwnNats(join(dir, 'nats'))
  t.teardown(() => nats.kill())
  await nats.start()
  const env = { NATS_URL: nats.url, WEIR_DATA_DIR: join(dir, 'data'), WEIR_PORT: '0' }
  const api = run('programs/main.js', ['api'], env)
  t.teardown(() => api.kill())
  await api.line(/^account: /)
  await runLongStatement(t, join(dir, 'data'))
  api.child.kill('SIGTERM')
  await sleep(impatienceMs)
  t.equal(api.child.exitCode, null, 'it waits for the statement')
  api.child.kill('SIGTERM')
  const late = sleep(endedWithinMs, 'late', { ref: false })
  t.strictSame(await Promise.race([api.ended, late]), { code: null, signal: 'SIGKILL' })
})
