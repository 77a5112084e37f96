/**
 * `weir doctor`, as an operator runs it: on a service with one destination that works and others that do not, with settings that
 * are wrong, and without a service. And the file for those who help: secrets of every kind are searched for in it.
 */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readUserUrl } from '../../src/delivery/nats-server/logins.js'
import { natsAccess } from '../../src/delivery/nats-server/nats-users.js'
import type { DoctorReport } from '../../src/words/shape/doctor.js'
import { certificateBody } from '../harness/certificates.js'
import { freePorts } from '../harness/free-ports.js'
import { OwnNats } from '../harness/own-nats.js'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { openWebServer } from '../harness/web-server.js'
import { startEmulator, startWeir, until } from '../harness/weir.js'
import { stream, target } from './deployment.js'

const aws = {
  AWS_ACCESS_KEY_ID: 'AKIADOCTORTEST000001',
  AWS_SECRET_ACCESS_KEY: 'planted+secret/of the deployment',
}

const secret = (what: string) => `planted-${what}/${randomBytes(9).toString('base64')}+x`

interface Ran {
  readonly code: number | null
  readonly output: string
}

async function doctor(
  dataDir: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ran> {
  const command = run('programs/main.js', ['doctor', ...args], { WEIR_DATA_DIR: dataDir, ...env })
  const { code } = await command.ended
  return { code, output: command.output() }
}

/** The JSON is one line; warnings go elsewhere. */
const reportIn = ({ output }: Ran): DoctorReport =>
  JSON.parse(output.split('\n').find((line) => line.startsWith('{')) ?? 'null')

const linesOf = (report: DoctorReport, check: string) => report.lines.filter((line) => line.check === check)

t.test('a service', async (t) => {
  const dataDir = join(tempDir(t), 'data')
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const bootstrap = `planted-token-of-the-first-key-${randomBytes(9).toString('hex')}`
  const file = join(tempDir(t), 'token')
  writeFileSync(file, bootstrap)
  const env = {
    ...aws,
    AWS_ENDPOINT_URL: emulator.url,
    WEIR_BOOTSTRAP_TOKEN_FILE: file,
    WEIR_DECIDE_PORT: '0',
    WEIR_HTTP_PRIVATE_NETWORKS: '127.0.0.0/8',
  }
  await emulator.client.addKey({
    accessKeyId: aws.AWS_ACCESS_KEY_ID,
    secretAccessKey: aws.AWS_SECRET_ACCESS_KEY,
  })
  const weir = await startWeir(dataDir, env, bootstrap)
  t.teardown(() => weir.stop())

  await t.test('with nothing in it: nothing is bad', async (t) => {
    const ran = await doctor(dataDir, ['--json'], env)
    t.equal(ran.code, 0, ran.output)
    const report = reportIn(ran)
    t.same(
      report.lines.filter(({ state }) => state === 'bad'),
      [],
    )
    t.match(linesOf(report, 'service'), [{ state: 'good' }])
    t.match(linesOf(report, 'processes'), [{ state: 'good' }], 'all roles answer')
    t.match(linesOf(report, 'versions'), [{ state: 'good' }])
    t.match(linesOf(report, 'decide_port'), [{ state: 'good' }])
    t.match(linesOf(report, 'disk_sync'), [{ about: dataDir }])
    t.match(linesOf(report, 'aws_identity'), [{ state: 'not_checked' }], 'no one needs an identity')
    t.equal(new Set(report.lines.map(({ check }) => check)).size, 27, 'every check has a line')
  })

  const planted = {
    key: secret('key-of-kinesis'),
    bearer: `planted-bearer-${randomBytes(9).toString('base64url')}`,
    header: secret('header'),
  }
  const server = await openWebServer(t, ({ headers }, response) =>
    response
      .writeHead(400, { 'content-type': 'text/plain' })
      .end(
        [headers['x-own'], headers.authorization]
          .flatMap((text = '') => [
            text,
            encodeURIComponent(String(text)),
            Buffer.from(String(text)).toString('base64'),
          ])
          .join(' '),
      ),
  )
  const { api } = weir
  const arn = await stream(emulator, 'good')
  await api.eventDestination.create(target(arn, emulator))
  const refused = await api.eventDestination.create({
    target: {
      kinesis: {
        stream_arn: arn,
        auth: { creds: { aws_access_key_id: emulator.key.accessKeyId, aws_secret_access_key: planted.key } },
      },
    },
  })
  const posted = await api.eventDestination.create({
    target: {
      http: {
        url: server.url,
        secret_headers: { 'X-Own': planted.header },
        auth: { bearer: { token: planted.bearer } },
      },
    },
  } as never)
  const role = `arn:aws:iam::123456789012:role/weir-${randomBytes(4).toString('hex')}`
  await api.eventDestination.create({
    target: { kinesis: { stream_arn: arn, auth: { role: { role_arn: role } } } },
  })

  await t.test(
    'with destinations that do not work, an unknown setting, and a proxy that is not trusted',
    async (t) => {
      const { decide } = await decideUrl(weir.process.output())
      await fetch(`${decide}/decide/auth_request`, {
        headers: { 'weir-key': weir.token, 'x-forwarded-for': '192.0.2.1', host: 'a.example.com' },
      })
      const ran = await doctor(dataDir, ['--json'], { ...env, WEIR_DECIDE_PROT: '1' })
      t.equal(ran.code, 1, 'something is bad')
      const report = reportIn(ran)
      t.equal(report.state, 'bad')
      const of = (id: string) => linesOf(report, 'destinations').filter(({ about }) => about === id)
      t.match(of(refused.id), [{ state: 'bad', advice: String }])
      t.match(
        linesOf(report, 'destinations').filter(({ state }) => state === 'good'),
        [{ sentence: /^1 destination could/ }],
      )
      t.match(linesOf(report, 'aws_identity'), [{ state: 'good', sentence: /arn:aws:/ }], 'AWS says who asks')
      t.match(linesOf(report, 'settings')[0], {
        state: 'warning',
        sentence: /WEIR_DECIDE_PROT.*WEIR_DECIDE_PORT/,
      })
      t.match(linesOf(report, 'trusted_proxies'), [{ state: 'warning', about: '127.0.0.1' }])
      const text = (await doctor(dataDir, [], env)).output
      t.match(text.split('\n')[0], /^bad /, 'the worst is read first')
      t.match(text, /docs\/doctor\.md#destinations/, 'with the page')
    },
  )

  await t.test('the file for those who help has no secret', async (t) => {
    const certificate = certificateBody('ed25519')
    await api.tlsCertificate.create(certificate)
    const key = await api.apiKey.create({ description: 'planted' })
    const tunnel = await api.tunnelCredential.create({})
    // The server's answers repeat the secrets: what is known of the last failure is in the file.
    await api.sendTestEvent(posted.id).catch(() => {})
    // Someone wrote one where names are: a finding about the policy, which nobody uses, shows it.
    for (const text of Object.values(planted)) await api.ipPolicy.create({ description: `of ${text}` })
    const users = Object.values(natsAccess().accounts).flatMap((account) => account.users)
    const passwords = Object.fromEntries(
      users.map(({ name }) => [
        `password of ${name}`,
        new URL(readUserUrl(join(dataDir, 'nats'), name)!).password,
      ]),
    )
    // And a server repeated some in its log.
    const repeated = [bootstrap, aws.AWS_SECRET_ACCESS_KEY, ...Object.values(passwords)]
    const forms = repeated.flatMap((text) => [
      text,
      encodeURIComponent(text),
      Buffer.from(text).toString('base64'),
      Buffer.from(text).toString('base64url'),
    ])
    const unknown = [certificate.private_key_pem, (key as unknown as { token: string }).token]
    appendFileSync(join(dataDir, 'nats', 'server.log'), `${[...forms, ...unknown].join('\n')}\n`)
    const path = join(tempDir(t), 'bundle.tar.gz')
    const ran = await doctor(dataDir, ['--json', '--bundle', path], env)
    t.match(ran.output, /has \d+ files/)
    t.equal(statSync(path).mode & 0o777, 0o600)
    const unpacked = tempDir(t)
    const { status, stderr } = spawnSync('tar', ['-xzf', path, '-C', unpacked], { encoding: 'utf8' })
    t.equal(status, 0, stderr)
    const files = new Map(
      readdirSync(unpacked).map((name) => [name, readFileSync(join(unpacked, name), 'utf8')]),
    )
    for (const name of [
      'doctor.json',
      'settings.json',
      'service-settings.json',
      'metrics.txt',
      'streams.json',
      'accounts.json',
      'nats-server.log',
    ])
      t.ok((files.get(name) ?? '').length > 50, `${name} is there`)
    t.match(files.get('doctor.json'), refused.id, 'and says what is wrong')
    t.match(files.get('accounts.json'), /"of …"/, 'what was hidden is there, without the secret')
    t.match(files.get('metrics.txt'), /^weir_/m)
    t.match(files.get('streams.json'), /WEIR_RECORDS/)
    const secrets: Record<string, string> = {
      ...planted,
      bootstrap,
      aws: aws.AWS_SECRET_ACCESS_KEY,
      emulator: emulator.key.secretAccessKey,
      'API key': (key as unknown as { token: string }).token,
      'tunnel credential': (tunnel as unknown as { token: string }).token,
      'private key': certificate.private_key_pem,
      'secret.key': readFileSync(join(dataDir, 'secret.key'), 'utf8').trim(),
      ...passwords,
    }
    for (const [what, text] of Object.entries(secrets)) {
      t.ok(text.length > 8, `${what} is a secret`)
      for (const [name, content] of files) t.same(formsIn(content, text), [], `${what} is not in ${name}`)
    }
    const again = await doctor(dataDir, ['--json', '--bundle', path], env)
    t.equal(again.code, 1)
    t.match(again.output, /was not written/, 'a file that is there is not replaced')
  })

  await t.test('a role that is missing, when its process was stopped', async (t) => {
    const missing = async () => {
      const { lines } = reportIn(await doctor(dataDir, ['--json'], env))
      return lines.some(
        ({ check, about, state }) => check === 'processes' && about === 'deliver' && state === 'bad',
      )
    }
    t.notOk(await missing())
    const pid = await deliverer(dataDir, env)
    process.kill(pid, 'SIGSTOP')
    try {
      await until('the doctor misses the deliverer', missing)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  })
})

/** The process of the deliverer, from the file for those who help. */
async function deliverer(dataDir: string, env: Readonly<Record<string, string>>): Promise<number> {
  const path = join(dataDir, 'processes.tar.gz')
  await doctor(dataDir, ['--json', '--bundle', path], env)
  const { stdout } = spawnSync('tar', ['-xzOf', path, 'processes.json'], { encoding: 'utf8' })
  const processes = JSON.parse(stdout) as { role: string; pid: number }[]
  return processes.find(({ role }) => role === 'deliver')!.pid
}

const decideUrl = async (output: string): Promise<{ decide: string }> => ({
  decide: /^decisions: (\S+)\/decide$/m.exec(output)?.[1] ?? '',
})

/** The forms in which a text stands in another one. */
function formsIn(content: string, text: string): string[] {
  const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  // Within longer texts, base64 begins at any of three places.
  const shifted = [0, 1, 2].map((by) =>
    base64(Buffer.concat([Buffer.alloc(by), Buffer.from(text)])).slice(by === 0 ? 0 : by + 1, -2),
  )
  const forms = [
    text,
    encodeURIComponent(text),
    JSON.stringify(text).slice(1, -1),
    ...shifted,
    ...shifted.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ]
  return [...new Set(forms)].filter((form) => content.includes(form))
}

t.test('without a service', async (t) => {
  const dataDir = join(tempDir(t), 'data')
  const ran = await doctor(dataDir, ['--json'], {})
  t.equal(ran.code, 1)
  const report = reportIn(ran)
  t.match(linesOf(report, 'data_directory'), [{ state: 'bad', about: dataDir }])
  t.match(linesOf(report, 'service'), [{ state: 'bad' }])
  t.match(
    linesOf(report, 'destinations'),
    [{ state: 'not_checked' }],
    'nothing is good that was not looked at',
  )
  mkdirSync(dataDir, { mode: 0o755 })
  const open = reportIn(await doctor(dataDir, ['--json'], {}))
  t.match(
    linesOf(open, 'data_directory'),
    [{ state: 'warning', advice: /chmod 700/ }],
    'others may look into it',
  )
})

t.test('without a service, what a start needs is tried from here', async (t) => {
  const dataDir = tempDir(t)
  const [closed = 0, other = 0] = await freePorts(2)
  const secretKey = randomBytes(32).toString('base64')
  const broken = reportIn(
    await doctor(dataDir, ['--json'], {
      NATS_URL: `nats://127.0.0.1:${closed}`,
      CLICKHOUSE_URL: `http://127.0.0.1:${other}/weir`,
      WEIR_GEOIP_DB: '/etc/passwd',
      WEIR_SECRET_KEY: secretKey,
    }),
  )
  t.match(linesOf(broken, 'nats'), [
    { state: 'bad', sentence: new RegExp(`127.0.0.1:${closed}`), advice: /NATS_URL/ },
  ])
  t.match(linesOf(broken, 'clickhouse'), [
    { state: 'bad', sentence: /ECONNREFUSED/, advice: /CLICKHOUSE_URL/ },
  ])
  t.match(linesOf(broken, 'geoip'), [
    { state: 'bad', sentence: /\/etc\/passwd \(WEIR_GEOIP_DB\) can't be read/ },
  ])
  t.match(linesOf(broken, 'nats_rights'), [{ state: 'not_checked' }])
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  const well = reportIn(
    await doctor(dataDir, ['--json'], {
      NATS_URL: server.url,
      NATS_URI: 'nats://elsewhere',
      WEIR_SECRET_KEY: secretKey,
    }),
  )
  t.match(linesOf(well, 'nats'), [{ state: 'good', sentence: /can be reached from here/ }])
  t.match(linesOf(well, 'geoip'), [{ state: 'good' }])
  t.match(
    linesOf(well, 'settings').filter(({ state }) => state === 'warning'),
    [{ sentence: 'Unknown setting NATS_URI was ignored. Did you mean NATS_URL?' }],
  )
})

t.test('settings that can not be read', async (t) => {
  const ran = await doctor(tempDir(t), ['--json'], { WEIR_PORT: 'eighty' })
  t.equal(ran.code, 1)
  const report = reportIn(ran)
  t.match(linesOf(report, 'settings'), [{ state: 'bad', sentence: /WEIR_PORT is "eighty"/ }])
  t.match(linesOf(report, 'nats'), [{ state: 'not_checked' }])
})
