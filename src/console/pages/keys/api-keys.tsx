/** API keys: what each may do, when it expires, when and from where it was used last. */
import { useSignal } from '@preact/signals'
import type { NewResource, Resource } from '../../../client/kinds.js'
import { session } from '../../data/access/session.js'
import { act, api, firstOf, useAnswer } from '../../data/asking/api.js'
import { now } from '../../data/clock.js'
import { go, hrefTo } from '../../data/location.js'
import { expiryOf } from '../../data/resources/expiry.js'
import { Button, EditButton } from '../../parts/button.js'
import { Drawer } from '../../parts/drawer.js'
import { ExpiryWord } from '../../parts/expiry-word.js'
import { Facts } from '../../parts/facts.js'
import { NewTokenDialog, showToken } from '../../parts/forms/new-token.js'
import { type FormField, ResourceForm } from '../../parts/forms/resource-form.js'
import { lastUseColumns, lastUseFacts } from '../../parts/last-use.js'
import { HistoryLink, Link } from '../../parts/link.js'
import { Answered, Empty } from '../../parts/states.js'
import { type Column, Table } from '../../parts/tables/table.js'

type ApiKey = Resource<'apiKey'>

const keysShownMax = 200

const isOwn = ({ id }: ApiKey): boolean => id === session.value?.api_key_id

const nameOfKey = ({ description, id }: ApiKey): string => description || id

const rightsText = ({ rights }: ApiKey): string => rights?.join(', ') ?? 'everything'

const columns: readonly Column<ApiKey>[] = [
  {
    title: 'Key',
    cell: (key) => (
      <>
        {nameOfKey(key)} {isOwn(key) && <span class="quiet">(this session)</span>}
      </>
    ),
    isWide: true,
  },
  { title: 'Rights', cell: rightsText },
  { title: 'Expires', cell: (key) => <ExpiryWord from={key.created_at} until={key.expires_at} /> },
  ...lastUseColumns(),
]

export function ApiKeys({ opened }: { readonly opened: string | undefined }) {
  const answer = useAnswer([], (client) => firstOf(client.apiKey.list({ limit: 100 }), keysShownMax))
  const isCreating = useSignal(false)
  const order = (key: ApiKey): number => expiryOf(key.created_at, key.expires_at, now()).order
  return (
    <div class="stack">
      <div>
        <EditButton right="all" onClick={() => (isCreating.value = true)}>
          Create an API key
        </EditButton>
      </div>
      {isCreating.value && <NewKey onClose={() => (isCreating.value = false)} onDone={answer.again} />}
      <Answered answer={answer}>
        {({ entries, hasMore }) => {
          const rows = entries.toSorted((one, other) => order(one) - order(other))
          const key = rows.find(({ id }) => id === opened)
          return (
            <>
              <Table
                label="API keys; those that expire next come first"
                rows={rows}
                columns={columns}
                keyOf={({ id }) => id}
                opened={opened}
                onOpen={({ id }) => go(hrefTo(['keys', id]))}
              />
              {hasMore && <p class="quiet">The newest {keysShownMax} are shown.</p>}
              {opened?.startsWith('ak_') && key === undefined && (
                <Empty>
                  There is no API key {opened} any more. Its history is kept:{' '}
                  <Link to={['changes']} with={{ id: opened }}>
                    its changes
                  </Link>
                </Empty>
              )}
              {key !== undefined && <KeyDrawer apiKey={key} again={answer.again} />}
            </>
          )
        }}
      </Answered>
      <NewTokenDialog />
    </div>
  )
}

const everything = 'all'

const formFields: readonly FormField[] = [
  { name: 'description', label: 'Description', as: 'text', hint: 'Who or what uses it.' },
  {
    name: 'rights',
    label: 'Rights',
    as: 'several',
    parts: [
      ['read', 'see everything, and try drafts'],
      ['write', 'change everything except API keys'],
      ['skip_tests', 'write although policy tests would fail'],
      ['decide', 'ask for decisions'],
      ['publish', 'send records'],
      ['all', 'everything, API keys included'],
    ],
    choices: [
      ['read', 'read: see everything'],
      ['read,write', 'write: change everything but API keys'],
      ['decide', 'decide: ask for decisions'],
      ['publish', 'publish: send records'],
      ['decide,publish', 'decide and publish: a proxy'],
      [everything, 'everything'],
    ],
  },
  {
    name: 'expires_at',
    label: 'Expires',
    as: 'choice',
    choices: [
      ['90', 'in 90 days'],
      ['365', 'in a year'],
      ['30', 'in 30 days'],
      ['7', 'in a week'],
      ['1', 'in a day'],
      ['', 'never'],
    ],
    initial: '90',
  },
]

const dayMs = 24 * 60 * 60_000

const inDays = (days: number): string => new Date(now() + days * dayMs).toISOString()

interface NewKeyProps {
  readonly onClose: () => void
  readonly onDone: () => void
}

const NewKey = ({ onClose, onDone }: NewKeyProps) => (
  <ResourceForm
    title="Create an API key"
    fields={formFields}
    right="all"
    submit="Create"
    onClose={onClose}
    send={async ({ rights, expires_at, ...body }) => {
      const key = await api.apiKey.create({
        ...body,
        rights: rights === undefined ? [] : String(rights).split(','),
        ...(expires_at !== undefined && { expires_at: inDays(Number(expires_at)) }),
      } as NewResource<'apiKey'>)
      onClose()
      showToken({ title: 'API key', token: key.token ?? '' })
      onDone()
    }}
  />
)

/** A new key with the same description, rights and metadata, which lasts as long as the old one did. */
async function rotate(key: ApiKey, again: () => void): Promise<void> {
  await act('A new API key was made.', async (client) => {
    const { description, metadata, rights, created_at, expires_at } = key
    const lifetimeMs = expires_at === null ? undefined : Date.parse(expires_at) - Date.parse(created_at)
    const next = await client.apiKey.create({
      ...(description !== undefined && { description }),
      ...(metadata !== undefined && { metadata }),
      ...(rights !== undefined && { rights }),
      ...(lifetimeMs !== undefined && { expires_at: new Date(now() + lifetimeMs).toISOString() }),
    })
    showToken({
      title: 'API key',
      token: next.token ?? '',
      replaced: {
        name: nameOfKey(key),
        right: 'all',
        remove: isOwn(key) ? undefined : (client) => client.apiKey.delete(key.id),
        onRemoved: () => {
          go(hrefTo(['keys']))
          again()
        },
      },
    })
    again()
  })
}

function KeyDrawer({ apiKey: key, again }: { readonly apiKey: ApiKey; readonly again: () => void }) {
  const close = (): void => go(hrefTo(['keys']))
  const revoke = async (): Promise<void> => {
    if (!(await act('The API key is revoked.', (client) => client.apiKey.delete(key.id)))) return
    close()
    again()
  }
  return (
    <Drawer title={`API key: ${nameOfKey(key)}`} onClose={close}>
      <Facts
        entries={[
          ['Id', <code key="id">{key.id}</code>],
          ['Rights', rightsText(key)],
          ['Expires', <ExpiryWord key="expires" from={key.created_at} until={key.expires_at} />],
          ...lastUseFacts(key),
        ]}
      />
      <p class="row">
        <HistoryLink id={key.id} />
        <Link to={['changes']} with={{ by: key.id }}>
          What it changed
        </Link>
      </p>
      {isOwn(key) && (
        <p class="quiet">You signed in with this key. A key can't delete itself: use another one for that.</p>
      )}
      <div class="row">
        <EditButton right="all" onClick={() => rotate(key, again)}>
          Rotate: make a new one
        </EditButton>
        {!isOwn(key) && (
          <EditButton
            right="all"
            kind="danger"
            onClick={revoke}
            confirm={`Whatever uses the key “${nameOfKey(key)}” is refused from now on. A key can't be restored.`}
          >
            Revoke
          </EditButton>
        )}
        <Button onClick={close}>Close</Button>
      </div>
    </Drawer>
  )
}
