/** A nats-server for one test, with Weir's streams and no process of Weir. */
import type { Test } from 'tap'
import { LedgerWriter } from '../../src/delivery/books/ledger.js'
import { ensureStreams } from '../../src/delivery/wire/streams.js'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { OwnNats } from './own-nats.js'
import { tempDir } from './temp-dir.js'

const mebibyte = 1024 * 1024

interface OwnStreams {
  readonly server: OwnNats
  readonly nats: Nats
  readonly ledger: LedgerWriter
}

export async function openStreams(t: Test, partitions = 1): Promise<OwnStreams> {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  t.teardown(() => nats.close())
  await ensureStreams(nats, { storageMaxBytes: 16 * mebibyte, retentionMs: 60 * 60_000, partitions })
  const ledger = new LedgerWriter(nats, (error) => t.comment(String(error)))
  t.teardown(() => ledger.close())
  return { server, nats, ledger }
}
