/**
 * Secrets in files: a setting that is a secret may be set by the path of a file that holds it, as `WEIR_SECRET_KEY_FILE` instead
 * of `WEIR_SECRET_KEY`. Other users of a host, and what a process starts, can't see it there as they may see a variable.
 */

import { messageOf, StartFault } from '../../ground/core/errors.js'
import { readBounded } from '../../ground/core/files/bounded-file.js'

/** Longer than any secret; a file that was named by mistake is not read. */
const fileBytesMax = 64 * 1024

/** The variable that names the file. */
export const fileVariable = (env: string): string => `${env}_FILE`

/** An invalid setting; the message says which, where it was set and what is allowed. */
export class SettingsError extends StartFault {}

/** The secret, without the line break that editors leave at its end. `name` is where the path was set. */
export function readSecretFile(name: string, path: string): string {
  const text = readText(name, path).replace(/\r?\n$/, '')
  if (text === '') throw new SettingsError(`${name} names ${path}, which is empty.`)
  return text
}

function readText(name: string, path: string): string {
  try {
    return readBounded(path, fileBytesMax).toString()
  } catch (error) {
    throw new SettingsError(`${name} names ${path}, which can't be read: ${messageOf(error)}.`)
  }
}
