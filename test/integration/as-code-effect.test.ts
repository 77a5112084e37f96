/**
 * A change of files on records of the past, with a real Weir: who loses and who gains access is what comes out when the change
 * is applied and every record is asked about again.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Client } from '../../src/words/client/client.js'
import type { GivenRecord } from '../../src/words/resource/fields/given-record.js'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'

const clients = {
  cleaner: '198.51.100.7',
  partner: '192.0.2.3',
  stranger: '203.0.113.9',
  scanner: '192.0.2.200',
}
const servers = {
  ssh: { server_name: 'ssh.example.com', server_port: 22 },
  db: { server_name: 'db.example.com', server_port: 5432 },
}

/** Records by who connects to what, and how often. */
const past: readonly [client: keyof typeof clients, server: keyof typeof servers, records: number][] = [
  ['cleaner', 'ssh', 5],
  ['cleaner', 'db', 1],
  ['partner', 'ssh', 3],
  ['stranger', 'ssh', 4],
  ['scanner', 'db', 2],
]

const given = (client: keyof typeof clients, server: keyof typeof servers): GivenRecord => ({
  type: 'tcp_connection',
  conn: { client_ip: clients[client], ...servers[server] },
})

const before = {
  ip_lists: [{ id: 'partners', name: 'partners', entries: ['192.0.2.0/28'] }],
  ip_policies: [
    {
      id: 'office',
      description: 'office',
      rules: [
        { cidr: '198.51.100.0/24', action: 'allow' },
        { list_id: 'partners', action: 'allow' },
      ],
    },
  ],
  tcp_edges: [
    { id: 'ssh', hostports: ['ssh.example.com:22'], ip_restriction: { ip_policy_ids: ['office'] } },
    { id: 'db', hostports: ['db.example.com:5432'] },
  ],
}

/** What a stranger may write into a pull request. */
const hostile = '<img src=x onerror=alert(1)> @octocat [a](http://evil.example) `b` #1'

const changed = {
  ip_lists: [{ id: 'partners', name: 'partners', entries: ['203.0.113.0/28'] }],
  ip_policies: [
    ...before.ip_policies,
    {
      id: 'everyone-but',
      description: 'everyone but one',
      rules: [
        { cidr: '0.0.0.0/0', action: 'allow' },
        { cidr: '198.51.100.7/32', action: 'deny' },
      ],
    },
  ],
  tcp_edges: [
    before.tcp_edges[0],
    {
      ...before.tcp_edges[1],
      policies: {
        inbound: [
          {
            name: `no scanners ${hostile}`,
            expressions: [`conn.client_ip == '${clients.scanner}'`],
            actions: [{ type: 'deny' }],
          },
        ],
      },
    },
  ],
  ip_restrictions: [{ type: 'endpoints', enforced: true, ip_policy_ids: ['everyone-but'] }],
}

const expecting = (
  ...losses: readonly Readonly<[keyof typeof clients, keyof typeof servers, 'block' | 'deny']>[]
): object => ({
  policy_tests: losses.map(([client, server, decision]) => ({
    description: `${client} stays out of ${server}`,
    given: given(client, server),
    expect: { decision },
  })),
})

const allLosses = [
  ['cleaner', 'ssh', 'block'],
  ['cleaner', 'db', 'block'],
  ['partner', 'ssh', 'block'],
  ['scanner', 'db', 'deny'],
] as const

t.test('the effect of a change', async (t) => {
  const weir = await startWeir(tempDir(t))
  t.teardown(() => weir.stop())
  const { api, url, token } = weir
  const dir = tempDir(t)
  const file = join(dir, 'weir.json')
  const { token: readKey } = await api.apiKey.create({ description: 'CI', rights: ['read'] })
  const weirDoes = async (...args: string[]) => {
    const key = args[0] === 'apply' ? token : (readKey ?? '')
    const running = run('programs/main.js', args, { WEIR_API_URL: url, WEIR_API_KEY: key })
    const { code } = await running.ended
    return { code, output: running.output() }
  }
  const write = (...parts: readonly object[]): void =>
    writeFileSync(file, JSON.stringify(Object.assign({}, ...parts)))
  const plan = (...options: string[]) => weirDoes('plan', file, ...options)

  write(before)
  t.equal((await weirDoes('apply', file)).code, 0)
  const nats = await weir.nats()
  const lines = past.flatMap(([client, server, records]) =>
    Array.from({ length: records }, (_, n) =>
      JSON.stringify({ record_id: `${client}.${server}.${n}`, ...given(client, server) }),
    ),
  )
  await nats.publish('weir.records.test.1', lines.join('\n'))
  await until('the log has the records', () =>
    api.record('scanner.db.1').then(
      () => true,
      () => false,
    ),
  )
  const decidedNow = () => decisionsOf(api)
  const decidedBefore = await decidedNow()

  await t.test('without tests that expect the losses: 3, and who is concerned', async (t) => {
    write(changed)
    const { code, output } = await plan('--try', '24h')
    t.equal(code, 3, output)
    t.match(output, /15 records from \S+ to \S+ were looked at: 15 would be decided differently\./)
    t.match(
      output,
      '3 clients would lose access (11 records, 11 of them expected by no policy test of the files), 1 would gain it (4 records).',
    )
    t.match(
      output,
      /192\.0\.2\.3 .*at ssh\.example\.com:22, edge ssh: 3 records, refused by ip_restriction ssh/,
    )
    t.match(
      output,
      /192\.0\.2\.200 .*edge db: 2 records, refused by traffic_policy no scanners .*\. Expected by no/,
    )
    t.match(output, /Access gained\n.*\n.*\n.*: 4 records, until now refused by /)
    t.match(output, /198\.51\.100\.7 .*edge ssh: 5 records, refused by restriction .* 198\.51\.100\.7\/32/)
    t.match(output, `${url}/console/explain/cleaner.ssh.0`)
    t.match(output, /No record is kept of the time from \S+ to \S+, or there was none\./)
  })

  await t.test('with tests that expect them all: 2; with all but one: 3', async (t) => {
    write(changed, expecting(...allLosses))
    const whole = await plan('--try', '24h', '--tests')
    t.equal(whole.code, 2, whole.output)
    t.match(whole.output, 'Of the files: 4 passed, 0 failed.')
    t.match(whole.output, '11 records, 0 of them expected by no policy test')
    for (const missing of allLosses) {
      write(changed, expecting(...allLosses.filter((each) => each !== missing)))
      t.equal((await plan('--try', '24h')).code, 3, missing.join(' '))
    }
  })

  await t.test('a test that fails: 1, whatever else is found', async (t) => {
    write(changed, expecting(...allLosses.slice(1), ['stranger', 'ssh', 'block']))
    const { code, output } = await plan('--try', '24h', '--tests')
    t.equal(code, 1, output)
    t.match(output, 'FAILED stranger stays out of ssh: expected block; it is allow')
    t.match(output, '5 of them expected by no policy test')
  })

  await t.test('tests that the account keeps are run with the change, too', async (t) => {
    const { id } = await api.policyTest.create({
      description: 'the partner comes in',
      given: given('partner', 'ssh'),
      expect: { decision: 'allow' },
    })
    write(changed, expecting(...allLosses))
    const { code, output } = await plan('--tests')
    t.equal(code, 1, output)
    t.match(output, 'Of others that the account keeps: 0 passed, 1 failed.')
    t.match(output, 'FAILED the partner comes in: expected allow; it is block')
    const pruned = await plan('--tests', '--prune')
    t.equal(pruned.code, 2, 'with --prune, it would go')
    t.match(pruned.output, 'Of others that the account keeps: 0 passed, 0 failed.')
    await api.policyTest.delete(id)
  })

  await t.test('as Markdown: nothing of others is markup', async (t) => {
    write(changed, expecting(...allLosses))
    const { output } = await plan('--try', '24h', '--tests', '--markdown')
    t.match(output, /^<!-- weir plan -->\n### Weir\n/)
    t.match(output, '#### Access lost')
    t.match(output, `[explanation](<${url}/console/explain/scanner.db.0>)`)
    const outsideOfCode = output.replaceAll(/(`+)(?!`).*?(?<!`)\1(?!`)/g, '')
    t.notMatch(outsideOfCode, /octocat|<img|evil/)
    t.ok(output.includes('octocat'), 'it is there, as code')
    t.equal((await plan('--json', '--markdown')).code, 2, 'not together with --json')
  })

  await t.test('what does not decide about records is not tried', async (t) => {
    write({ ...before, backends: [{ description: 'a website' }] })
    const { code, output } = await plan('--try', '24h')
    t.equal(code, 2, output)
    t.match(output, 'Nothing that differs decides about records, so none was looked at.')
    t.match(output, 'No decision about records depends on backends.')
  })

  await t.test('the numbers are those of the change, applied', async (t) => {
    write(changed, expecting(...allLosses))
    const { effect, differences } = JSON.parse((await plan('--try', '24h', '--tests', '--json')).output)
    t.ok(
      differences.every((each: { id: string | null; last_change: object | null }) =>
        each.id === null ? each.last_change === null : each.last_change !== null,
      ),
      'who changed last what is there',
    )
    const applied = await weirDoes('apply', file)
    t.equal(applied.code, 0, applied.output)
    const decidedAfter = await decidedNow()
    const moved = (isLost: boolean) =>
      past.filter(([client, server]) => {
        const key = `${client} ${server}`
        const [was, is] = [decidedBefore.get(key) === 'allow', decidedAfter.get(key) === 'allow']
        return was !== is && was === isLost
      })
    const { lost, gained } = effect.trial.decisions.access
    for (const [side, isLost] of [
      [lost, true],
      [gained, false],
    ]) {
      const found = side.listed.map((each: Listed) => `${each.client_ip} ${each.server_name} ${each.records}`)
      const wanted = moved(isLost).map(
        ([client, server, records]) => `${clients[client]} ${servers[server].server_name} ${records}`,
      )
      t.ok(wanted.length > 0)
      t.strictSame(found.toSorted(), wanted.toSorted(), isLost ? 'lost' : 'gained')
    }
    t.equal(effect.lost_unexpectedly, 0)
    t.equal((await plan('--try', '24h', '--tests')).code, 0, 'nothing differs any more')
  })
})

interface Listed {
  readonly client_ip: string
  readonly server_name: string
  readonly records: number
}

/** What is decided now about each client and server of the past. */
async function decisionsOf(api: Client): Promise<ReadonlyMap<string, string>> {
  const found = past.map(async ([client, server]) => {
    const { decision } = await api.decide(given(client, server) as never)
    return [`${client} ${server}`, decision] as const
  })
  return new Map(await Promise.all(found))
}
