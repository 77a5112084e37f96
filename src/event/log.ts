import { defineTrafficEvent, map } from './define.js'

export const log = defineTrafficEvent('log_action')({
  name: 'log.v0',
  about: 'A log action of a traffic policy ran.',
  fields: {
    metadata: map(({ metadataJson }) => metadataJson, { about: 'The `Metadata` of the log action.' }),
  },
})
