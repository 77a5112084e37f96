/** Exit codes, of real commands: what a script can tell from them. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { exitMeanings } from '../../../src/outside/cli/guide/exit-codes.js'
import { run } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'

const key = 'weir_0123456789abcdef'

async function apiThat(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const refusing =
  (status: number, error_code: string): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error_code, status_code: status, msg: 'It is so.', details: {} }))
  }

t.test('exit codes', async (t) => {
  const dir = tempDir(t)
  const failing = await apiThat(t, refusing(500, 'ERR_INTERNAL'))
  const denying = await apiThat(t, refusing(403, 'ERR_FORBIDDEN'))
  const silent = `http://127.0.0.1:${await freePort()}`
  const at = (url: string) => ({ WEIR_API_URL: url, WEIR_API_KEY: key })
  const cases: [name: string, code: number, words: string, env: Record<string, string>, says: RegExp][] = [
    ['the version', 0, '--version', {}, /^\d/],
    ['help', 0, 'destination check --help', {}, /^Usage: weir destination check/],
    ['an unknown command', 2, 'tapp', {}, /unknown command 'tapp'/],
    ['an unknown option', 2, 'tap --dad', {}, /unknown option '--dad'/],
    ['a missing argument', 2, 'destination check', {}, /missing required argument 'id'/],
    ['a command of commands alone', 2, 'destination', {}, /Usage: weir destination/],
    ['a value that is not allowed', 2, 'decisions --limit none', at(silent), /--limit is "none"/],
    [
      'a time that is none',
      2,
      'plan none.yaml --try yesterday',
      at(silent),
      /'yesterday' is invalid\. It must be a length/,
    ],
    [
      'a setting that is not allowed',
      2,
      'lint',
      { WEIR_API_URL: silent, WEIR_API_KEY: 'a key' },
      /WEIR_API_KEY/,
    ],
    ['the same, of a role', 1, 'decide', { WEIR_API_KEY: 'a key' }, /WEIR_API_KEY/],
    ['options that exclude each other', 2, 'tap --edge e --destination d', at(silent), /give one of them/],
    ['no key', 2, 'lint', { WEIR_API_URL: silent }, /WEIR_API_KEY/],
    ['the API refuses', 1, 'lint', at(denying), /It is so\./],
    ['the API fails', 4, 'lint', at(failing), /It is so\./],
    ['nothing listens', 4, 'lint', at(silent), /does not answer \(ECONNREFUSED\)/],
    ['no service on the data directory', 4, 'lint', { WEIR_API_KEY: key }, /No service runs on/],
    ['no service for a link', 4, 'console', {}, /No Weir runs on this data directory/],
  ]
  for (const [name, code, words, env, says] of cases) {
    const running = run('programs/main.js', words.split(' '), {
      WEIR_DATA_DIR: dir,
      XDG_CONFIG_HOME: dir,
      ...env,
    })
    t.strictSame(await running.ended, { code, signal: null }, name)
    t.match(running.output(), says, name)
    t.ok(exitMeanings[code] !== undefined, `${code} is documented`)
  }
})
