/** The context of every role: settings, logger, metrics. `serve`, which only supervises the others, has one too. */
import { AgeClock } from '../../ground/core/age-clock.js'
import { createLogger, type Logger, standardError } from '../../ground/core/telemetry/log.js'
import { createRegistry, type Registry } from '../../ground/core/telemetry/metrics.js'
import { createOccurrences, type Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { trafficEvents } from '../../words/event/catalog.js'
import type { AnyTrafficEvent } from '../../words/event/define.js'
import type { Settings } from './settings.js'

export interface RoleContext {
  readonly settings: Settings
  readonly logger: Logger
  readonly registry: Registry
  readonly occurrences: Occurrences
  /** Every kind of traffic event. */
  readonly eventKinds: readonly AnyTrafficEvent[]
}

export function createRoleContext(settings: Settings, role: string): RoleContext {
  const logger = createLogger(role, settings.ops.logLevel, standardError(settings.ops.logFormat))
  const registry = createRegistry()
  const all = createOccurrences({ logger, registry })
  const occurrences = isSaidByAnother(role) ? { ...all, natsServerOutdated: () => {} } : all
  logWarnings(occurrences)
  return { settings, logger, registry, occurrences, eventKinds: trafficEvents }
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
