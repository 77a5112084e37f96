/** A draft, tried by a process of its own: from the command line, cancelled, and killed; and decisions, explained there. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run } from '../harness/processes.js'
import { endNow, processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import { record } from './deployment.js'
import { openAccount } from './service.js'

const host = 'tried.example.com'
const messages = 50
const perMessage = 100

t.test('trials of a service', async (t) => {
  const { weir, dataDir } = await openAccount(t)
  const { api, token } = weir
  const nats = await weir.nats()
  const policy = await api.ipPolicy.create({})
  await api.replaceRules(policy.id, [{ cidr: '0.0.0.0/0', action: 'allow' }])
  const edge = await api.tcpEdge.create({
    hostports: [`${host}:22`],
    ip_restriction: { ip_policy_ids: [policy.id] },
  })
  const tried = (run: string, n: number) => record(run, n).replace('ssh.example.com', host)
  for (let index = 0; index < messages; index += 1) {
    const lines = Array.from({ length: perMessage }, (_, line) => tried('tried', index * perMessage + line))
    // Each message once, also if an answer comes late and it is repeated.
    await nats.publish('weir.records.test.1', lines.join('\n'), { msgId: `tried.${index}` })
  }
  const total = messages * perMessage
  const trials = () => processesBelow(weir.process.pid).filter(({ role }) => role === 'trial')
  const personEnv = { WEIR_DATA_DIR: dataDir, WEIR_API_KEY: token }
  const drafted = { inbound: [{ name: 'tests', expressions: [], actions: [{ type: 'deny' as const }] }] }

  await t.test('weir try: as a person reads it, and as JSON', async (t) => {
    const file = join(dataDir, 'draft.json')
    writeFileSync(file, JSON.stringify([{ cidr: '10.0.0.0/8', action: 'allow' }]))
    const text = run(
      'programs/main.js',
      ['try', 'rules', policy.id, '--file', file, '--since', '2h'],
      personEnv,
    )
    t.equal((await text.ended).code, 0, text.output())
    // Every fourth record comes from another network.
    t.match(text.output(), `1,250 of ${total.toLocaleString('en-US')} records would be decided differently.`)
    t.match(text.output(), /\n {2}allow → block +1,250\n/)
    writeFileSync(file, JSON.stringify({ sources: [{ type: 'tcp_connection_closed.v0' }] }))
    const json = run('programs/main.js', ['try', 'subscription', '--file', file, '--json'], personEnv)
    t.equal((await json.ended).code, 0, json.output())
    t.match(JSON.parse(json.output()), { state: 'done', events: { records: total, events: total } })
    const wrong = run('programs/main.js', ['try', 'policies', 'edgtcp_1', '--file', file], personEnv)
    t.equal((await wrong.ended).code, 1)
    t.match(wrong.output(), /There is no TCP edge "edgtcp_1"/)
    await until('no process is left', () => trials().length === 0)
  })

  await t.test('Ctrl-C in weir try cancels the trial', async (t) => {
    const file = join(dataDir, 'cancelled.json')
    writeFileSync(file, JSON.stringify(drafted))
    const command = run('programs/main.js', ['try', 'policies', edge.id, '--file', file], personEnv)
    await until('its process runs', () => trials().length === 1)
    const frozen = trials()
    for (const { pid } of frozen) process.kill(pid, 'SIGSTOP')
    command.child.kill('SIGINT')
    t.equal((await command.ended).code, 1)
    t.match(command.output(), 'The trial was cancelled.')
    await until('no process is left', () => trials().length === 0)
  })

  await t.test('weir why: about a record, and about a connection', async (t) => {
    const recordId = 'explained-3'
    await nats.publish('weir.records.test.1', tried('explained', 3))
    const ask = async (...options: string[]): Promise<string> => {
      const command = run('programs/main.js', ['why', ...options], personEnv)
      t.equal((await command.ended).code, 0, command.output())
      return command.output()
    }
    await until('the record is in the log', () =>
      api.record(recordId).then(
        () => true,
        () => false,
      ),
    )
    t.match(
      await ask(recordId),
      /^Record explained-3, stored .*: 192\.0\.2\.3 to tried\.example\.com:22\nallow, with/,
    )
    const asked = ['--client', '192.0.2.3', '--server', `${host}:22`]
    t.match(await ask(...asked), /^allow, with revision \d+ of the configuration\n/)
    t.match(JSON.parse(await ask(...asked, '--json')), { decision: 'allow' })
    const nobody = run('programs/main.js', ['why', '--client', '192.0.2.3'], personEnv)
    t.equal((await nobody.ended).code, 2)
    t.match(nobody.output(), 'Name a record, or a connection')
  })

  await t.test('a trial whose process is killed has failed; the API goes on', async (t) => {
    const { id } = await api.tcpEdge.policies.try(edge.id, drafted)
    await until('its process runs', () => trials().length === 1)
    for (const { pid } of trials()) endNow(pid)
    await until('it has failed', async () => (await api.trial(id)).state !== 'running')
    t.match(await api.trial(id), { state: 'failed', error: 'Its process ended: SIGKILL.', decisions: null })
    t.equal((await api.tcpEdge.get(edge.id)).policies, null)
  })
})
