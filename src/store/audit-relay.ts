/**
 * Hands the audit events of a change to the pipeline, through a stream of their own.
 *
 * They go in order: a change's events are published before the next change of the account is committed. The last
 * message of the account tells whether a change's events are in the stream already; `Nats-Msg-Id` catches a repeat
 * that follows at once.
 */
import type { Nats } from '../core/nats.js'
import { PackWriter } from '../deliver/pack.js'
import type { AuditEvent, Change } from './change.js'

export const auditStream = 'WEIR_AUDIT'
export const auditSubject = (accountId: string): string => `weir.events.audit.${accountId}`
/** Headers of a message of audit events. */
export const auditHeaders = { account: 'Weir-Account', version: 'Weir-Version', part: 'Weir-Part' } as const

const messageBytesMax = 256 * 1024

/** Renders the events of rules that a change took away as a whole. */
export type RenderRemovedRules = (
  accountId: string,
  version: number,
  change: Change,
) => Promise<readonly AuditEvent[]>

export class AuditRelay {
  readonly #nats: Nats
  readonly #removedRules: RenderRemovedRules

  constructor(nats: Nats, removedRules: RenderRemovedRules) {
    this.#nats = nats
    this.#removedRules = removedRules
  }

  async publish(accountId: string, version: number, change: Change): Promise<void> {
    const events = [...change.audits, ...(await this.#removedRules(accountId, version, change))]
    if (events.length === 0) return
    const published = await this.#lastPublished(accountId)
    let part = 0
    for (const pack of packsOf(events, change.at)) {
      part += 1
      if (published.version > version || (published.version === version && published.part >= part)) continue
      await this.#nats.publish(auditSubject(accountId), pack, {
        msgId: `${accountId}.${version}.${part}`,
        triesMax: 5,
        headers: {
          [auditHeaders.account]: accountId,
          [auditHeaders.version]: String(version),
          [auditHeaders.part]: String(part),
        },
      })
    }
  }

  async #lastPublished(accountId: string): Promise<{ version: number; part: number }> {
    const last = await this.#nats.lastMessage(auditStream, auditSubject(accountId))
    return {
      version: Number(last?.headers.get(auditHeaders.version) || 0),
      part: Number(last?.headers.get(auditHeaders.part) || 0),
    }
  }
}

function* packsOf(events: readonly AuditEvent[], at: number): Generator<Uint8Array> {
  const writer = new PackWriter()
  for (const { resourceId, json } of events) {
    if (writer.events > 0 && writer.byteLength + json.length > messageBytesMax) yield writer.take()
    writer.append(resourceId, at, json)
  }
  if (writer.events > 0) yield writer.take()
}
