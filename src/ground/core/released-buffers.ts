/**
 * Frees the buffers of large messages soon after they were read.
 *
 * V8 collects young objects when there are many of them. Large messages are few objects: their buffers stay until they have
 * 64 MiB together, and then V8 marks the whole heap, which takes some hundred times as long as to collect the young ones.
 */
import { collectGarbage } from './collect-garbage.js'

/**
 * The client of NATS takes up to four bytes for each one of a message that comes in several pieces. With 8 MiB, V8 still
 * marked the heap, half as often.
 */
const collectedBytes = 2 * 1024 * 1024

export class ReleasedBuffers {
  #bytes = 0

  /** A message of so many bytes was read, and is not needed any more. */
  add(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < collectedBytes) return
    this.#bytes = 0
    collectGarbage('young')
  }
}
