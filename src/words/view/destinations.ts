/** Event destinations in the form delivery uses: target and unsealed credentials. */

import type { DestinationConfig } from '../../delivery/deliver/kind/destination.js'
import type { Sealer } from '../../ground/core/seal.js'
import { needsSecret, secretBelongsTo, unsealedTarget } from '../resource/destination-secrets.js'
import { chosenTarget } from '../resource/destination-target.js'
import { type DestinationPause, eventDestination, keepsRecords } from '../resource/event-destination.js'
import type { Row } from '../resource/kind/define.js'
import { rowKey } from './keys.js'
import type { SecretsView } from './secrets-view.js'
import type { View } from './view.js'
import type { ViewState } from './view-state.js'

const { kind } = eventDestination

/** Undefined until the secret of this version of the row has arrived. */
export function destinationConfig(
  row: Row,
  secrets: SecretsView,
  sealer: Sealer,
): DestinationConfig | undefined {
  const chosen = chosenTarget(row['target'] as never)
  const sealed = secrets.sealed(kind, row.id, row.version, 'sealed_secret')
  const isSealed = needsSecret(chosen)
  if (isSealed && typeof sealed !== 'string') return undefined
  const secret = isSealed ? sealer.unseal(sealed as string, secretBelongsTo(row)) : undefined
  return {
    id: row.id,
    accountId: row.account_id,
    ...unsealedTarget(chosen, secret),
    pausedAt: (row['paused'] as DestinationPause | null | undefined)?.at,
    ...(keepsRecords(row) && { keepsEvents: true as const }),
  }
}

/** The secrets of a destination as they were given, each on its own. Empty if it has none, or they did not arrive yet. */
export function destinationSecrets(row: Row, secrets: SecretsView, sealer: Sealer): string[] {
  const sealed = secrets.sealed(kind, row.id, row.version, 'sealed_secret')
  if (typeof sealed !== 'string') return []
  const text = sealer.unseal(sealed, secretBelongsTo(row))
  try {
    return [text, ...textsIn(JSON.parse(text))]
  } catch {
    return [text]
  }
}

/** Texts at any depth. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** The row of a destination; null if it was deleted, undefined if that is not certain. */
export type FindDestination = (id: string) => Row | null | undefined

/** Finds nothing before the view is complete: a destination is never taken for deleted because it was not found. */
export const destinationFinder =
  (view: Pick<View, 'isComplete' | 'state'>): FindDestination =>
  (id) =>
    view.isComplete ? (view.state.rows.get(kind)?.get(id) ?? null) : undefined

export const destinationCount = (state: ViewState): number => state.rows.get(kind)?.size ?? 0

/**
 * All present destinations, and the ids of those known to be deleted. A destination that did not change is the same object
 * as before: there may be a hundred thousand, and a secret takes time to unseal.
 */
export class DestinationConfigs {
  readonly #secrets: SecretsView
  readonly #sealer: Sealer
  readonly #known = new Map<string, KnownConfig>()

  constructor(secrets: SecretsView, sealer: Sealer) {
    this.#secrets = secrets
    this.#sealer = sealer
  }

  in(state: ViewState): { configs: DestinationConfig[]; deletedIds: string[] } {
    const rows = state.rows.get(kind) ?? new Map<string, Row>()
    const configs = [...rows.values()].flatMap((row) => this.#configOf(row) ?? [])
    const prefix = rowKey(kind, '')
    const deletedIds = [...state.revisions.keys()].flatMap((key) => {
      const id = key.startsWith(prefix) ? key.slice(prefix.length) : undefined
      return id === undefined || rows.has(id) ? [] : [id]
    })
    for (const id of deletedIds) this.#known.delete(id)
    return { configs, deletedIds }
  }

  #configOf(row: Row): DestinationConfig | undefined {
    const known = this.#known.get(row.id)
    if (known?.row === row) return known.config
    const config = destinationConfig(row, this.#secrets, this.#sealer)
    if (config !== undefined) this.#known.set(row.id, { row, config })
    return config
  }
}

/** A secret belongs to a version of its row, so the row alone tells whether the configuration is still true. */
interface KnownConfig {
  readonly row: Row
  readonly config: DestinationConfig
}
