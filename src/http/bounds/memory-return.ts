/**
 * Gives memory back after large bodies. The hundred thousand objects of one outlive V8's young generation, and among old
 * objects V8 (seen with Node 20) looks for garbage only when there is about as much again, or after eight seconds without
 * work, which an API that is asked for its health never has: it would keep some 100 MiB of garbage for good.
 */
import { memoryUsage } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { after, type Timer } from '../../core/clock.js'

/** Of bodies that follow one another, only the last is cleaned up after. */
const quietMs = 1_000
/**
 * A collection stops the process for a millisecond per two to four MiB of living objects. With more than this it would
 * delay other requests; V8's own, which does most of its work beside the program, comes in its time.
 */
const heapBytesMax = 512 * 2 ** 20

export class MemoryReturn {
  readonly #collect: () => void
  #underWay = 0
  #timer: Timer | undefined

  constructor(collect = collectGarbage) {
    this.#collect = collect
  }

  /** Work with a large body begins. Call the result at its end. */
  begin(): () => void {
    this.#underWay += 1
    this.#timer?.stop()
    return () => {
      this.#underWay -= 1
      if (this.#underWay === 0) this.#timer = after(quietMs, this.#collect)
    }
  }
}

function collectGarbage(): void {
  if (memoryUsage().heapUsed > heapBytesMax) return
  // What `--expose-gc` does; not every role is started with options of its own.
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
}
