/** The files that rotation made of a log: their names, their order, and which of them a position is of. */
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { messageOf } from '../../ground/core/errors.js'
import { isGzip, markOf, type Position, positionIn } from './log-file.js'

/**
 * The mark that rotation puts behind a name, or before its extension: a number or a date, which alone needs no separator.
 * Newer versions of Caddy say why they rotated. Other words are those of other logs, such as `access-api2.log`.
 */
const rotation = /^(?:[._-]|(?=\d{6}))\d[\dTWZ.:_+-]*(?:-(?:size|time|manual))?$/
/** Names of compressed files that can't be read here. */
const otherwiseCompressed = /\.(?:bz2|xz|zst|Z|lz4)$/
const gzipEnd = /\.gz$/

/** Is it a file that rotation made of this one: `access.log.1`, `access.log-20261120.gz`, `access-2026-11-20.log`? */
function isRotated(name: string, other: string): boolean {
  const plain = other.replace(gzipEnd, '').replace(otherwiseCompressed, '')
  if (plain.startsWith(name)) return rotation.test(plain.slice(name.length))
  const extension = extname(name)
  const stem = name.slice(0, name.length - extension.length)
  if (extension === '' || !plain.startsWith(stem) || !plain.endsWith(extension)) return false
  return rotation.test(plain.slice(stem.length, plain.length - extension.length))
}

interface Rotated {
  readonly path: string
  /** The file that it is a name of. */
  readonly id: string
  readonly modifiedMs: number
}

/** The digits of a date, year first, which sort as the dates do; undefined for another name. */
const dateIn = (path: string): string | undefined =>
  /(?<!\d)(?:19|20)\d\d-?[01]\d-?[0-3]\d[\dT:._-]*/.exec(basename(path))?.[0].replaceAll(/\D/g, '')

/** The number behind a name. logrotate counts up from the newest. */
const numberIn = (path: string): number => Number(/\.(\d{1,5})$/.exec(path.replace(gzipEnd, ''))?.[1] ?? -1)

/**
 * Names with dates sort by these: a program that compresses files later changes their times. Others sort by the time of
 * their last byte, which logrotate and gzip keep, and by their number if that is the same.
 */
function inOrder(files: readonly Rotated[]): Rotated[] {
  const dates = new Map(files.map(({ path }) => [path, dateIn(path)]))
  const isDated = [...dates.values()].every((date) => date !== undefined)
  const byTime = (a: Rotated, b: Rotated): number =>
    a.modifiedMs - b.modifiedMs || numberIn(b.path) - numberIn(a.path)
  if (!isDated) return files.toSorted(byTime)
  return files.toSorted((a, b) => dates.get(a.path)!.localeCompare(dates.get(b.path)!) || byTime(a, b))
}

/**
 * The rotated files, the oldest first, and the current one last. That may be a link to a file with a date (cronolog,
 * `rotatelogs -L`), which is then not read under that name as well.
 */
async function rotated(path: string): Promise<Rotated[]> {
  const [dir, name] = [dirname(path), basename(path)]
  const names = await readdir(dir)
  // While a file is compressed, there are both: the plain one is whole.
  const others = names.filter(
    (other) => isRotated(name, other) && !(gzipEnd.test(other) && names.includes(other.replace(gzipEnd, ''))),
  )
  const found = await Promise.all([...others.map((other) => stateOf(join(dir, other))), stateOf(path)])
  const current = found.pop()
  const sorted = inOrder(found.filter((each) => each !== undefined).filter(({ id }) => id !== current?.id))
  return current === undefined ? sorted : [...sorted, current]
}

async function stateOf(path: string): Promise<Rotated | undefined> {
  const state = await stat(path).catch(() => undefined)
  return state?.isFile() ? { path, id: `${state.dev}:${state.ino}`, modifiedMs: state.mtimeMs } : undefined
}

export interface Part {
  /** Its name when it was opened. */
  readonly path: string
  readonly file: FileHandle
  readonly offset: number
  readonly isGzip: boolean
}

interface FilesSince {
  /** The file of the position, those that were begun since, and the current one last. */
  readonly parts: readonly Part[]
  /** Is the file of the position, or the first part, missing? */
  readonly isFirstGone: boolean
}

/** At once: those that follow are found by the position of the last one. */
const openMax = 64

/**
 * The files with what was written after a position. If its own file is deleted, these are the ones that were written to
 * later than that was read.
 */
export async function filesSince(
  path: string,
  from: Position,
  note: (text: string) => void,
): Promise<FilesSince> {
  for (;;) {
    const all = await rotated(path)
    const readable = all.filter((each) => !otherwiseCompressed.test(each.path))
    const at = await indexOf(readable, from)
    const isLater = (each: Rotated): boolean => each.modifiedMs > (from.readMs ?? Number.POSITIVE_INFINITY)
    const chosen =
      at === -1 ? readable.filter((each) => each.path === path || isLater(each)) : readable.slice(at)
    const after = at === -1 ? isLater : (each: Rotated) => each.modifiedMs > readable[at]!.modifiedMs
    for (const each of all.filter((each) => otherwiseCompressed.test(each.path) && after(each)))
      note(`${each.path} is compressed in a form that is not read here: its lines are missing.`)
    const parts = await opened(chosen.slice(0, openMax), at === -1 ? 0 : from.offset, note)
    if (parts !== undefined) return { parts, isFirstGone: at === -1 }
    // One was renamed since the directory was read.
  }
}

/** Undefined if one is missing. */
async function opened(
  files: readonly Rotated[],
  offset: number,
  note: (text: string) => void,
): Promise<Part[] | undefined> {
  const parts: Part[] = []
  for (const [index, { path }] of files.entries())
    try {
      const file = await open(path, 'r')
      parts.push({ path, file, offset: index === 0 ? offset : 0, isGzip: await isGzip(file) })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        note(`${path} can't be read, and its lines are missing: ${messageOf(error)}.`)
        continue
      }
      await Promise.all(parts.map((part) => part.file.close()))
      return undefined
    }
  return parts
}

/** The file that the position is of: of several that begin alike, the one with its number, else the newest. */
async function indexOf(files: readonly Rotated[], from: Position): Promise<number> {
  let newest = -1
  for (let at = files.length - 1; at >= 0; at -= 1) {
    const file = await open(files[at]!.path, 'r').catch(() => undefined)
    if (file === undefined) continue
    try {
      const mark = await markOf(file)
      const { head, inode } = positionIn(mark, from.offset)
      // How long a compressed file is inside is known when it was read.
      const isLongEnough = mark.isGzip || (await file.stat()).size >= from.offset
      if (!isLongEnough || head !== from.head) continue
      if (inode === from.inode) return at
      if (from.offset > 0 && newest === -1) newest = at
    } finally {
      await file.close()
    }
  }
  return newest
}
