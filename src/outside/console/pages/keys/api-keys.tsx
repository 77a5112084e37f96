/** API keys: what each may do, when it expires, when and from where it was used last. Those that expire next come first. */
import type { Resource } from '../../../../words/client/kinds.js'
import { session } from '../../data/access/session.js'
import { now } from '../../data/clock.js'
import { Link } from '../../kit/link.js'
import { ExpiryWord, expiryOf } from '../../parts/expiry.js'
import type { FormField } from '../../parts/forms/declared-field.js'
import { lastUseColumns, lastUseFacts } from '../../parts/last-use.js'
import { type PlainResource, useNothing } from '../../parts/plain/plain-resource.js'

type ApiKey = Resource<'apiKey'>

const isOwn = ({ id }: ApiKey): boolean => id === session.value?.api_key_id

const nameOf = ({ description, id }: ApiKey): string => description || id

const rightsText = ({ rights }: ApiKey): string => rights?.join(', ') ?? 'everything'

const Expires = ({ apiKey: { created_at, expires_at } }: { readonly apiKey: ApiKey }) => (
  <ExpiryWord from={created_at} until={expires_at} />
)

const columns = [
  {
    title: 'Key',
    isMain: true,
    cell: (key: ApiKey) => (
      <>
        {nameOf(key)} {isOwn(key) && <span class="quiet">(this session)</span>}
      </>
    ),
    isWide: true,
  },
  { title: 'Rights', cell: rightsText },
  { title: 'Expires', cell: (key: ApiKey) => <Expires apiKey={key} /> },
  ...lastUseColumns(),
]

const fields: readonly FormField[] = [
  {
    name: 'description',
    label: 'Description',
    as: 'text',
    isOptional: true,
    hint: 'Who or what uses it: the proxies.',
  },
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
      ['all', 'everything'],
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

const inMs = (lengthMs: number): string => new Date(now() + lengthMs).toISOString()

export const apiKeys: PlainResource<ApiKey> = {
  title: 'API key',
  place: { page: 'keys' },
  idPrefix: 'ak_',
  operations: (client) => client.apiKey,
  useBeside: useNothing,
  nameOf,
  list: {
    label: 'API keys; those that expire next come first',
    columns: () => columns,
    orderOf: ({ created_at, expires_at }) => expiryOf(created_at, expires_at, now()).order,
    empty: <p>There is no API key.</p>,
  },
  form: {
    button: 'Create an API key',
    title: 'Create an API key',
    submit: 'Create',
    right: 'all',
    fields: () => fields,
    bodyOf: ({ rights, expires_at, ...body }) => ({
      ...body,
      rights: rights === undefined ? [] : String(rights).split(','),
      ...(expires_at !== undefined && { expires_at: inMs(Number(expires_at) * dayMs) }),
    }),
    whenMade: 'token',
  },
  drawer: {
    title: (key) => `API key: ${nameOf(key)}`,
    facts: (key) => [
      ['Rights', rightsText(key)],
      ['Expires', <Expires key="expires" apiKey={key} />],
      ...lastUseFacts(key),
    ],
    links: ({ id }) => (
      <Link to={['changes']} with={{ by: id }}>
        What it changed
      </Link>
    ),
  },
  /** The new one lasts as long as the old one did. */
  rotation: ({ description, metadata, rights, created_at, expires_at }) => ({
    ...(description !== undefined && { description }),
    ...(metadata !== undefined && { metadata }),
    ...(rights !== undefined && { rights }),
    ...(expires_at !== null && { expires_at: inMs(Date.parse(expires_at) - Date.parse(created_at)) }),
  }),
  removal: {
    button: 'Revoke',
    right: 'all',
    confirm: (key) =>
      `Whatever uses the key “${nameOf(key)}” is refused from now on. A key can't be restored.`,
    done: () => 'The API key is revoked.',
    refusedBecause: (key) =>
      isOwn(key)
        ? "You signed in with this key. A key can't delete itself: use another one for that."
        : undefined,
  },
}
