/** Decisions about abuse reports over NATS and from the command line. */
import t from 'tap'
import { openAccount, weirDoes } from './service.js'

t.test('abuse reports are decided', async (t) => {
  const { weir, dataDir } = await openAccount(t)
  const command = (...args: string[]) => weirDoes(dataDir, ...args)
  const { api, accountId } = weir
  await t.rejects(api.abuseReport.create({ urls: ['http://a.example'] }), {
    name: 'ApiError',
    status_code: 403,
  })
  t.match(await command('account', 'grant', '--account', accountId, 'abuse_reports'), { code: 0 })
  const report = await api.abuseReport.create({ urls: ['http://a.example', 'http://b.example'] })

  const nats = await weir.nats()
  const ask = async (request: object) => {
    const bytes = Buffer.from(JSON.stringify(request))
    return JSON.parse(Buffer.from(await nats.request('weir.abuse.decide', bytes, 20_000)).toString())
  }
  const banned = await ask({ report_id: report.id, hostname: 'a.example', status: 'BANNED' })
  t.match(banned, { id: report.id, status: 'PARTIALLY_PROCESSED' })
  t.strictSame(banned, await api.abuseReport.get(report.id))
  t.match(await ask({ report_id: report.id, hostname: 'c.example', status: 'BANNED' }), {
    error_code: 'ERR_NOT_FOUND',
    msg: /c\.example/,
  })

  t.match(await command('abuse', 'list'), { code: 0, text: `${report.id}  PARTIALLY_PROCESSED` })
  const decided = await command('abuse', 'decide', report.id, 'b.example', 'ignore')
  t.match(decided, { code: 0, text: `${report.id}  PROCESSED` })
  t.equal((await api.abuseReport.get(report.id)).status, 'PROCESSED')
  t.strictSame(await command('abuse', 'list'), { code: 0, text: '' })
  t.match(await command('abuse', 'list', '--all'), { code: 0, text: report.id })
  const wrong = await command('abuse', 'decide', report.id, 'b.example', 'PENDING')
  t.match(wrong, { code: 1, text: /^weir: "status" is "PENDING".*"BANNED", "UNBANNED", "IGNORE"/ })
  const query = `select changed_by from abuse_reports_history where id = '${report.id}' order by version`
  const [, maker, ...deciders] = (await command('sql', query, '--format', 'tsv')).text.split('\n')
  t.match(maker, /^ak_/)
  t.strictSame(deciders, ['nats', 'cli'])
})
