/** The command line of the emulator. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { listenHttp } from '../../../src/ground/core/http-listen.js'
import { version } from '../../../src/ground/core/package.js'
import { compiled } from '../../harness/processes.js'

const ended = (...words: string[]) =>
  spawnSync(process.execPath, [compiled('programs/emulator.js'), ...words], { encoding: 'utf8' })

t.test('help and version', (t) => {
  const { status, stdout, stderr } = ended('--help')
  t.match({ status, stdout, stderr }, { status: 0, stdout: /^Usage: emulator\.js .*--keep/s, stderr: '' })
  t.match(ended('--version'), { status: 0, stdout: `${version}\n` })
  t.end()
})

t.test('what is wrong is named, without a stack', async (t) => {
  const { url, close } = await listenHttp('127.0.0.1', 0, (_request, response) => response.end())
  t.teardown(() => close())
  const cases: [words: string[], message: RegExp][] = [
    [['--prot', '1'], /^emulator: .*'--prot'/],
    [['serve'], /^emulator: .*'serve'/],
    [['--port'], /^emulator: .*--port/],
    [['--port', '65536'], /^emulator: --port is 65536: it must be a whole number from 0 to 65535\./],
    [['--port', '4566x'], /^emulator: --port is 4566x/],
    [['--host', '192.0.2.1'], /^emulator: --host is 192\.0\.2\.1, which is not an address/],
    [['--seed', '-1'], /^emulator: .*--seed/],
    [['--keep', 'none'], /^emulator: --keep is none: it must be one of all, ids, counts\./],
    [['--port', new URL(url).port], /^emulator: Another process listens on .*: set --port to/],
  ]
  for (const [words, message] of cases) {
    const { status, stdout, stderr } = ended(...words)
    t.match({ status, stdout, stderr }, { status: 1, stdout: '', stderr: message }, words.join(' '))
    t.notMatch(stderr, /^ {4}at /m, `${words.join(' ')}: no stack`)
  }
})
