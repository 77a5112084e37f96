/** The context of every role: settings, logger, metrics. `serve`, which only supervises the others, has one too. */

import { createLogger, type Logger, standardError } from '../core/log.js'
import { createRegistry, type Registry } from '../core/metrics.js'
import { createOccurrences, type Occurrences } from '../core/occurrences.js'
import { trafficEvents } from '../event/catalog.js'
import type { AnyTrafficEvent } from '../event/define.js'
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
  const occurrences = createOccurrences({ logger, registry })
  return { settings, logger, registry, occurrences, eventKinds: trafficEvents }
}
