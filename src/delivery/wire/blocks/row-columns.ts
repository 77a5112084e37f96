/**
 * Columns of the rows of the logs. Each is declared once (`wire/decision-rows.ts`, `wire/delivery-rows.ts`); from the
 * declaration come the type of a row, what a block has (`block-writer.ts`, `block-reader.ts`), the table and SELECTs
 * (`store/logs`).
 */
import type { Address } from '../../../ground/core/address/ip.js'
import { BlockReader } from './block-reader.js'
import {
  AddressColumn,
  type Column,
  EnumColumn,
  NumberColumn,
  type Texts,
  TimeColumn,
  timeType,
  Uint32sColumn,
} from './columns.js'
import { TextColumn, WordColumn } from './text-columns.js'

/**
 * How ClickHouse stores a column; `deltas`: numbers that grow slowly; `times`: the same, but every search reads them, and
 * LZ4 is read in a quarter of the time; `narrowed`: numbers of which most are small.
 */
const codecs = {
  packed: 'CODEC(ZSTD)',
  deltas: 'CODEC(Delta, ZSTD)',
  times: 'CODEC(Delta, LZ4)',
  narrowed: 'CODEC(T64, ZSTD)',
  none: 'CODEC(NONE)',
} as const
type Codec = keyof typeof codecs

/** A column of a table. */
export interface TableColumn<Name extends string = string> {
  readonly name: Name
  /** The type, with the default value if it has one. */
  readonly type: string
  readonly codec: string
}

/** `Written`: what a writer gets instead of the value. */
export interface RowColumn<Value, Name extends string = string, Written = Value> extends TableColumn<Name> {
  /** `rowsMax`: at most 65,536. */
  readonly open: (rowsMax: number, texts: Texts) => Column & { add(value: Written): void }
  /** Reads the column, which is the next one of a block; returns the value of a row. */
  readonly read: (block: BlockReader) => (row: number) => Value
  /** The value of a row that has none. */
  readonly empty: Value
  /** The value in blocks and tables that lack the column, because they are of an earlier version, say. */
  readonly absent?: Value
}

// biome-ignore lint/suspicious/noExplicitAny: the values of columns differ
export type RowColumns = Readonly<Record<string, RowColumn<any, string, any>>>

/** A row as it is read. */
export type RowOf<Columns extends RowColumns> = {
  readonly [Name in keyof Columns]: ReturnType<ReturnType<Columns[Name]['read']>>
}

/** The columns of a writer. */
export type OpenColumns<Columns extends RowColumns> = {
  readonly [Name in keyof Columns]: ReturnType<Columns[Name]['open']>
}

export const tableColumn = <Name extends string>(
  name: Name,
  type: string,
  codec: Codec,
): TableColumn<Name> => ({
  name,
  type,
  codec: codecs[codec],
})

/** A text that differs from row to row. */
export const text = <Name extends string>(name: Name): RowColumn<string, Name> => ({
  ...tableColumn(name, 'String', 'packed'),
  open: (_, texts) => new TextColumn(texts),
  read: (block) => block.text(name),
  empty: '',
})

/** A text that repeats. */
export const word = <Name extends string>(name: Name): RowColumn<string, Name> => ({
  ...tableColumn(name, 'LowCardinality(String)', 'packed'),
  open: (rowsMax, texts) => new WordColumn(rowsMax, texts),
  read: (block) => block.word(name),
  empty: '',
})

export const enumType = (numbers: Readonly<Record<string, number>>): string =>
  `Enum8(${Object.entries(numbers)
    .map(([each, number]) => `'${each}' = ${number}`)
    .join(', ')})`

/**
 * One of a few words, each with a number that is never used for another one; 0 is that of a row without a value. A reader
 * gets undefined for other numbers.
 */
export const oneOf = <Name extends string, Word extends string>(
  name: Name,
  numbers: Readonly<Record<Word, number>>,
): RowColumn<Word, Name> => {
  const words = new Map((Object.keys(numbers) as Word[]).map((each) => [numbers[each], each]))
  return {
    ...tableColumn(name, enumType(numbers), 'packed'),
    open: (rowsMax) => new EnumColumn(rowsMax, numbers),
    read: (block) => {
      const number = block.number(name)
      return (row) => words.get(number(row))!
    },
    empty: words.get(0)!,
  }
}

export const uint = <Name extends string>(
  name: Name,
  bits: 8 | 16 | 32 | 64,
  codec: Codec,
): RowColumn<number, Name> => ({
  ...tableColumn(name, `UInt${bits}`, codec),
  open: (rowsMax) => new NumberColumn(rowsMax),
  read: (block) => block.number(name),
  empty: 0,
})

/** Milliseconds since the epoch. */
export const time = <Name extends string>(name: Name): RowColumn<number, Name> => ({
  ...tableColumn(name, timeType, 'times'),
  open: (rowsMax) => new TimeColumn(rowsMax),
  read: (block) => block.time(name),
  empty: 0,
})

export const address = <Name extends string>(name: Name): RowColumn<string, Name, Address> => ({
  ...tableColumn(name, 'IPv6', 'packed'),
  open: (rowsMax) => new AddressColumn(rowsMax),
  read: (block) => block.address(name),
  empty: '::',
})

/** Hashes: they can't be packed. */
export const hashes = <Name extends string>(name: Name): RowColumn<readonly number[], Name> => ({
  ...tableColumn(name, 'Array(UInt32)', 'none'),
  open: (rowsMax, texts) => new Uint32sColumn(rowsMax, texts),
  read: (block) => block.uint32s(name),
  empty: [],
})

/**
 * A column that some blocks and tables lack. `inTables`: what a table has instead, as an expression, if it is not `absent`.
 */
export const optional = <Value extends string | number, Name extends string>(
  column: RowColumn<Value, Name>,
  absent: Value,
  inTables = typeof absent === 'string' ? `'${absent}'` : String(absent),
): RowColumn<Value, Name> => ({
  ...column,
  // Texts are empty by ClickHouse's own default.
  type: absent === '' ? column.type : `${column.type} DEFAULT ${inTables}`,
  empty: absent,
  absent,
})

export const emptyRow = <Columns extends RowColumns>(columns: Columns): RowOf<Columns> =>
  Object.fromEntries(Object.entries(columns).map(([member, { empty }]) => [member, empty])) as RowOf<Columns>

type ValuesIn<Columns extends RowColumns> = {
  readonly [Member in keyof Columns]: ReturnType<Columns[Member]['read']>
}

/** The rows that are wanted; throws a `RangeError` for bytes that are no block of these columns. */
export function* readRows<Columns extends RowColumns>(
  bytes: Uint8Array,
  columns: Columns,
  isWanted?: (values: ValuesIn<Columns>, row: number) => boolean,
): Generator<RowOf<Columns>> {
  const block = new BlockReader(bytes)
  const members = Object.entries(columns).map(([member, { name, read, absent }]) => {
    const isAbsent = absent !== undefined && !block.isNext(name)
    return [member, isAbsent ? () => absent : read(block)] as const
  })
  block.end()
  const values = Object.fromEntries(members) as ValuesIn<Columns>
  for (let row = 0; row < block.rows; row += 1) {
    if (isWanted?.(values, row) === false) continue
    const read: Record<string, unknown> = {}
    for (const [member, valueIn] of members) read[member] = valueIn(row)
    yield read as RowOf<Columns>
  }
}
