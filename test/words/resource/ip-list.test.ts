/** How many IP lists an account may have. */
import t from 'tap'
import { ipListsPerAccountMax } from '../../../src/ground/core/limits.js'
import { ipList } from '../../../src/words/resource/ip-list.js'
import type { Lookups } from '../../../src/words/resource/kind/define.js'

const row = { id: 'ipl_new', name: 'new' } as never
const lookupsWith = (count: number) =>
  ({
    all: () => Array.from({ length: count }, (_, index) => ({ id: `ipl_${index}`, name: `list-${index}` })),
  }) as unknown as Lookups

t.test('an account has no more lists than are allowed, and may go on to change them', async (t) => {
  t.doesNotThrow(() => ipList.check?.(row, undefined, lookupsWith(ipListsPerAccountMax - 1)))
  t.throws(() => ipList.check?.(row, undefined, lookupsWith(ipListsPerAccountMax)), /at most 200/)
  t.doesNotThrow(() => ipList.check?.(row, row, lookupsWith(ipListsPerAccountMax)))
})
