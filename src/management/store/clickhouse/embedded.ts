/**
 * Whether the embedded ClickHouse is installed. It weighs several times what all of Weir does, so its package is optional: who
 * has a server installs Weir without it.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** The sentence for an operator if it is not; nothing is loaded, because the engine stays in a process for good. */
export function embeddedFault(): string | undefined {
  const missing = missingPart(createRequire(import.meta.url))
  return missing === undefined
    ? undefined
    : `The embedded ClickHouse is not installed (there is no ${missing}): set CLICKHOUSE_URL to the address of a ` +
        'ClickHouse server, or install it as docs/install.md says.'
}

function missingPart(require: NodeJS.Require): string | undefined {
  const file = resolved(require, 'chdb/package.json')
  if (file === undefined) return 'package chdb'
  // Of its libraries, one for each platform, npm installs only the one that fits.
  const { optionalDependencies } = JSON.parse(readFileSync(file, 'utf8')) as { optionalDependencies: object }
  const requireOfChdb = createRequire(file)
  const isThere = Object.keys(optionalDependencies).some(
    (name) => resolved(requireOfChdb, name) !== undefined,
  )
  return isThere ? undefined : `library of the package chdb for ${process.platform}-${process.arch}`
}

function resolved(require: NodeJS.Require, name: string): string | undefined {
  try {
    return require.resolve(name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}
