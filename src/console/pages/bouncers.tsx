/** Programs that enforce IP policies and lists elsewhere: which each has, and when it asked last. The path may name one. */
import { useSignal } from '@preact/signals'
import type { Resource } from '../../client/kinds.js'
import { act, api } from '../data/asking/api.js'
import { useMore } from '../data/asking/more.js'
import { go, hrefTo } from '../data/location.js'
import { EditButton } from '../parts/button.js'
import { Drawer } from '../parts/drawer.js'
import { Facts } from '../parts/facts.js'
import { NewTokenDialog } from '../parts/forms/new-token.js'
import { lastUseColumns, lastUseFacts } from '../parts/last-use.js'
import { HistoryLink } from '../parts/link.js'
import { Name } from '../parts/name.js'
import type { PageProps } from '../parts/page-props.js'
import { Answered, Command, Empty } from '../parts/states.js'
import { OpenedTable } from '../parts/tables/opened-table.js'
import type { Column } from '../parts/tables/table.js'
import { ChangeBouncer, NewBouncer } from './bouncers/bouncer-forms.js'

type Bouncer = Resource<'bouncer'>

const nameOfBouncer = ({ description, id }: Bouncer): string => description || id

const Enforced = ({ bouncer: { ip_policies, ip_lists } }: { readonly bouncer: Bouncer }) => (
  <ul class="listed">
    {[...ip_policies, ...ip_lists].map(({ id }) => (
      <li key={id}>
        <Name id={id} />
      </li>
    ))}
  </ul>
)

const columns: readonly Column<Bouncer>[] = [
  { title: 'Bouncer', cell: nameOfBouncer },
  { title: 'Enforces', cell: (bouncer) => <Enforced bouncer={bouncer} />, isWide: true },
  ...lastUseColumns('Last pull'),
]

const step = 100

const open = (id?: string): void => go(hrefTo(id === undefined ? ['bouncers'] : ['bouncers', id]))

export function Bouncers({ rest: [opened] }: PageProps) {
  const isCreating = useSignal(false)
  const bouncers = useMore([], (client) => client.bouncer.list({ limit: step }), step)
  return (
    <div class="stack">
      <div class="row apart">
        <h1>Bouncers</h1>
        <EditButton onClick={() => (isCreating.value = true)}>Create a bouncer</EditButton>
      </div>
      <p class="quiet">
        A bouncer reads the deny rules of its IP policies and the entries of its IP lists in the form of
        CrowdSec's local API, and enforces them in a firewall or a proxy.
      </p>
      {isCreating.value && (
        <NewBouncer
          onClose={(isDone) => {
            isCreating.value = false
            if (isDone) bouncers.again()
          }}
        />
      )}
      <Answered answer={bouncers}>
        {({ entries, hasMore }) => (
          <OpenedTable
            {...{ entries, columns, opened }}
            label="Bouncers, newest first"
            onOpen={open}
            empty={<NoBouncers />}
            more={hasMore ? bouncers.more : undefined}
            drawer={(bouncer) => <BouncerDrawer bouncer={bouncer} again={bouncers.again} />}
          />
        )}
      </Answered>
      <NewTokenDialog />
    </div>
  )
}

const NoBouncers = () => (
  <Empty>
    <p>
      No firewall and no proxy asks for the rules of this account yet. Create a bouncer, and give its program
    </p>
    <Command text={`api_url: ${new URL(hrefTo([]), location.href).href}`} />
    <p>and its token as the API key.</p>
  </Empty>
)

interface BouncerDrawerProps {
  readonly bouncer: Bouncer
  readonly again: () => void
}

function BouncerDrawer({ bouncer, again }: BouncerDrawerProps) {
  const { id } = bouncer
  const isChanging = useSignal(false)
  if (isChanging.value)
    return (
      <ChangeBouncer
        bouncer={bouncer}
        onClose={(isDone) => {
          isChanging.value = false
          if (isDone) again()
        }}
      />
    )
  const remove = async (): Promise<void> => {
    if (!(await act('The bouncer was deleted.', () => api.bouncer.delete(id)))) return
    open()
    again()
  }
  return (
    <Drawer title={`Bouncer: ${nameOfBouncer(bouncer)}`} onClose={() => open()}>
      <Facts
        entries={[
          ['Id', <code key="id">{id}</code>],
          ['Enforces', <Enforced key="enforced" bouncer={bouncer} />],
          ...lastUseFacts(bouncer, 'Last pull'),
        ]}
      />
      <p>
        <HistoryLink id={id} />
      </p>
      <div class="row">
        <EditButton onClick={() => (isChanging.value = true)}>Edit</EditButton>
        <EditButton
          kind="danger"
          onClick={remove}
          confirm={`“${nameOfBouncer(bouncer)}” is refused from now on, and keeps the bans that it has until they end there. It can't be restored.`}
        >
          Delete
        </EditButton>
      </div>
    </Drawer>
  )
}
