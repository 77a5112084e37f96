/**
 * Reads a log as it grows, across rotations: a file that was renamed is read to its end before the new one is begun, of one
 * that was copied and truncated, the rest is read from the copy. A **position** says how far a file was read, and recognizes
 * the file by its first bytes wherever it was moved, copied to or compressed, so nothing is missing after a restart.
 */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { monotonicMs, now, sleep } from '../../ground/core/clock.js'
import { messageOf, StartFault } from '../../ground/core/errors.js'
import { FileReader, type FollowedLine, isGzip, markOf, type Position, positionIn } from './log-file.js'
import { filesSince, type Part } from './rotated-files.js'

interface FollowOptions {
  readonly from: Position | undefined
  /** Without a position: begin at the end of the file instead of its beginning. */
  readonly fromEnd: boolean
  /** End when the file that has the name is read to its end. */
  readonly untilEnd?: boolean
  readonly signal: AbortSignal
  /** Where reading begins, without a position. */
  readonly begins: (at: Position) => void
  /** Tells an operator what happened to the file. */
  readonly note: (text: string) => void
  /** A renamed file is still written to until its writer opens the new one: it is left after so long without a byte. */
  readonly lingerMs?: number
}

const lookEveryMs = 200

/** Ends when the signal is aborted, or at the end of the file if that is asked for. */
export async function* followFile(
  path: string,
  options: FollowOptions,
): AsyncGenerator<readonly FollowedLine[]> {
  const { signal, note } = options
  let from = options.from
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const { parts, isFirstGone } =
      from === undefined ? { parts: [], isFirstGone: false } : await filesSince(path, from, note)
    // A file that was read to its end may be gone.
    if (isFirst && isFirstGone)
      note('The file that was read last is no longer there: what was written to it since is missing.')
    const last = parts.at(-1)
    const isCurrent = last !== undefined && (options.untilEnd ? last.path === path : !last.isGzip)
    for (const part of isCurrent ? parts.slice(0, -1) : parts) from = yield* rest(part, options)
    // There may be more than were opened at once.
    if (!isCurrent && parts.length > 1) continue
    const current = isCurrent ? last : await newFile(path, options, options.from === undefined && isFirst)
    if (current === undefined) return
    if (options.untilEnd) {
      yield* rest(current, { ...options, lingerMs: 0 })
      return
    }
    from = yield* followed(path, current, options)
  }
}

/** The file of this name, once it is there, from its beginning; or, at the very first, from its end if that is asked for. */
async function newFile(
  path: string,
  { signal, fromEnd, untilEnd, begins }: FollowOptions,
  isVeryFirst: boolean,
): Promise<Part | undefined> {
  const file = await opened(path, signal)
  if (file === undefined) return undefined
  const offset = fromEnd && isVeryFirst ? (await file.stat()).size : 0
  // Later, lines of the file before may not be stored yet.
  if (isVeryFirst) begins(positionIn(await markOf(file), offset))
  return { path, file, offset, isGzip: untilEnd === true && (await isGzip(file)) }
}

/** The file, once it is there. */
async function opened(path: string, signal: AbortSignal): Promise<FileHandle | undefined> {
  while (!signal.aborted) {
    try {
      const file = await open(path, 'r')
      if ((await file.stat()).isFile()) return file
      await file.close()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        await sleep(lookEveryMs, signal)
        continue
      }
      throw new StartFault(`${path} can't be read: ${(error as Error).message}`)
    }
    throw new StartFault(`${path} is not a file.`)
  }
  return undefined
}

const lingerUsualMs = 5_000

/**
 * Lines of the current file as they come. Returns how far it was read when another one has its name, or it was truncated.
 */
async function* followed(
  path: string,
  { file, offset }: Part,
  { signal, note, lingerMs = lingerUsualMs }: FollowOptions,
): AsyncGenerator<readonly FollowedLine[], Position | undefined> {
  const reader = new FileReader(file, offset, await markOf(file))
  try {
    for (let silentMs = 0; !signal.aborted; ) {
      const state = await stateOf(path, reader)
      if (state === 'truncated') {
        note(`${path} was truncated: it is read from its beginning, after what a copy has of it.`)
        return reader.position()
      }
      let isSilent = true
      for await (const lines of reader.lines(signal)) {
        isSilent = false
        yield lines
      }
      silentMs = isSilent ? silentMs + lookEveryMs : 0
      if (state === 'replaced' && silentMs > lingerMs) {
        yield* reader.unfinished()
        return reader.position()
      }
      await sleep(lookEveryMs, signal)
    }
    return undefined
  } finally {
    await reader.close()
  }
}

async function stateOf(path: string, reader: FileReader): Promise<'same' | 'truncated' | 'replaced'> {
  const own = await reader.file.stat()
  if (own.size < reader.readBytes || (await reader.hasOtherHead())) return 'truncated'
  const current = await stat(path).catch(() => undefined)
  if (current === undefined) return 'same'
  return current.ino !== own.ino || current.dev !== own.dev ? 'replaced' : 'same'
}

/** The rest of a file that was renamed. Its writer may not have noticed yet. Returns where it ends. */
async function* rest(
  { path, file, offset, isGzip }: Part,
  { signal, note, lingerMs = lingerUsualMs }: FollowOptions,
): AsyncGenerator<readonly FollowedLine[], Position> {
  const reader = new FileReader(file, offset, await markOf(file))
  try {
    if (isGzip) {
      try {
        yield* reader.inflatedLines(signal)
      } catch (error) {
        note(`${path} is damaged, and lines in it are missing: ${messageOf(error)}.`)
      }
    } else {
      // One that was left long ago is not lingered at. A clock that was set makes a file look older or newer than it is.
      const { mtimeMs } = await file.stat()
      const silentMs = Math.min(Math.max(0, now() - mtimeMs), lingerMs)
      let sinceMs = monotonicMs() - silentMs
      for (;;) {
        for await (const lines of reader.lines(signal)) {
          sinceMs = monotonicMs()
          yield lines
        }
        if (signal.aborted || monotonicMs() - sinceMs > lingerMs) break
        await sleep(lookEveryMs, signal)
      }
    }
    if (!signal.aborted) yield* reader.unfinished()
    return reader.position()
  } finally {
    await reader.close()
  }
}
