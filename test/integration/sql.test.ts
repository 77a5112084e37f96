/** `weir sql` on the embedded store: while the service runs, after it ended, and after it was killed. */
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'

t.setTimeout(600_000)

const secret = 'kept-from-everybody'

t.test('a query on the embedded store, with the service running and stopped', async (t) => {
  const dir = tempDir(t)
  const weirDoes = async (...args: string[]): Promise<{ code: number; text: string }> => {
    const { child, output } = run('programs/main.js', args, { WEIR_DATA_DIR: dir })
    const [code] = await once(child, 'close')
    return { code, text: output() }
  }
  const sql = (...args: string[]) => weirDoes('sql', ...args)
  const query = 'select id, description from ip_policies order by id'
  const weir = await startWeir(dir)
  t.teardown(() => weir.process.kill())
  const policy = await weir.api.ipPolicy.create({ description: 'it\'s "asked" for' })
  await weir.api.ipPolicy.update(policy.id, { description: 'asked for' })
  await weir.api.eventDestination.create({
    target: {
      kinesis: {
        stream_arn: 'arn:aws:kinesis:eu-central-1:123456789012:stream/events',
        auth: { creds: { aws_access_key_id: 'AKIAAAAAAAAAAAAAAAAA', aws_secret_access_key: secret } },
      },
    },
  })

  const history = `select description, version from ip_policies_history where id = '${policy.id}' order by version`
  const checkAnswers = async (t: Test): Promise<void> => {
    const tsv = `id\tdescription\n${policy.id}\tasked for`
    t.strictSame(await sql(query, '--format', 'tsv'), { code: 0, text: tsv })
    const { code, text } = await sql('select nothing from ip_policies')
    t.not(code, 0)
    t.match(text, /nothing/)
    t.notMatch(text, /^ +at /m, 'a sentence, and no stack')
  }
  await t.test('while the service runs', checkAnswers)
  t.match((await sql(history, '--format', 'csv')).text, /^"it's ""asked"" for",\d+\n"asked for",\d+$/m)
  t.match(await sql(query), { code: 0, text: policy.id }, 'as a table for people')
  t.match((await sql(query, '--format', 'xml')).text, /There is no format "xml": pretty, tsv, csv, json/)
  t.match((await sql('drop table ip_policy_versions')).text, /readonly/i)
  const changes = await weirDoes('changes', '--since', '1h', '--kind', 'ip_policy', '--json')
  const [updated] = changes.text.split('\n').map((line) => JSON.parse(line))
  t.match(updated, { verb: 'update', id: policy.id, fields: [{ name: 'description', after: 'asked for' }] })
  const destinations = await sql('select * from event_destinations')
  t.match(destinations.text, /arn:aws:kinesis/)
  t.notMatch(destinations.text, /sealed|digest|kept-from/, 'no secret is shown')
  t.equal((await weir.api.ipPolicy.get(policy.id)).id, policy.id, 'the service still works')
  t.strictSame(await weir.stop(), { code: 0, signal: null })
  await t.test('after a stop', checkAnswers)

  const again = await startWeir(dir, {}, weir.token)
  t.teardown(() => again.process.kill())
  await again.process.kill()
  await until('its processes have ended', async () => (await sql('select 1')).code === 0, 60_000)
  await t.test('after a kill', checkAnswers)
})
