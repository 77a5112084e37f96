/** Lines of a log, a `weir publish` that reads them, and the records that it stored. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { recordBytes } from '../../src/delivery/record/record-encoding.js'
import type { Nats } from '../../src/ground/nats/nats.js'
import { recordsStream, recordsSubjects } from './first-partition.js'
import { openStreams } from './own-streams.js'
import { runWithInput } from './processes.js'
import { tempDir } from './temp-dir.js'

export const lineOf = (n: number): string =>
  `203.0.113.${n % 250} - - [25/Nov/2026:10:00:00 +0000] "GET /${n} HTTP/1.1" 200 19 "-" "-"\n`
export const linesOf = (from: number, count: number): string =>
  Array.from({ length: count }, (_, at) => lineOf(from + at)).join('')

interface Seen {
  readonly record_id: string
  readonly conn: { readonly server_name?: string }
  readonly http: { readonly request: { readonly url: { readonly path: string } } }
}

/** All records of the stream, repeats included. */
export async function stored(nats: Nats): Promise<Seen[]> {
  const records: Seen[] = []
  for (let from = 1; ; ) {
    const message = await nats.nextMessage(recordsStream, recordsSubjects, from)
    if (message === undefined) return records
    const decoded = await recordBytes(message)
    if (!decoded.ok) throw new Error(decoded.problem.msg)
    for (const line of Buffer.from(decoded.value).toString().split('\n'))
      records.push(JSON.parse(line) as Seen)
    from = message.sequence + 1
  }
}

export async function openPublishing(t: Test) {
  const { nats, server } = await openStreams(t)
  const dir = tempDir(t)
  const start = (...args: string[]) => {
    const env = { NATS_URL: server.url, WEIR_DATA_DIR: join(dir, 'data') }
    const running = runWithInput('programs/main.js', ['publish', '--format', 'combined', ...args], env)
    t.teardown(() => running.kill())
    return running
  }
  return { nats, server, dir, start }
}
