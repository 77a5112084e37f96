/** What a stopped or killed service leaves: no process, a store that the commands open themselves, and its address. */
import t from 'tap'
import { isAlive, processesBelow } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'
import { openAccount, weirDoes } from './service.js'

t.test('after the service was stopped, and after it was killed', async (t) => {
  // Nothing comes after this test, and nothing needs to be deleted for it.
  const { weir, dataDir, env } = await openAccount({ teardown: () => {} })
  const { api, accountId } = weir
  const command = (...args: string[]) => weirDoes(dataDir, ...args)
  const policy = await api.ipPolicy.create({ description: 'asked for' })
  const checkAnswer = async (): Promise<void> => {
    const query = `select description from ip_policies where id = '${policy.id}'`
    const answer = { code: 0, text: 'description\nasked for' }
    t.strictSame(await command('sql', query, '--format', 'tsv'), answer)
  }
  t.match(await command('account', 'grant', '--account', accountId, 'abuse_reports'), { code: 0 })
  const report = await api.abuseReport.create({ urls: ['http://a.example'] })
  const edge = await api.tcpEdge.create({ hostports: ['tried.example.com:22'] })
  const trials = () => processesBelow(weir.process.pid).filter(({ role }) => role === 'trial')
  const inbound = [{ name: 'tests', expressions: [], actions: [{ type: 'deny' as const }] }]
  await api.tcpEdge.policies.try(edge.id, { inbound })
  await until('its process runs', () => trials().length === 1)
  const running = trials()
  t.strictSame(await weir.stop(), { code: 0, signal: null })
  t.strictSame(running.filter(isAlive), [], 'no trial is left behind')

  await checkAnswer()
  const wrong = await command('sql', 'select nothing from ip_policies')
  t.not(wrong.code, 0)
  t.match(wrong.text, /nothing/)
  t.notMatch(wrong.text, /^ +at /m, 'a sentence, and no stack')
  const changed = await command('abuse', 'decide', report.id, 'a.example', 'UNBANNED')
  t.match(changed, { code: 0, text: `${report.id}  PROCESSED` })
  t.match(await command('abuse', 'list', '--all'), { code: 0, text: 'UNBANNED  a.example' })

  const again = await startWeir(dataDir, env)
  t.teardown(() => again.process.kill())
  t.equal(again.natsUrl, weir.natsUrl, 'the address stays the same after a clean restart')
  await again.process.kill()
  await until('its processes have ended', async () => (await command('sql', 'select 1')).code === 0, 60_000)
  await checkAnswer()
})
