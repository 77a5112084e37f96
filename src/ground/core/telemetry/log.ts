import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { type DestinationStream, type Logger, pino } from 'pino'
import type PinoPretty from 'pino-pretty'
import { forTerminal } from '../text/terminal.js'
import { tracing } from './tracing.js'

export type { Logger }

/** Where lines go, and a reader that gets a copy of each, as JSON, if there is one. */
export class LogLines implements DestinationStream {
  readonly #output: DestinationStream
  #reader: ((line: string) => void) | undefined

  constructor(output: DestinationStream) {
    this.#output = output
  }

  write(line: string): void {
    this.#output.write(line)
    this.#reader?.(line)
  }

  copyTo(reader: (line: string) => void): void {
    this.#reader = reader
  }
}

/** `auto`: readable lines on a terminal, else JSON. */
type LogFormat = 'auto' | 'json' | 'pretty'

const standardErrorFd = 2

/** Structured logs on standard error; standard output is for the results a person asked for. */
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
    mixin: spanFields,
  }
  return pino(options, stream)
}

/** The trace that a line belongs to. pino adds the line's own fields to the object. */
function spanFields(): object {
  const span = tracing()?.current()
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId }
}

/** A child inherits its parent's standard error, so both agree whether it is a terminal. */
export function standardError(format: LogFormat): DestinationStream {
  const output = pino.destination({ fd: standardErrorFd, sync: true })
  const isForPeople = format === 'pretty' || (format === 'auto' && isatty(standardErrorFd))
  return isForPeople ? forPeople(output) : output
}

/** Fields with too many members for one line: shown below it, one member per line. */
const blocks = ['settings']

/**
 * One line per entry: time, level, role, message, and further fields as JSON. Fields may contain text from clients, so
 * all terminal control sequences are removed, including colours.
 */
export function forPeople(output: DestinationStream): DestinationStream {
  // Loaded here, so that processes whose lines are for machines start sooner.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty
  const render = prettyFactory({
    colorize: false,
    singleLine: true,
    // `singleLine` leaves only errors on lines of their own.
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
