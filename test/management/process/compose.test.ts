import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { accountsConfig } from '../../../src/delivery/nats-server/nats-access.js'
import { natsAccess } from '../../../src/delivery/nats-server/nats-users.js'
import { outdatedBecause } from '../../../src/ground/nats/server-versions.js'
import { settingNames } from '../../../src/management/process/setting-layers.js'
import { loadSettings, localNatsServer } from '../../../src/management/process/settings.js'
import { run } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'

interface Service {
  readonly image?: string
  readonly build?: string
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly deploy?: { readonly replicas: number }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly configs?: readonly { readonly source: string }[]
  readonly cap_drop?: readonly string[]
  readonly cap_add?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly read_only?: boolean
  readonly tmpfs?: readonly string[]
  readonly mem_limit?: string
  readonly restart?: string
  readonly logging?: { readonly options: Readonly<Record<string, string>> }
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly configs: Readonly<Record<string, { readonly content: string }>>
}

const text = readFileSync('docker-compose.yml', 'utf8')
const dockerfile = readFileSync('Dockerfile', 'utf8')
/** Without the configuration of the NATS servers, which names streams. */
const [settingsText = ''] = text.split('\nconfigs:')
const compose: Compose = parse(text, { merge: true })
const services = Object.entries(compose.services)
const roles = ['api', 'pipeline', 'deliver']
const natsServers = services.filter(([, { configs }]) => configs?.some(({ source }) => source === 'nats'))

/** A text as Docker Compose fills it in; every password is `secret`, every key and token one that fits. */
const interpolated = (value: string): string =>
  value
    .replace(/\$\{WEIR_SECRET_KEY[^}]*\}/g, Buffer.alloc(32, 1).toString('base64'))
    .replace(/\$\{WEIR_BOOTSTRAP_TOKEN[^}]*\}/g, 'a-token-of-24-characters')
    .replace(/\$\{[A-Z_]+(:\?[^}]*)?\}/g, 'secret')
    .replaceAll('$$', '$')

t.test('the settings of each role exist and are accepted', (t) => {
  for (const role of roles) {
    const environment = Object.fromEntries(
      Object.entries(compose.services[role]?.environment ?? {}).map(([name, value]) => [
        name,
        interpolated(value),
      ]),
    )
    for (const name of Object.keys(environment)) t.ok(settingNames.includes(name), `${role}: ${name}`)
    const { settings, warnings } = loadSettings({ environment })
    t.strictSame(warnings, [], role)
    t.match(settings, { nats: { replicas: 3, inboxPrefix: `_INBOX.${role}` }, ops: { port: 8080 } }, role)
    t.equal(settings.nats.servers?.length, 3, role)
    t.equal(
      settings.clickhouse.url !== undefined,
      role === 'api',
      `${role}: only the API talks to ClickHouse`,
    )
  }
  for (const [name] of settingsText.matchAll(/\bWEIR_[A-Z_]+\b/g)) t.ok(settingNames.includes(name), name)
  t.end()
})

t.test('what runs', (t) => {
  for (const role of roles) {
    t.equal(compose.services[role]?.deploy?.replicas, 2, `${role} runs twice`)
    t.strictSame(compose.services[role]?.command, [role])
  }
  t.equal(natsServers.length, 3)
  t.ok(compose.services['clickhouse'])
  t.ok(compose.services['aws'])
  t.end()
})

t.test('the AWS emulator starts with its arguments, and is reached by its health check', async (t) => {
  const { entrypoint: [program, module = '', ...args] = [] } = compose.services['aws'] ?? {}
  t.equal(program, 'node')
  // Another process of this machine may have the port.
  const emulator = run(
    module.replace(/^dist\//, ''),
    args.map((each) => (each === '4566' ? '0' : each)),
  )
  t.teardown(() => emulator.stop())
  const [, port] = await emulator.line(/^aws: http:\/\/0\.0\.0\.0:(\d+)$/)
  t.ok((await fetch(`http://127.0.0.1:${port}/`)).status >= 400, 'any answer will do')
})

t.test('every service says whether it is well, and is waited for', (t) => {
  for (const [name, { healthcheck, depends_on = {} }] of services) {
    t.equal(healthcheck?.test[0], 'CMD', name)
    for (const word of healthcheck?.test ?? [])
      t.type(word, 'string', `${name}: every word is a text in YAML`)
    for (const [needed, { condition }] of Object.entries(depends_on)) {
      t.ok(needed in compose.services, `${name} needs ${needed}`)
      t.equal(condition, 'service_healthy', `${name} waits for ${needed}`)
    }
  }
  t.end()
})

t.test('images are pinned', (t) => {
  for (const [name, { image = '' }] of services) t.match(image, /:v?\d+\.\d+\.\d+/, name)
  for (const [, image] of dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm))
    t.match(image, /:\d+\.\d+\.\d+-\w+/)
  const [, copied] = /^COPY --from=(nats:\S+) /m.exec(dockerfile) ?? []
  for (const [name, { image }] of natsServers) t.equal(image, copied, `${name} is the server of the image`)
  const [, version] = /^nats:([\d.]+)/.exec(copied ?? '') ?? []
  t.equal(outdatedBecause(version), undefined, `${version} has all known fixes`)
  t.notMatch(dockerfile, /apt-get/, 'nothing comes from a distribution that keeps old versions')
  t.end()
})

t.test('no service may do, use or log more than it needs', (t) => {
  /** Services with weaker restrictions than the others, and why. */
  const weaker: Readonly<Record<string, { writable?: string; capabilities?: readonly string[] }>> = {
    ...Object.fromEntries(
      natsServers.map(([name]) => [name, { writable: 'Compose writes its configuration into it' }]),
    ),
    // For its entry point, which begins as root.
    clickhouse: { capabilities: ['CHOWN', 'DAC_OVERRIDE', 'KILL', 'SETGID', 'SETUID'] },
  }
  for (const [name, service] of services) {
    const { writable, capabilities } = weaker[name] ?? {}
    t.strictSame(service.cap_drop, ['ALL'], name)
    t.strictSame(service.cap_add, capabilities, name)
    t.strictSame(service.security_opt, ['no-new-privileges:true'], name)
    t.equal(service.read_only ?? false, writable === undefined, name)
    if (writable === undefined) t.ok(service.tmpfs?.includes('/tmp'), `${name} may write to /tmp`)
    t.match(service.mem_limit, /^\d+[mg]$/, name)
    t.match(service.logging?.options, { 'max-size': /^\d+m$/, 'max-file': /^\d$/ }, name)
    t.equal(service.restart, 'unless-stopped', name)
  }
  t.end()
})

t.test('what is taken from a registry is named by its digest, so it can never be another image', (t) => {
  const own = services.find(([, { build }]) => build !== undefined)?.[1].image
  const composed = services.flatMap(([, { image }]) => (image === undefined || image === own ? [] : [image]))
  const built = [...dockerfile.matchAll(/^(?:FROM |COPY --from=)(?:--platform=\S+ )?(\S+:\S+)/gm)].map(
    ([, image]) => image!,
  )
  t.equal(built.length, 4)
  for (const image of [...composed, ...built]) t.match(image, /^[\w./-]+:[\w.-]+@sha256:[\da-f]{64}$/)
  t.end()
})

t.test('nothing can be reached from outside of the machine', (t) => {
  for (const [name, { ports = [] }] of services)
    for (const port of ports) t.match(port, /^127\.0\.0\.1:/, name)
  t.end()
})

t.test('an acknowledged message is on the disk of the NATS servers', (t) => {
  const [, minor] = /nats:2\.(\d+)/.exec(natsServers[0]?.[1].image ?? '') ?? []
  t.ok(Number(minor) >= 10, 'sync_interval needs 2.10')
  t.match(compose.configs['nats']?.content, /\n\s*sync_interval: always\n/)
  for (const [name] of natsServers)
    t.match(compose.configs['nats']?.content, `@${name}:6222`, `${name} is in the cluster`)
  t.end()
})

t.test('who may do what is what a local nats-server is set up with', (t) => {
  const [, block = ''] =
    /\naccounts: (\{[\s\S]*\n\})/.exec(interpolated(compose.configs['nats']?.content ?? '')) ?? []
  const { SYSTEM, ...accounts } = JSON.parse(block)
  t.strictSame(
    accounts,
    accountsConfig(natsAccess().accounts, (name) => [{ name, password: 'secret' }]),
  )
  t.strictSame(SYSTEM, { users: [{ user: 'system', password: 'secret' }] })
  t.end()
})

t.test('a server takes the block', async (t) => {
  const dir = tempDir(t)
  // Without the cluster, and without what needs a newer server than we may have.
  const config = interpolated(compose.configs['nats']?.content ?? '')
    .replace(/\ncluster \{[\s\S]*?\n\}/, '')
    .replace(/\n *sync_interval:.*/, '')
    .replace('/data', `"${join(dir, 'store')}"`)
  const path = join(dir, 'server.conf')
  writeFileSync(path, config)
  const env = { NATS_NAME: 'alone' }
  const checked = spawnSync(localNatsServer() ?? '', ['-t', '-c', path], { env, encoding: 'utf8' })
  t.equal(checked.status, 0, checked.stderr)
  t.end()
})

t.test('every user has its own password', (t) => {
  const users = Object.values(natsAccess().accounts).flatMap((account) => account.users)
  for (const { name } of users)
    t.match(text, new RegExp(`"user": "${name}",\\s+"password": "\\$\\{NATS_${name.toUpperCase()}_PASSWORD`))
  t.end()
})
