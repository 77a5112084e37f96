/** What the operations that publish records have in common: bodies that may be compressed. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { badRequest, WeirError } from '../../core/errors.js'
import { contentCodings } from '../../http/guard.js'

/** As it is sent. Log lines are compressed to a tenth. */
export const publishedBodyBytesMax = 4 * 1024 * 1024

export const ingestTag = {
  name: 'ingest',
  description: 'Records of connections and requests, for those who do not publish them to NATS.',
}

const decompressed = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)

/** The body, decompressed if it is compressed. Throws a `WeirError`. */
export async function publishedBody(request: FastifyRequest, bytesMax: number): Promise<Buffer> {
  const body = (request.body ?? Buffer.alloc(0)) as Buffer
  const isCompressed = contentCodings(request).length > 0
  if (!isCompressed && body.length <= bytesMax) return body
  if (!isCompressed) throw tooLarge(bytesMax)
  try {
    return await decompressed(body, { maxOutputLength: bytesMax })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(bytesMax)
    throw badRequest('The body is not valid gzip.')
  }
}

const tooLarge = (bytesMax: number): WeirError =>
  new WeirError(
    'ERR_BODY_TOO_LARGE',
    `The body is too large: at most ${bytesMax} bytes are allowed, decompressed.`,
  )
