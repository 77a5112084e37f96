/**
 * Publishes the audit events of a change to the pipeline, through a stream of their own.
 *
 * Events stay in order: a change's events are published before the next change of the account is committed. Every
 * message names the one it follows, so none is stored twice, even if several processes carry a change out or one does
 * so late; the account's last message shows what was published already.
 */

import { auditHeaders, auditStream, auditSubject } from '../../delivery/wire/names.js'
import { PackWriter } from '../../delivery/wire/pack.js'
import { ahead } from '../../ground/core/concurrency.js'
import { contextHeaders, tracing } from '../../ground/core/telemetry/tracing.js'
import type { Nats } from '../../ground/nats/nats.js'
import { type AuditEvent, type Change, hasBulk, versioned } from './change/change.js'

const messageBytesMax = 256 * 1024
const patienceMs = 5_000

/**
 * Renders the events that the change does not hold, because there may be very many, one message of them at a time. Every
 * run gives the same events in the same order, cut at the same places.
 */
export type RenderBulk = (
  accountId: string,
  version: number,
  change: Change,
) => AsyncIterable<readonly AuditEvent[]>

interface PublishedPart {
  readonly version: number
  readonly part: number
  readonly sequence: number
}

export class AuditRelay {
  readonly #nats: Nats
  readonly #renderBulk: RenderBulk

  constructor(nats: Nats, renderBulk: RenderBulk) {
    this.#nats = nats
    this.#renderBulk = renderBulk
  }

  /** `changes`: committed together, the last one as this version. */
  async publish(accountId: string, version: number, changes: readonly Change[]): Promise<void> {
    const last = changes.at(-1)!
    const audits = changes.flatMap((change) => change.audits)
    const bulks = versioned(version, changes).filter(({ change }) => hasBulk(change))
    if (audits.length === 0 && bulks.length === 0) return
    let part = 0
    let published = await this.#lastPublished(accountId)
    const rendered = this.#rendered(accountId, bulks)
    for await (const pack of ahead(packsOf({ audits, at: last.at }, rendered))) {
      part += 1
      while (!isBeyond(published, version, part)) {
        const headers = {
          [auditHeaders.account]: accountId,
          [auditHeaders.version]: String(version),
          [auditHeaders.part]: String(part),
          ...contextHeaders(tracing()?.current()?.context),
        }
        const sequence = await this.#nats.publishAfter(auditSubject(accountId), pack, {
          headers,
          afterSequence: published.sequence,
          patienceMs,
        })
        published =
          sequence === undefined ? await this.#lastPublished(accountId) : { version, part, sequence }
      }
    }
  }

  async *#rendered(
    accountId: string,
    bulks: ReturnType<typeof versioned>,
  ): AsyncIterable<readonly AuditEvent[]> {
    for (const { version, change } of bulks) yield* this.#renderBulk(accountId, version, change)
  }

  async #lastPublished(accountId: string): Promise<PublishedPart> {
    const last = await this.#nats.lastMessage(auditStream, auditSubject(accountId))
    return {
      version: Number(last?.headers.get(auditHeaders.version) || 0),
      part: Number(last?.headers.get(auditHeaders.part) || 0),
      sequence: last?.sequence ?? 0,
    }
  }
}

/** Is this part of the change, or a later one, in the stream? */
export const isBeyond = (last: PublishedPart, version: number, part: number): boolean =>
  last.version > version || (last.version === version && last.part >= part)

/** Every run cuts at the same places: by the bytes of the change's own events, then by the renderer's messages. */
export async function* packsOf(
  { audits, at }: Pick<Change, 'audits' | 'at'>,
  rendered: AsyncIterable<readonly AuditEvent[]>,
): AsyncGenerator<Uint8Array> {
  const writer = new PackWriter()
  for (const { resourceId, json } of audits) {
    if (writer.events > 0 && writer.byteLength + json.length > messageBytesMax) yield writer.take()
    writer.append(resourceId, at, json)
  }
  if (writer.events > 0) yield writer.take()
  for await (const events of rendered) {
    for (const { resourceId, json } of events) writer.append(resourceId, at, json)
    yield writer.take()
  }
}
