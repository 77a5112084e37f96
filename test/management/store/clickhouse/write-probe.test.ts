/** Why ClickHouse stores nothing, by what it answers to an insert. */
import { ClickHouseError } from '@clickhouse/client'
import t from 'tap'
import { faultOf, WriteProbe } from '../../../../src/management/store/clickhouse/write-probe.js'

const answered = (code: string, type: string, message: string): Error =>
  new ClickHouseError({ code, type, message })

const cases = [
  {
    name: 'too little room for a part',
    error: answered('243', 'NOT_ENOUGH_SPACE', 'Cannot reserve 1.00 MiB, not enough space'),
    want: /because its disk is full;/,
  },
  {
    name: 'no room for a file',
    error: answered(
      '76',
      'CANNOT_OPEN_FILE',
      'Cannot open file /x/data.bin: , errno: 28, strerror: No space',
    ),
    want: /because its disk is full;/,
  },
  {
    name: 'a disk that is read-only',
    error: answered(
      '1001',
      'STD_EXCEPTION',
      'filesystem error: create_directory: Read-only file system ["/x"]',
    ),
    want: /because it can only read;/,
  },
  {
    name: 'a replica without Keeper',
    error: answered('242', 'TABLE_IS_READ_ONLY', 'Table is in readonly mode'),
    want: /because it can only read;/,
  },
  {
    name: 'too many open files',
    error: answered(
      '76',
      'CANNOT_OPEN_FILE',
      'Cannot open file /x/data.bin: , errno: 24, strerror: Too many',
    ),
    want: /because it can open no more files;/,
  },
  {
    name: 'another refusal',
    error: answered('252', 'TOO_MANY_PARTS', 'Too many parts (3000)'),
    want: /because it answers TOO_MANY_PARTS;/,
  },
  {
    name: 'no answer in time',
    error: new Error('ClickHouse did not answer within 5 s.'),
    want: /because it does not confirm an insert;/,
  },
]
for (const { name, error, want } of cases)
  t.test(name, async (t) => {
    const { reason, text } = faultOf(error, false)
    t.match(reason, want)
    t.notMatch(reason, '/x', 'clients see no paths')
    t.ok(error.message.startsWith(text!), 'operators see the whole')
  })

t.test('only of the embedded one, files are open in the directory that can only be read', async (t) => {
  const error = new Error('filesystem error: in create_directories: Read-only file system ["/x"]')
  t.match(faultOf(error, true), {
    reason: /it can only read/,
    advice: /stop Weir before its disk is unmounted/,
  })
  t.equal(faultOf(error, false).advice, undefined)
  t.equal(faultOf(new Error('No space left on device'), true).advice, undefined)
})

t.test('an insert that was stored just now shows as much as a probe', async (t) => {
  let probes = 0
  const clickhouse = (isProven: boolean) => ({
    isEmbedded: false,
    hasStored: () => isProven,
    insert: async () => {
      probes += 1
      throw new Error('away')
    },
  })
  t.equal(await new WriteProbe(clickhouse(true)).fault(), undefined)
  t.equal(probes, 0)
  t.ok(await new WriteProbe(clickhouse(false)).fault())
  t.equal(probes, 2)
})

t.test('an answer that is late once shows nothing, a refusal at once', async (t) => {
  const failing = (errors: Error[]) => ({
    isEmbedded: false,
    hasStored: () => false,
    insert: async () => {
      const error = errors.shift()
      if (error !== undefined) throw error
    },
  })
  const late = new Error('ClickHouse did not answer within 5 s.')
  t.equal(await new WriteProbe(failing([late])).fault(), undefined)
  t.match(await new WriteProbe(failing([late, late])).fault(), { reason: /does not confirm/ })
  const full = answered('243', 'NOT_ENOUGH_SPACE', 'not enough space')
  t.match(await new WriteProbe(failing([full])).fault(), { reason: /disk is full/ })
})
