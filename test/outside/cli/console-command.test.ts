/** The links that a start, `weir console` and the API's own rules give: each signs in once. */
import { join } from 'node:path'
import t from 'tap'
import { run } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'
import { startWeir } from '../../harness/weir.js'

const signIn = (origin: string, code: string): Promise<Response> =>
  fetch(`${origin}/console/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'weir-console': '1' },
    body: JSON.stringify({ code }),
  })

t.test('links to the web console', async (t) => {
  const dataDir = join(tempDir(t), 'data')
  const weir = await startWeir(dataDir)
  t.teardown(() => weir.stop())
  const command = async (...args: string[]): Promise<{ code: number | null; output: string }> => {
    const running = run('programs/main.js', ['console', ...args], { WEIR_DATA_DIR: dataDir })
    const code = await new Promise<number | null>((resolve) => running.child.once('close', resolve))
    return { code, output: running.output() }
  }
  const use = async (url: string) => {
    const { origin, hash } = new URL(url)
    const answers = [await signIn(origin, hash.replace('#sign-in=', '')), await signIn(origin, hash.slice(9))]
    t.strictSame(
      answers.map(({ status }) => status),
      [201, 401],
      'it works once',
    )
    return answers[0]!.json()
  }

  t.test('that of a start', async (t) => {
    const [, url = ''] = await weir.process.line(/^console: (.*)$/)
    t.match(await use(url), { account_id: weir.accountId })
  })

  t.test('that of the command', async (t) => {
    const { code, output } = await command()
    t.equal(code, 0, output)
    t.match(output, /^console: http:\/\/127\.0\.0\.1:\d+\/#sign-in=[\w-]{32}\n?$/)
    t.match(await use(output.slice('console: '.length).trim()), { account_id: weir.accountId })
  })

  t.test('as JSON, for an account', async (t) => {
    const { output } = await command('--json', '--account', weir.accountId)
    const { url, account_id, api_key_id, expires_at } = JSON.parse(output)
    t.equal(account_id, weir.accountId)
    t.ok(Date.parse(expires_at) > 0)
    t.match(await use(url), { account_id, api_key_id })
  })

  t.test('what cannot be', async (t) => {
    const unknown = await command('--account', 'ac_nobody')
    t.equal(unknown.code, 1)
    t.match(unknown.output, 'There is no account "ac_nobody"')
    await weir.stop()
    const stopped = await command()
    t.equal(stopped.code, 4)
    t.match(stopped.output, 'No Weir runs on this data directory')
  })
})
