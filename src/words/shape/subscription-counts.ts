/** Counts of an event subscription: the records that each source was asked about, and the events that it made of them. */
import { objectOf, type Static, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'

const count = (description: string) => Type.Integer({ minimum: 0, description })

const sourceCountsSchema = objectOf(
  {
    type: Type.String({ description: 'The kind of the source.' }),
    destination_id: Type.String(),
    looked_at: count('Records, or log actions, that the source was asked about for this destination.'),
    produced: count('Events that it produced.'),
    kept_back: count('Those of which its filter made no event, because it was false or failed.'),
  },
  { title: 'SourceCounts' },
)

export type SourceCounts = Static<typeof sourceCountsSchema>

export const subscriptionCountsSchema = objectOf(
  {
    counts: Type.Array(sourceCountsSchema, {
      description: 'One for each source and destination that had records, deleted ones included.',
    }),
  },
  {
    title: 'SubscriptionCounts',
    description: 'Totals since the books began: each record and event counted once, replays included.',
    examples: [
      {
        counts: [
          {
            type: 'tcp_connection_closed.v0',
            destination_id: exampleId('ed_'),
            looked_at: 91_510,
            produced: 91_200,
            kept_back: 310,
          },
        ],
      },
    ],
  },
)

export type SubscriptionCounts = Static<typeof subscriptionCountsSchema>
