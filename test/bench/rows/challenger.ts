/**
 * The cost of a challenger: the walk of `walk`, with the rows of the decision log, while the account has one whose draft
 * changes rules and policies of its edge, while another account has one, and without any.
 */
import { DecisionLog } from '../../../src/judging/pipeline/decision-log.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView, type TrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { noGeo, noYield } from '../../judging/evaluate/configuration.js'
import type { BenchRow } from '../bench.js'
import { accountId, configuration, messages, recordCount, storedAtMs } from '../walk/input.js'
import { Packs } from './walk.js'

/** The configuration of the walk, with a challenger of this account. */
async function viewWith(challenging: string | undefined): Promise<TrafficView> {
  const given = configuration()
  const [edge] = given.rowsOf('tcp_edge')
  const policies = edge!.policies!
  const rule = { list_id: null, description: null, metadata: null, expires_at: null, enforced: true }
  const drafted = {
    name: 'Drafted',
    expressions: ['conn.client_port < 1024'],
    actions: policies.inbound[0]!.actions,
  }
  if (challenging !== undefined)
    given.challenger('chl_1', {
      account_id: challenging,
      created_at: storedAtMs - 60_000,
      ends_at: '2100-01-01T00:00:00Z',
      based_on: [],
      draft: {
        edges: [{ id: edge!.id, policies: { ...policies, inbound: [...policies.inbound, drafted] } }],
        ip_policies: [
          { id: 'ipp_1', add: [{ id: 'ipr_new', cidr: '203.0.112.0/23', action: 'deny', ...rule }] },
        ],
      },
    })
  return buildTrafficView(given, undefined, noYield)
}

/** Walks all messages, and makes their rows for the log. */
async function walker(challenging: string | undefined): Promise<() => number> {
  const view = await viewWith(challenging)
  const packs = new Packs()
  const log = new DecisionLog({
    nats: { publish: async () => ({ sequence: 1, duplicate: false }), emit: () => {} },
    mode: 'all',
    watched: { has: () => false },
    occurrences: { decisionRowsLost: () => {} },
  })
  return () => {
    for (const [sequence, bytes] of messages.entries())
      processMessage(
        { bytes, storedAtMs },
        {
          view,
          geo: noGeo,
          buffers: packs,
          judged: (judgement, line) =>
            log.add(judgement, { storedAtMs, partition: 0, sequence, line }, view.challengers),
        },
      )
    packs.take()
    return recordCount
  }
}

export const row: BenchRow = {
  name: 'challenger',
  inCi: true,
  mustReach: 'at most 1.3 times the CPU of a record while one runs, 1.03 times for other accounts',
  async run(bench) {
    const times = await bench.compare(
      {
        none: await walker(undefined),
        running: await walker(accountId),
        'of another account': await walker('ac_01K0WEIRBENCH0000000000099'),
      },
      5,
    )
    return {
      measures: [
        { name: 'CPU of a record while one runs', ratio: times.running / times.none, bound: { atMost: 1.3 } },
        {
          name: 'CPU of a record of another account',
          ratio: times['of another account'] / times.none,
          bound: { atMost: 1.03 },
        },
      ],
      nsPerOperation: times,
    }
  },
}
