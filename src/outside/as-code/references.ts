/** Replaces names by ids, and ids by names, in the members of a body that refer to other resources. */
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import type { Field, Fields } from '../../words/resource/kind/define.js'

/** `kind`: of the resource that is referred to. */
type Replace = (kind: string, text: string, path: string) => string

/** A copy of a body as it was written, so members may have wrong types: those stay as they are. */
export function mapReferences(fields: Fields, body: JsonObject, replace: Replace, path: string): JsonObject {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const field = fields[name] as Field | undefined
      const place = `${path}.${name}`
      if (field?.fields !== undefined && isObject(value))
        return [name, mapReferences(field.fields, value, replace, place)]
      const kind = field?.reference?.foreignPath === undefined ? field?.reference?.kind : undefined
      if (kind === undefined) return [name, value]
      const one = (each: unknown, at: string): unknown =>
        typeof each === 'string' ? replace(kind, each, at) : each
      return [
        name,
        Array.isArray(value) ? value.map((each, n) => one(each, `${place}[${n}]`)) : one(value, place),
      ]
    }),
  )
}

/** The kinds of which policy tests may say that one decided. */
const decidingKinds = ['tcp_edge', 'https_edge', 'https_edge_route', 'ip_restriction', 'ip_policy']

/** The name of a rule: the id of its policy, and its range or the name of its list. */
export const ruleName = (policyId: string, subject: string): string => `${policyId} ${subject}`

/** What a route is called, behind the name of its edge. */
export const matchOf = ({ match_type, match }: JsonObject): string =>
  `${String(match)}${match_type === 'path_prefix' ? '*' : ''}`

type ReplacePart = (kinds: readonly string[], text: string, path: string) => string

/** The same for the expectation of a policy test. Rules go by the policy that the expectation names. */
export function mapExpectation(expect: unknown, replace: ReplacePart, path: string): unknown {
  if (!isObject(expect)) return expect
  const { decided_by, shadow, ...rest } = expect
  return {
    ...rest,
    ...(decided_by !== undefined && { decided_by: mapPart(decided_by, replace, `${path}.decided_by`) }),
    ...(shadow !== undefined && { shadow: mapExpectation(shadow, replace, `${path}.shadow`) }),
  }
}

function mapPart(part: unknown, replace: ReplacePart, path: string): unknown {
  if (!isObject(part)) return part
  const mapped: Record<string, unknown> = { ...part }
  const { id, ip_policy_id, rule_id } = part
  if (typeof id === 'string') mapped['id'] = replace(decidingKinds, id, `${path}.id`)
  if (typeof ip_policy_id === 'string')
    mapped['ip_policy_id'] = replace(['ip_policy'], ip_policy_id, `${path}.ip_policy_id`)
  const policyId = mapped['ip_policy_id']
  if (typeof rule_id === 'string') {
    const name = typeof policyId === 'string' ? ruleName(policyId, rule_id) : rule_id
    mapped['rule_id'] = replace(['ip_policy_rule'], name, `${path}.rule_id`)
  }
  return mapped
}
