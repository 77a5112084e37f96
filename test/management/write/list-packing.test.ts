/** How the entries of a list are cut into parts. */
import t from 'tap'
import { entryOf, type ListEntry, linesIn } from '../../../src/ground/core/address/list-entry.js'
import { type Entries, entriesInText } from '../../../src/ground/core/address/list-formats.js'
import { EntryFaults } from '../../../src/ground/core/entry-faults.js'
import { ipListEntriesMax, resourceBytesMax } from '../../../src/ground/core/limits.js'
import { Slices } from '../../../src/ground/core/slices.js'
import { unpackText } from '../../../src/ground/core/text/packed-text.js'
import { packEntries } from '../../../src/management/write/list-packing.js'

function* repeated(count: number, of: (index: number) => Partial<ListEntry>): Entries {
  for (let index = 0; index < count; index += 1)
    yield { cidr: '203.0.113.0/24', comment: null, expiresAt: null, ...of(index) }
}

const packed = (entries: Entries) => packEntries(entries, new EntryFaults(), new Slices())

t.test('a list with an entry more than the largest is refused', async (t) => {
  await t.rejects(packed(repeated(ipListEntriesMax + 1, () => ({}))), /more than 1000000 entries/)
})

t.test('blank lines and comments are bounded, too', async (t) => {
  for (const line of ['\n', '#\n']) {
    const reading = { nowMs: 0, isFed: false }
    const faults = new EntryFaults()
    let lines = 0
    for (const _ of entriesInText(line.repeat(8_000_000), 'lines', faults, reading)) lines += 1
    t.match(faults.error, { message: 'The list has more than 2000000 lines.' })
    t.equal(lines, 2_000_000, 'the rest is not looked at')
  }
})

t.test(
  'parts of text that cannot be compressed fit a resource, and have all entries in their order',
  async (t) => {
    let seed = 1
    const random = () => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
      return String.fromCodePoint(0x4e00 + ((seed >>> 16) % 20_000))
    }
    const comments = Array.from({ length: 3_000 }, () => Array.from({ length: 200 }, random).join(''))
    const { chunks } = await packed(repeated(comments.length, (index) => ({ comment: comments[index]! })))
    t.ok(chunks.length > 5)
    for (const { data } of chunks) t.ok(data.length < resourceBytesMax - 1024, `${data.length} bytes`)
    const found = chunks.flatMap(({ data }) => [...linesIn(unpackText(data, 1e8))].map(entryOf))
    t.strictSame(
      found.map(({ comment }) => comment),
      comments,
    )
  },
)

t.test('an entry in the middle changes one part', async (t) => {
  const of = (index: number) => ({ comment: `${Math.imul(index, 0x9e3779b1)}` })
  const before = await packed(repeated(50_000, of))
  const after = await packed(repeated(50_000, (index) => (index === 20_000 ? { comment: 'new' } : of(index))))
  const known = new Set(before.chunks.map(({ hash }) => hash))
  t.ok(after.chunks.length > 5)
  t.ok(after.chunks.filter(({ hash }) => !known.has(hash)).length <= 2)
})
