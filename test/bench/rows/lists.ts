/** Rules on many large lists: an address is looked up in their union, so the number of lists costs little. */
import { parseAddress } from '../../../src/ground/core/address/ip.js'
import { decideAddress } from '../../../src/judging/evaluate/ip-policy.js'
import { buildPolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { noYield, TestConfiguration } from '../../judging/evaluate/configuration.js'
import type { BenchRow, BenchTools, Contender, RowResult } from '../bench.js'
import { makers, many } from './ip-sets.js'

const sink = { blocked: 0 }

/** Address text in, decision out: a policy that allows everyone but the addresses of these lists. */
async function decides(
  lists: number,
  entriesOfEach: number,
  range: () => string,
  addresses: readonly string[],
): Promise<Contender> {
  const ids = Array.from({ length: lists }, (_, index) => `ipl_${index}`)
  const configuration = new TestConfiguration('ac_1')
  for (const id of ids) configuration.ipList(id, { name: id.slice(4) }, ...many(entriesOfEach, range))
  configuration.ipPolicy('ipp_1', '0.0.0.0/0', '::/0', ...ids.map((id) => `!${id}`))
  const policySet = await buildPolicySet(configuration, undefined, noYield)
  return () => {
    for (const address of addresses)
      if (decideAddress(policySet, ['ipp_1'], parseAddress(address)) === 'block') sink.blocked += 1
    return addresses.length
  }
}

async function compareFamily(bench: BenchTools, family: keyof typeof makers): Promise<RowResult> {
  const { address, range } = makers[family]
  const addresses = many(8192, address)
  const times = await bench.compare({
    one: await decides(1, 10, range, addresses),
    ten: await decides(10, 100_000, range, addresses),
  })
  const ratio = times.ten / times.one
  return {
    measures: [{ name: `${family}: 10 lists of 100,000 to one of 10`, ratio, bound: { atMost: 1.3 } }],
    nsPerOperation: {
      [`${family}, one list of 10`]: times.one,
      [`${family}, 10 lists of 100,000`]: times.ten,
    },
  }
}

export const row: BenchRow = {
  name: 'lists',
  inCi: true,
  mustReach: 'a decision by 10 lists of 100,000 ranges at most 1.3 × one by a list of 10',
  async run(bench) {
    const [ipv4, ipv6] = [await compareFamily(bench, 'ipv4'), await compareFamily(bench, 'ipv6')]
    return {
      measures: [...ipv4.measures, ...ipv6.measures],
      nsPerOperation: { ...ipv4.nsPerOperation, ...ipv6.nsPerOperation },
    }
  },
}
