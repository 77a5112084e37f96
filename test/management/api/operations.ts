/** The operations of the API's document, with paths and bodies for the resources of an estate. */
import type { AnyResource } from '../../../src/words/resource/kind/define.js'
import { resourceOf } from '../../../src/words/resource/registry.js'
import type { TestApi } from '../../harness/api.js'
import type { HttpAnswer } from '../../harness/raw-client.js'
import { type Estate, servedResources } from './estate.js'

export type Body = Readonly<Record<string, unknown>>

const neverMade = '00000000000000000000000000'

/** The kind whose ids follow these segments in a path. */
const kindBehind = (path: string): AnyResource | undefined =>
  servedResources.find((resource) => resource.path === path)

/** A path with its parameters filled in; `idOf` knows the kinds, and other parameters keep their one value. */
export async function filled(
  path: string,
  idOf: (kind: string) => Promise<string> | string,
): Promise<string> {
  const values = [...path.matchAll(/\{(\w+)\}/g)].map(async ({ 0: name, index }) => {
    const resource = kindBehind(path.slice(0, index - 1))
    return [name, resource === undefined ? otherParameters[name] : await idOf(resource.kind)] as const
  })
  let result = path
  for (const [name, value] of await Promise.all(values)) {
    if (value === undefined) throw new Error(`The parameter ${name} of ${path} has no value here: add one.`)
    result = result.replace(name, value)
  }
  return result
}

const otherParameters: Readonly<Record<string, string>> = {
  '{type}': 'tcp_connection_closed.v0',
  '{record_id}': neverMade,
  // The id of a trial.
  '{id}': `try_${neverMade}`,
}

export const unknownId = (kind: string): string => `${resourceOf(kind).idPrefix}${neverMade}`

const anyId = /\b([a-z]+_)[0-9A-Za-z]{26}\b/g

/** The answer without the requested ids; fails if it names any other id. */
export function withoutIds({ status, body }: HttpAnswer, asked: string): object {
  // Errors, as OTLP has them, too; a result of tests says in it what is wrong.
  const msg: string = body.msg ?? body.message ?? JSON.stringify(body)
  for (const [id] of msg.matchAll(anyId))
    if (!asked.includes(id)) throw new Error(`An answer names ${id}, which was not requested: ${msg}`)
  return { status, code: body.error_code ?? body.code, msg: msg.replaceAll(anyId, '$1…') }
}

/** Bodies of operations that do not belong to a kind. */
const otherBodies: Readonly<Record<string, Body>> = {
  'post /event_subscriptions/{subscription_id}/sources': { type: 'log.v0' },
  'patch /event_subscriptions/{subscription_id}/sources/{type}': { filter: null },
  'post /tries': { ip_policies: [{ id: 'drafted', rules: [{ cidr: '198.51.100.0/24', action: 'deny' }] }] },
  'post /ip_restrictions/{id}/try': { enforced: false },
  'post /event_destinations/setup': { target: { http: {} } },
  'post /event_destinations/{id}/replay': { from: '1h' },
  'post /dead_letters/{id}/resend': { record: { type: 'tcp_connection' } },
  'put /ip_lists/{id}/entries': { entries: [{ cidr: '198.51.100.0/24', comment: 'a guest' }] },
  'put /ip_policies/{id}/rules': { rules: [{ cidr: '198.51.100.0/24', action: 'deny' }] },
}

/** A body that the operation accepts. */
export async function bodyFor(estate: Estate, method: string, path: string): Promise<Body> {
  const other = otherBodies[`${method} ${path}`]
  if (other !== undefined) return other
  const made = kindBehind(path)
  if (method === 'post' && made !== undefined) return estate.body(made.kind)
  const [, collection = '', module] = /^(.*?)\/\{id\}(?:\/(\w+))?(?:\/try)?$/.exec(path) ?? []
  const resource = kindBehind(collection)
  if (method === 'patch' && resource !== undefined) return { description: 'changed' }
  const value = resource === undefined ? undefined : (await estate.body(resource.kind))[module ?? '']
  if ((method === 'put' || path.endsWith('/try')) && value !== undefined) return value as Body
  throw new Error(`There is no example of a body for ${method} ${path}: add one here.`)
}

interface Operation {
  readonly method: string
  readonly path: string
  readonly hasBody: boolean
  readonly isRehearsable: boolean
  readonly query: readonly Parameter[]
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema?: { readonly enum?: readonly string[] }
}

/** Every operation of the API's document. */
export const operationsOf = (api: TestApi): Operation[] =>
  Object.entries(api.app.swagger().paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, { requestBody?: object; parameters?: Parameter[] }>).map(
      ([method, { requestBody, parameters = [] }]) => ({
        method,
        path,
        hasBody: requestBody !== undefined,
        isRehearsable: parameters.some(({ name }) => name === 'validate_only'),
        query: parameters.filter((each) => each.in === 'query'),
      }),
    ),
  )

const checkedElsewhere = /^\/(live|dead_letters\/(resend|drop)|console\/session)$/

/** Those with a resource in their path. */
export const operationsOn = (api: TestApi): Operation[] =>
  operationsOf(api).filter(({ path }) => path.includes('{'))

/**
 * The others, without lists and creations of a kind. Streams never end: `live.test.ts` reads them. Dead letters of two
 * accounts are in `dead-letters.test.ts`, sessions of the web console in `console-session.test.ts`.
 */
export const otherOperations = (api: TestApi): Operation[] =>
  operationsOf(api).filter(
    ({ path }) => !path.includes('{') && kindBehind(path) === undefined && !checkedElsewhere.test(path),
  )

/** The same paths twice: with ids of another account, and with ids that do not exist. */
export async function pathsToOthers(path: string, mine: Estate, theirs: Estate): Promise<[string, string][]> {
  const kinds = [...path.matchAll(/\{\w+\}/g)].flatMap(
    ({ index }) => kindBehind(path.slice(0, index - 1))?.kind ?? [],
  )
  const last = kinds.at(-1)
  /** The caller's own parent with a child of another account. */
  const below = (id: string) => filled(path, (kind) => (kind === last ? id : mine.id(kind)))
  const pairs: [string, string][] = [
    [await filled(path, (kind) => theirs.id(kind)), await filled(path, unknownId)],
  ]
  if (last !== undefined && kinds.length > 1)
    pairs.push([await below(await theirs.id(last)), await below(unknownId(last))])
  return pairs
}
