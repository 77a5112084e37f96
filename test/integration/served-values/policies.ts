/** Policies, each with a value that it denies, and whether Weir denies a request by them. */
import type { Test } from 'tap'
import type { RequestRecord } from '../../../src/delivery/record/traffic-record.js'
import { decideRecord } from '../../../src/judging/evaluate/decide.js'
import { buildPolicySet, type PolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { deny, noGeo, noYield, TestConfiguration } from '../../judging/evaluate/configuration.js'
import type { Taken } from './applications.js'
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

/** A policy that denies requests of which an application takes a value. */
export interface DeniedValue<About extends string> {
  readonly about: About
  readonly denied: string
  readonly expression: string
}

/** Every value that some application may take for a name. */
export type TakenValues<About extends string> = Readonly<Record<About, ReadonlySet<string>>>

export const policies: readonly DeniedValue<keyof Taken>[] = [
  { about: 'role', denied: 'admin', expression: "http.request.headers['x-role'] == 'admin'" },
  { about: 'cookie', denied: 'admin', expression: "http.request.cookies['role'] == 'admin'" },
  {
    about: 'cookie',
    denied: 'admin',
    expression: "http.request.headers['cookie'].matches('(^|; )role=admin(;|$)')",
  },
  { about: 'parameter', denied: 'admin', expression: "http.request.url.parameters['role'] == 'admin'" },
  {
    about: 'parameter',
    denied: 'admin',
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
class ServedRequests<About extends string> {
  readonly counts = { served: 0, denied: 0, wanted: 0 }
  readonly passed: string[] = []
  readonly #policies: readonly (DeniedValue<About> & { readonly set: PolicySet })[]

  constructor(policies: readonly (DeniedValue<About> & { readonly set: PolicySet })[]) {
    this.#policies = policies
  }

  /** `taken`: what applications make of what was served. */
  add(request: string, { asked, served }: Seen, taken: TakenValues<About> | undefined): void {
    if (served === undefined || taken === undefined) return
    this.counts.served += 1
    if (asked === undefined) {
      this.passed.push(`served without a question: ${JSON.stringify(request)}`)
      return
    }
    for (const { about, denied, expression, set } of this.#policies) {
      const isRefused = isDenied(set, asked)
      if (isRefused) this.counts.denied += 1
      if (!taken[about].has(denied)) continue
      this.counts.wanted += 1
      if (!isRefused)
        this.passed.push(`${expression}: ${JSON.stringify(request)} served as ${JSON.stringify(served)}`)
    }
  }

  /** Enough requests tried to be taken for what is denied, none passed, and not all were denied. */
  check(t: Test, wantedMin: number): void {
    const { counts, passed } = this
    t.ok(counts.wanted > wantedMin, 'applications took values that are denied')
    t.ok(counts.denied < counts.served * this.#policies.length, 'and not all requests are denied')
    t.strictSame(passed.slice(0, 10), [], `${passed.length} requests passed`)
  }
}

export const servedWith = async <About extends string>(
  port: number,
  policies: readonly DeniedValue<About>[],
): Promise<ServedRequests<About>> =>
  new ServedRequests(
    await Promise.all(
      policies.map(async (policy) => ({ ...policy, set: await withPolicy(port, policy.expression) })),
    ),
  )
