import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { parse } from 'yaml'
import { loadSettings, localNatsServer, settingNames } from '../src/config.js'
import { sleep } from '../src/core/clock.js'
import { freePort, readServerName } from '../src/core/nats-probe.js'
import { tempDir } from './harness/temp-dir.js'

interface Service {
  readonly image?: string
  readonly build?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly deploy?: { readonly replicas: number }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly configs?: readonly { readonly source: string }[]
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly configs: Readonly<Record<string, { readonly content: string }>>
}

const text = readFileSync('docker-compose.yml', 'utf8')
const compose: Compose = parse(text, { merge: true })
const services = Object.entries(compose.services)
const roles = ['api', 'pipeline', 'deliver']
const natsServers = services.filter(([, { configs }]) => configs?.some(({ source }) => source === 'nats'))

/** What Docker Compose makes of a text; every password is `secret`, every key and token one that fits. */
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
  for (const [name] of text.matchAll(/\bWEIR_[A-Z_]+\b/g)) t.ok(settingNames.includes(name), name)
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

t.test('every service says whether it is well, and is waited for', (t) => {
  for (const [name, { healthcheck, depends_on = {} }] of services) {
    t.equal(healthcheck?.test[0], 'CMD', name)
    for (const [needed, { condition }] of Object.entries(depends_on)) {
      t.ok(needed in compose.services, `${name} needs ${needed}`)
      t.equal(condition, 'service_healthy', `${name} waits for ${needed}`)
    }
  }
  t.end()
})

t.test('images are pinned', (t) => {
  for (const [name, { image = '' }] of services) t.match(image, /:v?\d+\.\d+\.\d+/, name)
  for (const [, image] of readFileSync('Dockerfile', 'utf8').matchAll(/^FROM (\S+)/gm))
    t.match(image, /:\d+-\w+/)
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

type Act = 'publish' | 'subscribe'

const permissions: readonly { who: string; may: Act; subject: string; want: boolean }[] = [
  { who: 'ingress', may: 'publish', subject: 'weir.records.eu.node-1', want: true },
  { who: 'ingress', may: 'publish', subject: 'weir.decide', want: true },
  { who: 'ingress', may: 'subscribe', subject: '_INBOX.ingress.x', want: true },
  { who: 'ingress', may: 'publish', subject: 'weir.decide.agent', want: false },
  { who: 'ingress', may: 'publish', subject: 'weir.abuse.decide', want: false },
  { who: 'ingress', may: 'publish', subject: 'weir.audit.domain.created', want: false },
  { who: 'ingress', may: 'publish', subject: 'weir.deliveries.x', want: false },
  { who: 'ingress', may: 'publish', subject: '$JS.API.STREAM.INFO.WEIR_RECORDS', want: false },
  { who: 'ingress', may: 'publish', subject: '$KV.weir_config.x', want: false },
  { who: 'ingress', may: 'subscribe', subject: 'weir.>', want: false },
  { who: 'ingress', may: 'subscribe', subject: '_INBOX.>', want: false },
  { who: 'ingress', may: 'subscribe', subject: '_INBOX.api.x', want: false },
  { who: 'api', may: 'publish', subject: '$KV.weir_config.x', want: true },
  { who: 'api', may: 'publish', subject: '$JS.API.CONSUMER.CREATE.KV_weir_secrets.x', want: true },
  { who: 'api', may: 'subscribe', subject: 'weir.abuse.decide', want: true },
  { who: 'api', may: 'publish', subject: 'weir.records.eu.api', want: false },
  { who: 'pipeline', may: 'publish', subject: '$JS.API.CONSUMER.MSG.NEXT.WEIR_RECORDS.pipeline', want: true },
  { who: 'pipeline', may: 'publish', subject: '$JS.API.CONSUMER.CREATE.KV_weir_config.x', want: true },
  { who: 'pipeline', may: 'publish', subject: '$JS.ACK.WEIR_RECORDS.pipeline.1.1.1.1.0', want: true },
  { who: 'pipeline', may: 'publish', subject: 'weir.deadletter.records', want: true },
  { who: 'pipeline', may: 'subscribe', subject: 'weir.decide', want: true },
  { who: 'pipeline', may: 'publish', subject: '$KV.weir_config.x', want: false },
  { who: 'pipeline', may: 'publish', subject: '$JS.API.CONSUMER.CREATE.KV_weir_secrets.x', want: false },
  {
    who: 'pipeline',
    may: 'publish',
    subject: '$JS.API.CONSUMER.DURABLE.CREATE.KV_weir_secrets.x',
    want: false,
  },
  { who: 'pipeline', may: 'publish', subject: '$JS.API.CONSUMER.MSG.NEXT.KV_weir_secrets.x', want: false },
  { who: 'pipeline', may: 'publish', subject: '$JS.API.STREAM.MSG.GET.KV_weir_secrets', want: false },
  { who: 'pipeline', may: 'publish', subject: '$JS.API.DIRECT.GET.KV_weir_secrets.x', want: false },
  { who: 'pipeline', may: 'publish', subject: '$JS.API.STREAM.DELETE.KV_weir_secrets', want: false },
  { who: 'deliver', may: 'publish', subject: '$JS.API.CONSUMER.CREATE.KV_weir_secrets.x', want: true },
  { who: 'deliver', may: 'publish', subject: 'weir.deadletter.events', want: true },
  { who: 'deliver', may: 'publish', subject: '$KV.weir_secrets.x', want: false },
  { who: 'deliver', may: 'publish', subject: '$JS.API.CONSUMER.CREATE.KV_weir_heads.x', want: false },
  { who: 'deliver', may: 'subscribe', subject: 'weir.decide', want: false },
  ...['pipeline', 'deliver', 'tunnels'].map(
    (who) => ({ who, may: 'publish', subject: 'weir.abuse.decide', want: false }) as const,
  ),
  { who: 'tunnels', may: 'publish', subject: 'weir.decide.agent', want: true },
  { who: 'tunnels', may: 'publish', subject: 'weir.decide', want: false },
  { who: 'tunnels', may: 'subscribe', subject: 'weir.decide.agent', want: false },
  { who: 'operator', may: 'publish', subject: 'weir.abuse.decide', want: true },
  { who: 'operator', may: 'publish', subject: 'weir.decide.agent', want: false },
  { who: 'operator', may: 'publish', subject: 'weir.records.eu.node-1', want: false },
  { who: 'operator', may: 'subscribe', subject: 'weir.abuse.decide', want: false },
  { who: 'operator', may: 'subscribe', subject: '_INBOX.api.x', want: false },
  { who: 'operator', may: 'publish', subject: 'weir.audit.domain.created', want: false },
  { who: 'services', may: 'publish', subject: 'weir.audit.domain.created', want: true },
  { who: 'services', may: 'publish', subject: 'weir.records.eu.node-1', want: false },
  { who: 'services', may: 'publish', subject: 'weir.events.audit.ac_1', want: false },
  { who: 'services', may: 'subscribe', subject: 'weir.audit.>', want: false },
  { who: 'services', may: 'subscribe', subject: '_INBOX.api.x', want: false },
]

t.test('who may do what, asked of a server', async (t) => {
  const server = await openServer(tempDir(t))
  const violations = await connectAll(server.port)
  for (const { who, may, subject, want } of permissions) {
    const allowed = await violations(who, may, subject)
    t.equal(allowed, want, `${who} ${want ? 'may' : 'may not'} ${may} ${subject}`)
  }
  const questions = [
    { asked: 'weir.decide', by: 'ingress', of: 'pipeline' },
    { asked: 'weir.decide.agent', by: 'tunnels', of: 'pipeline' },
    { asked: 'weir.abuse.decide', by: 'operator', of: 'api' },
  ]
  for (const { asked, by, of } of questions) {
    await t.test(`${by} gets an answer to a question on ${asked}`, async (t) => {
      const connectAs = (user: string) =>
        connect({ port: server.port, user, pass: 'secret', inboxPrefix: `_INBOX.${user}` })
      const [asking, answering] = await Promise.all([connectAs(by), connectAs(of)])
      answering.subscribe(asked, { callback: (_, message) => void message.respond('allow') })
      await answering.flush()
      t.equal((await asking.request(asked, '{}')).string(), 'allow')
      await Promise.all([asking.close(), answering.close()])
    })
  }
  await server.close()
})

/** One server with the users of the file: without the cluster, and without what needs a newer one than we may have. */
async function openServer(dir: string) {
  const port = await freePort()
  const config = interpolated(compose.configs['nats']?.content ?? '')
    .replace(/\ncluster \{[\s\S]*?\n\}/, '')
    .replace(/\n *sync_interval:.*/, '')
    .replace(/\nport: .*/, `\nhost: 127.0.0.1\nport: ${port}`)
    .replace(/\nhttp: .*/, '')
    .replace('/data', `"${join(dir, 'store')}"`)
  const path = join(dir, 'server.conf')
  writeFileSync(path, config)
  const server = spawn(localNatsServer() ?? '', ['-c', path], {
    env: { NATS_NAME: 'alone' },
    stdio: 'ignore',
  })
  const exit = once(server, 'exit')
  while (server.exitCode === null && (await readServerName(port)) !== 'alone') await sleep(10)
  const close = async () => {
    server.kill('SIGKILL')
    await exit
  }
  return { port, close }
}

/** Connects each user once; the returned function tells whether the server lets it do something. */
async function connectAll(port: number) {
  const connections = new Map<string, { connection: NatsConnection; refused: string[] }>()
  const open = async (user: string) => {
    const connection = await connect({ port, user, pass: 'secret', inboxPrefix: `_INBOX.${user}` })
    const refused: string[] = []
    void (async () => {
      for await (const status of connection.status())
        if (status.type === 'error') refused.push(status.error.message)
    })()
    t.teardown(() => connection.close())
    return { connection, refused }
  }
  for (const user of new Set(permissions.map(({ who }) => who))) connections.set(user, await open(user))
  return async (user: string, act: Act, subject: string): Promise<boolean> => {
    const known = connections.get(user)
    if (known === undefined) throw new Error(`There is no user ${user}.`)
    const { connection, refused } = known
    if (act === 'publish') connection.publish(subject, '')
    else connection.subscribe(subject, { callback: () => {} })
    await connection.flush()
    await sleep(0)
    return !refused.some((message) => message.includes(`"${subject}"`))
  }
}
