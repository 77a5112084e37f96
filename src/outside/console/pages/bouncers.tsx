/** Programs that enforce IP policies and lists elsewhere: which each has, and when it asked last. The path may name one. */
import type { Resource } from '../../../words/client/kinds.js'
import { hrefTo } from '../data/location.js'
import { headOf } from '../kit/page-head.js'
import { type FormField, type FormValues, idsIn } from '../parts/forms/declared-field.js'
import { lastUseColumns, lastUseFacts } from '../parts/last-use.js'
import { Name } from '../parts/name.js'
import type { PageProps } from '../parts/page.js'
import { PlainList } from '../parts/plain/plain-list.js'
import { type PlainResource, useNothing } from '../parts/plain/plain-resource.js'
import { Command } from '../parts/states.js'

type Bouncer = Resource<'bouncer'>

export const Bouncers = ({ rest: [opened] }: PageProps) => (
  <PlainList resource={bouncers} head={headOf('Bouncers')} opened={opened} />
)

const nameOf = ({ description, id }: Bouncer): string => description || id

const Enforced = ({ bouncer: { ip_policies, ip_lists } }: { readonly bouncer: Bouncer }) => (
  <ul class="lines">
    {[...ip_policies, ...ip_lists].map(({ id }) => (
      <li key={id}>
        <Name id={id} />
      </li>
    ))}
  </ul>
)

const columns = [
  { title: 'Bouncer', isMain: true, cell: nameOf },
  { title: 'Enforces', cell: (bouncer: Bouncer) => <Enforced bouncer={bouncer} />, isWide: true },
  ...lastUseColumns('Last pull'),
]

const fields: readonly FormField[] = [
  {
    name: 'description',
    label: 'Description',
    as: 'text',
    isOptional: true,
    hint: 'Where it enforces them, such as: the firewall in Frankfurt.',
  },
  { name: 'ip_policy_ids', label: 'IP policies', as: 'policies' },
  { name: 'ip_list_ids', label: 'IP lists', as: 'lists' },
]

const enforcesSomething = ({ ip_policy_ids, ip_list_ids }: FormValues): boolean =>
  idsIn(ip_policy_ids).length + idsIn(ip_list_ids).length > 0

const bouncers: PlainResource<Bouncer> = {
  title: 'bouncer',
  place: { page: 'bouncers' },
  operations: (client) => client.bouncer,
  useBeside: useNothing,
  nameOf,
  list: {
    label: 'Bouncers, newest first',
    about: (
      <p class="quiet">
        A bouncer reads the deny rules of its IP policies and the entries of its IP lists in the form of
        CrowdSec's local API, and enforces them in a firewall or a proxy.
      </p>
    ),
    columns: () => columns,
    empty: (
      <>
        <p>
          No firewall and no proxy asks for the rules of this account yet. Create a bouncer, and give its
          program
        </p>
        <Command text={`api_url: ${new URL(hrefTo([]), location.href).href}`} />
        <p>and its token as the API key.</p>
      </>
    ),
  },
  form: {
    button: 'Create a bouncer',
    title: 'Create a bouncer',
    submit: 'Create',
    done: 'The bouncer was created.',
    isReady: enforcesSomething,
    fields: () => fields,
    whenMade: 'token',
  },
  change: {
    title: 'Edit the bouncer',
    submit: 'Save',
    done: 'The bouncer was saved.',
    isReady: enforcesSomething,
    fields,
    valuesOf: ({ description = '', ip_policies, ip_lists }) => ({
      description,
      ip_policy_ids: ip_policies.map(({ id }) => id),
      ip_list_ids: ip_lists.map(({ id }) => id),
    }),
    send: (client, id, body) => client.bouncer.update(id, body),
  },
  drawer: {
    title: (bouncer) => `Bouncer: ${nameOf(bouncer)}`,
    facts: (bouncer) => [
      ['Enforces', <Enforced key="enforced" bouncer={bouncer} />],
      ...lastUseFacts(bouncer, 'Last pull'),
    ],
  },
  removal: {
    button: 'Delete',
    confirm: (bouncer) =>
      `“${nameOf(bouncer)}” is refused from now on, and keeps the bans that it has until they end there. It can't be restored.`,
    done: () => 'The bouncer was deleted.',
  },
}
