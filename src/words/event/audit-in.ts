/**
 * Audit events of other services, which publish them as `weir.audit.<object>.<created|updated|deleted>`.
 *
 * An object is checked against the schema that the API shows for its kind, so that consumers need not care which
 * service changed it. Then the event is rendered like the API's own.
 */
import { isUtf8 } from 'node:buffer'
import { auditInSubjectHead } from '../../delivery/wire/names.js'
import { isSecretName, ok, problem, type Result, shown } from '../../ground/core/errors.js'
import { hash128, isId } from '../../ground/core/ids.js'
import { jsonNestingMax } from '../../ground/core/limits.js'
import { getOrMake } from '../../ground/core/maps.js'
import { objectOf, type TSchema, Type } from '../../ground/core/schema.js'
import { type Check, compileCheck } from '../../ground/core/schema-check.js'
import { isNestedTooDeep } from '../../ground/core/text/json-nesting.js'
import type { AnyResource } from '../resource/kind/define.js'
import { resources } from '../resource/registry.js'
import { auditedSchema } from '../resource/shown-schema.js'
import { type AuditVerb, auditJson, auditKindOf, auditVerbs, type EventPrincipal } from './audit.js'
import { principalSchema } from './event-schemas.js'

/** The id that another service gives its audit event. */
const auditIdCharsMax = 128

/** A message as its stream stores it. */
interface AuditInMessage {
  readonly subject: string
  readonly data: Uint8Array
  /** Milliseconds since the epoch: the time of the event. */
  readonly storedAtMs: number
  /** The position of the message, which never changes: the same message gives the same event id again. */
  readonly position: string
}

export interface AuditInEvent {
  readonly kind: string
  readonly accountId: string
  readonly resourceId: string
  readonly eventId: string
  /** The envelope. */
  readonly json: string
}

/** The contents of a valid message. */
interface Announcement {
  readonly account_id: string
  readonly object: { readonly id: string }
  readonly principal: EventPrincipal
  readonly audit_id?: string
}

/** The event, or a sentence that names what is wrong and holds no secret. Does not check that the account exists. */
export function readAuditIn(message: AuditInMessage): Result<AuditInEvent> {
  const topic = topicOf(message.subject)
  if (!topic.ok) return topic
  const announcement = readAnnouncement(message.data, topic.value.resource)
  if (!announcement.ok) return announcement
  const { account_id: accountId, object, audit_id, principal } = announcement.value
  const kind = auditKindOf(topic.value.object, topic.value.verb)
  const identity = audit_id === undefined ? ['position', message.position] : ['audit_id', audit_id]
  const eventId = `ev_${hash128('audit_in', accountId, object.id, kind, ...identity)}`
  const contents = { kind, accountId, at: message.storedAtMs, principal, shown: object }
  return ok({ kind, accountId, resourceId: object.id, eventId, json: auditJson(eventId, contents) })
}

// --- the subject ---

interface Topic {
  readonly object: string
  readonly verb: AuditVerb
  readonly resource: AnyResource
}

const byObject = new Map(
  resources.flatMap((resource) =>
    resource.audit === undefined ? [] : [[resource.audit, resource] as const],
  ),
)

const isVerb = (text: string): text is AuditVerb => (auditVerbs as readonly string[]).includes(text)

function topicOf(subject: string): Result<Topic> {
  const [object = '', verb = '', ...more] = subject.slice(auditInSubjectHead.length).split('.')
  const resource = byObject.get(object)
  if (resource === undefined) {
    return problem(`The subject names ${shown(object)}, which is not an object of audit events.`)
  }
  if (!isVerb(verb) || more.length > 0) {
    const end = [verb, ...more].join('.')
    return problem(`The subject ends in ${shown(end)}, but must end in one of ${auditVerbs.join(', ')}.`)
  }
  return ok({ object, verb, resource })
}

// --- the payload ---

/** Members that came with a later version: a service that does not know them leaves them out. */
const laterMembers: readonly string[] = ['expires_at', 'start_from', 'replay_ids']

function objectSchema(resource: AnyResource): TSchema {
  const { required, ...schema } = auditedSchema(resource) as TSchema & { required: readonly string[] }
  return { ...schema, required: required.filter((name) => !laterMembers.includes(name)) } as TSchema
}

const schemaOf = (resource: AnyResource) =>
  objectOf({
    account_id: Type.String(),
    object: objectSchema(resource),
    principal: principalSchema,
    audit_id: Type.Optional(Type.String({ minLength: 1, maxLength: auditIdCharsMax })),
  })

const checks = new Map<string, Check>()

/** Compiled when the first message of a kind comes. */
const checkOf = (resource: AnyResource): Check =>
  getOrMake(checks, resource.kind, () => compileCheck(schemaOf(resource)))

function readAnnouncement(data: Uint8Array, resource: AnyResource): Result<Announcement> {
  const value = jsonIn(data)
  if (!value.ok) return value
  const wrong = checkOf(resource)(value.value, '')
  if (wrong !== undefined) return problem(wrong)
  const announcement = value.value as Announcement
  const { account_id, object, principal } = announcement
  if (!isId(resource.idPrefix, object.id)) {
    return problem(
      `"object.id" is ${shown(object.id)}: an id that begins with "${resource.idPrefix}" is needed.`,
    )
  }
  if (principal.id !== account_id) {
    return problem(`"principal.id" is ${shown(principal.id)}, but must be the "account_id".`)
  }
  const secret = secretIn(object, 'object')
  return secret === undefined
    ? ok(announcement)
    : problem(`"${secret}" must be null: events contain no secrets.`)
}

function jsonIn(data: Uint8Array): Result<unknown> {
  if (!isUtf8(data)) return problem('The message is not valid UTF-8.')
  const text = Buffer.from(data).toString()
  if (isNestedTooDeep(text)) return problem(`The message is nested more than ${jsonNestingMax} levels deep.`)
  try {
    return ok(JSON.parse(text))
  } catch {
    return problem('The message is not valid JSON.')
  }
}

/** The path of a secret that is not null. */
function secretIn(value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const below = `${path}.${name}`
    const secret = isSecretName(name) && member !== null ? below : secretIn(member, below)
    if (secret !== undefined) return secret
  }
  return undefined
}
