/**
 * The time that an account's policy tests add to a write: the same write in an account with 1,000 tests, 200 edges and an IP
 * policy of 1,000 rules, and in one without tests. They take turns. Meanwhile another client asks for `/healthz`: it waits
 * for no tests.
 */

import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { policyTestsPerAccountMax } from '../../../src/ground/core/limits.js'
import { readRuntime, sendAdminCommand } from '../../../src/management/process/running-service.js'
import { type Client, openClient } from '../../../src/words/client/client.js'
import { tempDir } from '../../harness/temp-dir.js'
import { type RunningWeir, startWeir } from '../../harness/weir.js'
import { type BenchRow, median, percentile } from '../bench.js'
import { nodeStartMs, slowness } from '../slowness.js'

const addedMsMax = 50
/** A write, compiled in slices of 5 ms, delays nobody for longer than some of them. */
const healthMsMax = 30
const edges = 200
const rules = 1_000

const cidrOf = (n: number): string => `10.${n >> 8}.${n & 255}.0/24`

/** The account's write: the range of one rule changes, and with it the compiled policy. */
async function openAccount(
  api: Client,
  tests: number,
  name: string,
): Promise<(n: number) => Promise<unknown>> {
  const policy = await api.ipPolicy.create({})
  const all = Array.from({ length: rules }, (_, n) => ({ cidr: cidrOf(n), action: 'allow' }) as const)
  await api.replaceRules(policy.id, all)
  const module = { ip_restriction: { ip_policy_ids: [policy.id] } }
  const deny = { expressions: ["conn.geo.country_code == 'XX'"], actions: [{ type: 'deny' as const }] }
  for (let n = 0; n < edges; n += 1)
    await api.tcpEdge.create({
      hostports: [`e${n}.${name}.example:22`],
      ...module,
      policies: { inbound: [deny] },
    })
  for (let begun = 0; begun < tests; begun += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        api.policyTest.create({
          given: {
            type: 'tcp_connection',
            conn: {
              client_ip: `10.${((begun + n) % rules) >> 8}.${(begun + n) & 255}.7`,
              server_name: `e${(begun + n) % edges}.${name}.example`,
              server_port: 22,
            },
          },
          expect: { decision: 'allow' },
        }),
      ),
    )
  const rule = await api.ipPolicyRule.create({
    ip_policy_id: policy.id,
    cidr: '192.0.2.0/24',
    action: 'deny',
  })
  return (n) => api.ipPolicyRule.update(rule.id, { cidr: `192.0.${2 + (n & 127)}.0/24` })
}

async function accountOf({ url }: RunningWeir, dataDir: string, name: string): Promise<Client> {
  const { adminUrl, adminToken } = readRuntime(dataDir)!
  const command = { command: 'account create', name, json: 'true' }
  const { token } = JSON.parse(await sendAdminCommand(adminUrl, adminToken, command)) as { token: string }
  return openClient({ url, token })
}

export const row: BenchRow = {
  name: 'policy-tests',
  mustReach: `a write of an account with ${policyTestsPerAccountMax} tests takes ${addedMsMax} ms more, scaled; /healthz answers within ${healthMsMax} ms (p99)`,
  async run({ quick }) {
    const open: (() => unknown)[] = []
    const closers = { teardown: (close: () => unknown) => void open.push(close) }
    try {
      const dataDir = tempDir(closers)
      const weir = await startWeir(dataDir, { WEIR_RATE_LIMIT: '0', WEIR_DECISION_LOG: 'off' })
      closers.teardown(() => weir.stop())
      const tested = await openAccount(
        await accountOf(weir, dataDir, 'tested'),
        policyTestsPerAccountMax,
        'tested',
      )
      const bare = await openAccount(await accountOf(weir, dataDir, 'bare'), 0, 'bare')
      const took = { tested: [] as number[], bare: [] as number[] }
      const health: number[] = []
      let isDone = false
      const watching = (async () => {
        for (; !isDone; await sleep(5)) {
          const begunMs = monotonicMs()
          await (await fetch(`${weir.url}/healthz`)).text()
          health.push(monotonicMs() - begunMs)
        }
      })()
      for (let turn = 0; turn < (quick ? 20 : 60); turn += 1) {
        for (const [name, write] of Object.entries({ tested, bare })) {
          const begunMs = monotonicMs()
          await write(turn)
          took[name as keyof typeof took].push(monotonicMs() - begunMs)
        }
      }
      isDone = true
      await watching
      const scale = slowness()
      const addedMs = (median(took.tested) - median(took.bare)) / scale
      return {
        measures: [
          { name: 'added to a write, of 50 ms, scaled', ratio: addedMs / addedMsMax, bound: { atMost: 1 } },
          {
            name: '/healthz meanwhile (p99), of 30 ms, scaled',
            ratio: percentile(health, 0.99) / scale / healthMsMax,
            bound: { atMost: 1 },
          },
        ],
        nsPerOperation: {
          'write with tests': median(took.tested) * 1e6,
          'write without': median(took.bare) * 1e6,
          'node -e 0': scale * nodeStartMs * 1e6,
        },
      }
    } finally {
      for (const close of open.toReversed()) await close()
    }
  },
}
