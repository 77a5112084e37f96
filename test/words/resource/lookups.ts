/** An account's resources and tools for rules of declarations, and what a rule says. */
import { WeirError } from '../../../src/ground/core/errors.js'
import type { DeriveTools, Links, Lookups, Row } from '../../../src/words/resource/kind/define.js'

/** An account with these rows by kind. */
export const lookupsIn = (rows: Readonly<Record<string, readonly object[]>> = {}): Lookups => {
  const all = (kind: string) => (rows[kind] ?? []) as Row[]
  return {
    get: (kind, id) => all(kind).find((row) => row.id === id),
    all,
    ofAllAccounts: () => [],
    children: all,
    rules: () => all('ip_policy_rule'),
    countRules: () => all('ip_policy_rule').length,
    bansOf: () => ({ ranges: 0, listIds: [] }),
    hasRight: () => false,
    tcpDomain: 'weir.example',
    nameInBody: (path) => path,
    sourceProblems: () => [],
  }
}

/** Secrets are sealed as `sealed(…)`. */
export const tools: DeriveTools = {
  seal: (secret) => `sealed(${secret})`,
  digest: (secret) => `digest(${secret})`,
  newToken: () => ({ token: 'weir_token', hash: 'hash' }),
  drawTcpAddress: (region) => `1.tcp.${region}.weir.example:20000`,
  tcpDomain: 'weir.example',
  answerOnce: () => {},
}

export const links: Links = { uri: (path) => path, of: (kind, id) => `/${kind}/${id}` }

/** The message of the `WeirError` that it throws; undefined if it throws none. */
export function refusalOf(check: () => unknown): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof WeirError) return error.message
    throw error
  }
}
