/** How many events waited for a destination over the last day. */
import { objectOf, type Static, Type } from '../../ground/core/schema.js'

const instant = (description: string) => Type.String({ format: 'date-time', description })

export const backlogHistorySchema = objectOf(
  {
    since: instant('When it begins: a day ago, or when the process that answers started.'),
    until: instant('Now.'),
    points: Type.Array(
      objectOf({
        at: instant('The beginning of a minute; of the last one, now.'),
        events: Type.Integer({ minimum: 1 }),
      }),
      { description: 'Oldest first. In minutes that are left out no event waited.' },
    ),
  },
  {
    title: 'BacklogHistory',
    description: 'Events that waited for a destination, a minute apart.',
    examples: [
      {
        since: '2026-11-20T08:00:00Z',
        until: '2026-11-20T10:04:10Z',
        points: [
          { at: '2026-11-20T10:03:00Z', events: 410 },
          { at: '2026-11-20T10:04:00Z', events: 1_180 },
          { at: '2026-11-20T10:04:10Z', events: 1_200 },
        ],
      },
    ],
  },
)

export type BacklogHistory = Static<typeof backlogHistorySchema>
