/** Buffers of large messages that were read are freed, although V8 would leave them for long. */
import { memoryUsage } from 'node:process'
import t from 'tap'
import { collectGarbage } from '../../../src/ground/core/collect-garbage.js'
import { ReleasedBuffers } from '../../../src/ground/core/released-buffers.js'
import { until } from '../../harness/weir.js'

const messageBytes = 256 * 1024
const messages = 40

/** Not in the tests themselves: a function that runs keeps what it has made. */
function readMessages(read: (bytes: number) => void): void {
  for (let message = 0; message < messages; message += 1) read(new Uint8Array(messageBytes).length)
}

t.test('messages that are read one after the other', async (t) => {
  collectGarbage('all')
  const before = memoryUsage().arrayBuffers
  const released = new ReleasedBuffers()
  for (let round = 0; round < 4; round += 1) readMessages((bytes) => released.add(bytes))
  const kept = memoryUsage().arrayBuffers - before
  t.ok(kept < 2 * messages * messageBytes, `${kept} bytes are kept of ${4 * messages * messageBytes}`)
})

t.test('all garbage', async () => {
  collectGarbage('all')
  const before = memoryUsage().arrayBuffers
  readMessages(() => {})
  collectGarbage('all')
  // V8 frees the buffers themselves in another thread, which a busy machine runs later.
  await until('fewer buffers', () => memoryUsage().arrayBuffers - before < messages * messageBytes)
})
