/**
 * Names of resources that are known by their ids: of an edge its first hostport, of a rule its range, of others their
 * description, of a restriction without one what it restricts. Asked for once, when they are shown first; until then, and if there is none, the id is shown.
 */
import { type Signal, signal } from '@preact/signals'
import type { Client } from '../../../client/client.js'
import { api } from '../asking/api.js'

interface ResourceName {
  readonly text: string
  /** The parts of the path of its page; undefined if it has none, or was deleted. */
  readonly path: readonly string[] | undefined
}

interface NamedKind {
  readonly prefix: string
  readonly ask: (client: Client, id: string) => Promise<ResourceName>
}

interface Described {
  readonly id: string
  readonly description?: string | undefined
}

const described =
  (page: string, get: (client: Client, id: string) => Promise<Described>) =>
  async (client: Client, id: string): Promise<ResourceName> => {
    const { description } = await get(client, id)
    return { text: description || id, path: [page, id] }
  }

const edgeOf = async (edge: Promise<{ readonly hostports: readonly string[] }>, id: string) => {
  const { hostports } = await edge
  return { text: hostports[0] ?? id, path: ['edges', id] }
}

const kinds: readonly NamedKind[] = [
  { prefix: 'edgtcp_', ask: (client, id) => edgeOf(client.tcpEdge.get(id), id) },
  { prefix: 'edghts_', ask: (client, id) => edgeOf(client.httpsEdge.get(id), id) },
  {
    prefix: 'ipr_',
    ask: async (client, id) => {
      const { cidr, action, description, ip_policy } = await client.ipPolicyRule.get(id)
      return {
        text: `${action} ${cidr}${description ? ` (${description})` : ''}`,
        path: ['ip-policies', ip_policy.id],
      }
    },
  },
  { prefix: 'ipp_', ask: described('ip-policies', (client, id) => client.ipPolicy.get(id)) },
  {
    prefix: 'ipx_',
    ask: async (client, id) => {
      const { description, type } = await client.ipRestriction.get(id)
      return { text: description || `for ${type}`, path: ['ip-policies', id] }
    },
  },
  { prefix: 'ptest_', ask: described('tests', (client, id) => client.policyTest.get(id)) },
  { prefix: 'ed_', ask: described('destinations', (client, id) => client.eventDestination.get(id)) },
  { prefix: 'esb_', ask: described('subscriptions', (client, id) => client.eventSubscription.get(id)) },
  {
    prefix: 'rd_',
    ask: async (client, id) => ({ text: (await client.domain.get(id)).domain, path: ['domains', id] }),
  },
  {
    prefix: 'ra_',
    ask: async (client, id) => ({ text: (await client.reservedAddr.get(id)).addr, path: ['domains', id] }),
  },
  { prefix: 'cert_', ask: described('certificates', (client, id) => client.tlsCertificate.get(id)) },
  { prefix: 'ca_', ask: described('certificates', (client, id) => client.certificateAuthority.get(id)) },
  {
    prefix: 'sshca_',
    ask: described('certificates', (client, id) => client.sshCertificateAuthority.get(id)),
  },
  { prefix: 'shcrt_', ask: described('certificates', (client, id) => client.sshHostCertificate.get(id)) },
  { prefix: 'sucrt_', ask: described('certificates', (client, id) => client.sshUserCertificate.get(id)) },
  { prefix: 'sshcr_', ask: described('certificates', (client, id) => client.sshCredential.get(id)) },
  { prefix: 'bnc_', ask: described('keys', (client, id) => client.bouncer.get(id)) },
  { prefix: 'cr_', ask: described('keys', (client, id) => client.tunnelCredential.get(id)) },
  { prefix: 'ak_', ask: described('keys', (client, id) => client.apiKey.get(id)) },
]

const known = new Map<string, Signal<ResourceName>>()
const knownMax = 2_000

/** The name as far as it is known; a component that reads it is drawn again when it is. */
export function nameOf(id: string): ResourceName {
  const before = known.get(id)
  if (before !== undefined) return before.value
  if (known.size >= knownMax) known.clear()
  const name = signal<ResourceName>({ text: id, path: undefined })
  known.set(id, name)
  const kind = kinds.find(({ prefix }) => id.startsWith(prefix))
  void kind?.ask(api, id).then(
    (found) => {
      name.value = found
    },
    // Deleted, or not to be seen by this key: the id says as much as there is to say.
    () => {},
  )
  return name.value
}
