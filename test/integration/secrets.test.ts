/** Which secrets the processes of Weir have in their environment: each the ones that it works with. */
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readUserUrl } from '../../src/delivery/nats-server/logins.js'
import { natsAccess } from '../../src/delivery/nats-server/nats-users.js'
import { loadSettings } from '../../src/management/process/settings.js'
import { forkQuarantine, forkTrial } from '../../src/roles/programs.js'
import { startClickhouseFront } from '../harness/clickhouse-front.js'
import { compiled, run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { processesBelow } from '../harness/tree.js'
import { startWeir } from '../harness/weir.js'

const aws = {
  AWS_ACCESS_KEY_ID: 'AKIASECRETSTEST00001',
  AWS_SECRET_ACCESS_KEY: 'secret-of-aws-keys-0001',
  AWS_SESSION_TOKEN: 'secret-of-aws-session-0001',
  AWS_CONTAINER_AUTHORIZATION_TOKEN: 'secret-of-container-0001',
}
const given = {
  ...aws,
  WEIR_BOOTSTRAP_TOKEN: 'secret-of-the-first-key-0001',
  WEIR_API_KEY: 'secret-of-a-person-0001',
  WEIR_SECRET_KEY: randomBytes(32).toString('base64'),
}
const notSecret = { PASSED_ON: 'as-it-is', AWS_REGION: 'eu-west-1' }

type Secrets = Readonly<Record<string, string>>

const environmentOf = (pid: number): Map<string, string> => {
  const entries = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
  return new Map(entries.map((entry) => [entry.split('=', 1)[0]!, entry.slice(entry.indexOf('=') + 1)]))
}

/** Names of the secrets whose value stands anywhere in the environment of a process. */
function secretsIn(pid: number, secrets: Secrets): string[] {
  const values = [...environmentOf(pid).values()]
  const isThere = (secret: string) => values.some((value) => value.includes(secret))
  return Object.keys(secrets)
    .filter((name) => isThere(secrets[name]!))
    .sort()
}

/** Passwords of the local nats-server by user. */
function natsPasswords(dataDir: string): Secrets {
  const users = Object.values(natsAccess().accounts).flatMap((account) => account.users)
  const passwordOf = (user: string) => new URL(readUserUrl(join(dataDir, 'nats'), user)!).password
  return Object.fromEntries(users.map(({ name }) => [`password of ${name}`, passwordOf(name)]))
}

const awsNames = Object.keys(aws)
/** A role has the address of its NATS user, with the password, from a file. */
const wanted: readonly { role: string; count: number; secrets: readonly string[] }[] = [
  {
    role: 'api',
    count: 1,
    secrets: [...['WEIR_BOOTSTRAP_TOKEN', 'WEIR_SECRET_KEY', 'CLICKHOUSE_URL', ...awsNames]],
  },
  { role: 'pipeline', count: 2, secrets: [] },
  { role: 'decide', count: 1, secrets: [] },
  { role: 'deliver', count: 1, secrets: ['WEIR_SECRET_KEY', ...awsNames] },
  // The server, and the shell that watches it.
  { role: 'nats-server', count: 2, secrets: [] },
]

t.test('the processes of weir serve', async (t) => {
  const dir = tempDir(t)
  const front = await startClickhouseFront(join(dir, 'clickhouse'), 0)
  t.teardown(() => front.process.stop())
  const env = { ...given, ...notSecret, CLICKHOUSE_URL: front.url, WEIR_PIPELINES: '2', WEIR_DELIVERERS: '1' }
  // Each process reads the file too: none may miss the secret key that belongs to this address.
  const file = join(dir, 'mine.json')
  writeFileSync(file, JSON.stringify({ clickhouseUrl: front.url }))
  const dataDir = join(dir, 'data')
  const weir = await startWeir(dataDir, env, '', (all) =>
    run('programs/main.js', ['--config', file, 'serve'], all),
  )
  t.teardown(() => weir.stop())
  const secrets = { ...given, CLICKHOUSE_URL: front.url, ...natsPasswords(dataDir) }
  const below = processesBelow(weir.process.pid)
  for (const { role, count, secrets: names } of wanted) {
    const found = below.filter((one) => one.role === role)
    t.equal(found.length, count, role)
    for (const { pid } of found) {
      t.strictSame(secretsIn(pid, secrets), [...names].sort(), role)
      const environment = environmentOf(pid)
      for (const [name, value] of Object.entries(notSecret)) t.equal(environment.get(name), value, name)
    }
  }
  t.equal(below.length, 7, 'no other process')
})

t.test(
  'secrets in files: weir serve works with them, and no process has one in its environment',
  async (t) => {
    const dir = tempDir(t)
    const front = await startClickhouseFront(join(dir, 'clickhouse'), 0)
    t.teardown(() => front.process.stop())
    const secrets = {
      WEIR_BOOTSTRAP_TOKEN: given.WEIR_BOOTSTRAP_TOKEN,
      WEIR_SECRET_KEY: given.WEIR_SECRET_KEY,
      CLICKHOUSE_URL: front.url,
    }
    const inFiles = Object.entries(secrets).map(([name, value]) => {
      const file = join(dir, name.toLowerCase())
      writeFileSync(file, `${value}\n`)
      return [`${name}_FILE`, file]
    })
    const env = { ...Object.fromEntries(inFiles), WEIR_LOG_LEVEL: 'debug' }
    const weir = await startWeir(join(dir, 'data'), env, given.WEIR_BOOTSTRAP_TOKEN)
    t.teardown(() => weir.stop())
    const { id } = await weir.api.ipPolicy.create({ description: 'kept by the server' })
    t.match(await weir.api.ipPolicy.get(id), { id })
    const below = processesBelow(weir.process.pid)
    t.ok(below.length >= 6, `${below.length} processes`)
    for (const { pid, role } of below) t.strictSame(secretsIn(pid, secrets), [], role)
    await weir.stop()
    const output = weir.process.output()
    const password = new URL(front.url).password
    for (const value of [...Object.values(secrets), password])
      t.notOk(output.includes(value), 'nor is it logged')
  },
)

t.test('the processes that a role starts for one purpose', async (t) => {
  const urls = {
    CLICKHOUSE_URL: 'http://weir:secret-of-clickhouse-0001@127.0.0.1:1',
    NATS_URL: 'nats://api:secret-of-api-0001@127.0.0.1:1',
    WEIR_TRIAL_NATS_URL: 'nats://trial:secret-of-trial-0001@127.0.0.1:1',
  }
  const secrets = { ...given, ...urls }
  const before = { ...process.env }
  t.teardown(() => {
    process.env = before
  })
  const program = { module: compiled('programs/main.js'), argumentsOf: (role: string) => [role] }
  const cases: readonly { name: string; env: Secrets; fork: () => ChildProcess; secrets: string[] }[] = [
    { name: 'quarantine', env: secrets, fork: () => forkQuarantine(program), secrets: ['NATS_URL'] },
    {
      name: 'a trial',
      env: secrets,
      fork: () => forkTrial(program, loadSettings().settings),
      secrets: ['WEIR_TRIAL_NATS_URL'],
    },
    {
      name: 'a trial, with the address of its role in a file',
      env: { ...secrets, NATS_URL: '', NATS_URL_FILE: '/nowhere' },
      fork: () => forkTrial(program, loadSettings({ secrets: ['WEIR_TRIAL_NATS_URL'] }).settings),
      secrets: ['WEIR_TRIAL_NATS_URL'],
    },
    {
      name: 'a trial without a user of its own',
      env: { ...secrets, WEIR_TRIAL_NATS_URL: '' },
      fork: () => forkTrial(program, loadSettings().settings),
      secrets: ['NATS_URL'],
    },
  ]
  for (const { name, env, fork, secrets: names } of cases) {
    Object.assign(process.env, notSecret, env)
    const child = fork()
    try {
      t.strictSame(secretsIn(child.pid!, secrets), names, name)
      t.equal(environmentOf(child.pid!).get('PASSED_ON'), 'as-it-is', name)
      t.notOk(environmentOf(child.pid!).has('NATS_URL_FILE'), `${name}: one address`)
    } finally {
      delete process.env['NATS_URL_FILE']
      child.kill('SIGKILL')
    }
  }
})
