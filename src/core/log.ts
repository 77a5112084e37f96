import { isatty } from 'node:tty'
import { type DestinationStream, type Logger, pino } from 'pino'
import { prettyFactory } from 'pino-pretty'
import { forTerminal } from './terminal.js'

export type { Logger }

/** `auto`: for people on a terminal, else JSON. */
export type LogFormat = 'auto' | 'json' | 'pretty'

const standardErrorFd = 2

/** Structured logs on standard error: standard output belongs to what a person asked for. */
export function createLogger(
  role: string,
  level: string,
  stream: DestinationStream = standardError('json'),
): Logger {
  const options = {
    level,
    base: { role, pid: process.pid },
    messageKey: 'msg',
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  return pino(options, stream)
}

/** A child inherits standard error from its parent, and with it the answer whether that is a terminal. */
export function standardError(format: LogFormat): DestinationStream {
  const output = pino.destination({ fd: standardErrorFd, sync: true })
  const isForPeople = format === 'pretty' || (format === 'auto' && isatty(standardErrorFd))
  return isForPeople ? forPeople(output) : output
}

/** Fields that are shown below the line, a member a line: too many for one. */
const blocks = ['settings']

/**
 * A line for each entry: time, level, role, sentence, and further fields as JSON. What clients wrote may stand in the
 * fields, so nothing that a terminal obeys is let through, colours included.
 */
export function forPeople(output: DestinationStream): DestinationStream {
  const render = prettyFactory({
    colorize: false,
    singleLine: true,
    // Errors are what `singleLine` leaves in lines of their own.
    errorLikeObjectKeys: ['err', 'error', ...blocks],
    customPrettifiers: Object.fromEntries(blocks.map((name) => [name, membersInLines])),
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,role',
    messageFormat: '{role}: {msg}',
  })
  return { write: (line) => output.write(forTerminal(render(line))) }
}

const membersInLines = (value: string | object): string =>
  Object.entries(value)
    .map(([name, member]) => `\n  ${name}: ${String(member).replaceAll('\n', ' ')}`)
    .join('')

export const silentLogger = (): Logger => pino({ level: 'silent' })
