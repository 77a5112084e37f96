/** The context of every role: settings, logger, metrics. `serve`, which only supervises the others, has one too. */
import type { ChildProcess } from 'node:child_process'
import type { DestinationConfig } from '../../delivery/deliver/kind/destination.js'
import type { Sender } from '../../delivery/deliver/kind/sender.js'
import { AgeClock } from '../../ground/core/age-clock.js'
import { createLogger, type Logger, LogLines, standardError } from '../../ground/core/telemetry/log.js'
import { createRegistry, type Registry } from '../../ground/core/telemetry/metrics.js'
import { createOccurrences, type Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { ConnectNats } from '../../ground/nats/connection.js'
import { trafficEvents } from '../../words/event/catalog.js'
import type { AnyTrafficEvent } from '../../words/event/define.js'
import { targetsOf } from '../telemetry/signals.js'
import type { Telemetry } from '../telemetry/telemetry.js'
import type { Settings } from './settings.js'

export interface RoleContext {
  readonly role: string
  readonly settings: Settings
  readonly logger: Logger
  readonly registry: Registry
  readonly occurrences: Occurrences
  /** Every kind of traffic event. */
  readonly eventKinds: readonly AnyTrafficEvent[]
  /** What is exported to a collector of OpenTelemetry; undefined if nothing is. */
  readonly telemetry: Telemetry | undefined
  /** Models in place of what is outside of the process; only a simulation has them. */
  readonly standIns?: StandIns
}

export interface StandIns {
  readonly connectNats: ConnectNats
  /** A connection for the client of ClickHouse. */
  readonly clickhouse: () => object
  readonly openSender: (config: DestinationConfig) => Sender
  /** Starts the process that tries records which may end one. */
  readonly forkQuarantine: () => ChildProcess
}

/** The context of a process that runs a role. What it exports by is loaded only if something is exported. */
export async function openRoleContext(settings: Settings, role: string): Promise<RoleContext> {
  const lines = new LogLines(standardError(settings.ops.logFormat))
  const context = createRoleContext(settings, role, lines)
  if (Object.keys(targetsOf(settings)).length === 0) return context
  const { Telemetry } = await import('../telemetry/telemetry.js')
  const { occurrences } = context
  return { ...context, telemetry: new Telemetry({ settings, role, lines, occurrences }) }
}

/** The same for one that exports nothing. */
export function createRoleContext(
  settings: Settings,
  role: string,
  lines = standardError(settings.ops.logFormat),
): RoleContext {
  const logger = createLogger(role, settings.ops.logLevel, lines)
  const registry = createRegistry()
  const all = createOccurrences({ logger, registry })
  const occurrences = isSaidByAnother(role) ? { ...all, natsServerOutdated: () => {} } : all
  logWarnings(occurrences)
  return { role, settings, logger, registry, occurrences, eventKinds: trafficEvents, telemetry: undefined }
}

/** Node prints its warnings as text, between lines that programs read. */
function logWarnings(occurrences: Occurrences): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    const { name, message, stack } = warning
    // The AWS SDK's advice about versions of Node that it will need: those of Weir stand in its package.json.
    if (name === 'NodeVersionSupportWarning') return
    occurrences.nodeWarned({ name, code: (warning as NodeJS.ErrnoException).code, message, stack })
  })
}

/** The clock by which a role judges what is too old. */
export const openAges = ({ settings, occurrences }: RoleContext): AgeClock =>
  new AgeClock({
    holdMs: settings.nats.retentionMs,
    jumped: (byMs) => occurrences.clockJumped({ by_seconds: Math.round(byMs / 1000) }),
  })

/**
 * Does another process report an outdated nats-server? Among processes that belong together, the API does, because
 * `weir serve` has no connection to a server that it does not run.
 */
const isSaidByAnother = (role: string): boolean => process.send !== undefined && role !== 'api'
