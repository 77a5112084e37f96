/**
 * Buffers for the bodies of requests to one destination, which are used again: they have hundreds of kilobytes, and if
 * each request leaves one behind, V8 collects garbage all the time, for 7 % of a busy deliverer's CPU.
 *
 * Buffers that are not in use are held weakly: a destination that sends nothing holds no memory, however many there are. Each one
 * has a pool of its own, so that no mistake of an endpoint can get the events of another account to it.
 */
export class BodyPool {
  readonly #free: WeakRef<ArrayBufferLike>[] = []

  /** A buffer of at least so many bytes, with any contents. */
  take(bytes: number): Buffer {
    for (let held = this.#free.pop(); held !== undefined; held = this.#free.pop()) {
      const free = held.deref()
      if (free !== undefined && free.byteLength >= bytes) return Buffer.from(free)
    }
    // Sizes of full requests differ a little: each buffer should fit most of them.
    return Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(bytes)))
  }

  /** For the whole or a part of a buffer from `take`, which nothing reads or writes any more. */
  giveBack({ buffer }: Buffer): void {
    this.#free.push(new WeakRef(buffer))
  }
}
