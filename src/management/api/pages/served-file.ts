/**
 * A file that is served to anyone, without a key: bytes in memory, and their compressed forms, each made when it is first
 * asked for. So a request costs no more than sending it, and nothing if the client has the file.
 */
import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashBytes128 } from '../../../ground/core/ids.js'
import { getOrMake } from '../../../ground/core/maps.js'
import { acceptedCoding } from '../../exchange/accepted-forms.js'

/** Values of `Cache-Control`. */
export const forever = 'public, max-age=31536000, immutable'
export const revalidated = 'no-cache'

/** The best first. */
const codings = ['br', 'gzip'] as const
type Coding = (typeof codings)[number]

/**
 * The best form takes sixty times as long, for a tenth of the bytes: over a second for the API's document, for which the
 * page that reads it waits.
 */
const brotli: BrotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 7 } }

const compress: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)(bytes, brotli),
  gzip: promisify<Buffer, Buffer>(gzip),
}

/** They are compressed already. */
const isCompressed = /^(image\/png|font\/woff2)\b/

export interface FileForm {
  /** The value of `Content-Type`. */
  readonly type: string
  /** The value of `Cache-Control`. */
  readonly caching: string
}

export class ServedFile {
  readonly #bytes: Buffer
  readonly #form: FileForm
  readonly #etag: string
  readonly #compressed = new Map<Coding, Promise<Buffer>>()

  constructor(bytes: Buffer, form: FileForm) {
    this.#bytes = bytes
    this.#form = form
    // Weak, because the compressed forms have it, too.
    this.#etag = `W/"${hashBytes128(bytes, form.type)}"`
  }

  async answer({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { type, caching } = this.#form
    reply.headers({ 'cache-control': caching, etag: this.#etag, vary: 'Accept-Encoding' })
    if (namesTag(headers['if-none-match'], this.#etag)) return reply.code(304).send()
    reply.type(type)
    const coding = isCompressed.test(type) ? undefined : acceptedCoding(headers['accept-encoding'], codings)
    if (coding === undefined) return reply.send(this.#bytes)
    return reply
      .header('content-encoding', coding)
      .send(await getOrMake(this.#compressed, coding, () => compress[coding](this.#bytes)))
  }
}

const namesTag = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((each) => each.trim() === etag || each.trim() === '*')

type Answer = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/**
 * Answers with a file whose content is made at the first request: making all documents would cost a start some 40 ms. It
 * must be the same whenever it is made.
 */
export function servedOnce(form: FileForm, make: () => string | Promise<string>): Answer {
  let file: Promise<ServedFile> | undefined
  const made = async (): Promise<ServedFile> => new ServedFile(Buffer.from(await make()), form)
  return async (request, reply) => {
    file ??= made().catch((error: unknown) => {
      file = undefined
      throw error
    })
    return (await file).answer(request, reply)
  }
}

/** The form of a JSON document. */
export const jsonForm: FileForm = { type: 'application/json; charset=utf-8', caching: revalidated }
