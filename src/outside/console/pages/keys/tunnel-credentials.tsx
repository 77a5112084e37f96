/** Tunnel credentials: the tokens of agents, what they may bind, when and from where each was used last. */
import type { Resource } from '../../../../words/client/kinds.js'
import type { FormField } from '../../parts/forms/declared-field.js'
import { lastUseColumns, lastUseFacts } from '../../parts/last-use.js'
import { type PlainResource, useNothing } from '../../parts/plain/plain-resource.js'

type Credential = Resource<'tunnelCredential'>

const nameOf = ({ description, id }: Credential): string => description || id

const bindText = ({ acl }: Credential): string => (acl.length === 0 ? 'anything' : acl.join(', '))

const columns = [
  { title: 'Credential', isMain: true, cell: nameOf },
  { title: 'May bind', cell: bindText, isWide: true },
  ...lastUseColumns(),
]

const fields: readonly FormField[] = [
  {
    name: 'description',
    label: 'Description',
    as: 'text',
    isOptional: true,
    hint: 'Which agent uses it: the build machine.',
  },
  {
    name: 'acl',
    label: 'Names it may serve',
    isOptional: true,
    as: 'list',
    hint: 'One on each line, as bind:www.example.com, bind:ssh.example.com:22 or bind:*.example.com. None: any name.',
  },
]

export const tunnelCredentials: PlainResource<Credential> = {
  title: 'tunnel credential',
  place: { page: 'keys', tab: 'tunnel' },
  operations: (client) => client.tunnelCredential,
  useBeside: useNothing,
  nameOf,
  list: {
    label: 'Tunnel credentials, newest first',
    columns: () => columns,
    empty: <p>No agent of a tunnel server can sign in yet. Create a credential for each.</p>,
  },
  form: {
    button: 'Create a tunnel credential',
    title: 'Create a tunnel credential',
    submit: 'Create',
    fields: () => fields,
    whenMade: 'token',
  },
  drawer: {
    title: (credential) => `Tunnel credential: ${nameOf(credential)}`,
    facts: (credential) => [
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
    ],
  },
  rotation: ({ description, metadata, acl }) => ({
    acl,
    ...(description !== undefined && { description }),
    ...(metadata !== undefined && { metadata }),
  }),
  removal: {
    button: 'Revoke',
    confirm: (credential) =>
      `The agent with the credential “${nameOf(credential)}” is refused from now on. A credential can't be restored.`,
    done: () => 'The credential is revoked.',
  },
}
