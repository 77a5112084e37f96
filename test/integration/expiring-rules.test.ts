/** Rules that expire while traffic flows: what decides forgets them in time, in each process, also without the API. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isoSeconds, now } from '../../src/ground/core/clock.js'
import type { Nats } from '../../src/ground/nats/nats.js'
import { all } from '../harness/caller.js'
import { tempDir } from '../harness/temp-dir.js'
import { processesBelow } from '../harness/tree.js'
import { type RunningWeir, startWeir, until } from '../harness/weir.js'
import { token } from './deployment.js'

const [banned, guest] = ['203.0.113.9', '198.51.100.7']
const inSeconds = (seconds: number): string => isoSeconds(now() + 1000 * seconds)
/** A change and an expiry take effect within 2 s; a busy machine gets some more. */
const effectMs = 2_000
const patienceMs = 180_000

interface Moment {
  readonly decision: string
  readonly atMs: number
}

/** Asks all the time, as a proxy does, and publishes a record with each question. */
class Traffic {
  readonly #nats: Nats
  readonly #client: string
  readonly moments: Moment[] = []
  #isOver = false
  readonly #ended: Promise<void>

  constructor(nats: Nats, client: string) {
    this.#nats = nats
    this.#client = client
    this.#ended = this.#run()
  }

  async #run(): Promise<void> {
    for (let n = 0; !this.#isOver; n += 1) {
      const conn = { client_ip: this.#client, server_name: 'ssh.example.com', server_port: 22 }
      const line = JSON.stringify({ record_id: `${this.#client} ${n}`, type: 'tcp_connection', conn })
      await this.#nats.publish('weir.records.eu.node-1', line)
      const answer = await this.#nats.request('weir.decide', line, 30_000)
      const { decision } = JSON.parse(Buffer.from(answer).toString()) as { decision: string }
      this.moments.push({ decision, atMs: now() })
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  get last(): string | undefined {
    return this.moments.at(-1)?.decision
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#ended
  }
}

/** An edge that lets in everyone but those whom rules of the policy deny. */
async function configure({ api }: RunningWeir): Promise<string> {
  const { id } = await api.ipPolicy.create({ description: 'bans' })
  await api.ipPolicyRule.create({ ip_policy_id: id, cidr: '203.0.113.0/24', action: 'allow' })
  await api.tcpEdge.create({ hostports: ['ssh.example.com:22'], ip_restriction: { ip_policy_ids: [id] } })
  return id
}

t.test(
  'a ban ends while traffic flows, and one that ended while nothing ran does not come back',
  async (t) => {
    const dataDir = tempDir(t)
    const files = tempDir(t)
    const env = { WEIR_BOOTSTRAP_TOKEN: token, WEIR_LOG_LEVEL: 'info', WEIR_FILE_DIRECTORY: files }
    const announced = () =>
      readdirSync(files, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .flatMap(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8').split('\n'))
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    let weir = await startWeir(dataDir, env)
    t.teardown(() => weir.stop())
    const ip_policy_id = await configure(weir)
    const destination = await weir.api.eventDestination.create({
      target: { file: { name: 'audits.ndjson' } },
    })
    await weir.api.eventSubscription.create({
      sources: [{ type: 'ip_policy_rule_deleted.v0' }],
      destination_ids: [destination.id],
    })
    const ban = (seconds: number, cidr = `${banned}/32`) =>
      weir.api.ipPolicyRule.create({
        ip_policy_id,
        cidr,
        action: 'deny' as const,
        description: 'scans',
        expires_at: inSeconds(seconds),
      })

    const rule = await ban(12)
    const lets = await weir.api.ipPolicyRule.create({
      ip_policy_id,
      cidr: `${guest}/32`,
      action: 'allow' as const,
      expires_at: rule.expires_at,
    })
    const nats = await weir.nats()
    const [ofBanned, ofGuest] = [new Traffic(nats, banned), new Traffic(nats, guest)]
    await until('both rules decide', () => ofBanned.last === 'block' && ofGuest.last === 'allow')
    await until('both have ended', () => ofBanned.last === 'allow' && ofGuest.last === 'block')
    const endMs = Date.parse(String(rule.expires_at))
    const firstMs = ofBanned.moments.findLast(({ decision }) => decision === 'block')!.atMs
    t.ok(firstMs >= endMs - 100, 'not before its time')
    t.ok(firstMs < endMs + effectMs + patienceMs, `${firstMs - endMs} ms after its time`)
    await ofGuest.end()

    await until('they are deleted', async () => {
      const left = await all(weir.api.ipPolicyRule.list())
      return left.every(({ id }) => id !== rule.id && id !== lets.id)
    })
    const changes = await all(weir.api.changes({ filter: `id == '${rule.id}'` }))
    t.match(
      changes,
      [
        { verb: 'delete', by: 'expiry' },
        { verb: 'create', by: /^ak_/ },
      ],
      'who added it is known',
    )
    await until('the records after it are allowed, by the pipeline, too', async () =>
      (await all(weir.api.decisions({ client: banned, source: 'record' }))).some(
        ({ decision }) => decision === 'allow',
      ),
    )
    await ofBanned.end()

    await until('both are announced', () => announced().length >= 2)
    t.match(
      announced().find(({ object }) => object.id === rule.id),
      {
        event_type: 'ip_policy_rule_deleted.v0',
        principal: { source: 'EXPIRY' },
        object: { description: 'scans' },
      },
    )

    const frozen = await ban(8)
    const meanwhile = new Traffic(nats, banned)
    await until('another ban decides', () => meanwhile.last === 'block')
    const apis = processesBelow(weir.process.pid).filter(({ role }) => role === 'api')
    t.equal(apis.length, 1)
    for (const { pid } of apis) process.kill(pid, 'SIGSTOP')
    try {
      await until('it ends while the API stands still', () => meanwhile.last === 'allow')
    } finally {
      for (const { pid } of apis) process.kill(pid, 'SIGCONT')
      await meanwhile.end()
    }
    await until('it is deleted when the API goes on', async () =>
      (await all(weir.api.ipPolicyRule.list())).every(({ id }) => id !== frozen.id),
    )

    const longer = await ban(8)
    const again = new Traffic(await weir.nats(), banned)
    await until('the next ban decides', () => again.last === 'block')
    await again.end()
    await weir.stop()
    await until('its time passes while nothing runs', () => now() > Date.parse(String(longer.expires_at)))
    weir = await startWeir(dataDir, env, token)
    const after = new Traffic(await weir.nats(), banned)
    await until('there is an answer', () => after.last !== undefined)
    await after.end()
    t.equal(after.moments[0]?.decision, 'allow', 'from the first answer on')
    await until('it is deleted after the start', async () =>
      (await all(weir.api.ipPolicyRule.list())).every(({ id }) => id !== longer.id),
    )
  },
)
