/**
 * The kinds of resources that files can describe, in the order in which they are made: each may refer to those before it.
 * Their sections in files are called as their lists in the API, and an entry has the members of the body that creates it.
 */
import { kindTable } from '../../words/client/kind-table.js'
import type { Name } from '../../words/client/kinds.js'
import { type AnyResource, anyResource } from '../../words/resource/kind/define.js'
import { declarations } from '../../words/resource/registry.js'

/** A body, as `POST` takes it, with all members that clients set. */
export type Body = Readonly<Record<string, unknown>>

export interface ManagedKind {
  /** The client's name of the kind. */
  readonly name: Name
  readonly resource: AnyResource
  readonly section: string
  /** What makes two bodies the same resource: they have one of these texts in common. */
  readonly identitiesOf: (body: Body) => readonly string[]
  /** Set at creation by clients, or else by Weir: compared only if the files say it. */
  readonly filledIn: readonly string[]
  /** Has an effect once, and is no property of what was made. */
  readonly once: readonly string[]
}

/** Served kinds that files do not describe, and why. */
export const leftOut: Partial<Record<Name, string>> = {
  ipPolicyRule: 'a part of its IP policy',
  httpsEdgeRoute: 'a part of its edge',
  challenger: 'a draft that ends by itself',
  abuseReport: 'a message to a team, which can be neither changed nor deleted',
}

const byDescription = ({ description }: Body): string[] => [`description ${String(description ?? '')}`]
const byMember =
  (member: string) =>
  ({ [member]: value }: Body): string[] => [`${member} ${String(value)}`]

/** A hostport belongs to one edge. */
const byHostports = (body: Body): readonly string[] => {
  const hostports = (body['hostports'] ?? []) as readonly string[]
  return hostports.length === 0 ? byDescription(body) : hostports.map((each) => `hostport ${each}`)
}

const certificate = { filledIn: ['valid_after', 'valid_until'] }
const managed: readonly (readonly [Name, Partial<ManagedKind>?])[] = [
  ['ipList', { identitiesOf: byMember('name') }],
  ['tunnelGroupBackend'],
  ['certificateAuthority'],
  ['tlsCertificate'],
  ['domain', { identitiesOf: byMember('domain') }],
  ['reservedAddr'],
  ['ipPolicy'],
  ['tcpEdge', { identitiesOf: byHostports }],
  ['httpsEdge', { identitiesOf: byHostports }],
  ['ipRestriction', { identitiesOf: byMember('type') }],
  // Weir chooses the size of a key, and what is not shown of it can be read from its public key.
  ['sshCertificateAuthority', { filledIn: ['key_size', 'elliptic_curve'] }],
  ['sshHostCertificate', { filledIn: [...certificate.filledIn, 'principals'] }],
  ['sshUserCertificate', { filledIn: [...certificate.filledIn, 'critical_options', 'extensions'] }],
  ['sshCredential'],
  ['tunnelCredential'],
  ['bouncer'],
  ['eventDestination'],
  ['eventSubscription', { once: ['start_from'] }],
  ['apiKey'],
  // Last: what they expect is to hold by then.
  ['policyTest'],
]

export const managedKinds: readonly ManagedKind[] = managed.map(([name, own]) => ({
  name,
  resource: anyResource(declarations[name]),
  section: kindTable[name]!.listName,
  identitiesOf: byDescription,
  filledIn: [],
  once: [],
  ...own,
}))

export const route = anyResource(declarations.httpsEdgeRoute)
export const rule = anyResource(declarations.ipPolicyRule)

const titles = new Map(Object.values(declarations).map(({ kind, title }) => [kind as string, title]))

export const titleOfKind = (kind: string): string => titles.get(kind) ?? kind
