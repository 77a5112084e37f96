/**
 * Names of resources that are known by their ids: of an edge its first hostport, of a rule its range or list, of others
 * their name or description, of a restriction without one what it restricts. Asked for once, when they are shown first;
 * until then, and if there is none, the id is shown.
 */
import { type Signal, signal } from '@preact/signals'
import type { Client } from '../../../../words/client/client.js'
import type { Resource } from '../../../../words/client/kinds.js'
import { api } from '../asking/api.js'
import { kindOfId, operationsOf } from './resource-kinds.js'

interface ResourceName {
  readonly text: string
  /** The parts of the path of its page; undefined if it has none, or was deleted. */
  readonly path: readonly string[] | undefined
}

/** The page that shows a resource of a kind by its id. */
const pages: Readonly<Record<string, string>> = {
  api_key: 'keys',
  bouncer: 'bouncers',
  certificate_authority: 'certificates',
  challenger: 'challengers',
  domain: 'domains',
  event_destination: 'destinations',
  event_subscription: 'subscriptions',
  https_edge: 'edges',
  ip_list: 'ip-lists',
  ip_policy: 'ip-policies',
  ip_restriction: 'ip-policies',
  policy_test: 'tests',
  reserved_addr: 'domains',
  ssh_certificate_authority: 'certificates',
  ssh_credential: 'certificates',
  ssh_host_certificate: 'certificates',
  ssh_user_certificate: 'certificates',
  tcp_edge: 'edges',
  tls_certificate: 'certificates',
  tunnel_credential: 'keys',
}

/** Members that are a name, in the order in which they are asked. */
interface Named {
  readonly hostports?: readonly string[]
  readonly domain?: string
  readonly addr?: string
  readonly name?: string
  readonly description?: string
  /** The part that a restriction restricts, such as `api`. */
  readonly type?: string
}

async function nameIn(client: Client, id: string): Promise<ResourceName | undefined> {
  const kind = kindOfId(id) ?? ''
  const found = await operationsOf(client, kind)?.get(id)
  if (found === undefined) return undefined
  if (kind === 'ip_policy_rule') return nameOfRule(client, found as Resource<'ipPolicyRule'>)
  const { hostports = [], domain, addr, name, description, type } = found as Named
  const text = [hostports[0], domain, addr, name, description].find(Boolean)
  const page = pages[kind]
  return {
    text: text ?? (kind === 'ip_restriction' ? `for ${type}` : id),
    path: page === undefined ? undefined : [page, id],
  }
}

async function nameOfRule(
  client: Client,
  { cidr, list, action, description, ip_policy }: Resource<'ipPolicyRule'>,
): Promise<ResourceName> {
  const about = cidr ?? `list ${(await client.ipList.get(list?.id ?? '')).name}`
  return {
    text: `${action} ${about}${description ? ` (${description})` : ''}`,
    path: ['ip-policies', ip_policy.id],
  }
}

const known = new Map<string, Signal<ResourceName>>()
const knownMax = 2_000

/** The name as far as it is known; a component that reads it is drawn again when it is. */
export function nameOf(id: string): ResourceName {
  const before = known.get(id)
  if (before !== undefined) return before.value
  if (known.size >= knownMax) known.clear()
  const name = signal<ResourceName>({ text: id, path: undefined })
  known.set(id, name)
  nameIn(api, id).then(
    (found) => {
      if (found !== undefined) name.value = found
    },
    // Deleted, or not to be seen by this key: the id says as much as there is to say.
    () => {},
  )
  return name.value
}
