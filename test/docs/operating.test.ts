/** The operator's pages: every command of them is run against a deployment; what needs a stop comes last. */
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Session } from 'chdb'
import t, { type Test } from 'tap'
import { pausedByHand } from '../../src/delivery/deliver/lane/health.js'
import type { FaultClass } from '../../src/delivery/outgoing/fault-class.js'
import { unansweredCause } from '../../src/management/operate/advice/delivery-advice.js'
import { compiled } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { type RunningWeir, startEmulator, startWeir, until } from '../harness/weir.js'
import { blocks, pageOf, sectionOf } from './pages.js'

/** In the order in which their commands are run. */
const names = ['cli', 'alerts', 'operating', 'upgrading', 'scale']
const books = names.map((name) => pageOf(`docs/${name}.md`))
const blocksOf = (language: string): readonly string[] => books.flatMap((page) => blocks(page, language))
const token = 'a-token-of-the-tests-0001'
/** The record that the document names. */
const recordId = '01KAFZR7DA0T4CH30SW7DJ5M3B'

/** Commands that are not run here: how they begin, and why. */
const notRun = {
  'weir: The data directory': 'what a start says on data of a later version',
  'The role is starting': 'what a role says that waits for another version',
  'weir: WEIR_NATS_CA names': 'what a start says about a file that is missing',
  'The role is starting:': 'what a role says of a server that it does not trust',
  'NATS_URL=nats://…': 'several machines',
  'node dist/programs/emulator.js': 'the emulator and Weir run already',
  'weir credentials rotate': 'nats-servers that others run',
  'nats --server': 'the command line of NATS, which Weir does not need',
}

t.test('a block that is not run has a reason', (t) => {
  const texts = blocksOf('text')
  t.equal(texts.length, Object.keys(notRun).length)
  for (const text of texts)
    t.ok(
      Object.keys(notRun).some((head) => text.startsWith(head)),
      text,
    )
  t.strictSame(blocksOf('bash'), [], 'commands are in blocks of the language sh')
  t.end()
})

const causes: Readonly<Record<FaultClass | typeof unansweredCause, true>> = {
  throttle: true,
  transient: true,
  credentials: true,
  configuration: true,
  poison: true,
  [unansweredCause]: true,
}

t.test('every cause of a state has a section', (t) => {
  const states = sectionOf(pageOf('docs/alerts.md'), 'States of destinations')
  for (const cause of Object.keys(causes))
    t.match(sectionOf(states, `Cause ${cause}`).text, /^\nState `\w+`/, cause)
  t.match(sectionOf(states, 'Paused by hand').text, /^\nState `paused`/, pausedByHand)
  t.end()
})

/**
 * `weir`, each command once. What runs until Ctrl-C gets that: it ends with 130 if it had not begun.
 * The service is started by the test.
 */
const prelude = `
weir() {
  local seen="seen/$(printf '%s ' "$@" | sha256sum | cut -c 1-32)"
  if [ -e "$seen" ]; then return 0; fi
  touch "$seen"
  case "$1" in
    tap | top) timeout --preserve-status -s INT 5 node "$PROGRAM" "$@" || [ $? = 130 ] ;;
    login) printf '%s' "$WEIR_API_KEY" | node "$PROGRAM" "$@" ;;
    # It says whether all is well, which depends on what ran before.
    status) node "$PROGRAM" "$@" || [ $? = 1 ] ;;
    *) node "$PROGRAM" "$@" ;;
  esac
}
npm() { [ "$1" = start ]; }
`

class Runbook {
  readonly #dir: string
  readonly #env: Readonly<Record<string, string>>
  readonly values: [RegExp, () => string][] = []
  weir: RunningWeir | undefined

  constructor(dir: string, env: Readonly<Record<string, string>>) {
    this.#dir = dir
    this.#env = { ...env, WEIR_BOOTSTRAP_TOKEN: token }
  }

  async start(): Promise<RunningWeir> {
    this.weir ??= await startWeir(join(this.#dir, 'data'), this.#env)
    return this.weir
  }

  async stop(): Promise<void> {
    await this.weir?.stop()
    this.weir = undefined
  }

  /** Runs a block as it stands, with the placeholders replaced. */
  async run(t: Test, block: string): Promise<void> {
    await (needsStop(block) ? this.stop() : this.start())
    const script = this.values.reduce((text, [form, value]) => text.replaceAll(form, value), block)
    t.notMatch(script.replaceAll(/#.*$/gm, ''), '…', 'every placeholder has a value')
    const env = {
      ...process.env,
      PROGRAM: compiled('programs/main.js'),
      WEIR_API_KEY: token,
      XDG_CONFIG_HOME: this.#dir,
    }
    await new Promise<void>((done) => {
      const words = ['-e', '-o', 'pipefail', '-c', prelude + script]
      execFile('bash', words, { cwd: this.#dir, env }, (error, stdout, stderr) => {
        t.equal(error, null, `${script}\n${stdout}\n${stderr}`)
        done()
      })
    })
  }
}

const needsStop = (block = ''): boolean => block.includes('# the service is stopped')

/** In the order of the pages, but for one stop: what needs it comes last, and what follows that comes after it. */
function inTurn(all: readonly string[]): readonly string[] {
  const follows = all.filter((block, index) => !needsStop(block) && needsStop(all[index - 1]))
  const stopped = all.filter((block) => needsStop(block))
  const others = all.filter((block) => !needsStop(block) && !follows.includes(block))
  return [...others, ...stopped, ...follows]
}

t.test('the runbook', async (t) => {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'seen'))
  symlinkSync(resolve('node_modules'), join(dir, 'node_modules'))
  const rules = [{ cidr: '10.0.0.0/8', action: 'deny' }]
  writeFileSync(join(dir, 'draft.json'), JSON.stringify({ rules }))
  writeFileSync(join(dir, 'corrected.json'), '{}')
  const [policies = ''] = blocks(pageOf('docs/policies.md'), 'yaml')
  writeFileSync(join(dir, 'policies.yaml'), policies)
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const runbook = new Runbook(dir, { AWS_ENDPOINT_URL: emulator.url })
  t.teardown(() => runbook.stop())
  const { api, accountId, nats } = await runbook.start()

  const limits = { recordsPerSecond: null, bytesPerSecond: null }
  const stream_arn = await emulator.client.addResource({ service: 'kinesis', name: 'events', ...limits })
  const { accessKeyId, secretAccessKey } = emulator.key
  const creds = { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey }
  const destination = await api.eventDestination.create({
    target: { kinesis: { stream_arn, auth: { creds } } },
  })
  const policy = await api.ipPolicy.create({})
  await api.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '10.0.0.0/8', action: 'allow' })
  await api.tcpEdge.create({
    hostports: ['ssh.example.com:22'],
    ip_restriction: { ip_policy_ids: [policy.id] },
  })
  await api.eventSubscription.create({
    destination_ids: [destination.id],
    sources: [{ type: 'tcp_connection_closed.v0' }],
  })
  const oldKey = await api.apiKey.create({ description: 'old' })
  const admin = await nats()
  const conn = { client_ip: '10.1.2.3', client_port: 4_000, server_name: 'ssh.example.com', server_port: 22 }
  const record = JSON.stringify({ record_id: recordId, type: 'tcp_connection', conn })
  await admin.publish('weir.records.eu.node-1', JSON.stringify({ account_id: accountId }))
  let publishes = 0
  await until('the record is in the decision log', async () => {
    publishes += 1
    if (publishes % 10 === 1) await admin.publish('weir.records.eu.node-1', record)
    return api.record(recordId).then(
      () => true,
      () => false,
    )
  })
  let letterId = ''
  await until('a dead letter', async () => {
    for await (const { id } of api.deadLetters.list()) letterId = id
    return letterId !== ''
  })

  const values: Readonly<Record<string, string>> = {
    'weir_…': token,
    'ac_…': accountId,
    'ed_…': destination.id,
    'ipp_…': policy.id,
    'dl_…': letterId,
    'ak_…': oldKey.id,
    'AKIA…': accessKeyId,
    '"…"': `"${secretAccessKey}"`,
    'arn:aws:kinesis:us-east-1:123456789012:stream/events': stream_arn,
  }
  for (const [placeholder, value] of Object.entries(values))
    runbook.values.push([new RegExp(placeholder.replaceAll(/[/.]/g, '\\$&'), 'g'), () => value])
  runbook.values.push([/http:\/\/127\.0\.0\.1:8080/g, () => runbook.weir?.url ?? ''])
  runbook.values.push([/http:\/\/127\.0\.0\.1:4566/g, () => emulator.url])

  for (const block of inTurn(blocksOf('sh'))) {
    if (block.includes('abrp_…')) {
      const words = block.split('\n').filter((line) => line.includes('account grant'))
      await runbook.run(t, words.join('\n'))
      const report = await api.abuseReport.create({ urls: ['http://evil.example.com'] })
      runbook.values.push([/abrp_…/g, () => report.id])
    }
    await runbook.run(t, block)
  }

  await t.test('a backup of a ClickHouse server', async (t) => {
    await runbook.stop()
    const clickhouse = new Session(join(dir, 'data', 'clickhouse'))
    t.teardown(() => clickhouse.close())
    // The embedded engine has no disk for backups, but memory.
    const ask = (sql: string): string =>
      clickhouse.query(sql.replace(/Disk\(.*\)/, "Memory('weir')"), 'TSV').trim()
    const destinations = () => ask('SELECT id FROM event_destinations')
    t.equal(destinations(), destination.id)
    for (const sql of blocks(sectionOf(pageOf('docs/operating.md'), 'Back up and restore'), 'sql')) ask(sql)
    t.equal(destinations(), destination.id, 'it is there again')
    t.match(ask('SHOW TABLES'), /^event_destinations_history$/m)
  })
})
