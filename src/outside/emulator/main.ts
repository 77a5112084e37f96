/** The emulator as a process, of its own or of the demo and tests; `usage` says how. Prints `aws: http://127.0.0.1:PORT`. */
import { parseArgs } from 'node:util'
import { messageOf } from '../../ground/core/errors.js'
import { listenFault } from '../../ground/core/http-listen.js'
import { version } from '../../ground/core/package.js'
import { openEmulator } from './emulator.js'
import type { Keep } from './wire.js'

const usage = `Usage: emulator.js [options]

Emulates Kinesis, Firehose, CloudWatch Logs, SQS, EventBridge and STS on one port, for demo, tests and rehearsals of
outages: set AWS_ENDPOINT_URL of Weir to the address that it prints. It checks signatures and limits like AWS. Keys, streams and faults
are set by HTTP, below /_emulator/; docs/operating.md shows how, in "Rehearse an outage".

Options:
  --host <address>   to listen on (default: 127.0.0.1)
  --port <number>    0: any free one (default: 0)
  --keep <what>      of the events that arrive: all, ids or counts (default: all)
  --seed <number>    for the randomness of faults (default: 1)
  --with-parent      end when standard input closes, to outlive no parent
  --version          print the version
  --help             print this
`

class UsageError extends Error {}

const keeps: readonly Keep[] = ['all', 'ids', 'counts']

function optionsIn(words: readonly string[]) {
  const { values } = parsed(words)
  const keep = keeps.find((each) => each === values.keep)
  if (keep === undefined)
    throw new UsageError(`--keep is ${values.keep}: it must be one of ${keeps.join(', ')}.`)
  const port = wholeNumber('port', values.port, 65_535)
  return { ...values, keep, port, seed: wholeNumber('seed', values.seed, Number.MAX_SAFE_INTEGER) }
}

function parsed(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        host: { type: 'string', default: '127.0.0.1' },
        port: { type: 'string', default: '0' },
        keep: { type: 'string', default: 'all' },
        seed: { type: 'string', default: '1' },
        'with-parent': { type: 'boolean', default: false },
        version: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    // It names the option or the word that is not known.
    throw new UsageError(messageOf(error))
  }
}

function wholeNumber(option: string, text: string, max: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value <= max) return value
  throw new UsageError(`--${option} is ${text}: it must be a whole number from 0 to ${max}.`)
}

async function run(options: ReturnType<typeof optionsIn>): Promise<void> {
  const { host, port, keep, seed } = options
  const emulator = await openEmulator({ host, port, keep, seed }).catch((error: unknown) => {
    throw listenFault(error, host, port, '--port', '--host')
  })
  const stop = async (): Promise<void> => {
    await emulator.close()
    process.exit(0)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  if (options['with-parent']) process.stdin.resume().once('close', stop).once('end', stop)
  process.stdout.write(`aws: ${emulator.url}\n`)
}

try {
  const options = optionsIn(process.argv.slice(2))
  if (options.help) process.stdout.write(usage)
  else if (options.version) process.stdout.write(`${version}\n`)
  else await run(options)
} catch (error) {
  const hint = error instanceof UsageError ? `\n\n${usage}` : '\n'
  process.stderr.write(`emulator: ${messageOf(error)}${hint}`)
  process.exitCode = 1
}
