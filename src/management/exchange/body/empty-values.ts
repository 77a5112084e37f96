/**
 * Values that mean "not given". Generated clients of this family of APIs send the empty value of a field's type when
 * their caller left the field out: `""`, `0`, `[]` or, for a map with free keys, `{}`.
 */
import { shapeOf, type TSchema } from '../../../ground/core/schema.js'

/**
 * Is the value null, or the empty value of the schema's type? An object whose schema declares members is never
 * empty: `{}` for a certificate policy asks for one with its defaults.
 */
export function isEmptyOf(schema: TSchema, value: unknown): boolean {
  if (value === null || value === undefined) return true
  const { type, enum: values, properties } = shapeOf(schema)
  if (value === '') return type === 'string' || values !== undefined
  if (value === 0) return type === 'integer'
  if (isEmptyMap(value)) return type === 'object' && Object.keys(properties ?? {}).length === 0
  return type === 'array' && Array.isArray(value) && value.length === 0
}

/**
 * Does the value of an optional field mean "not given"? `[]` and null do not if the schema asks for entries: a program whose
 * list of a key's rights is empty or unset must not make a key with all of them.
 */
export const isNothing = (schema: TSchema, value: unknown): boolean =>
  value === undefined || (isEmptyOf(schema, value) && !asksForEntries(schema, value))

const asksForEntries = (schema: TSchema, value: unknown): boolean =>
  (value === null || Array.isArray(value)) && (shapeOf(schema).minItems ?? 0) > 0

const isEmptyMap = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0

/** The value without optional members that are empty, at any depth. Maps with free keys stay as they are. */
export function withoutNothing(schema: TSchema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { properties, required = [], items } = shapeOf(schema)
  if (Array.isArray(value)) {
    return items === undefined ? value : value.map((entry) => withoutNothing(items, entry))
  }
  if (properties === undefined) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
      if (!Object.hasOwn(properties, name)) return [[name, member]]
      const schema = properties[name]!
      if (!required.includes(name) && isNothing(schema, member)) return []
      return [[name, withoutNothing(schema, member)]]
    }),
  )
}

/**
 * Fields, by kind, that other services of this API family have and Weir does not. Their clients send them empty; with
 * any other value they are unknown fields.
 */
const foreignFields: Readonly<Record<string, readonly string[]>> = {
  api_key: ['owner_id', 'owner_email'],
  tunnel_credential: ['owner_id', 'owner_email'],
  ssh_credential: ['owner_id', 'owner_email'],
  domain: ['name', 'resolves_to', 'http_endpoint_configuration_id', 'https_endpoint_configuration_id'],
  tcp_edge: ['policy', 'traffic_policy'],
  https_edge: ['mutual_tls', 'tls_termination'],
  https_edge_route: [
    'circuit_breaker',
    'compression',
    'oauth',
    'oidc',
    'policy',
    'request_headers',
    'response_headers',
    'saml',
    'traffic_policy',
    'user_agent_filter',
    'webhook_verification',
    'websocket_tcp_converter',
  ],
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || value === 0 || (Array.isArray(value) && value.length === 0)

/** The body without such fields, if they are empty. */
export function withoutForeign(
  kind: string,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const foreign =
    foreignFields[kind]?.filter((name) => Object.hasOwn(body, name) && isEmpty(body[name])) ?? []
  if (foreign.length === 0) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => !foreign.includes(name)))
}
