/** Lines that Envoy and Traefik wrote of hostile requests become the records that were compared with these requests. */
import t from 'tap'
import { formats } from '../../../src/delivery/ingest/formats.js'
import { recordOfLine } from '../../../src/delivery/ingest/lines/format.js'
import { recordedLogs } from '../../harness/recorded-lines.js'

for (const { file, format, lines } of recordedLogs())
  t.test(file, async (t) => {
    const reader = formats.find(({ name }) => name === format)!
    for (const { says, line, record } of lines) {
      const made = recordOfLine(reader, { text: line }, {}, 'r-1')
      t.same(made.ok ? JSON.parse(made.value) : made.problem, record, says)
    }
  })
