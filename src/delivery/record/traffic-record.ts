/** The types of records, as `record-fields.ts` declares them. */

import { type RecordFieldType, type RecordType, recordFields } from './record-fields.js'

/** Header names as they were sent, each with its values in order. */
export type Headers = Readonly<Record<string, readonly string[]>>

/** Numbers but for these. Addresses are in their one spelling, times as given: `spelling.ts` says what is changed. */
type ValueOf<Type extends RecordFieldType> = Type extends 'text' | 'id' | 'address' | 'timestamp'
  ? string
  : Type extends 'bool'
    ? boolean
    : Type extends 'headers'
      ? Headers
      : number

interface Declared {
  readonly type: RecordFieldType
  readonly required?: true
}

/** The first part of a dotted name. */
type Head<Name> = Name extends `${infer First}.${string}` ? First : Name

/** The fields of a group, by the rest of their names. */
type InGroup<Fields, Group extends string> = {
  readonly [Name in keyof Fields as Name extends `${Group}.${infer Rest}` ? Rest : never]: Fields[Name]
}

type Member<Fields, Name extends string> = Name extends keyof Fields
  ? Fields[Name] extends Declared
    ? ValueOf<Fields[Name]['type']>
    : never
  : MembersOf<InGroup<Fields, Name>>

/** Members that are required, and groups with one. */
type Required<Fields> = {
  [Name in keyof Fields & string]: Fields[Name] extends { readonly required: true } ? Head<Name> : never
}[keyof Fields & string]

/** Absent members of a record may be left out or null. */
type MembersOf<Fields> = {
  readonly [Name in Required<Fields>]: Member<Fields, Name>
} & {
  readonly [Name in Exclude<Head<keyof Fields & string>, Required<Fields>>]?:
    | Member<Fields, Name>
    | null
    | undefined
}

interface Typed<Type extends RecordType> {
  readonly type: Type
}

type FieldsOf<Type extends RecordType> = (typeof recordFields)[Type]

/** A TCP connection that was closed. */
export type ConnectionRecord = Typed<'tcp_connection'> & MembersOf<FieldsOf<'tcp_connection'>>

/** An HTTP request that is complete. */
export type RequestRecord = Typed<'http_request'> & MembersOf<FieldsOf<'http_request'>>

/** Every type of record. */
export interface RecordsByType {
  readonly tcp_connection: ConnectionRecord
  readonly http_request: RequestRecord
}

export type { RecordType }

export type TrafficRecord = RecordsByType[RecordType]

export const recordTypes = Object.keys(recordFields) as readonly RecordType[]

/**
 * The type of that name; undefined if there is none. The returned text is always the same object: V8 finds a member by it in
 * a tenth of the time that a text out of JSON takes (Node 20).
 */
export const recordTypeOf = (name: unknown): RecordType | undefined =>
  recordTypes.find((type) => type === name)
