import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger }

/** Structured logs on standard error: standard output belongs to what a person asked for. */
export function createLogger(role: string, level: string, stream?: DestinationStream): Logger {
  const options = {
    level,
    base: { role, pid: process.pid },
    messageKey: 'msg',
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  return pino(options, stream ?? pino.destination({ fd: 2, sync: true }))
}

export const silentLogger = (): Logger => pino({ level: 'silent' })
