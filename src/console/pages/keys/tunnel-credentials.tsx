/** Tunnel credentials: the tokens of agents, what they may bind, when and from where each was used last. */
import { useSignal } from '@preact/signals'
import type { NewResource, Resource } from '../../../client/kinds.js'
import { act, api, firstOf, useAnswer } from '../../data/asking/api.js'
import { go, hrefTo } from '../../data/location.js'
import { EditButton } from '../../parts/button.js'
import { Drawer } from '../../parts/drawer.js'
import { Facts } from '../../parts/facts.js'
import { NewTokenDialog, showToken } from '../../parts/forms/new-token.js'
import { type FormField, ResourceForm } from '../../parts/forms/resource-form.js'
import { lastUseColumns, lastUseFacts } from '../../parts/last-use.js'
import { HistoryLink } from '../../parts/link.js'
import { Answered, Empty } from '../../parts/states.js'
import { OpenedTable } from '../../parts/tables/opened-table.js'
import type { Column } from '../../parts/tables/table.js'

type Credential = Resource<'tunnelCredential'>

const pageOf = 100

const nameOfCredential = ({ description, id }: Credential): string => description || id

const bindText = ({ acl }: Credential): string => (acl.length === 0 ? 'anything' : acl.join(', '))

const columns: readonly Column<Credential>[] = [
  { title: 'Credential', cell: nameOfCredential },
  { title: 'May bind', cell: bindText, isWide: true },
  ...lastUseColumns(),
]

const open = (id?: string): void => go(hrefTo(id === undefined ? ['keys'] : ['keys', id], { tab: 'tunnel' }))

export function TunnelCredentials({ opened }: { readonly opened: string | undefined }) {
  const count = useSignal(pageOf)
  const answer = useAnswer([count.value], (client) =>
    firstOf(client.tunnelCredential.list({ limit: 100 }), count.value),
  )
  const isCreating = useSignal(false)
  return (
    <div class="stack">
      <div>
        <EditButton onClick={() => (isCreating.value = true)}>Create a tunnel credential</EditButton>
      </div>
      {isCreating.value && <NewCredential onClose={() => (isCreating.value = false)} onDone={answer.again} />}
      <Answered answer={answer}>
        {({ entries, hasMore }) => (
          <OpenedTable
            {...{ entries, columns, opened }}
            label="Tunnel credentials, newest first"
            onOpen={open}
            empty={
              <Empty>
                <p>No agent of a tunnel server can sign in yet. Create a credential for each.</p>
              </Empty>
            }
            more={hasMore ? () => (count.value += pageOf) : undefined}
            drawer={(credential) => <CredentialDrawer credential={credential} again={answer.again} />}
          />
        )}
      </Answered>
      <NewTokenDialog />
    </div>
  )
}

const formFields: readonly FormField[] = [
  { name: 'description', label: 'Description', as: 'text', hint: 'Which agent uses it.' },
  {
    name: 'acl',
    label: 'May bind',
    as: 'list',
    hint: 'One in each line: bind:host, bind:host:port or bind:*.domain. None: anything.',
  },
]

const NewCredential = ({
  onClose,
  onDone,
}: {
  readonly onClose: () => void
  readonly onDone: () => void
}) => (
  <ResourceForm
    title="Create a tunnel credential"
    fields={formFields}
    submit="Create"
    onClose={onClose}
    send={async (body) => {
      const { token } = await api.tunnelCredential.create(body as NewResource<'tunnelCredential'>)
      onClose()
      showToken({ title: 'tunnel credential', token: token ?? '' })
      onDone()
    }}
  />
)

async function rotate(credential: Credential, again: () => void): Promise<void> {
  await act('A new tunnel credential was made.', async (client) => {
    const { id, description, metadata, acl } = credential
    const { token } = await client.tunnelCredential.create({
      acl,
      ...(description !== undefined && { description }),
      ...(metadata !== undefined && { metadata }),
    })
    showToken({
      title: 'tunnel credential',
      token: token ?? '',
      replaced: {
        name: nameOfCredential(credential),
        right: 'write',
        remove: (client) => client.tunnelCredential.delete(id),
        onRemoved: () => {
          open()
          again()
        },
      },
    })
    again()
  })
}

interface DrawerProps {
  readonly credential: Credential
  readonly again: () => void
}

function CredentialDrawer({ credential, again }: DrawerProps) {
  const { id } = credential
  const revoke = async (): Promise<void> => {
    if (!(await act('The credential is revoked.', (client) => client.tunnelCredential.delete(id)))) return
    open()
    again()
  }
  return (
    <Drawer title={`Tunnel credential: ${nameOfCredential(credential)}`} onClose={() => open()}>
      <Facts
        entries={[
          ['Id', <code key="id">{id}</code>],
          [
            'May bind',
            <span key="bind" class="mono">
              {bindText(credential)}
            </span>,
          ],
          [
            'Expires',
            <span key="expires" class="quiet">
              never: revoke it to end it
            </span>,
          ],
          ...lastUseFacts(credential),
        ]}
      />
      <p>
        <HistoryLink id={id} />
      </p>
      <div class="row">
        <EditButton onClick={() => rotate(credential, again)}>Rotate: make a new one</EditButton>
        <EditButton
          kind="danger"
          onClick={revoke}
          confirm={`The agent with the credential “${nameOfCredential(credential)}” is refused from now on. A credential can't be restored.`}
        >
          Revoke
        </EditButton>
      </div>
    </Drawer>
  )
}
