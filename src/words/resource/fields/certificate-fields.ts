/** Fields that are read from a certificate, and the errors for unusable ones. */
import { badRequest, type Problem, type Result, type WeirError } from '../../../ground/core/errors.js'
import { boundedBytes, objectOf, type Static, type TSchema, Type } from '../../../ground/core/schema.js'
import { assigned, defaulted, derived } from './fields.js'

/** A certificate chain as PEM text: ten certificates, some with a hundred names. */
const certificatePemBytesMax = 64 * 1024

export const certificatePem = boundedBytes(certificatePemBytesMax, 'Certificates in PEM form.')

/** Stored as text: certificates without an end are valid until the year 9999, which a time column can't hold. */
export const certificateTime = Type.String({ format: 'date-time' })

const readAlways = <S extends TSchema>(schema: S, fallback: Static<S>) => ({
  ...defaulted(schema, fallback),
  setBy: 'weir' as const,
})

const usages = (description: string) => readAlways(Type.Array(Type.String(), { description }), [])

/** Fields of every kind of certificate. */
export const certificateFactFields = {
  subject_common_name: derived(Type.String()),
  not_before: assigned(certificateTime),
  not_after: assigned(certificateTime),
  key_usages: usages('What the key may be used for, such as "digital_signature".'),
  extended_key_usages: usages('Purposes of the certificate, such as "server_auth".'),
}

export const alternativeNamesField = readAlways(
  objectOf({ dns_names: Type.Array(Type.String()), ips: Type.Array(Type.String()) }),
  { dns_names: [], ips: [] },
)

/** Returns the value, or throws an error that names the field and never repeats its text. */
export function usable<T>(field: string, found: Result<T>): T {
  if (!found.ok) throw unusable(field, found.problem)
  return found.value
}

const unusable = (field: string, { msg }: Problem): WeirError => badRequest(`"${field}" ${msg}.`)
