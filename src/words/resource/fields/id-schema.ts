/** Ids and addresses of resources, as schemas. */
import { documented, objectOf, Type } from '../../../ground/core/schema.js'

/** The name of a kind's schema in the OpenAPI document: `IpPolicy` for `ip_policy`, `LogV0` for `log.v0`. */
export const componentName = (kind: string): string =>
  kind.replaceAll(/(?:^|[_.])([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Enough for the longest prefix and the longest suffix that `isId` accepts. */
const idCharsMax = 80

/** An id of this kind. Users of the schema check its form, to report problems in a better message. */
export const idSchema = (kind: string, idPrefix: string) =>
  Type.String({
    title: `${componentName(kind)}Id`,
    maxLength: idCharsMax,
    ...documented({ pattern: `^${idPrefix}[0-9A-Za-z]{1,64}$` }),
  })

export const accountIdSchema = idSchema('account', 'ac_')

export const uriSchema = Type.String(documented({ format: 'uri' }))

/** A reference as clients see it. */
export const refSchema = objectOf({ id: Type.String(), uri: uriSchema }, { title: 'Ref' })
