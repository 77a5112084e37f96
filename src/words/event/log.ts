import { logFields } from './decision-fields.js'
import { defineTrafficEvent, map, text } from './define.js'

export const log = defineTrafficEvent('log_action')({
  name: 'log.v0',
  about: 'A log action of a traffic policy ran.',
  fields: {
    metadata: map(({ metadataJson }) => metadataJson, { about: 'The `Metadata` of the log action.' }),
    ...logFields,
    'policy.direction': text(({ direction }) => direction, {
      about: '`inbound` or `outbound`.',
      filterable: true,
      optIn: true,
    }),
    'policy.name': text(({ policyName }) => policyName, {
      about: 'Name of the traffic policy, else its place: `inbound[2]`.',
      filterable: true,
      optIn: true,
    }),
  },
})
