/** The database of autonomous systems, which `config/asn-database.mjs` builds, against the ranges that it is built from. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { openGeo } from '../../../src/delivery/record/geo.js'
import { formatAddress } from '../../../src/ground/core/address/ip.js'
import { packageFile } from '../../../src/ground/core/package.js'

const sourceDir = join(createRequire(import.meta.url).resolve('@ip-location-db/asn/package.json'), '..')

interface Range {
  readonly first: bigint
  readonly last: bigint
  readonly asn: number
}

function rangesOf(family: 4 | 6): Range[] {
  const lines = readFileSync(join(sourceDir, `asn-ipv${family}-num.csv`), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => {
    const [first = '', last = '', asn = ''] = line.split(',')
    return { first: BigInt(first), last: BigInt(last), asn: Number(asn) }
  })
}

const textOf = (family: 4 | 6, address: bigint): string =>
  formatAddress(
    family,
    [96n, 64n, 32n, 0n].map((shift) => Number((address >> shift) & 0xffff_ffffn)),
  )

for (const family of [4, 6] as const) {
  t.test(`IPv${family}: the ends and the middle of ranges, and the gaps between them`, async (t) => {
    const geo = await openGeo([packageFile('dist', 'geo', 'asn.mmdb')])
    const asnOf = (address: bigint) => geo.lookup(textOf(family, address)).asn
    const ranges = rangesOf(family)
    const wrong: string[] = []
    const expect = (address: bigint, asn: number | undefined): void => {
      if (asnOf(address) !== asn) wrong.push(`${textOf(family, address)}: ${asnOf(address)}, not ${asn}`)
    }
    const step = Math.floor(ranges.length / 5_000)
    for (let index = 0; index < ranges.length - 1; index += step) {
      const { first, last, asn } = ranges[index]!
      for (const address of [first, (first + last) / 2n, last]) expect(address, asn)
      const next = ranges[index + 1]!
      if (last + 1n < next.first) expect(last + 1n, undefined)
    }
    t.ok(ranges.length > 100_000)
    t.same(wrong, [])
  })
}

t.test('names of organizations, also with commas', async (t) => {
  const geo = await openGeo([packageFile('dist', 'geo', 'asn.mmdb')])
  t.match(geo.lookup('1.1.1.1'), { asn: 13335, as_org: 'Cloudflare, Inc.' })
  t.match(geo.lookup('2001:4860:4860::8888'), { asn: 15169, as_org: 'Google LLC' })
  t.same(geo.lookup('192.0.2.1'), {}, 'a range for documentation is announced by nobody')
})
