/** The values that names of expressions can have: those of fields of records, and of what is known about their clients. */
import { isPeerAddress } from '../../ground/core/address/ip.js'
import { isTimestamp } from '../../ground/core/text/timestamp.js'
import { anyBoolean, type Domain, numbers, oneOf, textsLike, wholeNumbers } from '../../ground/expr/domain.js'
import { geoRanges, isGeoCode } from './geo-entry.js'
import { type RecordField, type RecordFieldType, recordFields } from './record-fields.js'
import { recordTypes } from './traffic-record.js'

const ofFieldType: Partial<Record<RecordFieldType, Domain>> = {
  id: textsLike((text) => text !== ''),
  address: textsLike(isPeerAddress),
  timestamp: textsLike(isTimestamp),
  port: wholeNumbers(0, 65_535),
  count: wholeNumbers(0, Number.MAX_SAFE_INTEGER),
  int64: wholeNumbers(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  int32: wholeNumbers(-(2 ** 31), 2 ** 31 - 1),
  bool: anyBoolean,
}

const code = textsLike(isGeoCode)
const rangeOf = ({ min, max }: { min: number; max: number }): Domain => numbers(min, max)

/** Names that are no fields of a record. */
const others: Readonly<Record<string, Domain>> = {
  'conn.geo.country_code': code,
  'conn.geo.continent_code': code,
  'conn.geo.latitude': rangeOf(geoRanges.latitude),
  'conn.geo.longitude': rangeOf(geoRanges.longitude),
  'conn.geo.radius': rangeOf(geoRanges.radius),
  'conn.asn': rangeOf(geoRanges.asn),
  'ip_policy.decision': oneOf('allow', 'block'),
}

const ofFields: ReadonlyMap<string, Domain | undefined> = new Map(
  recordTypes.flatMap((type) =>
    Object.entries<RecordField>(recordFields[type]).map(([name, field]) => [name, ofFieldType[field.type]]),
  ),
)

/** Undefined if nothing is known but the type. */
export const domainOf = (name: string): Domain | undefined =>
  Object.hasOwn(others, name) ? others[name] : ofFields.get(name)
