/**
 * How a command line finds the service on the same data directory: the service writes its addresses and a token there,
 * readable only by its owner, and removes them when it stops.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../nats-server/files.js'
import { processStart } from '../nats-server/process-start.mjs'

interface Runtime {
  /** Address of the management API: `http://127.0.0.1:8080`. */
  readonly apiUrl: string
  /** NATS address for ingress nodes. */
  readonly natsUrl: string
  /** Address for commands of the command line. */
  readonly adminUrl: string
  /** Authenticates the command line; new at each start. */
  readonly adminToken: string
}

interface StoredRuntime extends Runtime {
  readonly pid: number
  readonly start: string
}

const path = (dir: string): string => join(dir, 'runtime.json')

/** Written atomically: a reader never sees half of it. */
export function writeRuntime(dir: string, runtime: Runtime): void {
  const stored = { pid: process.pid, start: processStart(process.pid), ...runtime }
  // With external NATS and ClickHouse, nothing else has created the directory.
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  writeWhole(path(dir), `${JSON.stringify(stored, null, 2)}\n`)
}

/** Undefined if no service runs on this directory, also if one was killed and left its file. */
export function readRuntime(dir: string): Runtime | undefined {
  try {
    const { pid, start, ...runtime } = JSON.parse(readFileSync(path(dir), 'utf8')) as StoredRuntime
    return start !== undefined && processStart(pid) === start ? runtime : undefined
  } catch {
    return undefined
  }
}

export const removeRuntime = (dir: string): void => rmSync(path(dir), { force: true })
