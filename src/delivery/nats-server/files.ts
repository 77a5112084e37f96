/**
 * Small files of the data directory, which hold secrets or tell another process where this one is: also the record of the
 * running nats-server, and its port for the next start.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processStart } from './process-start.mjs'

/** Writes atomically, by rename; only the owner can read the file. */
export function writeWhole(path: string, text: string): void {
  rmSync(`${path}.new`, { force: true })
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** The text without space around it; undefined if there is no such file. */
export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

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
