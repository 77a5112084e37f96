/** The head of an account as text: what is left out if it would not fit a message, and when a change is refused. */
import t from 'tap'
import { type Change, emptyChange, type Head } from '../../../src/management/store/change/change.js'
import { decodeHead, encodeHead } from '../../../src/management/store/change/head-text.js'
import { policyRow } from './states.js'

const kind = 'ip_policy'
const row = { ...policyRow('ipp_1'), description: 'x'.repeat(1_000) }
const bytesMax = 1_000

const headWith = (change: Partial<Change>): Head => ({
  version: 8,
  change: { ...emptyChange, id: 'chg_1', at: 1_000, counts: {}, stored: 8, ...change },
  recent: ['chg_0', 'chg_1'],
})

const coded = (head: Head): Head => decodeHead(Buffer.from(encodeHead(head, bytesMax)))

t.test('heads that fit are stored whole', async (t) => {
  const cases: { name: string; head: Head }[] = [
    { name: 'a finished change', head: { version: 8, change: null, recent: ['chg_1'] } },
    { name: 'an empty change', head: headWith({}) },
    { name: 'a small put', head: headWith({ puts: [{ kind, row: policyRow('ipp_1'), isNew: true }] }) },
    {
      name: 'the last row of a small removal',
      head: headWith({ removals: [{ kind, id: 'ipp_1', row: policyRow('ipp_1') }] }),
    },
  ]
  for (const { name, head } of cases) t.strictSame(coded(head), head, name)
})

t.test('removed rows that do not fit are left to ClickHouse', async (t) => {
  const small = { kind, id: 'ipp_2', row: policyRow('ipp_2') }
  const head = headWith({ removals: [{ kind, id: 'ipp_1', row }, small] })
  const removals = [
    { kind, id: 'ipp_1', row: null },
    { ...small, row: null },
  ]
  t.strictSame(coded(head), headWith({ removals }), 'all of them, and nothing else')
})

t.test('a change that does not fit is refused, because its rows are stored nowhere else yet', async (t) => {
  const put = { kind, row, isNew: true }
  t.throws(() => encodeHead(headWith({ puts: [put] }), bytesMax), {
    code: 'ERR_INVALID_REQUEST',
    message: /^The change has \d+ bytes: at most 1000 are allowed\./,
  })
  t.throws(() => encodeHead(headWith({ puts: [put], removals: [{ kind, id: 'ipp_1', row }] }), bytesMax))
})

t.test('the limit counts bytes, not characters', async (t) => {
  const half = { ...policyRow('ipp_1'), description: 'ü'.repeat(400) }
  const head = headWith({ puts: [{ kind, row: half, isNew: true }] })
  t.ok(JSON.stringify(head).length <= bytesMax)
  t.throws(() => encodeHead(head, bytesMax))
})
