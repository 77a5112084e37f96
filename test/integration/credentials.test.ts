/** Logins of NATS are replaced while records are published and events delivered, on the local server and on one of others. */
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { localNatsDir, readUserUrl } from '../../src/delivery/nats-server/logins.js'
import { usersOf } from '../../src/delivery/nats-server/nats-access.js'
import { natsConfig } from '../../src/delivery/nats-server/nats-config.js'
import { natsAccess } from '../../src/delivery/nats-server/nats-users.js'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { isLoginTaken } from '../../src/ground/nats/reach.js'
import type { CredentialsReport } from '../../src/management/process/credentials.js'
import { readRuntime } from '../../src/management/process/running-service.js'
import { OwnNats } from '../harness/own-nats.js'
import { compiled, run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { processesBelow } from '../harness/tree.js'
import { type RunningWeir, startWeir, until } from '../harness/weir.js'
import { arrivedRecords, openDeployment, record } from './deployment.js'
import { reportedLater } from './node-traffic.js'

type Environment = Readonly<Record<string, string>>

const perMessage = 10
/** A reconnect takes a few milliseconds, and a call that was lost by it is repeated after a second. */
const pauseMaxMs = 5_000

/** A server that is busy with other tests may not answer in time; one that refuses says so. */
async function isTaken(url: string): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await isLoginTaken({ servers: [url], name: 'test', replicas: 1, isUpNow: true })
    } catch (error) {
      if (tries === 5 || !/timeout/i.test(String(error))) throw error
    }
  }
}

const openNode = (t: Test, url: string, file?: string): Promise<Nats> =>
  openNats({ servers: [url], name: 'node', replicas: 1, files: { url: file } }).then((nats) => {
    t.teardown(() => nats.close())
    return nats
  })

/** A command; `output` has all it says. */
async function weir(env: Environment, ...args: string[]) {
  const running = run('programs/main.js', args, env)
  const { code, signal } = await running.ended
  return { code, signal, output: running.output() }
}

async function report(env: Environment, ...args: string[]): Promise<CredentialsReport> {
  const { code, output } = await weir(env, 'credentials', ...args, '--json')
  if (code !== 0) throw new Error(output)
  return JSON.parse(output)
}

/** Publishes records without a pause; `end` resolves with how many, and the longest time that one had to wait. */
function publishing(nats: Nats) {
  let sent = 0
  let longestMs = 0
  let isEnding = false
  const done = reportedLater(
    (async () => {
      while (!isEnding) {
        const lines = Array.from({ length: perMessage }, (_, n) => record('run', sent + n))
        const beganMs = performance.now()
        await nats.publish('weir.records.eu.node-1', lines.join('\n'), { msgId: `run.${sent}` })
        longestMs = Math.max(longestMs, performance.now() - beganMs)
        sent += perMessage
      }
    })(),
  )
  return {
    end: async () => {
      isEnding = true
      await done
      return { sent, longestMs }
    },
  }
}

const rolesOf = ({ process: { pid } }: RunningWeir) =>
  processesBelow(pid)
    .map(({ role, pid }) => `${role} ${pid}`)
    .sort()

t.test('on the local server, with traffic under way', async (t) => {
  const deployment = await openDeployment(t, { WEIR_DECISION_LOG: 'off', WEIR_LOG_LEVEL: 'info' })
  const { weir: service, dataDir } = deployment
  const env = { WEIR_DATA_DIR: dataDir }
  const dir = localNatsDir(dataDir)
  const before = new Map(usersOf(natsAccess()).map((user) => [user, readUserUrl(dir, user)!]))
  const roles = rolesOf(service)
  const file = join(dir, 'users', 'ingress')
  t.equal(readRuntime(dataDir)?.natsUrlFile, file, 'where weir publish finds it')
  const held = await openNode(t, before.get('ingress')!)
  const traffic = publishing(await openNode(t, before.get('ingress')!, file))
  const status = await report(env, 'status')
  t.match(status, { state: 'one', msg: 'Each user has one login.' })

  t.match(await report(env, 'rotate'), { state: 'both' })
  const after = new Map([...before.keys()].map((user) => [user, readUserUrl(dir, user)!]))
  for (const [user, url] of before) {
    t.match(after.get(user), new RegExp(`^nats://${user}_b:[\\w-]{32}@127`))
    t.not(new URL(after.get(user)!).password, new URL(url).password)
    t.ok(await isTaken(url), `the earlier login of ${user}`)
    t.ok(await isTaken(after.get(user)!), `the new login of ${user}`)
  }
  t.equal(statSync(file).mode & 0o777, 0o600)
  await held.publish('weir.records.eu.node-2', record('held', 0))
  t.match((await report(env, 'rotate')).state, 'both', 'a second one is not begun before the first is done')
  t.equal(readUserUrl(dir, 'ingress'), after.get('ingress'))
  const { users } = await report(env, 'status')
  const ingress = users.find(({ user }) => user === 'ingress')
  t.match(ingress, { login: 'ingress_b', earlier: 'ingress', file, connections: 2, programs: ['"node"'] })
  const { output } = await weir(env, 'credentials', 'status')
  t.match(output, /^ingress: ingress_b, earlier ingress, which has connections: 2 \("node"\)$/m)

  t.match(await report(env, 'drop'), { state: 'one' })
  for (const [user, url] of before) {
    t.notOk(await isTaken(url), `the earlier login of ${user} is refused`)
    t.ok(await isTaken(after.get(user)!), user)
    t.notOk(existsSync(join(dir, 'users', `${user}.earlier`)))
  }
  await until('the connection of the earlier login is closed', () => !held.isConnected)
  await until('all is well', async () => (await fetch(`${service.url}/readyz`)).ok)
  const { sent, longestMs } = await traffic.end()
  t.ok(sent > 100, `${sent} records`)
  t.ok(longestMs < pauseMaxMs, `no record waited longer than ${longestMs} ms`)
  await until('every record arrives', async () => (await arrivedRecords(deployment)).size === sent)
  const counts = await deployment.emulator.client.counts({ service: 'kinesis', name: 'all' })
  t.match(counts, { unique: sent + 1 }, 'each is one event')
  t.strictSame(rolesOf(service), roles, 'no process was started again')
  for (const url of [...before.values(), ...after.values()]) {
    const { password } = new URL(url)
    if (url !== before.get('ingress')) t.notMatch(service.process.output(), password)
    t.notMatch(output, password)
  }
  t.match(service.process.output(), /The logins of the local nats-server have changed/)
})

t.test('a rotation that is killed at any step is finished by the next one', async (t) => {
  const dataDir = tempDir(t)
  const service = await startWeir(dataDir)
  t.teardown(() => service.stop())
  const env = { WEIR_DATA_DIR: dataDir }
  const dir = localNatsDir(dataDir)
  const killed = (verb: string, at: number) =>
    weir(
      {
        ...env,
        NODE_OPTIONS: `--import=${compiled('test/harness/killed-at-change.js')}`,
        KILLED_AT_CHANGE: String(at),
      },
      ...['credentials', verb, '--user', 'ingress'],
    )
  let kills = 0
  for (let at = 1; ; at += 1) {
    const before = readUserUrl(dir, 'ingress')!
    const rotated = await killed('rotate', at)
    t.ok(await isTaken(readUserUrl(dir, 'ingress')!), `the address in the file is good, ${at}`)
    t.ok(await isTaken(before), 'and so is the earlier one')
    t.match(await report(env, 'rotate', '--user', 'ingress'), { state: 'both' })
    const after = readUserUrl(dir, 'ingress')!
    t.not(new URL(after).username, new URL(before).username)
    t.equal(readUserUrl(dir, 'ingress', 'earlier'), before)
    t.ok(await isTaken(after), 'the new login')
    const dropped = await killed('drop', at)
    t.ok(await isTaken(after), 'the new login, while the earlier one is dropped')
    t.match(await report(env, 'drop', '--user', 'ingress'), { state: 'one' })
    t.notOk(await isTaken(before), 'the earlier login')
    const ends = [rotated, dropped]
    kills += ends.filter(({ signal }) => signal === 'SIGKILL').length
    if (ends.every(({ signal }) => signal === null)) break
  }
  t.ok(kills > 12, `${kills} commands were killed`)
})

t.test('on a server of others, whose configuration a person loads', async (t) => {
  for (const user of [...usersOf(natsAccess()), 'x'])
    process.env[`NATS_${user.toUpperCase()}_PASSWORD`] = `"first-of-${user}"`
  const server = new OwnNats(join(tempDir(t), 'store'), [], natsConfig(1, 1))
  await server.start()
  t.teardown(() => server.stop())
  const { host } = new URL(server.url)
  const address = join(tempDir(t), 'nats-url')
  const replace = (text: string): void => {
    writeFileSync(`${address}.new`, `${text}\n`)
    renameSync(`${address}.new`, address)
  }
  replace(`nats://admin:first-of-admin@${host}`)
  const dataDir = tempDir(t)
  const service = await startWeir(dataDir, { NATS_URL_FILE: address, WEIR_STORAGE_MAX: '64MiB' })
  t.teardown(() => service.stop())
  const roles = rolesOf(service)
  const env = { WEIR_DATA_DIR: tempDir(t), NATS_URL: `nats://admin:first-of-admin@${host}` }
  const load = async (): Promise<void> => {
    const { output } = await weir(env, 'nats-config', '--credentials')
    await server.reload(output)
  }

  const made = await report(env, 'rotate')
  t.match(made, { state: 'made', msg: /weir nats-config --credentials/ })
  await load()
  t.match(await report(env, 'rotate'), { state: 'both' })
  const dir = join(env.WEIR_DATA_DIR, 'credentials')
  const first = (user: string): string => `nats://${user}:first-of-${user}@${host}`
  for (const user of usersOf(natsAccess())) {
    t.ok(await isTaken(first(user)), `the earlier login of ${user}`)
    t.ok(await isTaken(readUserUrl(dir, user)!), `the new login of ${user}`)
  }
  replace(readUserUrl(dir, 'admin')!)
  const { msg, state } = await report(env, 'drop')
  t.match({ msg, state }, { state: 'one', msg: /Load what .* Since then/ })
  await load()
  for (const user of usersOf(natsAccess())) t.notOk(await isTaken(first(user)), user)
  const node = await openNode(t, readUserUrl(dir, 'ingress')!)
  await node.publish('weir.records.eu.node-1', record('run', 0))
  await until('roles are back with the new login', async () => (await fetch(`${service.url}/readyz`)).ok)
  t.strictSame(rolesOf(service), roles, 'no process was started again')
  t.notMatch(readFileSync(address, 'utf8'), 'first-of')

  t.match(await report(env, 'rotate', '--user', 'tunnels', '--offline'), { state: 'both' }, 'not asked')
})

t.test('what can not be done is said', async (t) => {
  const env = { WEIR_DATA_DIR: tempDir(t) }
  t.match(await weir(env, 'credentials', 'rotate'), {
    code: 4,
    output: /No Weir runs on this data directory/,
  })
  const unknown = await weir(env, 'credentials', 'rotate', '--user', 'ingres')
  t.match(unknown.output, /There is no user "ingres" of NATS: api, pipeline/)
  const own = { ...env, NATS_URL: 'nats://127.0.0.1:1' }
  const unreached = await weir(own, 'credentials', 'rotate')
  t.match(unreached.output, /is unknown: 127\.0\.0\.1:1.* use --offline\./, 'servers that do not answer')
  t.match((await weir(own, 'credentials', 'drop')).output, /No login was dropped/)
})
