/** Writes the smallest MMDB file there is: one entry, which answers every address whose first bit is 0. */

type Value = string | number | { readonly [key: string]: Value } | readonly Value[]

const types = { text: 2, double: 3, uint32: 6, map: 7 } as const
/** Types from 8 on are written as 0 and the rest in a byte of its own. */
const extendedArray = 11 - 7

function head(type: number, size: number): Buffer {
  return size < 29 ? Buffer.from([(type << 5) | size]) : Buffer.from([(type << 5) | 29, size - 29])
}

function encode(value: Value): Buffer {
  if (typeof value === 'string') {
    const text = Buffer.from(value)
    return Buffer.concat([head(types.text, text.length), text])
  }
  if (typeof value === 'number') return encodeNumber(value)
  if (Array.isArray(value))
    return Buffer.concat([Buffer.from([value.length, extendedArray]), ...value.map(encode)])
  const entries = Object.entries(value)
  return Buffer.concat([
    head(types.map, entries.length),
    ...entries.flat().map((part) => encode(part as Value)),
  ])
}

function encodeNumber(value: number): Buffer {
  if (!Number.isInteger(value)) {
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleBE(value)
    return Buffer.concat([head(types.double, 8), bytes])
  }
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return Buffer.concat([head(types.uint32, 4), bytes])
}

const marker = Buffer.concat([Buffer.from([0xab, 0xcd, 0xef]), Buffer.from('MaxMind.com')])
const separator = Buffer.alloc(16)

export function mmdbOf(entry: Value, ipVersion: 4 | 6): Buffer {
  // One node: its left record points at the entry, its right one is the number of nodes, which means nothing.
  const tree = Buffer.from([0, 0, 1 + separator.length, 0, 0, 1])
  const metadata = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: 'Test',
    description: {},
    ip_version: ipVersion,
    languages: [],
    node_count: 1,
    record_size: 24,
  }
  return Buffer.concat([tree, separator, encode(entry), marker, encode(metadata)])
}
