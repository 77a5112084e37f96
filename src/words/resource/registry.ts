/** All resource kinds, in the order of the API reference. */
import { abuseReport } from './abuse-report.js'
import { account } from './account.js'
import { apiKey } from './api-key.js'
import { tunnelGroupBackend } from './backend.js'
import { bouncer } from './bouncers/bouncer.js'
import { certificateAuthority } from './certificate-authority.js'
import { challenger } from './challenger.js'
import { domain } from './domain.js'
import { eventDestination } from './event-destination.js'
import { eventSubscription } from './event-subscription.js'
import { httpsEdge, httpsEdgeRoute } from './https-edge.js'
import { ipList, ipListChunk } from './ip-list.js'
import { ipPolicy, ipPolicyRule } from './ip-policy.js'
import { ipRestriction } from './ip-restriction.js'
import { type AnyResource, anyResource, type RowOf } from './kind/define.js'
import { policyTest } from './policy-test.js'
import { reservedAddr } from './reserved-addr.js'
import { sshCertificateAuthority } from './ssh-certificate-authority.js'
import { sshCredential } from './ssh-credential.js'
import { sshHostCertificate } from './ssh-host-certificate.js'
import { sshUserCertificate } from './ssh-user-certificate.js'
import { tcpEdge } from './tcp-edge.js'
import { tlsCertificate } from './tls-certificate.js'
import { tunnelCredential } from './tunnel-credential.js'

export const declarations = {
  account,
  tcpEdge,
  httpsEdge,
  httpsEdgeRoute,
  tunnelGroupBackend,
  ipPolicy,
  ipPolicyRule,
  ipRestriction,
  ipList,
  ipListChunk,
  policyTest,
  challenger,
  domain,
  tlsCertificate,
  certificateAuthority,
  sshCertificateAuthority,
  sshHostCertificate,
  sshUserCertificate,
  sshCredential,
  eventDestination,
  eventSubscription,
  reservedAddr,
  tunnelCredential,
  bouncer,
  abuseReport,
  apiKey,
}

type Declared = (typeof declarations)[keyof typeof declarations]

export type KindName = Declared['kind']

/** A row of a kind, typed by its declaration. */
export type DeclaredRow<Kind extends KindName> = RowOf<Extract<Declared, { readonly kind: Kind }>['fields']>

export const resources: readonly AnyResource[] = Object.values(declarations).map(anyResource)

const byKind = new Map(resources.map((resource) => [resource.kind, resource]))

/** The declaration of a kind; throws if there is no such kind. */
export function resourceOf(kind: string): AnyResource {
  const resource = byKind.get(kind)
  if (resource === undefined) throw new Error(`There is no resource kind ${kind}.`)
  return resource
}
