/** `weir login` keeps a key, commands use it, and nothing shows it. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { readProfiles, writeProfiles } from '../../../src/outside/cli/connection/profiles.js'
import { compiled, runWithInput } from '../../harness/processes.js'
import { hasPython } from '../../harness/python.js'
import { tempDir } from '../../harness/temp-dir.js'

const key = 'weir_0123456789abcdef0123456789'
const others = 'weir_of-another-0123456789abcdef'
const readNothing = 'weir_publishes-only-0123456789ab'

/** Listens on a free port; its address. */
async function listening(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Answers as the API does to keys that it knows, and remembers which it was asked with. */
async function openApi(t: Test) {
  const seen: string[] = []
  const refusal = (status_code: number, error_code: string, msg: string) =>
    [status_code, { error_code, status_code, msg, details: {} }] as const
  const url = await listening(t, ({ headers }, response) => {
    const token = headers.authorization?.replace('Bearer ', '') ?? ''
    seen.push(token)
    const [status, body] =
      token === readNothing
        ? refusal(403, 'ERR_FORBIDDEN', 'The API key ak_1 lacks the right "read".')
        : token === key || token === others
          ? [200, { state: 'ok', sentence: 'All is well.', findings: [], kinds: [] }]
          : refusal(401, 'ERR_UNAUTHENTICATED', 'The API key is not valid.')
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  return { url, seen }
}

t.test('login, use, logout', async (t) => {
  const { url, seen } = await openApi(t)
  const dir = tempDir(t)
  const path = join(dir, 'config', 'weir', 'profiles.json')
  const weir = async (words: string, input = '', env: Readonly<Record<string, string>> = {}) => {
    const places = { XDG_CONFIG_HOME: join(dir, 'config'), WEIR_DATA_DIR: join(dir, 'data') }
    const running = runWithInput('programs/main.js', words.split(' '), { ...places, ...env })
    running.child.stdin!.end(input)
    const { code } = await running.ended
    t.notMatch(running.output(), 'weir_', `${words}: no key is shown`)
    return { code, said: running.output() }
  }

  t.match(await weir('lint'), { code: 4, said: /No service runs on .*or log in \(weir login <address>\)/ })
  t.match(await weir(`login ${url}/`, `${key}\n`), {
    code: 0,
    said: new RegExp(`Logged in to ${url} as the profile "default"\\.\nAll is well\\.`),
  })
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(statSync(dirname(path)).mode & 0o777, 0o700)
  t.match(await weir('lint'), { code: 0, said: '0 findings' })
  t.equal(seen.at(-1), key)

  t.match(await weir(`login ${url} --profile work`, others), { code: 0, said: 'as the profile "work"' })
  await weir('--profile work lint')
  t.equal(seen.at(-1), others, 'the profile that the option names')
  await weir('lint', '', { WEIR_PROFILE: 'work' })
  t.equal(seen.at(-1), others, 'the profile that the environment names')
  await weir('lint --profile default', '', { WEIR_PROFILE: 'work' })
  t.equal(seen.at(-1), key, 'the option takes precedence')

  const both = await weir('lint --profile default', '', { WEIR_API_URL: url, WEIR_API_KEY: others })
  t.match(both, { code: 0, said: 'WEIR_API_KEY is set, so the profile "default" is not used.' })
  t.equal(seen.at(-1), others, 'a key in the environment takes precedence')
  const asked = seen.length
  t.match(await weir('lint', '', { WEIR_API_URL: 'http://127.0.0.1:9' }), {
    code: 2,
    said: /WEIR_API_URL is http:\/\/127\.0\.0\.1:9, but the profile "default" has a key for http/,
  })
  t.match(await weir('lint --profile home'), { code: 2, said: /no profile "home", but default, work/ })
  t.equal(seen.length, asked, 'a key is sent to its own address only')

  const before = readFileSync(path, 'utf8')
  const page = await listening(t, (_, response) => response.end('<html>'))
  const other = await listening(t, (_, response) => response.end('null'))
  const failing = await listening(t, (_, response) => response.writeHead(502).end('Bad gateway'))
  const refused: [name: string, words: string, input: string, code: number, says: RegExp][] = [
    [
      'a key that is not valid',
      `login ${url}`,
      'weir_unknown-0123456789',
      1,
      /is not valid\. The key was not/,
    ],
    ['no key', `login ${url}`, '', 2, /The key is malformed/],
    ['two keys', `login ${url}`, `${key}\n${others}`, 2, /The key is malformed/],
    ['no address', 'login weir.example.com', key, 2, /The address is "weir\.example\.com"; it must be/],
    ['a name like a path', `login ${url} --profile ../x`, key, 2, /The profile is "\.\.\/x"/],
    ['nothing listens', `login http://127.0.0.1:${await freePort()}`, key, 4, /give the address where it/],
    ['a web page', `login ${page}`, key, 1, /What answers at http.* is not Weir: the key was not kept/],
    ['another API', `login ${other}`, key, 1, /What answers at http.* is not Weir: the key was not kept/],
    [
      'a proxy before Weir fails',
      `login ${failing}`,
      key,
      4,
      /status 502 did not come from the API\. The key/,
    ],
  ]
  for (const [name, words, input, code, said] of refused)
    t.match(await weir(words, input), { code, said }, name)
  t.equal(readFileSync(path, 'utf8'), before, 'nothing was kept')

  t.match(await weir(`login ${url} --profile proxy`, readNothing), {
    code: 0,
    said: 'lacks the right "read"',
  })
  t.match(await weir('logout'), { code: 0, said: /"default" was removed\. Its API key is still valid/ })
  t.match(await weir('logout'), { code: 2, said: /no profile "default", but work, proxy/ })
  t.strictSame([...readProfiles(path).keys()], ['work', 'proxy'])
})

t.test('a file that others may use, or that is none of profiles', (t) => {
  const path = join(tempDir(t), 'weir', 'profiles.json')
  const profiles = new Map([['default', { url: 'http://127.0.0.1:8080', key }]])
  t.equal(readProfiles(path).size, 0, 'there is none')
  writeProfiles(path, profiles)
  for (const mode of [0o600, 0o400]) {
    chmodSync(path, mode)
    t.strictSame(readProfiles(path), profiles, mode.toString(8))
  }
  for (const mode of [0o644, 0o640, 0o604, 0o620, 0o601]) {
    chmodSync(path, mode)
    t.throws(() => readProfiles(path), { message: `has the mode 0${mode.toString(8)}, so others may use` })
  }
  chmodSync(path, 0o600)
  for (const text of [
    '',
    'weir_x',
    '[]',
    '{}',
    'null',
    '{"profiles": {"a": {"url": "weir_x"}}}',
    '{"profiles": null}',
  ]) {
    writeFileSync(path, text)
    t.throws(
      () => readProfiles(path),
      { message: /profiles\.json is not a file of profiles: delete it/ },
      text,
    )
  }
  mkdirSync(join(dirname(path), 'directory'), { mode: 0o700 })
  t.throws(() => readProfiles(join(dirname(path), 'directory')), { message: /can't be read: EISDIR|EISDIR/ })
  t.end()
})

/** A terminal that types a key, and shows what a person sees. */
const terminal = `
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b""
while b"not shown" not in shown:
    shown += os.read(fd, 4096)
time.sleep(0.2)
os.write(fd, os.environ["TYPED"].encode() + b"\\r")
try:
    while True:
        more = os.read(fd, 4096)
        if not more: break
        shown += more
except OSError:
    pass
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

t.test('a key that a person types is not shown', { skip: !hasPython && 'needs python3' }, async (t) => {
  const { url } = await openApi(t)
  const dir = tempDir(t)
  const shown = await new Promise<string>((resolve, reject) => {
    const words = ['-c', terminal, process.execPath, compiled('programs/main.js'), 'login', url]
    const env = { ...process.env, XDG_CONFIG_HOME: dir, TYPED: key }
    execFile('python3', words, { env }, (error, stdout) => (error ? reject(error) : resolve(stdout)))
  })
  t.match(shown, /API key for http:.*not shown.*\r?\n[\s\S]*Logged in to/)
  t.notMatch(shown, '0123456789')
  t.equal(readProfiles(join(dir, 'weir', 'profiles.json')).get('default')?.key, key)
})
