/** Fields that name other resources by their ids, and show them as `{id, uri}`. */
import { isId } from '../../../ground/core/ids.js'
import { ipPoliciesPerModuleMax } from '../../../ground/core/limits.js'
import {
  documented,
  objectOf,
  orNull,
  ruled,
  type Static,
  type TSchema,
  Type,
} from '../../../ground/core/schema.js'
import type { Links, Reference, Shown } from '../kind/define.js'
import { type ByClient, byClient, field, type Options, repeatedEntry } from './fields.js'
import { idSchema, refSchema } from './id-schema.js'

const checkedId = (kind: string, idPrefix: string) =>
  ruled(idSchema(kind, idPrefix), (id) =>
    isId(idPrefix, id) ? undefined : `an id that begins with "${idPrefix}" is needed`,
  )

/** A reference as responses show it; a request that sends it back may omit its `uri`. */
const sentRef = ({ kind, idPrefix }: Reference) =>
  ruled(objectOf({ id: checkedId(kind, idPrefix), uri: Type.Optional(Type.String()) }), ({ id, uri }) =>
    uri === undefined || uri.endsWith(`/${id}`) ? undefined : 'the "uri" must be the one of the "id"',
  )

const render = (value: unknown, reference: Reference, links: Links): unknown => {
  const { kind, foreignPath } = reference
  const one = (id: string) => ({
    id,
    uri: foreignPath === undefined ? links.of(kind, id) : links.uri(`${foreignPath}/${id}`),
  })
  if (Array.isArray(value)) return value.map(one)
  return value === null ? null : one(String(value))
}

interface ReferenceOptions extends Options {
  readonly shownAs: string
  readonly required?: boolean
  readonly foreignPath?: string
}

/** How a reference is shown: under another name, with the `uri` of the resource. */
interface ShownReference<O extends ReferenceOptions, S extends TSchema> extends Shown<S> {
  readonly name: O['shownAs']
}

type IsRequired<O extends ReferenceOptions> = O extends { readonly required: true } ? true : false

const referenceField = <S extends TSchema, Seen extends TSchema, O extends ReferenceOptions>(
  schema: S,
  reference: Reference,
  seen: Seen,
  options: O,
) => {
  const shown: ShownReference<O, Seen> = {
    name: options.shownAs,
    schema: seen,
    render: (value: unknown, links: Links) => render(value, reference, links),
  }
  const isRequired = (options.required ?? false) as IsRequired<O>
  return {
    ...field<S, never, ByClient<O, IsRequired<O>>>(
      schema,
      options,
      undefined as never,
      byClient(options, isRequired),
    ),
    reference,
    shownRefs: reference.many ? Type.Array(sentRef(reference)) : sentRef(reference),
    shown,
  }
}

type Ref<O extends ReferenceOptions> = Static<typeof refSchema> | (IsRequired<O> extends true ? never : null)

/** Names one resource by its id; shown as `{id, uri}`. */
export const reference = <const O extends ReferenceOptions>(kind: string, idPrefix: string, options: O) =>
  referenceField(
    checkedId(kind, idPrefix),
    { kind, idPrefix, many: false, ...foreign(options) },
    Type.Unsafe<Ref<O>>(options.required ? refSchema : orNull(refSchema)),
    options,
  )

/** Names several resources by their ids. */
export const references = <const O extends ReferenceOptions & { min: number; max: number }>(
  kind: string,
  idPrefix: string,
  options: O,
) =>
  referenceField(
    ruled(
      Type.Array(checkedId(kind, idPrefix), {
        minItems: options.min,
        maxItems: options.max,
        ...documented({ uniqueItems: true }),
      }),
      repeatedEntry,
    ),
    { kind, idPrefix, many: true, ...foreign(options) },
    Type.Array(refSchema),
    options,
  )

const foreign = ({ foreignPath }: ReferenceOptions) => (foreignPath === undefined ? {} : { foreignPath })

/** IP policies of a module or a restriction. */
export const ipPolicyIds = (min: number) =>
  references('ip_policy', 'ipp_', {
    shownAs: 'ip_policies',
    required: true,
    min,
    max: ipPoliciesPerModuleMax,
  })
