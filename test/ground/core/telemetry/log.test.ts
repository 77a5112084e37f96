/** The log: JSON for programs, lines for people on a terminal, and nothing in them that a terminal obeys. */
import { spawn, spawnSync } from 'node:child_process'
import { execPath } from 'node:process'
import fc from 'fast-check'
import t from 'tap'
import { createLogger, forPeople, type Logger } from '../../../../src/ground/core/telemetry/log.js'
import { compiled } from '../../../harness/processes.js'
import { tempDir } from '../../../harness/temp-dir.js'

/** The lines that a logger for people writes. */
function linesOf(log: (logger: Logger) => void): string {
  const lines: string[] = []
  log(createLogger('api', 'info', forPeople({ write: (line) => lines.push(line) })))
  return lines.join('')
}

t.test('an entry for people is a line', (t) => {
  const text = linesOf((logger) => logger.warn({ destination: 'ed_1', delayMs: 100 }, 'It is slow.'))
  t.match(text, /^\[\d\d:\d\d:\d\d\] WARN: api: It is slow\. {"destination":"ed_1","delayMs":100}\n$/)
  t.match(
    linesOf((logger) => logger.error({ err: new Error('No room.') }, 'It failed.')),
    /ERROR: api: It failed\.[\s\S]*No room\./,
  )
  t.end()
})

t.test('the settings are a line each', (t) => {
  const settings = { WEIR_HOST: '127.0.0.1', WEIR_SECRET_KEY: '(set)' }
  const text = linesOf((logger) => logger.info({ settings, at: 1 }, 'The settings in use.'))
  t.match(
    text.split('\n').map((line) => line.trimEnd()),
    [
      /INFO: api: The settings in use\. {"at":1}$/,
      '    settings:',
      '      WEIR_HOST: 127.0.0.1',
      '      WEIR_SECRET_KEY: (set)',
      '',
    ],
  )
  t.match(
    linesOf((logger) => logger.info({ settings }, 'One.')),
    /One\. ?\n {4}settings: *\n/,
  )
  t.end()
})

t.test('no value reaches a terminal as a control character', (t) => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom('\u001b', '\u009b', '\r', '\u0007'), fc.string()) })
  fc.assert(
    fc.property(text, text, (value, message) => {
      const written = linesOf((logger) => logger.info({ value, err: new Error(message) }, 'A sentence.'))
      return !/(?![\n\t])\p{Cc}/u.test(written)
    }),
  )
  t.end()
})

/** The log of a process; `prefix`: the command that runs it. */
async function writtenBy(dir: string, prefix: readonly string[], format: string): Promise<string> {
  const writer = [execPath, compiled('test/ground/core/log-writer.js')]
  // `script` would write its recording to the working directory.
  const quoted = writer.map((word) => `'${word}'`).join(' ')
  const command = prefix.length === 0 ? writer : [...prefix, quoted, '/dev/null']
  const env = { ...process.env, WEIR_DATA_DIR: dir, WEIR_LOG_FORMAT: format }
  const child = spawn(command[0]!, command.slice(1), { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (text += String(data)))
  await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject))
  return text
}

const json = /"level":50.*"msg":"It failed\."/
const line = /ERROR: decide: It failed\./

t.test('the format that is chosen, and the one for what standard error is', async (t) => {
  const dir = tempDir(t)
  t.match(await writtenBy(dir, [], 'auto'), json)
  t.match(await writtenBy(dir, [], 'pretty'), line)
  if (spawnSync('script', ['--version']).status !== 0) return t.comment('skipped: there is no `script`')
  const onTerminal = ['script', '-qefc']
  t.match(await writtenBy(dir, onTerminal, 'auto'), line, 'on a terminal')
  t.match(await writtenBy(dir, onTerminal, 'json'), json, 'JSON on a terminal')
})
