/**
 * Stack traces that name the lines of Weir's sources. Node would read the source map of each module when it is loaded, which
 * costs every command more than its work does; here, those of an error are read when its stack is looked at.
 */
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** By file; undefined if it has no map. */
const maps = new Map<string, SourceMap | undefined>()

/** Leaves stack traces alone if Node maps them itself. */
export function showSources(): void {
  if (process.sourceMapsEnabled) return
  Error.prepareStackTrace = (error, frames) =>
    [headOf(error), ...frames.map((frame) => `    at ${textOf(frame)}`)].join('\n')
}

/** An error may be anything, also one whose name or message throws. */
function headOf(error: Error): string {
  try {
    return String(error)
  } catch {
    return 'Error'
  }
}

function textOf(frame: NodeJS.CallSite): string {
  const text = String(frame)
  const url = frame.getFileName()
  const line = frame.getLineNumber()
  const column = frame.getColumnNumber()
  if (!url?.startsWith('file:') || line === null || column === null) return text
  const entry = mapOf(fileURLToPath(url))?.findEntry(line - 1, column - 1)
  if (entry === undefined || !('originalSource' in entry)) return text
  const source = resolve(dirname(fileURLToPath(url)), entry.originalSource)
  return text.replace(
    `${url}:${line}:${column}`,
    `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`,
  )
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(`${file}.map`))
  return maps.get(file)
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    // Without its map, a stack names the lines of what runs.
    return undefined
  }
}
