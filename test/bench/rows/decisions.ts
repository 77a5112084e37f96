/** Decisions over HTTP, as a proxy asks for them, against a server that answers without reading anything. */
import { Agent, createServer, type RequestOptions, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildPolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { KeyUses } from '../../../src/management/access/key-uses.js'
import { openDecisionPort } from '../../../src/management/decide/decision-port.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { noGeo, noYield, TestConfiguration } from '../../judging/evaluate/configuration.js'
import { type BenchRow, percentile } from '../bench.js'

const rulesMax = 10_000
const edgesMax = 1_000
const bound = 3

function policySet() {
  const configuration = new TestConfiguration('ac_1').ipPolicy(
    'ipp_1',
    ...Array.from({ length: rulesMax }, (_, index) => `!10.${index >> 8}.${index & 255}.0/24`),
    '0.0.0.0/0',
  )
  for (let index = 0; index < edgesMax; index += 1) {
    const edge_id = `edghts_${index}`
    configuration.httpsEdge(edge_id, [`www${index}.example:443`]).route(`edghtsrt_${index}`, {
      edge_id,
      match_type: 'path_prefix',
      match: '/',
      ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
    })
  }
  return buildPolicySet(configuration, undefined, noYield)
}

/** Waits for the answer; its time in nanoseconds. */
const ask = (options: RequestOptions) =>
  new Promise<number>((resolve, reject) => {
    const start = process.hrtime.bigint()
    const sent = request(options, (response) => {
      response.resume()
      response.on('end', () => resolve(Number(process.hrtime.bigint() - start)))
    })
    sent.on('error', reject)
    sent.end()
  })

export const row: BenchRow = {
  name: 'decisions',
  mustReach: `p99 of a decision over HTTP at most ${bound} × that of a bare server`,
  async run({ quick }) {
    const set = await policySet()
    const key = { id: 'ak_1', account_id: 'ac_1', rights: ['decide'] } as unknown as Row
    // They are never written: there is no bucket.
    const keyUses = new KeyUses({ bucket: async () => undefined, occurrences: { keyUsesUnsaved: () => {} } })
    const port = await openDecisionPort('127.0.0.1', 0, {
      policySet: () => set,
      geo: noGeo,
      keysOf: (token) => (token === 'weir_bench' ? [key] : []),
      keyUses,
      trustedProxies: ['127.0.0.1'],
      occurrences: {
        connectionRefused: () => {},
        loginFailed: () => {},
        decisionTimed: () => {},
        requestFailed: () => {},
      },
      noted: () => {},
    })
    const bare = createServer((_, response) => response.writeHead(204).end())
    await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve))
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const headers = (index: number) => ({
      'weir-key': 'weir_bench',
      'x-forwarded-for': `10.1.${index & 255}.7`,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': `www${index % edgesMax}.example`,
      'x-forwarded-uri': '/a/b?c=d',
    })
    const target = (number: number, index: number): RequestOptions => ({
      agent,
      host: '127.0.0.1',
      port: number,
      path: '/decide/auth_request',
      headers: headers(index),
    })
    const decisions: number[] = []
    const answers: number[] = []
    const rounds = quick ? 2_000 : 10_000
    const ports = [Number(new URL(port!.url).port), (bare.address() as AddressInfo).port] as const
    // Alternating, so that whatever else the machine does meets both. The first ones are for the compiler.
    for (let index = -rounds / 4; index < rounds; index += 1) {
      const decided = await ask(target(ports[0], Math.abs(index)))
      const answered = await ask(target(ports[1], Math.abs(index)))
      if (index < 0) continue
      decisions.push(decided)
      answers.push(answered)
    }
    agent.destroy()
    bare.close()
    await port!.close()
    const ratio = (share: number): number => percentile(decisions, share) / percentile(answers, share)
    return {
      measures: [
        { name: 'p99 of a decision', ratio: ratio(0.99), bound: { atMost: bound } },
        { name: 'median of a decision', ratio: ratio(0.5), bound: { atMost: bound } },
      ],
      nsPerOperation: {
        'a decision, p99': percentile(decisions, 0.99),
        'a bare answer, p99': percentile(answers, 0.99),
      },
    }
  },
}
