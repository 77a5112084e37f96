/** Bodies that a route reads itself: bytes, compressed or not. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest, WeirError } from '../../ground/core/errors.js'
import { contentCodings } from './guard.js'

/** The routes of this scope get the bodies of all content types as bytes. */
export function acceptRawBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    '*',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer) => body,
  )
}

const decompressed = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)

/** The body, decompressed if it is compressed; empty if there is none. Throws a `WeirError`. */
export async function rawBody(request: FastifyRequest, bytesMax: number): Promise<Buffer> {
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
