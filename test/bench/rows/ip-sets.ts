import ipaddr from 'ipaddr.js'
import { compileCidrSet } from '../../../src/ground/core/address/cidr-set.js'
import { parseAddress } from '../../../src/ground/core/address/ip.js'
import { seededRandom } from '../../ground/expr/generator.js'
import type { BenchRow, Contender } from '../bench.js'

const random = seededRandom(7)
const below = (limit: number): number => Math.floor(random() * limit)
const hex = (): string => below(0x10000).toString(16)

const ipv4Address = (): string => `${1 + below(223)}.${below(256)}.${below(256)}.${below(256)}`
const ipv6Address = (): string => `2a0${below(8)}:${hex()}:${hex()}::${hex()}:${hex()}`

/** Random addresses, and ranges that contain few of them. */
export const makers = {
  ipv4: { address: ipv4Address, range: () => `${ipv4Address()}/${16 + below(17)}` },
  ipv6: { address: ipv6Address, range: () => `${ipv6Address()}/${32 + below(33)}` },
}

export const many = (count: number, make: () => string): string[] => Array.from({ length: count }, make)

/** Counts the addresses that are found, so that no compiler can leave the work out. */
const sink = { found: 0 }

/** Address text in, is it in the set. */
function looksUp(ranges: readonly string[], addresses: readonly string[]): Contender {
  const set = compileCidrSet(ranges)
  return () => {
    for (const address of addresses) if (set.has(parseAddress(address))) sink.found++
    return addresses.length
  }
}

/** The same with ipaddr.js, its ranges parsed once. */
function looksUpNaively(ranges: readonly string[], addresses: readonly string[]): Contender {
  const parsed = ranges.map((range) => ipaddr.parseCIDR(range))
  return () => {
    for (const text of addresses) {
      const address = ipaddr.process(text)
      if (parsed.some((range) => address.kind() === range[0].kind() && address.match(range))) sink.found++
    }
    return addresses.length
  }
}

async function compareFamily(bench: Parameters<BenchRow['run']>[0], family: keyof typeof makers) {
  const { address, range } = makers[family]
  const addresses = many(8192, address)
  const thousand = many(1000, range)
  const times = await bench.compare({
    ten: looksUp(many(10, range), addresses),
    hundredThousand: looksUp(many(100_000, range), addresses),
    thousand: looksUp(thousand, addresses),
    ipaddr: looksUpNaively(thousand, addresses.slice(0, 64)),
  })
  return {
    measures: [
      {
        name: `${family}: 100,000 rules to 10`,
        ratio: times.hundredThousand / times.ten,
        bound: { atMost: 1.3 },
      },
      {
        name: `${family}: faster than ipaddr.js at 1,000 rules`,
        ratio: times.ipaddr / times.thousand,
        bound: { atLeast: 50 },
      },
    ],
    nsPerOperation: Object.fromEntries(Object.entries(times).map(([name, ns]) => [`${family}, ${name}`, ns])),
  }
}

export const row: BenchRow = {
  name: 'ip-sets',
  inCi: true,
  mustReach: '100,000 rules at most 1.3 × the cost of 10; 50 × ipaddr.js at 1,000 rules',
  async run(bench) {
    const results = [await compareFamily(bench, 'ipv4'), await compareFamily(bench, 'ipv6')]
    return {
      measures: results.flatMap((result) => result.measures),
      nsPerOperation: Object.assign({}, ...results.map((result) => result.nsPerOperation)),
    }
  },
}
