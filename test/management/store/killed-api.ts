/** An API that is killed at every point of a write. */
import type { Test } from 'tap'
import type { Caller } from '../../harness/caller.js'
import { startNatsProxy } from '../../harness/nats-proxy.js'
import type { StoreFixture } from '../../harness/store-fixture.js'

interface Victim {
  readonly client: Caller
  /** The point at which it is killed. */
  readonly point: string
}

/**
 * A kill after a write is a kill before the next one, except that the process has not seen the answer. So every run
 * takes one side, and `--full` takes both.
 */
const sides: readonly ('before' | 'after')[] = process.argv.includes('--full')
  ? ['before', 'after']
  : ['after']

/**
 * An API that is killed at each write of its requests; the last one of each side survives. `step`: the distance from one
 * write to the next; `--full` takes each.
 */
export async function* killedAtEachWrite(
  t: Test,
  fixture: StoreFixture,
  step: number,
): AsyncGenerator<Victim> {
  const distance = process.argv.includes('--full') ? 1 : step
  const proxy = await startNatsProxy(fixture.natsUrl)
  t.teardown(() => proxy.close())
  for (const side of sides) {
    // A quick request can be over before the process is killed after its last write: that it was met counts.
    let isMet = true
    for (let write = 1; isMet; write += distance) {
      const victim = await fixture.startApi('victim', { NATS_URL: proxy.url })
      proxy.cut({
        write,
        after: side === 'after',
        meet: () => victim.process.child.kill('SIGKILL'),
      })
      yield { client: victim.client, point: `${side} write ${write}` }
      isMet = !proxy.isCutAhead
      await victim.process.kill()
    }
  }
}
