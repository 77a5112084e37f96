/** `weir import`, as it is called: where the file and the report go, and how it ends. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { clearLine } from '../../../src/outside/cli/progress.js'
import { freePorts } from '../../harness/free-ports.js'
import { compiled, run } from '../../harness/processes.js'
import { hasPython } from '../../harness/python.js'
import { tempDir } from '../../harness/temp-dir.js'

async function weir(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const running = run('programs/main.js', ['import', ...args], env)
  const { code } = await running.ended
  return { code, output: running.output() }
}

const fixture = (name: string): string => `fixtures/imports/${name}.json`

t.test('the file, and a report in words', async (t) => {
  const dir = tempDir(t)
  const { code, output } = await weir([
    'cloudflare-lists',
    fixture('cloudflare-lists'),
    '--report',
    join(dir, 'report.json'),
  ])
  t.match(output, /^ip_lists:\n {2}- id: blocked\n/m)
  t.match(output, /not taken {2}lists\.result\[2\]: list \w+\n {11}An IP list of Weir holds addresses/)
  t.match(output, /\d+ items: \d+ taken as they are, 1 changed, 6 not taken\./)
  t.equal(code, 0)
  const { counts, items } = JSON.parse(readFileSync(join(dir, 'report.json'), 'utf8'))
  t.match(counts, { changed: 1, not_taken: 6 })
  t.equal(items.length, counts.taken + counts.changed + counts.not_taken)
})

t.test('the report as JSON, and the file elsewhere', async (t) => {
  const dir = tempDir(t)
  const file = join(dir, 'weir.yaml')
  const { code, output } = await weir([
    'crowdsec',
    fixture('crowdsec'),
    '--at',
    '2026-12-01T00:00:00Z',
    '--json',
    '--strict',
    '--output',
    file,
  ])
  t.equal(code, 1, 'with --strict: an item is not taken')
  t.ok(JSON.parse(output).remarks.includes('Durations count from 2026-12-01T00:00:00Z.'))
  t.match(readFileSync(file, 'utf8'), /name: crowdsec-bans/)
})

t.test('directories, and files that are not JSON', async (t) => {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'more'))
  const answer = (id: string) =>
    JSON.stringify({ ip_policies: [{ id, description: id }], uri: '', next_page_uri: null })
  writeFileSync(join(dir, 'a.json'), answer('ipp_1'))
  writeFileSync(join(dir, 'more', 'b.json'), answer('ipp_2'))
  writeFileSync(join(dir, 'notes.txt'), 'not read')
  const both = await weir(['ngrok', dir])
  t.match(both, { code: 0, output: /description: ipp_1[\s\S]*description: ipp_2/ })
  writeFileSync(join(dir, 'more', 'b.json'), '{"token": "a-secret-of-ngrok", }')
  const broken = await weir(['ngrok', dir])
  t.match(broken, { code: 1, output: /b\.json is not JSON from character \d+ on\./ })
  t.notOk(broken.output.includes('a-secret'), 'a part of the text is not repeated')
  t.match(await weir(['ngrok', join(dir, 'nothing')]), { code: 1, output: /nothing can't be read/ })
  t.match(await weir(['ngrok', tempDir(t)]), { code: 1, output: /There is no \.json file/ })
})

t.test('a device, and more than is read', async (t) => {
  const large = join(tempDir(t), 'large.json')
  writeFileSync(large, '')
  truncateSync(large, 64 * 1024 * 1024 + 1)
  t.match(await weir(['ngrok', '/dev/zero']), {
    code: 1,
    output: /\/dev\/zero can't be read: it is not a file\./,
  })
  t.match(await weir(['ngrok', large]), {
    code: 1,
    output: /large\.json can't be read: at most 64 MiB are allowed/,
  })
})

t.test('a file of another system is named', async (t) => {
  t.match(await weir(['outpost', fixture('ngrok')]), {
    code: 1,
    output: /weir: fixtures\/imports\/ngrok\.json: The input has no list of destinations/i,
  })
})

t.test('nothing answers', async (t) => {
  const [port] = await freePorts(1)
  const key = { CROWDSEC_API_KEY: 'k' }
  t.match(await weir(['crowdsec', `http://127.0.0.1:${port}`], key), {
    code: 4,
    output: /does not answer: ECONNREFUSED/,
  })
})

/** A terminal, and what a person sees on it. */
const terminal = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)'

t.test(
  'a terminal shows which list is asked for, how many requests were made, and the share',
  { skip: !hasPython && 'needs python3' },
  async (t) => {
    let answered = 0
    const server = createServer((request, response) => {
      const [, list = ''] = /^\/(\w+)/.exec(request.url!) ?? []
      answered += 1
      // The third one lets the person wait.
      const answer = JSON.stringify({ [list]: [], uri: '', next_page_uri: null })
      setTimeout(() => response.end(answer), answered === 3 ? 2_500 : 0)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const words = ['-c', terminal, process.execPath, compiled('programs/main.js'), 'import', 'ngrok', url]
    const env = { ...process.env, NGROK_API_KEY: 'k' }
    const { stdout: shown } = await promisify(execFile)('python3', words, { env })
    t.ok(shown.includes(`${clearLine}/edges/tcp, 4 requests, 12 %`), shown)
    t.ok(shown.includes(`${clearLine}{}`), 'removed before the file is written')
    answered = 0
    const { output } = await weir(['ngrok', url], { NGROK_API_KEY: 'k' })
    t.notMatch(output, /requests/, 'a pipe gets none of it')
  },
)

t.test('called wrongly', async (t) => {
  const api = 'https://api.example.com'
  const calls: readonly (readonly [readonly string[], RegExp])[] = [
    [['ngrok', fixture('ngrok'), '--json'], /say where the file goes with --output/],
    [['ngrok', api], /There is no key: set NGROK_API_KEY/],
    [['cloudflare-lists', api], /set CLOUDFLARE_API_TOKEN/],
    [['crowdsec', fixture('crowdsec'), '--at', 'noon'], /--at is noon/],
    [['outpost', fixture('outpost'), '--aws-account', '12'], /--aws-account must be the 12 digits/],
    [['kong', 'x.json'], /./],
  ]
  for (const [args, message] of calls) t.match(await weir(args), { code: 2, output: message }, args.join(' '))
})
