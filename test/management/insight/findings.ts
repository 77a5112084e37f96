/** A configuration in memory, and what is found in it. */
import { deflateRawSync } from 'node:zlib'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { resourceOf } from '../../../src/words/resource/registry.js'
import { rulesKey } from '../../../src/words/view/keys.js'
import { ViewState } from '../../../src/words/view/view-state.js'

export const accountId = 'ac_1'
export const nowMs = Date.parse('2026-11-20T10:00:00Z')
export const dayMs = 24 * 60 * 60_000
export const isoOf = (days: number): string =>
  new Date(nowMs + days * dayMs).toISOString().replace('.000Z', 'Z')

export const links = {
  uri: (path: string) => `https://weir.example.com${path}`,
  of: (kind: string, id: string) => `https://weir.example.com${resourceOf(kind).path}/${id}`,
}

export interface GivenRule {
  readonly id: string
  /** Or a list. */
  readonly cidr: string | null
  readonly list_id?: string
  readonly action: 'allow' | 'deny'
  readonly expires_at?: string | null
  readonly enforced?: boolean
  readonly created_at?: number
}

export class Configuration {
  readonly state = new ViewState()
  #revision = 0

  /** Made a year ago, if `more` does not say it. */
  put(kind: string, id: string, more: object = {}): void {
    const row: Row = { id, account_id: accountId, version: 1, created_at: nowMs - 365 * dayMs, ...more }
    this.#apply(`row.${kind}.${id}`, row)
  }

  policy(id: string, rules: readonly GivenRule[]): void {
    this.put('ip_policy', id)
    for (let at = 0; at < rules.length; at += 1_000)
      this.#apply(rulesKey(id, '0', at / 1_000), {
        account_id: accountId,
        rules: rules.slice(at, at + 1_000).map((rule) => ({
          account_id: accountId,
          version: 1,
          created_at: nowMs - 365 * dayMs,
          ip_policy_id: id,
          expires_at: null,
          ...rule,
        })),
      })
  }

  /** A list of these stored lines. */
  list(id: string, lines: readonly string[]): void {
    this.put('ip_list_chunk', `${id}_part`, { data: deflateRawSync(lines.join('\n')).toString('base64') })
    this.put('ip_list', id, { name: id.replace('ipl_', ''), category: null, chunks: [`${id}_part`] })
  }

  #apply(key: string, value: object): void {
    this.#revision += 1
    this.state.apply({ key, value: Buffer.from(JSON.stringify(value)), revision: this.#revision } as never)
  }
}
