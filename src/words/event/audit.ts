/**
 * Audit events: one per created, updated or deleted object. The kinds of an object follow from its name; the payload
 * is the resource as the API shows it, one-time tokens and secrets null. Resources below another one's path have events
 * of their own and are not in those of their parent: there may be more of them than fit an event.
 */
import { isoMillis } from '../../ground/core/clock.js'
import { hash128 } from '../../ground/core/ids.js'
import { getOrMake } from '../../ground/core/maps.js'

/** Every object with audit events; events about objects of other services arrive over NATS. */
export const auditObjects = [
  'api_key',
  'bouncer',
  'certificate_authority',
  'challenger',
  'domain',
  'event_destination',
  'event_subscription',
  'https_edge',
  'https_edge_route',
  'ip_list',
  'ip_policy',
  'ip_policy_rule',
  'ip_restriction',
  'policy_test',
  'ssh_certificate_authority',
  'ssh_host_certificate',
  'ssh_public_key',
  'ssh_user_certificate',
  'tcp_address',
  'tcp_edge',
  'tls_certificate',
  'tunnel_credential',
  'tunnel_group_backend',
] as const

export type AuditVerb = 'created' | 'updated' | 'deleted'

export const auditVerbs: readonly AuditVerb[] = ['created', 'updated', 'deleted']

export const auditKindOf = (object: string, verb: AuditVerb): string => `${object}_${verb}.v0`

export const auditKinds: readonly string[] = auditObjects.flatMap((object) =>
  auditVerbs.map((verb) => auditKindOf(object, verb)),
)

/** The author of the change, as in the envelope. */
export interface EventPrincipal {
  /** Account id. */
  readonly id: string
  /** Account name. */
  readonly subject: string
  readonly source: string
  readonly credential: { readonly id: string; readonly uri: string } | null
}

/** The contents of an audit event. */
interface AuditContents {
  /** `ip_policy_created.v0` */
  readonly kind: string
  readonly accountId: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly principal: EventPrincipal
  /** The resource as the API shows it, without those below its path; secrets null. */
  readonly shown: object
}

/** The JSON of principals: a change can have very many events, all of the same one. */
const principals = new WeakMap<EventPrincipal, string>()

/** The envelope as JSON. */
export function auditJson(eventId: string, { kind, accountId, at, principal, shown }: AuditContents): string {
  const who = getOrMake(principals, principal, () => JSON.stringify(principal))
  return `{"event_id":"${eventId}","event_type":"${kind}","event_timestamp":"${isoMillis(at)}","account_id":${JSON.stringify(accountId)},"principal":${who},"object":${JSON.stringify(shown)}}`
}

export interface AuditOccasion extends Omit<AuditContents, 'kind'> {
  readonly object: string
  readonly verb: AuditVerb
  readonly resourceId: string
  /** The version of the change: a repeated event of the same change has the same id. */
  readonly version: number
}

export function auditEvent({ object, verb, accountId, resourceId, version, ...rest }: AuditOccasion): {
  eventId: string
  resourceId: string
  json: string
} {
  const kind = auditKindOf(object, verb)
  const eventId = `ev_${hash128('audit', accountId, resourceId, String(version), kind)}`
  return { eventId, resourceId, json: auditJson(eventId, { kind, accountId, ...rest }) }
}
