/** The rules of an IP policy, newest first. */
import type { RuleCounts, RuleUseCounts } from '../shape/ip-policy-rules.js'
import { type WriteOptions, writeQuery } from './collection.js'
import type { Http, Request } from './http.js'
import type { Resource } from './kinds.js'

export interface RulesOptions {
  /** An expression over the members of a rule. */
  readonly filter?: string
  /** An address, or a range in CIDR notation: only rules whose range contains it, the narrowest first. */
  readonly covers?: string
  /** Each deny rule comes with how often it has blocked since then: a time (RFC 3339), or a length of time such as `24h`. */
  readonly countsSince?: string | undefined
  /** Rules in a page: 1 to 100. */
  readonly limit?: number
}

/** `counts` is null for allow rules, and without `countsSince`. */
export type UsedRule = Resource<'ipPolicyRule'> & { readonly counts: RuleUseCounts | null }

interface Page {
  readonly rules: readonly UsedRule[]
  readonly next_page_uri: string | null
}

/** Pages are fetched as they are needed. */
export async function* rulesOf(
  http: Http,
  path: string,
  { countsSince: counts_since, ...options }: RulesOptions,
): AsyncGenerator<UsedRule, void, undefined> {
  for (let query: Request['query'] = { ...options, counts_since }; ; ) {
    const page: Page = await http.send<Page>('GET', path, { query })
    yield* page.rules
    if (page.next_page_uri === null) return
    // The URI may have a base that this client can't reach, so only its query is used.
    query = Object.fromEntries(new URL(page.next_page_uri).searchParams)
  }
}

/** Puts all rules of a policy back as they were at a version of the account. */
export const restoredRules = async (
  http: Http,
  path: string,
  version: number,
  options: WriteOptions = {},
): Promise<RuleCounts> => http.send('POST', path, { query: { version, ...writeQuery(options) } })
