/** Which dead letters are selected, as the URL says. */
import type { DeadLetterSelection } from '../../../../words/client/dead-letters.js'
import type { DeadLetterGroups } from '../../../../words/shape/dead-letter.js'
import { parameter } from '../../data/location.js'
import { choiceIn } from '../../kit/choices.js'

export const typeChoices = [
  ['', 'All'],
  ['record', 'Records'],
  ['event', 'Events'],
  ['audit', 'Audit events of other services'],
] as const

export function selected(): DeadLetterSelection {
  const type = choiceIn('type', typeChoices) as DeadLetterSelection['type'] | ''
  return {
    type: type || undefined,
    reason: parameter('reason') || undefined,
    destinationId: parameter('destination') || undefined,
    since: parameter('since') || undefined,
    until: parameter('until') || undefined,
  }
}

/** They have one reason in common. */
export const isOneKind = ({ reason }: DeadLetterSelection): boolean => reason !== undefined

/** Only the letters that were counted: what is done with them must not meet those that come meanwhile. */
export function untilNow({ groups }: DeadLetterGroups): DeadLetterSelection {
  const selection = selected()
  const last = Math.max(...groups.map(({ last_at }) => Date.parse(last_at)))
  return selection.until !== undefined || groups.length === 0
    ? selection
    : { ...selection, until: new Date(last + 1).toISOString() }
}
