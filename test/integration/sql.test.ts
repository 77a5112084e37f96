/** `weir sql` on the embedded store while the service runs. */
import t from 'tap'
import { openAccount, weirDoes } from './service.js'

const secret = 'kept-from-everybody'

t.test('a query on the embedded store, with the service running', async (t) => {
  const { weir, dataDir, emulator } = await openAccount(t)
  const sql = (...args: string[]) => weirDoes(dataDir, 'sql', ...args)
  const policy = await weir.api.ipPolicy.create({ description: 'it\'s "asked" for' })
  await weir.api.ipPolicy.update(policy.id, { description: 'asked for' })
  await weir.api.eventDestination.create({
    target: {
      kinesis: {
        stream_arn: 'arn:aws:kinesis:eu-central-1:123456789012:stream/events',
        auth: { creds: { aws_access_key_id: emulator.key.accessKeyId, aws_secret_access_key: secret } },
      },
    },
  })

  const query = `select id, description from ip_policies where id = '${policy.id}'`
  const history = `select description, version from ip_policies_history where id = '${policy.id}' order by version`
  const tsv = `id\tdescription\n${policy.id}\tasked for`
  t.strictSame(await sql(query, '--format', 'tsv'), { code: 0, text: tsv })
  const { code, text } = await sql('select nothing from ip_policies')
  t.not(code, 0)
  t.match(text, /nothing/)
  t.notMatch(text, /^ +at /m, 'a sentence, and no stack')
  t.match((await sql(history, '--format', 'csv')).text, /^"it's ""asked"" for",\d+\n"asked for",\d+$/m)
  t.match(await sql(query), { code: 0, text: policy.id }, 'as a table for people')
  t.match((await sql(query, '--format', 'xml')).text, /There is no format "xml": pretty, tsv, csv, json/)
  t.match((await sql('drop table ip_policy_versions')).text, /readonly/i)
  const of = ['--since', '1h', '--account', weir.accountId, '--kind', 'ip_policy']
  const changes = await weirDoes(dataDir, 'changes', ...of, '--json')
  const [updated] = changes.text.split('\n').map((line) => JSON.parse(line))
  t.match(updated, { verb: 'update', id: policy.id, fields: [{ name: 'description', after: 'asked for' }] })
  const destinations = await sql('select * from event_destinations')
  t.match(destinations.text, /arn:aws:kinesis/)
  t.notMatch(destinations.text, /sealed|digest|kept-from/, 'no secret is shown')
  t.equal((await weir.api.ipPolicy.get(policy.id)).id, policy.id, 'the service still works')
})
