/** A log that is followed, as `weir publish --file` does. */
import { followFile } from '../../src/delivery/ingest/followed-file.js'
import type { Position } from '../../src/delivery/ingest/log-file.js'

/** Reads until it is stopped; the position is that after the last line. */
export function reading(path: string, from?: Position, fromEnd = false) {
  const stop = new AbortController()
  const lines: string[] = []
  const notes: string[] = []
  let last = from
  let hasBegun = false
  const options = {
    from,
    fromEnd,
    signal: stop.signal,
    lingerMs: 400,
    note: (text: string) => void notes.push(text),
    begins: (at: Position) => {
      last = at
      hasBegun = true
    },
  }
  const ended = (async () => {
    for await (const list of followFile(path, options))
      for (const line of list) {
        lines.push(line.text)
        last = line.position()
      }
  })()
  const end = async (): Promise<Position | undefined> => {
    stop.abort()
    await ended
    return last
  }
  return { lines, notes, end, hasBegun: () => hasBegun }
}
