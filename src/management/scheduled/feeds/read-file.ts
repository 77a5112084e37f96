/**
 * Reads a list from a file that the operator put there. Each account has a directory of its own, and no link leads out of
 * it: an account chooses the name, and must not read what is not meant for it.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { getSystemErrorMap } from 'node:util'
import { ipListBodyBytesMax } from '../../../ground/core/limits.js'
import { FeedFault } from './feed-fault.js'
import { type Fetched, tooLargeList, type Validators } from './fetched.js'

const listDirectorySetting = 'WEIR_LIST_DIRECTORY'

/** A pipe is not waited for. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

interface ListFile {
  /** The operator's; undefined if files are not allowed. */
  readonly directory: string | undefined
  readonly accountId: string
  /** Below the directory of the account. */
  readonly name: string
}

/** Rejects with a `FeedFault`. `known`: of what was read last. */
export async function readListFile(
  { directory, accountId, name }: ListFile,
  known: Validators,
): Promise<Fetched> {
  if (directory === undefined)
    throw new FeedFault(
      'files_not_allowed',
      `The operator allows no files: the setting ${listDirectorySetting} is not set.`,
    )
  try {
    const own = await realpath(join(directory, accountId))
    const path = await realpath(join(own, name))
    if (!path.startsWith(own + sep))
      throw unreadable('a link leads out of the directory of the files of the account')
    await using file = await open(path, flags)
    return await contentOf(file, known)
  } catch (error) {
    if (error instanceof FeedFault) throw error
    // Without the path, which is the operator's.
    const [, about = 'unknown error'] =
      getSystemErrorMap().get((error as NodeJS.ErrnoException).errno ?? 0) ?? []
    throw unreadable(about)
  }
}

const unreadable = (why: string): FeedFault =>
  new FeedFault('file_unreadable', `The file can't be read: ${why}.`)

async function contentOf(file: FileHandle, known: Validators): Promise<Fetched> {
  const before = await stateOf(file)
  if (before.etag === known.etag) return undefined
  if (before.bytes > ipListBodyBytesMax) throw tooLargeList()
  const buffer = Buffer.alloc(before.bytes)
  const { bytesRead } = before.bytes === 0 ? { bytesRead: 0 } : await file.read(buffer, 0, before.bytes, 0)
  if ((await stateOf(file)).etag !== before.etag || bytesRead < before.bytes)
    throw unreadable('it changed meanwhile; put it in place by renaming it')
  return { bytes: buffer, validators: { etag: before.etag, lastModified: null } }
}

/** Another file, or another content, has another `etag`. */
async function stateOf(file: FileHandle): Promise<{ readonly bytes: number; readonly etag: string }> {
  const stat = await file.stat({ bigint: true })
  if (!stat.isFile()) throw unreadable('it is no file')
  return { bytes: Number(stat.size), etag: `"${stat.ino}-${stat.size}-${stat.mtimeNs}"` }
}
