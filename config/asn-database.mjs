/**
 * Builds the database of autonomous systems that Weir brings along. The package `@ip-location-db/asn` has the ranges as CSV,
 * 65 MB of it; a MaxMind DB file of the same has a sixth of that, is read like every other GeoIP database, and is all that
 * an installation needs. The format: https://maxmind.github.io/MaxMind-DB/
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * @param {string} packageDir
 * @param {string} version  of the package; its end is the day of the data
 * @param {string} file
 */
export function buildAsnDatabase(packageDir, version, file) {
  const data = new DataSection()
  const tree = new SearchTree()
  for (const family of ['ipv4', 'ipv6']) {
    for (const line of linesOf(join(packageDir, `asn-${family}-num.csv`))) {
      const { first, last, asn, organization } = rangeOf(line)
      for (const { prefix, length } of prefixesOf(first, last)) {
        // An IPv4 address is an IPv6 address below ::/96.
        tree.insert(prefix, length, data.offsetOf(asn, organization))
      }
    }
  }
  const content = [
    tree.encoded(),
    separator,
    data.encoded(),
    metadataMarker,
    metadataOf(tree, dayOf(version)),
  ]
  mkdirSync(dirname(file), { recursive: true })
  // Processes that run at present keep the file that they opened.
  const made = `${file}.${process.pid}`
  writeFileSync(made, Buffer.concat(content))
  renameSync(made, file)
}

/** @param {string} file */
const linesOf = (file) => readFileSync(file, 'utf8').trimEnd().split('\n')

/**
 * A line is `first,last,asn,organization`; the organization is quoted if it holds a comma or a quote (RFC 4180).
 *
 * @param {string} line
 */
function rangeOf(line) {
  const [, first = '', last = '', asn = '', rest = ''] = /^(\d+),(\d+),(\d+),(.*)$/.exec(line) ?? []
  if (first === '') throw new Error(`This is no range of addresses: ${line}`)
  const organization = rest.startsWith('"') ? rest.slice(1, -1).replaceAll('""', '"') : rest
  return { first: BigInt(first), last: BigInt(last), asn: Number(asn), organization }
}

/**
 * The fewest prefixes that cover a range of addresses of 128 bits.
 *
 * @param {bigint} first
 * @param {bigint} last
 */
function* prefixesOf(first, last) {
  for (let next = first; next <= last; ) {
    // As large as the address is aligned and the range allows.
    let size = next === 0n ? 1n << 127n : next & -next
    let length = 128 - Math.log2(Number(size))
    for (; next + size - 1n > last; size >>= 1n) length += 1
    yield { prefix: wordsOf(next), length }
    next += size
  }
}

/**
 * 32 bits each: bits of a bigint are slow to look at.
 *
 * @param {bigint} address
 */
const wordsOf = (address) => [96n, 64n, 32n, 0n].map((shift) => Number((address >> shift) & 0xffff_ffffn))

/** A binary tree over the bits of an address. A node has two records: another node, an entry, or nothing. */
class SearchTree {
  /** Two records for each node: 0 is nothing, n > 0 the node n, and n < 0 the entry at the offset -n - 1. */
  #records = new Int32Array(2 ** 20)
  #nodes = 1

  get nodes() {
    return this.#nodes
  }

  /**
   * Prefixes must not overlap.
   *
   * @param {readonly number[]} prefix
   * @param {number} length
   * @param {number} offset
   */
  insert(prefix, length, offset) {
    let node = 0
    for (let depth = 0; depth < length - 1; depth += 1) {
      const record = 2 * node + bitAt(prefix, depth)
      let next = this.#records[record] ?? 0
      if (next < 0) throw new Error('Two ranges of the database overlap.')
      if (next === 0) {
        next = this.#newNode()
        this.#records[record] = next
      }
      node = next
    }
    this.#records[2 * node + bitAt(prefix, length - 1)] = -offset - 1
  }

  #newNode() {
    const node = this.#nodes
    this.#nodes += 1
    if (2 * this.#nodes > this.#records.length) {
      const larger = new Int32Array(2 * this.#records.length)
      larger.set(this.#records)
      this.#records = larger
    }
    return node
  }

  /** Records of 24 bits; the number of nodes means that nothing is known. */
  encoded() {
    const bytes = Buffer.alloc(2 * this.#nodes * recordBytes)
    for (let record = 0; record < 2 * this.#nodes; record += 1) {
      const value = this.#records[record] ?? 0
      const stored = value > 0 ? value : this.#nodes + (value < 0 ? separator.length - value - 1 : 0)
      // Throws if 24 bits are too few.
      bytes.writeUIntBE(stored, record * recordBytes, recordBytes)
    }
    return bytes
  }
}

const recordBytes = 3
const separator = Buffer.alloc(16)

/**
 * @param {readonly number[]} words
 * @param {number} depth
 */
const bitAt = (words, depth) => ((words[depth >> 5] ?? 0) >>> (31 - (depth & 31))) & 1

/** Entries by what they say. The names of their members are stored once, in the first entry. */
class DataSection {
  /** @type {Buffer[]} */
  #parts = []
  #bytes = 0
  /** @type {Map<string, number>} */
  #offsets = new Map()
  /** @type {Map<string, number>} */
  #names = new Map()

  /**
   * @param {number} asn
   * @param {string} organization
   */
  offsetOf(asn, organization) {
    const key = `${asn} ${organization}`
    const known = this.#offsets.get(key)
    if (known !== undefined) return known
    const offset = this.#bytes
    this.#offsets.set(key, offset)
    this.#append(control(types.map, organization === '' ? 1 : 2))
    this.#append(this.#nameOf('autonomous_system_number'), unsigned(types.uint32, asn))
    if (organization !== '') this.#append(this.#nameOf('autonomous_system_organization'), text(organization))
    return offset
  }

  /** @param {string} name */
  #nameOf(name) {
    const offset = this.#names.get(name)
    if (offset === undefined) {
      this.#names.set(name, this.#bytes)
      return text(name)
    }
    // A pointer of 11 bits: the first entry is at the beginning.
    return Buffer.from([(types.pointer << 5) | (offset >> 8), offset & 0xff])
  }

  /** @param {readonly Buffer[]} parts */
  #append(...parts) {
    for (const part of parts) {
      this.#parts.push(part)
      this.#bytes += part.length
    }
  }

  encoded() {
    return Buffer.concat(this.#parts)
  }
}

const types = { pointer: 1, text: 2, uint16: 5, uint32: 6, map: 7, uint64: 9, list: 11 }

/**
 * @param {number} type
 * @param {number} size
 */
function control(type, size) {
  const extended = type > 7
  const first = (extended ? 0 : type << 5) | Math.min(size, 29)
  if (size > 284) throw new Error(`A value of ${size} bytes or members is too long for the database.`)
  return Buffer.from([first, ...(extended ? [type - 7] : []), ...(size >= 29 ? [size - 29] : [])])
}

/** @param {string} value */
function text(value) {
  const bytes = Buffer.from(value)
  return Buffer.concat([control(types.text, bytes.length), bytes])
}

/**
 * @param {number} type
 * @param {number} value
 */
function unsigned(type, value) {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  const needed = value === 0 ? 0 : Math.ceil(value.toString(16).length / 2)
  return Buffer.concat([control(type, needed), bytes.subarray(8 - needed)])
}

const metadataMarker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')

/**
 * @param {SearchTree} tree
 * @param {number} buildSeconds
 */
function metadataOf(tree, buildSeconds) {
  const description = 'Autonomous systems by RouteViews, NRO and DB-IP (CC BY 4.0), from @ip-location-db/asn'
  /** @type {[name: string, value: Buffer][]} */
  const members = [
    ['binary_format_major_version', unsigned(types.uint16, 2)],
    ['binary_format_minor_version', unsigned(types.uint16, 0)],
    ['build_epoch', unsigned(types.uint64, buildSeconds)],
    ['database_type', text('ip-location-db-ASN')],
    ['description', Buffer.concat([control(types.map, 1), text('en'), text(description)])],
    ['ip_version', unsigned(types.uint16, 6)],
    ['languages', Buffer.concat([control(types.list, 1), text('en')])],
    ['node_count', unsigned(types.uint32, tree.nodes)],
    ['record_size', unsigned(types.uint16, recordBytes * 8)],
  ]
  return Buffer.concat([
    control(types.map, members.length),
    ...members.flatMap(([name, value]) => [text(name), value]),
  ])
}

/**
 * A version such as 2.3.2026061719 ends with year, month, day and hour.
 *
 * @param {string} version
 */
function dayOf(version) {
  const [, year = '', month = '', day = ''] = /\.(\d{4})(\d\d)(\d\d)\d*$/.exec(version) ?? []
  return Date.parse(`${year}-${month}-${day}T00:00:00Z`) / 1000
}
