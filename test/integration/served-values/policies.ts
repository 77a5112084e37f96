/** What a policy denies, and whether Weir denies a request by it. */
import { decideRecord } from '../../../src/evaluate/decide.js'
import { buildPolicySet, type PolicySet } from '../../../src/evaluate/policy-set.js'
import type { RequestRecord } from '../../../src/record/traffic-record.js'
import { deny, noGeo, noYield, TestConfiguration } from '../../evaluate/configuration.js'
import { type Taken, takenFrom } from './applications.js'
import type { Seen } from './open.js'

/** Proxies that name no port are asked about that of HTTP. */
const hostportsAt = (port: number): string[] =>
  ['public.example', 'private.example'].flatMap((host) => [`${host}:80`, `${host}:${port}`])

/** An edge that refuses targets which servers read differently. */
export const withRefusal = (port: number): Promise<PolicySet> =>
  buildPolicySet(
    new TestConfiguration('ac_1').httpsEdge('edghts_1', hostportsAt(port), 'ac_1', null, 'refuse'),
    undefined,
    noYield,
  )

export const withPolicy = (port: number, expression?: string): Promise<PolicySet> =>
  buildPolicySet(
    new TestConfiguration('ac_1').httpsEdge('edghts_1', hostportsAt(port), 'ac_1', {
      enabled: true,
      inbound: expression === undefined ? [] : [{ name: 'no', expressions: [expression], actions: [deny] }],
      outbound: [],
    }),
    undefined,
    noYield,
  )

/** What a policy denies, and which applications serve it. */
const policies: readonly {
  readonly about: keyof Taken
  readonly denied: string
  readonly expression: string
}[] = [
  { about: 'role', denied: 'admin', expression: "http.request.headers['x-role'] == 'admin'" },
  { about: 'cookie', denied: 'admin', expression: "http.request.cookies['role'] == 'admin'" },
  {
    ...{ about: 'cookie', denied: 'admin' },
    expression: "http.request.headers['cookie'].matches('(^|; )role=admin(;|$)')",
  },
  { about: 'parameter', denied: 'admin', expression: "http.request.url.parameters['role'] == 'admin'" },
  {
    ...{ about: 'parameter', denied: 'admin' },
    expression: "http.request.url.query.matches('(^|&)[+]*role=admin(&|$)')",
  },
  { about: 'method', denied: 'DELETE', expression: "http.request.method == 'delete'" },
  { about: 'host', denied: 'private.example', expression: "conn.server_name == 'private.example'" },
  { about: 'host', denied: 'private.example', expression: "http.request.url.host == 'private.example'" },
]

/** Does Weir refuse it, by a policy or because it is no request? */
export function isDenied(set: PolicySet, record: RequestRecord): boolean {
  const decided = decideRecord(set, noGeo, { record, explain: false }, 'ac_1')
  return !decided.ok || decided.value.judgement.decision !== 'allow'
}

/** Counts what was served and denied, and keeps requests that a policy should have denied. */
export class ServedRequests {
  readonly counts = { served: 0, denied: 0, wanted: 0 }
  readonly passed: string[] = []
  readonly #sets: readonly PolicySet[]

  constructor(sets: readonly PolicySet[]) {
    this.#sets = sets
  }

  add(request: string, { asked, served }: Seen): void {
    if (served === undefined) return
    this.counts.served += 1
    if (asked === undefined) {
      this.passed.push(`served without a question: ${JSON.stringify(request)}`)
      return
    }
    const taken = takenFrom(served)
    for (const [index, { about, denied, expression }] of policies.entries()) {
      const isRefused = isDenied(this.#sets[index]!, asked)
      if (isRefused) this.counts.denied += 1
      if (!taken[about].has(denied)) continue
      this.counts.wanted += 1
      if (!isRefused)
        this.passed.push(`${expression}: ${JSON.stringify(request)} served as ${JSON.stringify(served)}`)
    }
  }
}

export const servedWith = async (port: number): Promise<ServedRequests> =>
  new ServedRequests(await Promise.all(policies.map(({ expression }) => withPolicy(port, expression))))

export const policyCount = policies.length
