/** The configuration of the local nats-server, and the names of its files. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomToken } from '../../ground/core/clock.js'
import { readText } from './files.js'
import { systemAccount } from './store-watch.js'

/** Capacity of the store in full streams; it also covers the small streams and buckets. */
const streamsOfFullSizeMax = 10
/** After this long, a slow client is disconnected. Long, because a busy machine must not look like a dead client. */
const writeDeadline = '60s'
const logFileBytesMax = 16 * 1024 * 1024

export interface ServerStorage {
  /** The limit of each stream: the server's total must hold several. */
  readonly storageMaxBytes: number
  /** Room for streams that have a lower limit, but may not share in that of others. Default: none. */
  readonly moreBytes?: number
  /** Sync every write to the disk before it is acknowledged; default: every two minutes. */
  readonly syncsAlways?: boolean
}

export const configPath = (dir: string): string => join(dir, 'server.conf')
export const logPath = (dir: string): string => join(dir, 'server.log')
/** Where it stores. */
export const storePath = (dir: string): string => join(dir, 'store')

/**
 * Passwords are in this file, so that they are never on a command line. The server also reads JSON. The name is unique
 * for each start, to distinguish the server from any other on its port.
 */
export function writeConfig(
  dir: string,
  port: number,
  { storageMaxBytes, moreBytes = 0, syncsAlways }: ServerStorage,
  accounts: object,
): void {
  const config = {
    server_name: `weir-${randomToken(9)}`,
    host: '127.0.0.1',
    port,
    max_payload: 1024 * 1024,
    write_deadline: writeDeadline,
    log_file: logPath(dir),
    logfile_size_limit: logFileBytesMax,
    jetstream: {
      store_dir: storePath(dir),
      max_file_store: storageMaxBytes * streamsOfFullSizeMax + moreBytes,
      ...(syncsAlways && { sync_interval: 'always' }),
    },
    system_account: systemAccount,
    accounts,
  }
  writeFileSync(configPath(dir), `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
}

export const serverName = (dir: string): unknown => JSON.parse(readText(configPath(dir)) ?? '{}').server_name
