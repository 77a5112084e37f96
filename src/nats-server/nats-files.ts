/** Files in the local nats-server's directory: the record of the running server, and the port for the next start. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from './files.js'
import { processStart } from './process-start.mjs'

/** The record of a running server, used to find one left over by a killed Weir. */
export interface ServerRecord {
  readonly pid: number
  readonly start: string
  readonly port: number
}

const recordPath = (dir: string): string => join(dir, 'server.json')

export function writeServerRecord(dir: string, { pid, port }: { pid: number; port: number }): void {
  writeWhole(recordPath(dir), JSON.stringify({ pid, start: processStart(pid), port }))
}

export function readServerRecord(dir: string): ServerRecord | undefined {
  const text = readText(recordPath(dir))
  try {
    return text === undefined ? undefined : (JSON.parse(text) as ServerRecord)
  } catch {
    return undefined
  }
}

export const removeServerRecord = (dir: string): void => rmSync(recordPath(dir), { force: true })

/** A separate file, because it stays when the server is closed; the record of the process is removed. */
const portPath = (dir: string): string => join(dir, 'port')

export const writePort = (dir: string, port: number): void => writeWhole(portPath(dir), `${port}\n`)

export function readPort(dir: string): number | undefined {
  const port = Number(readText(portPath(dir)))
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
}

export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
