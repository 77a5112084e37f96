/** The actions that an operator can take about something, as buttons: the server says which. */
import type { Client } from '../../../words/client/client.js'
import type { OperatorAction } from '../../../words/event/operator-actions.js'
import type { Resumption } from '../../../words/shape/resumption.js'
import { may } from '../data/access/session.js'
import { act } from '../data/asking/api.js'
import type { Parameters } from '../data/location.js'
import { Link } from '../kit/link.js'
import { EditButton } from './edit-button.js'

type Name = OperatorAction['action']

/** Actions that a press does at once: the request, and the sentence about its result. */
const pressed: Partial<Readonly<Record<Name, (client: Client, id: string) => Promise<string>>>> = {
  resume: async (client, id) => msgOf(await client.resumeDestination(id)),
  try_now: async (client, id) => msgOf(await client.resumeDestination(id)),
  refresh_list: async (client, id) => {
    const { outcome, error } = await client.listEntries.refresh(id)
    return error?.message ?? `The list is fetched: ${outcome}.`
  },
}

const msgOf = ({ resumed }: { readonly resumed: Resumption }): string => resumed.msg

/** Where a form or a list is. */
const places: Partial<
  Readonly<Record<Name, { readonly to: (id: string) => string[]; readonly with: (id: string) => Parameters }>>
> = {
  edit_credentials: { to: (id) => ['destinations', id], with: () => ({ open: 'edit' }) },
  edit_target: { to: (id) => ['destinations', id], with: () => ({ open: 'edit' }) },
  see_dead_letters: {
    to: () => ['dead-letters'],
    with: (id) => ({ type: 'event', destination: id }),
  },
  replay: { to: (id) => ['destinations', id], with: () => ({ tab: 'replays', open: 'replay' }) },
}

const labels: Readonly<Record<Name, string>> = {
  resume: 'Resume',
  try_now: 'Try now',
  edit_credentials: 'Set credentials',
  edit_target: 'Edit the target',
  see_dead_letters: 'See its dead letters',
  replay: 'Replay',
  refresh_list: 'Fetch now',
}

interface OperatorActionsProps {
  readonly actions: readonly OperatorAction[]
  /** Leaves out what needs a page of its own. */
  readonly areAtOnce?: true
  /** Something was done: what is shown may be another now. */
  readonly done?: () => void
}

export const OperatorActions = ({ actions, areAtOnce, done }: OperatorActionsProps) => (
  <>
    {actions.map(({ action, id }) => {
      const [press, place] = [pressed[action], places[action]]
      if (press !== undefined)
        return (
          <EditButton
            key={action}
            onClick={async () => {
              await act(
                (msg: string) => msg,
                (client) => press(client, id),
              )
              done?.()
            }}
          >
            {labels[action]}
          </EditButton>
        )
      if (place === undefined || areAtOnce || !may('write')) return null
      return (
        <Link key={action} class="button" to={place.to(id)} with={place.with(id)}>
          {labels[action]}
        </Link>
      )
    })}
  </>
)
