/** The bytes of a source, and the validators that came with them. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { ipListBodyBytesMax } from '../../../ground/core/limits.js'
import { sizeText } from '../../../ground/core/text/plural.js'
import { FeedFault } from './feed-fault.js'

/** By these a server knows whether it has something else now; null if it named none. */
export interface Validators {
  readonly etag: string | null
  readonly lastModified: string | null
}

export const noValidators: Validators = { etag: null, lastModified: null }

/** `undefined`: the same as when it was fetched with these validators. */
export type Fetched = { readonly bytes: Buffer; readonly validators: Validators } | undefined

export const tooLargeList = (): FeedFault =>
  new FeedFault(
    'too_large',
    `The list is too large: at most ${sizeText(ipListBodyBytesMax)} are allowed, decompressed.`,
  )

const decompressed = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)

export async function unzipped(bytes: Buffer): Promise<Buffer> {
  try {
    return await decompressed(bytes, { maxOutputLength: ipListBodyBytesMax })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLargeList()
    throw new FeedFault('invalid', 'The answer is not valid gzip, although the server says so.')
  }
}
