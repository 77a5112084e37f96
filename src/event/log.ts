import { defineTrafficEvent, map } from './define.js'

/** What a log action of a traffic policy says, as JSON, made when the policy was compiled. */
export interface LogEntry {
  readonly metadataJson: string
}

/** A log action of a traffic policy was run. */
export const log = defineTrafficEvent<LogEntry>()('log.v0', {
  metadata: map(({ metadataJson }) => metadataJson),
})
