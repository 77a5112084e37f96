/** A child process that some records crash. */
import { tryRecords } from '../../../src/judging/pipeline/quarantine-child.js'

await tryRecords((record) => {
  const text = Buffer.from(record).toString()
  if (text.includes('kills')) process.kill(process.pid, 'SIGKILL')
  if (text.includes('exits')) process.exit(3)
  if (text.includes('throws')) throw new Error('A defect.')
  while (text.includes('hangs'));
})
