/** Appends an event to the pack of each destination of its subscription. */
import type { PackWriter } from '../wire/pack.js'
import type { ProducedEvent } from './produce.js'

/** The packs being filled, one per destination. */
export interface Buffers {
  /** The pack of this destination that is being filled. */
  packOf(destinationId: string): PackWriter
}

export function route({ id, json, source }: ProducedEvent, storedAtMs: number, buffers: Buffers): void {
  for (const destinationId of source.destinationIds)
    buffers.packOf(destinationId).append(id, storedAtMs, json)
}
