/** The version of Weir, from its package.json. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Searches upwards: compiled files and sources are at different depths below the package's directory. */
function packageFile(directory: string): string {
  const path = join(directory, 'package.json')
  return existsSync(path) || dirname(directory) === directory ? path : packageFile(dirname(directory))
}

export const version: string = JSON.parse(
  readFileSync(packageFile(dirname(fileURLToPath(import.meta.url))), 'utf8'),
).version
