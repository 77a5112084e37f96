/** What the lists of ngrok's API answer, as resources of Weir, whose API has the same forms. */
import { StartFault } from '../../../ground/core/errors.js'
import { isObject } from '../../../ground/core/json-object.js'
import type { ImportRun } from '../draft/import-run.js'
import type { Item } from '../draft/item.js'
import type { Document } from '../input/document.js'
import type { RemoteApi } from '../input/remote-api.js'
import { readEventDestination, readEventSubscription } from './events.js'
import { readIpPolicies, readIpRestriction } from './ip-policies.js'
import { readCredential, readSshAuthority, readSshCertificate, readSshCredential } from './keys.js'
import { pagesOf } from './list-pages.js'
import {
  readBackend,
  readCertificateAuthority,
  readReservedAddr,
  readReservedDomain,
  readTlsCertificate,
} from './names-and-certificates.js'
import { readHttpsEdge, readTcpEdge, readTlsEdge } from './ngrok-edges.js'

type Read = (run: ImportRun, item: Item) => void

/** In an order in which each may refer to those before it. */
const read: Readonly<Record<string, { readonly kind: string; readonly read: Read }>> = {
  backends: { kind: 'backend', read: readBackend },
  certificate_authorities: { kind: 'certificate_authority', read: readCertificateAuthority },
  tls_certificates: { kind: 'tls_certificate', read: readTlsCertificate },
  reserved_domains: { kind: 'reserved_domain', read: readReservedDomain },
  reserved_addrs: { kind: 'reserved_addr', read: readReservedAddr },
  tcp_edges: { kind: 'tcp_edge', read: readTcpEdge },
  tls_edges: { kind: 'tls_edge', read: readTlsEdge },
  https_edges: { kind: 'https_edge', read: readHttpsEdge },
  ip_restrictions: { kind: 'ip_restriction', read: readIpRestriction },
  ssh_certificate_authorities: { kind: 'ssh_certificate_authority', read: readSshAuthority },
  ssh_host_certificates: { kind: 'ssh_host_certificate', read: readSshCertificate('sshHostCertificate') },
  ssh_user_certificates: { kind: 'ssh_user_certificate', read: readSshCertificate('sshUserCertificate') },
  ssh_credentials: { kind: 'ssh_credential', read: readSshCredential },
  credentials: { kind: 'credential', read: readCredential },
  event_destinations: { kind: 'event_destination', read: readEventDestination },
  event_subscriptions: { kind: 'event_subscription', read: readEventSubscription },
}

const seen = 'It is what ngrok sees at present, and not configured.'
const people = 'Weir has keys, and no users.'

/** Lists of which nothing is taken, and why. */
const notTaken: Readonly<Record<string, string>> = {
  keys: "A key of ngrok's API opens nothing in Weir: make one for those who use Weir's.",
  endpoints:
    'An endpoint without an edge is made by an agent or has a backend of its own: make an edge for its hostport.',
  tunnels: seen,
  tunnel_sessions: seen,
  application_sessions: seen,
  application_users: seen,
  ingresses: 'Addresses of agents belong to your ingress, which Weir does not run.',
  bot_users: people,
  service_users: people,
  vaults: 'Weir has no vaults: files name secrets by variables.',
  secrets: 'Weir has no vaults: files name secrets by variables.',
  sources: 'Sources are read with their subscription.',
}

const policies = 'ip_policies'
const rules = 'ip_policy_rules'

/** Lists that are asked for at an address, in the order of the requests. */
const listPaths: readonly string[] = [
  '/ip_policies',
  '/ip_policy_rules',
  '/ip_restrictions',
  '/edges/tcp',
  '/edges/tls',
  '/edges/https',
  ...['tunnel_group', 'failover', 'http_response', 'static', 'weighted'].map((kind) => `/backends/${kind}`),
  '/reserved_addrs',
  '/reserved_domains',
  '/tls_certificates',
  '/certificate_authorities',
  '/ssh_certificate_authorities',
  '/ssh_host_certificates',
  '/ssh_user_certificates',
  '/ssh_credentials',
  '/credentials',
  '/event_destinations',
  '/event_subscriptions',
  '/endpoints',
  '/vaults',
]

export async function* askNgrok(api: RemoteApi): AsyncGenerator<Document> {
  let found = 0
  for (const [index, path] of listPaths.entries()) {
    api.begins(path, index, listPaths.length)
    for (let page: string | undefined = path; page !== undefined; ) {
      const value = await api.find(page)
      found += Number(value !== undefined)
      if (value !== undefined) yield { name: `GET ${path} `, value }
      page =
        isObject(value) && typeof value['next_page_uri'] === 'string' ? value['next_page_uri'] : undefined
    }
  }
  if (found === 0)
    throw new StartFault(`There is none of ${listPaths.join(', ')}: is it the address of ngrok's API?`)
}

const shownOnly = ['id', 'uri', 'created_at']

export function importNgrok(documents: readonly Document[], run: ImportRun): void {
  const items = new Map<string, Item[]>()
  for (const { list, place, entries } of pagesOf(documents)) {
    const kind =
      read[list]?.kind ?? (list === policies ? 'ip_policy' : list === rules ? 'ip_policy_rule' : list)
    const found = run.items(kind, place, entries, shownOnly)
    items.set(list, [...(items.get(list) ?? []), ...found])
  }
  const of = (list: string): readonly Item[] => items.get(list) ?? []
  readIpPolicies(run, of(policies), of(rules))
  for (const [list, kind] of Object.entries(read)) for (const item of of(list)) kind.read(run, item)
  const known = [policies, rules, ...Object.keys(read)]
  for (const list of [...items.keys()].filter((name) => !known.includes(name)))
    for (const item of of(list)) item.refuse(notTaken[list] ?? `The list "${list}" is unknown.`)
  run.remark('Ids, times of creation and addresses that Weir draws are others than at ngrok.')
}
