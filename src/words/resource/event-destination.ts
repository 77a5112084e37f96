/** Event destinations: one target of a kind that `deliver/kinds.ts` lists, and what is to happen to late events. */

import { destinationKinds } from '../../delivery/deliver/kinds.js'
import { badRequest } from '../../ground/core/errors.js'
import { documented, objectOf, oneOf, orNull, ruled, type Static, Type } from '../../ground/core/schema.js'
import { listed } from '../../ground/core/text/plural.js'
import { checkTarget, sealedSecretOf, withoutTargetSecrets } from './destination-secrets.js'
import { chosenTarget, shownTarget, target, wholeTarget } from './destination-target.js'
import { defaulted, derived, described, hidden, required, sealed, writable } from './fields/fields.js'
import { idSchema } from './fields/id-schema.js'
import { defineResource } from './kind/define.js'

const targetField = () => ({
  ...required(target, { column: 'json' }),
  shown: { schema: wholeTarget, render: shownTarget },
})

const format = ruled(
  Type.String({ maxLength: 16, ...documented({ pattern: '^[Jj][Ss][Oo][Nn]$' }) }),
  (text) =>
    text.toLowerCase() === 'json' ? undefined : 'the only serialization format is "json", in any letter case',
)

const pause = objectOf(
  {
    at: Type.String({
      description: 'RFC 3339 in UTC, with milliseconds.',
      ...documented({ format: 'date-time' }),
    }),
    source: oneOf(['API', 'CLI', 'NATS'], 'How the request came.'),
    api_key_id: orNull(idSchema('api_key', 'ak_'), { description: 'The API key that paused it.' }),
  },
  { title: 'DestinationPause', description: 'Since when nothing is sent, and who asked for it.' },
)

/** Delivery is paused by hand until someone resumes it. */
export type DestinationPause = Static<typeof pause>

const onExpiry = oneOf(
  ['drop', 'block'],
  'What happens when records that wait for the destination, because it is behind, are about to be removed. drop, the default: it loses their events, which is counted. block: they are kept, and when their stream is full, publishes are refused.',
)

const fields = {
  ...described,
  format: defaulted(format, 'json'),
  target: targetField(),
  on_expiry: writable(onExpiry),
  paused: derived(pause, { column: 'json' }),
  /** The secrets of the target, see `destination-secrets.ts`; null if there are none. */
  sealed_secret: sealed(),
  /** Detects that the same secret is sent again, without unsealing the stored one. */
  secret_digest: hidden(Type.String()),
}

export const eventDestination = defineResource({
  kind: 'event_destination',
  idPrefix: 'ed_',
  path: '/event_destinations',
  listName: 'event_destinations',
  title: 'event destination',
  about: `A ${listed(destinationKinds.map(({ title }) => title))} that events go to.`,
  example: {
    description: 'the audit trail',
    format: 'json',
    target: {
      kinesis: {
        stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/events',
        auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/weir' } },
      },
    },
  },
  audit: 'event_destination',
  keptWhileReferenced: true,
  fields,
  derive(draft, previous, tools) {
    const chosen = chosenTarget(draft.target)
    if (previous !== undefined && chosenTarget(previous.target).kind !== chosen.kind) {
      throw badRequest(
        `"target" is of the kind ${chosen.kind}, but the destination's is ${chosenTarget(previous.target).kind}: the kind of a destination can't be changed.`,
      )
    }
    checkTarget(chosen)
    const secret = sealedSecretOf(chosen, draft as never, previous as never, tools)
    return { ...draft, target: withoutTargetSecrets(chosen), ...secret }
  },
})

/** Are records kept for as long as it needs them, even if publishes are refused? */
export const keepsRecords = (row: Readonly<Record<string, unknown>> | undefined): boolean =>
  row?.['on_expiry'] === 'block'
