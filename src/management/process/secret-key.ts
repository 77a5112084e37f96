/** The key that seals secrets at rest: from the settings, or generated once and stored in the data directory. */
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readIfPresent } from '../../delivery/nats-server/files.js'
import { randomToken } from '../../ground/core/clock.js'
import { StartFault } from '../../ground/core/errors.js'
import type { Settings } from './settings.js'

const keyBytes = 32
const fileName = 'secret.key'

/** Where it lies unless the settings have it. */
export const secretKeyFile = (dir: string): string => join(dir, fileName)

/** 32 bytes. Throws if the stored key is unreadable or damaged: a new key could not open existing secrets. */
export function secretKey({ dir, secretKey: configured }: Settings['data']): Buffer {
  if (configured !== undefined) return Buffer.from(configured, 'base64')
  const path = secretKeyFile(dir)
  const key = Buffer.from(readIfPresent(path) ?? generate(dir, path), 'base64')
  if (key.length !== keyBytes) {
    throw new StartFault(
      `${path} is damaged: it must hold 32 bytes as base64. Restore it from a copy, or set WEIR_SECRET_KEY.`,
    )
  }
  return key
}

/** Written to a temporary file and linked into place: if several processes start at once, one key wins. */
function generate(dir: string, path: string): string {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const aside = `${path}.${randomToken(6)}`
  const key = Buffer.from(randomToken(keyBytes), 'base64url').toString('base64')
  writeFileSync(aside, `${key}\n`, { mode: 0o600, flush: true })
  chmodSync(aside, 0o600)
  try {
    linkSync(aside, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(aside)
  }
  return readFileSync(path, 'utf8').trim()
}
