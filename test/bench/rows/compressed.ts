/**
 * Messages of 100 records as they are and compressed with gzip: the CPU of Weir's processes and of nats-server per record,
 * and the bytes that are stored. Both take turns on a deployment of their own. Records differ as real ones do: each has a
 * trace id and one of some user agents. What an ingress node spends on compressing is not in it.
 */
import { createHash } from 'node:crypto'
import { encodedRecords } from '../../../src/delivery/record/record-encoding.js'
import { partitionNumbered } from '../../../src/delivery/wire/partitions.js'
import type { BenchRow } from '../bench.js'
import { openWeir, type System, withClosers } from '../systems/system.js'
import { costOf, nsPerRecord, Throughput, takeTurns } from '../systems/throughput.js'

const agents = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
  'curl/8.14.1',
  'Go-http-client/1.1',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
]

/** The records with texts in place of the padding, in as many bytes. */
function varied(message: string, at: number): string {
  let line = 0
  return message.replaceAll(/x{40,}/g, (padding) => {
    line += 1
    const trace = createHash('sha256').update(`${at} ${line}`).digest('hex')
    const agent = agents[(at + line) % agents.length]!
    return `${trace} ${agent} `
      .padEnd(padding.length, 'GET /assets/app.js HTTP/1.1 ')
      .slice(0, padding.length)
  })
}

let messages = 0
const plain = (message: string): { readonly data: string } => {
  messages += 1
  return { data: varied(message, messages) }
}
const compressed = (message: string) => encodedRecords(plain(message).data)

/** Bytes of a stored message. */
async function storedBytes({ nats }: System): Promise<number> {
  const { state } = (await nats.streamInfo(partitionNumbered(0)!.recordsStream))!
  return state.bytes / state.messages
}

export const row: BenchRow = {
  name: 'compressed',
  mustReach: 'compressed messages cost no more CPU per record, and a quarter of the bytes',
  run: (tools) =>
    withClosers(async (closers) => {
      const systems = { plain: await openWeir(closers), compressed: await openWeir(closers) }
      const contenders = new Map([
        ['plain', new Throughput(systems.plain, { encode: plain })],
        ['compressed', new Throughput(systems.compressed, { encode: compressed })],
      ])
      for (const contender of contenders.values()) await contender.warmUp(['packed'], tools)
      const records = 100_000 / (tools.quick ? 5 : 1)
      const turns = await takeTurns(contenders, 'packed', { records, turns: tools.quick ? 4 : 10 })
      const cost = (name: string): number => costOf(turns.get(name)!)
      const bytes = (await storedBytes(systems.compressed)) / (await storedBytes(systems.plain))
      return {
        measures: [
          {
            name: 'CPU per record, of plain',
            ratio: cost('compressed') / cost('plain'),
            bound: { atMost: 1 },
          },
          { name: 'bytes stored, of plain', ratio: bytes, bound: { atMost: 0.25 } },
        ],
        nsPerOperation: Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
      }
    }),
}
