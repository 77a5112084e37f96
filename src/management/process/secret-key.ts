/**
 * The key that seals secrets at rest: from the settings, or generated once and stored in the data directory. While it is being
 * rotated there are several, the one that seals first: in the file, each on a line.
 */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { readIfPresent } from '../../delivery/nats-server/files.js'
import { randomToken } from '../../ground/core/clock.js'
import { StartFault } from '../../ground/core/errors.js'
import { Sealer } from '../../ground/core/seal.js'
import type { Settings } from './settings.js'

const keyBytes = 32
const fileName = 'secret.key'

/** Where it lies unless the settings have it. */
export const secretKeyFile = (dir: string): string => join(dir, fileName)

type DataSettings = Settings['data']

/** Seals and opens with the keys of the settings, or of the file, which it reads again when it knows no key for a value. */
export const openSealer = (data: DataSettings): Sealer => new Sealer(secretKeys(data), () => secretKeys(data))

/** 32 bytes each. Throws if a stored key is unreadable or damaged: a new key could not open existing secrets. */
export function secretKeys({ dir, secretKey: configured }: DataSettings): Buffer[] {
  if (configured !== undefined) return keysIn(configured)
  const path = secretKeyFile(dir)
  const keys = keysIn(readIfPresent(path) ?? generate(dir, path))
  if (keys.some(({ length }) => length !== keyBytes)) {
    throw new StartFault(
      `${path} is damaged: each line must hold 32 bytes as base64. Restore it from a copy, or set WEIR_SECRET_KEY.`,
    )
  }
  return keys
}

const keysIn = (text: string): Buffer[] => text.split(/[,\s]+/).map((key) => Buffer.from(key, 'base64'))

/** From now on a new key seals, and those of before open. */
export const addSecretKey = (data: DataSettings): void => writeKeys(data, [randomKey(), ...secretKeys(data)])

/** Only the key that seals now is left. */
export const keepFirstSecretKey = (data: DataSettings): void => writeKeys(data, secretKeys(data).slice(0, 1))

const randomKey = (): Buffer => Buffer.from(randomToken(keyBytes), 'base64url')

/** On the disk when it returns: what a key has sealed is lost without it. */
function writeKeys({ dir }: DataSettings, keys: readonly Buffer[]): void {
  const path = join(dir, fileName)
  const text = keys.map((key) => `${key.toString('base64')}\n`).join('')
  rmSync(`${path}.new`, { force: true })
  writeFileSync(`${path}.new`, text, { mode: 0o600, flush: true })
  renameSync(`${path}.new`, path)
  const opened = openSync(dir, 'r')
  fsyncSync(opened)
  closeSync(opened)
}

/** Written to a temporary file and linked into place: if several processes start at once, one key wins. */
function generate(dir: string, path: string): string {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const aside = `${path}.${randomToken(6)}`
  const key = randomKey().toString('base64')
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
