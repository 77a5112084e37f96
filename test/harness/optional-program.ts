/**
 * Programs that tests use if they are there: on the path, below `~/.cache/weir`, or where a variable of the environment
 * says.
 */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

/** Undefined if it is not there. `ENVOY_PROGRAM=/opt/envoy` names the file itself. */
export function optionalProgram(name: string, cached: string): string | undefined {
  const named = process.env[`${name.toUpperCase()}_PROGRAM`]
  const places = (process.env['PATH'] ?? '').split(delimiter).map((dir) => join(dir, name))
  const paths = [...(named === undefined ? [] : [named]), ...places, join(homedir(), '.cache/weir', cached)]
  return paths.find((path) => existsSync(path))
}
