/**
 * Start here: a virtual time in which events happen one after the other. Each event belongs to a process, and everything that
 * it starts does, too: all promises that it settles have gone on before the next event. A process that was killed has no
 * more events, which is all that a kill is.
 */

/** One life of a simulated process. */
export interface Process {
  readonly name: string
  isAlive: boolean
  /** How far its clock is ahead of the others'. */
  clockAheadMs: number
}

export interface Scheduled {
  readonly atMs: number
  cancel(): void
}

interface Event extends Scheduled {
  readonly order: number
  readonly process: Process
  run: (() => void) | undefined
}

const turn = setImmediate

/** The world itself: servers, services, and who judges them. It is never killed. */
export const world: Process = { name: 'world', isAlive: true, clockAheadMs: 0 }

export class Scheduler {
  #nowMs = 0
  #count = 0
  readonly #heap: Event[] = []
  /** To whom belongs what happens now. */
  current: Process = world
  /** Of errors that nothing caught. */
  onUncaught: (process: Process, error: unknown) => void = (_, error) => {
    throw error
  }

  /** Milliseconds since the world began. */
  get nowMs(): number {
    return this.#nowMs
  }

  /** How many events have happened or will. */
  get eventCount(): number {
    return this.#count
  }

  /** `run` happens in so many milliseconds, and before all that is scheduled later for the same time. */
  after(ms: number, run: () => void, process = this.current): Scheduled {
    this.#count += 1
    const event: Event = {
      atMs: this.#nowMs + Math.max(0, ms),
      order: this.#count,
      process,
      run,
      cancel: () => {
        event.run = undefined
      },
    }
    push(this.#heap, event)
    return event
  }

  /** Lets time pass until `isOver`, or nothing is left to happen. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const event = pop(this.#heap)
      if (event === undefined) return
      const { run, process, atMs } = event
      if (run === undefined || !process.isAlive) continue
      this.#nowMs = atMs
      this.current = process
      try {
        run()
      } catch (error) {
        this.onUncaught(process, error)
      }
      // All promises go on, and Node's ticks.
      await new Promise((resolve) => turn(resolve))
      this.current = world
    }
  }
}

const isBefore = (one: Event, other: Event): boolean =>
  one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)

function push(heap: Event[], event: Event): void {
  let at = heap.length
  heap.push(event)
  while (at > 0) {
    const above = (at - 1) >> 1
    if (!isBefore(event, heap[above]!)) break
    heap[at] = heap[above]!
    at = above
  }
  heap[at] = event
}

function pop(heap: Event[]): Event | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (first === undefined || last === undefined || heap.length === 0) return first
  let at = 0
  for (;;) {
    let below = 2 * at + 1
    if (below >= heap.length) break
    if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below += 1
    if (!isBefore(heap[below]!, last)) break
    heap[at] = heap[below]!
    at = below
  }
  heap[at] = last
  return first
}
