/** Text that is stored compressed in a JSON value: deflate (RFC 1951), in base64. */
import { promisify } from 'node:util'
import { deflateRaw, inflateRawSync } from 'node:zlib'

const deflate = promisify(deflateRaw)

export async function packText(text: string): Promise<string> {
  return (await deflate(text)).toString('base64')
}

/** The opposite of `packText`. `bytesMax`: of the text; more throws. */
export const unpackText = (packed: string, bytesMax: number): string =>
  inflateRawSync(Buffer.from(packed, 'base64'), { maxOutputLength: bytesMax }).toString('utf8')
