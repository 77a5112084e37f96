/** A start that can't succeed because of a setting: it has made nothing, shown nothing else, and ends at once. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { readUserUrl } from '../../../src/delivery/nats-server/logins.js'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { roleInboxPrefix } from '../../../src/delivery/nats-server/role-users.js'
import { run } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'
import { startWeir } from '../../harness/weir.js'

interface Fault {
  readonly name: string
  readonly roles: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly says: RegExp
}

const everyRole = ['serve', 'api', 'pipeline', 'decide', 'deliver']
/** Roles look for most faults in the same way: each meets one here, and every one with `--full`. */
const isFull = process.argv.includes('--full')
const geoRoles = ['serve', 'pipeline', 'decide']
const rolesOr = (some: readonly string[]): readonly string[] => (isFull ? everyRole : some)

t.test('faults of settings', async (t) => {
  const dir = tempDir(t)
  const [taken, natsPort] = [createServer(), await freePort()]
  const port = await new Promise<number>((resolve) => {
    taken.listen(0, '127.0.0.1', () => resolve((taken.address() as { port: number }).port))
  })
  t.teardown(() => taken.close())
  const corrupt = join(dir, 'corrupt.mmdb')
  writeFileSync(corrupt, 'not a database')
  const faults: Fault[] = [
    {
      name: 'a geo file that is missing',
      roles: isFull ? geoRoles : ['serve', 'pipeline'],
      env: { WEIR_GEOIP_DB: join(dir, 'missing.mmdb') },
      says: /missing\.mmdb \(WEIR_GEOIP_DB\) can't be read: /,
    },
    {
      name: 'a geo file that is corrupt',
      roles: isFull ? geoRoles : ['decide'],
      env: { WEIR_GEOIP_DB: corrupt },
      says: /corrupt\.mmdb \(WEIR_GEOIP_DB\) can't be read: /,
    },
    {
      name: 'a host that has no address',
      roles: rolesOr(['deliver']),
      env: { WEIR_HOST: 'no-such-host.invalid' },
      says: /WEIR_HOST is no-such-host\.invalid/,
    },
    {
      name: 'a host of another machine',
      roles: rolesOr(['api', 'pipeline']),
      env: { WEIR_HOST: '192.0.2.1' },
      says: /WEIR_HOST is 192\.0\.2\.1, which is not an address of this machine/,
    },
    {
      name: 'a port that is taken',
      roles: rolesOr(['serve', 'api']),
      env: { WEIR_PORT: String(port) },
      says: /Another process listens on .*: set WEIR_PORT/,
    },
    {
      name: 'no NATS',
      roles: everyRole.filter((role) => role !== 'serve'),
      env: { NATS_URL: '' },
      says: /NATS_URL is not set/,
    },
    {
      name: 'a data directory that is a file',
      roles: ['serve'],
      env: { WEIR_DATA_DIR: join(corrupt, 'data') },
      says: /WEIR_DATA_DIR/,
    },
    {
      name: 'a file in place of the data directory',
      roles: ['serve'],
      env: { WEIR_DATA_DIR: corrupt },
      says: /corrupt\.mmdb \(WEIR_DATA_DIR\) can't be used/,
    },
    {
      name: 'a NATS port that is taken',
      roles: ['serve'],
      env: { WEIR_NATS_PORT: String(port) },
      says: /WEIR_NATS_PORT/,
    },
  ]
  const cases = faults.flatMap(({ roles, ...fault }) => roles.map((role) => ({ role, ...fault })))
  for (const [number, { name, role, env, says }] of cases.entries()) {
    const dataDir = join(dir, `data-${number}`)
    const started = run('programs/main.js', [role], {
      NATS_URL: role === 'serve' ? '' : `nats://127.0.0.1:${natsPort}`,
      WEIR_DATA_DIR: dataDir,
      WEIR_PORT: '0',
      WEIR_LOG_LEVEL: 'info',
      ...env,
    })
    t.teardown(() => started.kill())
    t.strictSame(await started.ended, { code: 1, signal: null }, `${role}: ${name}`)
    const lines = started.output().split('\n')
    t.equal(lines.length, 1, `${role}: ${name}: ${started.output()}`)
    t.match(lines[0], /^weir: .*\.$/)
    t.match(lines[0], says)
    t.notOk(existsSync(dataDir), `${role}: ${name}: nothing was made`)
  }
})

t.test('nothing is made in a directory that is there and empty', async (t) => {
  const dataDir = tempDir(t)
  const env = { WEIR_DATA_DIR: dataDir, WEIR_PORT: '0', WEIR_GEOIP_DB: join(dataDir, 'missing.mmdb') }
  const started = run('programs/main.js', ['serve'], env)
  t.teardown(() => started.kill())
  t.strictSame(await started.ended, { code: 1, signal: null })
  t.strictSame(readdirSync(dataDir), [])
})

t.test('a setting that does not exist, and a secret key that is not the one of the database', async (t) => {
  const dataDir = tempDir(t)
  const weir = await startWeir(dataDir, { WEIR_DATA_DIRECTORY: 'data' })
  t.teardown(() => weir.stop())
  const warnings = weir.process.output().match(/Unknown setting WEIR_DATA_DIRECTORY/g)
  t.equal(warnings?.length, 1, 'the setting is warned of once, not by every process')
  const other = randomBytes(32).toString('base64')
  const deliver = run('programs/main.js', ['deliver'], {
    NATS_URL: readUserUrl(join(dataDir, 'nats'), 'deliver') ?? '',
    WEIR_NATS_INBOX_PREFIX: roleInboxPrefix('deliver'),
    WEIR_DATA_DIR: tempDir(t),
    WEIR_OPS_PORT: '0',
    WEIR_SECRET_KEY: other,
  })
  t.teardown(() => deliver.kill())
  t.strictSame(await deliver.ended, { code: 1, signal: null })
  t.match(
    deliver.output(),
    /^weir: The secret key is not the one this database was made with: .*\.$/m,
    'deliver',
  )
  t.strictSame(await weir.process.stop(), { code: 0, signal: null })
  const again = run('programs/main.js', ['serve'], {
    WEIR_DATA_DIR: dataDir,
    WEIR_PORT: '0',
    WEIR_SECRET_KEY: other,
  })
  t.teardown(() => again.kill())
  t.strictSame(await again.ended, { code: 1, signal: null })
  t.match(
    again.output(),
    /does not start: The secret key is not the one this database was made with/,
    'serve',
  )
})
