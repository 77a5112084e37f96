/** The configuration of the local nats-server, and the names of its files. */
import { join } from 'node:path'
import { randomToken } from '../../ground/core/clock.js'
import { readText, writeWhole } from './files.js'
import { systemAccount, type systemAccountOf } from './store-watch.js'

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
 * for each start, to distinguish the server from any other on its port. A running server must keep it.
 */
export function writeConfig(
  dir: string,
  port: number,
  { storageMaxBytes, moreBytes = 0, syncsAlways }: ServerStorage,
  accounts: object,
  name = `weir-${randomToken(9)}`,
): void {
  const config = {
    server_name: name,
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
  writeWhole(configPath(dir), `${JSON.stringify(config, null, 2)}\n`)
}

/** What this file reads again of it. */
interface Written {
  readonly server_name?: string
  readonly port?: number
  readonly accounts?: Readonly<Record<string, ReturnType<typeof systemAccountOf>>>
}

const readConfig = (dir: string): Written => JSON.parse(readText(configPath(dir)) ?? '{}')

export const serverName = (dir: string): string | undefined => readConfig(dir).server_name

/** The address of the running server for the user that may ask about all connections. */
export function systemUrl(dir: string): string | undefined {
  const { accounts = {}, port } = readConfig(dir)
  const [system] = accounts[systemAccount]?.users ?? []
  return system && `nats://${system.user}:${system.password}@127.0.0.1:${port}`
}
