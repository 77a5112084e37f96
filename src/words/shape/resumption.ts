/** The effect of resuming an event destination: it ended a pause by hand, or made deliverers try now. */

import { objectOf, orNull, type Static, Type } from '../../ground/core/schema.js'

export const resumptionSchema = objectOf(
  {
    was_paused_by_hand: Type.Boolean(),
    state: orNull(
      Type.String({ description: 'Before; null if it was paused by hand, or no deliverer answers.' }),
    ),
    cause: orNull(Type.String()),
    tried_now: Type.Boolean({ description: 'The next try is not waited for.' }),
    msg: Type.String({ description: 'What was done, for a person.' }),
  },
  { title: 'Resumption', description: 'What a resume did.' },
)

export const resumptionExample = {
  was_paused_by_hand: true,
  state: null,
  cause: null,
  tried_now: true,
  msg: 'It was paused by hand at 2026-11-20T09:00:00.000Z; its events are sent from now on.',
}

export type Resumption = Static<typeof resumptionSchema>
