/**
 * Actions of an operator, as data: the console shows each as a button, the command line as its command, and a
 * client finds the request to send. The sentence beside it says what is wrong and never how to ask.
 */
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'

interface Way {
  readonly request: string
  readonly command: string | null
}

const resumed = (id: string): Way => ({
  request: `POST /event_destinations/${id}/resume`,
  command: `weir destination resume ${id}`,
})
/** The console has forms for what only a request changes otherwise. */
const edited = (id: string): Way => ({ request: `PATCH /event_destinations/${id}`, command: null })

const ways = {
  resume: resumed,
  try_now: resumed,
  edit_credentials: edited,
  edit_target: edited,
  see_dead_letters: (id) => ({
    request: `GET /dead_letters?type=event&destination_id=${id}`,
    command: `weir dead list --type event --destination ${id} --each`,
  }),
  replay: (id, { from, to } = someTime) => ({
    request: `POST /event_destinations/${id}/replay`,
    command: `weir replay --from ${from} --to ${to} ${id}`,
  }),
  refresh_list: (id) => ({ request: `POST /ip_lists/${id}/refresh`, command: null }),
} as const satisfies Readonly<Record<string, (id: string, time?: ReplayTime) => Way>>

interface ReplayTime {
  readonly from: string
  readonly to: string
}

const someTime: ReplayTime = { from: 'TIME', to: 'TIME' }

export type ActionName = keyof typeof ways

const operatorActionSchema = objectOf(
  {
    action: oneOf(
      Object.keys(ways) as ActionName[],
      'resume: send the events of a destination again that was paused by hand. try_now: do not wait for the next try. edit_credentials, edit_target: change the destination. see_dead_letters: look at what was refused. replay: send the events of a past time again. refresh_list: fetch an IP list now.',
    ),
    id: Type.String({ description: 'The resource that it is done to.' }),
    request: Type.String({ description: 'Method and path of the request that does it.' }),
    command: orNull(Type.String(), {
      description: 'The command of `weir` that does it; null if there is none.',
    }),
  },
  { title: 'OperatorAction', description: 'What can be done about it.' },
)

export type OperatorAction = Static<typeof operatorActionSchema>

/** `try now: weir destination resume ed_…`; the request, if there is no command. */
export const actionText = ({ action, request, command }: OperatorAction): string =>
  `${action.replaceAll('_', ' ')}: ${command ?? request}`

export const operatorAction = (action: ActionName, id: string, time?: ReplayTime): OperatorAction => ({
  action,
  id,
  ...ways[action](id, time),
})

export const operatorActionsSchema = Type.Array(operatorActionSchema, {
  description:
    'What can be done about it, the most likely first; empty if only waiting helps, or a change elsewhere.',
})
