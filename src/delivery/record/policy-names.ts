/** Every name that an expression of a traffic policy may use, for the documents. */
import { entryName } from '../../ground/expr/names.js'
import type { NameType } from '../../ground/expr/scope.js'
import { type DeclaredNames, inboundNames, nameAliases, namesByType, outboundNames } from './policy-scope.js'
import { type FieldText, recordFieldOf } from './record-fields.js'
import { type RecordType, recordTypes } from './traffic-record.js'

interface PolicyName extends FieldText {
  readonly name: string
  readonly type: 'text' | 'number' | 'texts' | 'boolean'
  readonly aliases: readonly string[]
  /** Only outbound policies may use it. */
  readonly outboundOnly: boolean
  /** The types of records whose policies may use it. */
  readonly records: readonly RecordType[]
}

const shownTypes: Partial<Record<NameType, PolicyName['type']>> = {
  number: 'number',
  list: 'texts',
  boolean: 'boolean',
}

const policyNamesOf = (
  names: DeclaredNames,
  outboundOnly: boolean,
  records: readonly RecordType[],
): PolicyName[] =>
  Object.entries(names).map(([name, { type, about, unit }]) => {
    const described = about === undefined ? recordFieldOf(records[0]!, name) : { about, unit }
    if (described === undefined) throw new Error(`The name ${name} needs a description.`)
    return {
      name: type === 'map' ? entryName(name, 'x-name') : name,
      type: shownTypes[type] ?? 'text',
      about: described.about,
      ...(described.unit === undefined ? {} : { unit: described.unit }),
      aliases: Object.keys(nameAliases).filter((alias) => nameAliases[alias] === name),
      outboundOnly,
      records,
    }
  })

/** Every name that an expression of a traffic policy may use. */
export const policyNames: readonly PolicyName[] = [
  ...policyNamesOf(inboundNames, false, recordTypes),
  ...recordTypes.flatMap((type) => policyNamesOf(namesByType[type].inbound, false, [type])),
  ...recordTypes.flatMap((type) => policyNamesOf(namesByType[type].outbound, true, [type])),
  ...policyNamesOf(outboundNames, true, recordTypes),
]
