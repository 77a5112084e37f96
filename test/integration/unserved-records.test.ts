/**
 * Records that no edge serves, of a deployment with one account and with several: `weir publish` says so, the log has them,
 * and the overview does not say that all is well.
 */
import t from 'tap'
import { readRuntime, sendAdminCommand } from '../../src/management/process/running-service.js'
import { openClient } from '../../src/words/client/client.js'
import { all } from '../harness/caller.js'
import { untilInUse } from '../harness/in-use.js'
import { metricsOf } from '../harness/pages.js'
import { run, runWithInput } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'

const line = (path: string): string =>
  `203.0.113.7 - - [25/Nov/2026:10:00:00 +0000] "GET ${path} HTTP/1.1" 200 19 "-" "-"\n`

t.test('a log that no edge serves', async (t) => {
  const dataDir = tempDir(t)
  const weir = await startWeir(dataDir)
  t.teardown(() => weir.stop())
  const { api } = weir
  const edge = await api.httpsEdge.create({ hostports: ['www.example.com:443'] })
  await untilInUse(weir)
  const publish = async (lines: string, ...args: string[]) => {
    const env = { WEIR_DATA_DIR: dataDir }
    const options = ['publish', '--format', 'combined', '--server-name', 'www.example.com', '--json', ...args]
    const running = runWithInput('programs/main.js', options, env)
    running.child.stdin!.on('error', () => {})
    running.child.stdin!.end(lines)
    const { code } = await running.ended
    const found = running
      .output()
      .split('\n')
      .find((text) => text.startsWith('{'))
    return { code, said: running.output(), counts: JSON.parse(found ?? '{}') }
  }
  const decided = () => all(api.decisions({ source: 'record' }))

  await t.test('with one account, they are its records', async (t) => {
    const { code, said, counts } = await publish(line('/a') + line('/b'), '--server-port', '80')
    t.equal(code, 0)
    t.match(said, 'weir: 2 records: no edge serves www.example.com:80; edges: www.example.com:443')
    t.match(said, 'weir: The edge of www.example.com:443 serves another port of that name')
    t.match(counts, { stored: 2, unserved: { records: 2, account_id: weir.accountId } })
    await until('they are in the log', async () => (await decided()).length === 2)
    t.match(await decided(), [
      { edge_id: null, server_name: 'www.example.com', server_port: 80 },
      { edge_id: null, server_port: 80 },
    ])
    await until('the overview has them', async () => (await unservedIn())?.count === 2)
    t.match(await unservedIn(), {
      severity: 'attention',
      sentence:
        '2 records in the last 24 hours: no edge serves www.example.com:80; your edges: www.example.com:443.',
      names: [{ name: 'www.example.com:80', nearest: 'www.example.com:443', nearest_edge_id: edge.id }],
    })
    t.equal((await api.overview()).state, 'attention', 'not all is well')
    const shown = run('programs/main.js', ['decisions', '--json'], {
      WEIR_DATA_DIR: dataDir,
      WEIR_API_URL: weir.url,
      WEIR_API_KEY: weir.token,
    })
    await shown.ended
    t.match(shown.output(), '"server_port":80', 'and the command line')
  })

  await t.test('once an edge serves them, all is well', async (t) => {
    await api.httpsEdge.update(edge.id, { hostports: ['www.example.com:443', 'www.example.com:80'] })
    await untilInUse(weir)
    await until('the sentence is gone', async () => (await unservedIn()) === undefined)
    const { said, counts } = await publish(line('/c'), '--server-port', '80')
    t.notMatch(said, 'no edge serves')
    t.match(counts, { stored: 1, unserved: { records: 0 } })
  })

  await t.test(
    'with several, those that name none are of no account, and the operator sees them',
    async (t) => {
      const { adminUrl, adminToken } = readRuntime(dataDir)!
      const made = await sendAdminCommand(adminUrl, adminToken, {
        command: 'account create',
        name: 'other',
        json: 'yes',
      })
      const { account_id, token } = JSON.parse(made) as { account_id: string; token: string }
      const other = openClient({ url: weir.url, token })
      await other.httpsEdge.create({ hostports: ['other.example.com:443'] })
      await untilInUse(weir)
      const unnamed = await publish(line('/d'), '--server-port', '81')
      t.match(
        unnamed.said,
        /1 record: no edge serves www\.example\.com:81; they name no account, so no account sees them: give --account/,
      )
      const named = await publish(line('/e'), '--server-port', '81', '--account', account_id)
      t.match(named.said, '1 record: no edge serves www.example.com:81; edges: other.example.com:443')
      await until('it is in the log of the account', async () => (await all(other.decisions())).length === 1)
      t.equal((await decided()).length, 3, 'no other account sees it')
      const metrics = () => metricsOf(weir.url)
      await until('the metric counts it', async () => /^weir_records_unowned_total 1$/m.test(await metrics()))
      const wrong = await publish(line('/f'), '--account', 'ac_x')
      t.equal(wrong.code, 2)
      t.match(wrong.said, '--account is "ac_x"')
    },
  )

  async function unservedIn() {
    const { attention } = await api.overview()
    return attention.find(({ type, scope }) => type === 'unserved_names' && scope === 'account')
  }
})
