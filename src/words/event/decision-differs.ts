import { decisionFields, logFields, verdictFields } from './decision-fields.js'
import { type ChallengerDecision, defineTrafficEvent, text } from './define.js'

/** Sent unless a source selects others: who asked for what, and both decisions with what decided. */
const sentByDefault: ReadonlySet<string> = new Set([
  'challenger.decided_by.id',
  'challenger.decided_by.name',
  'challenger.decided_by.rule_id',
  'challenger.decided_by.type',
  'challenger.decision',
  'conn.client_ip',
  'conn.server_name',
  'conn.server_port',
  'decided_by.id',
  'decided_by.name',
  'decided_by.rule_id',
  'decided_by.type',
  'decision',
  'edge.id',
  'record_id',
  'route.id',
])

const all = {
  ...decisionFields,
  ...logFields,
  ...verdictFields<ChallengerDecision>('challenger', (difference) => difference, 'by the draft.'),
  'challenger.id': text(({ id }: ChallengerDecision) => id, {
    about: 'Id of the challenger.',
    filterable: true,
  }),
}

export const decisionDiffers = defineTrafficEvent('difference')({
  name: 'decision_differs.v0',
  about: 'The draft of a challenger decides otherwise about a record than the configuration in force.',
  fields: Object.fromEntries(
    Object.entries(all)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, field]) => [name, sentByDefault.has(name) ? { ...field, optIn: false } : field]),
  ),
})
