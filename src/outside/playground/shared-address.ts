/**
 * A link that carries policies and a connection. Both are behind the `#` of the address, which browsers never send to a
 * server; compressed if the browser can. A link comes from anyone: it is bounded, and all that it has are texts for fields.
 */

import { isObject } from '../../ground/core/json-object.js'
import { questionTypes } from '../console/data/decisions/question.js'
import type { Connection } from './asked-connection.js'

interface Shared {
  readonly policies: string
  readonly connection: Connection
}

/** Mail and chat programs cut longer ones. */
const fragmentCharsMax = 64 * 1024
/** A short text that is decompressed can be as large as memory. */
const textBytesMax = 512 * 1024
const fieldCharsMax = 2_000
const moreCharsMax = 16 * 1024

const tooLong = `A link has at most ${fragmentCharsMax} characters.`
const broken = 'The link is incomplete, or none of this page.'

/** The fragment of a link, which follows the `#`; undefined if it would be too long. */
export async function fragmentOf({ policies, connection }: Shared): Promise<string | undefined> {
  const bytes = new TextEncoder().encode(JSON.stringify([policies, connection]))
  if (bytes.length > textBytesMax) return undefined
  const fragment = canCompress()
    ? `d1=${base64Of(await through(bytes, new CompressionStream('deflate-raw'), textBytesMax))}`
    : `j1=${base64Of(bytes)}`
  return fragment.length > fragmentCharsMax ? undefined : fragment
}

/** Throws an error that says what is wrong with it. */
export async function sharedIn(fragment: string): Promise<Shared> {
  if (fragment.length > fragmentCharsMax) throw new Error(tooLong)
  const [, form, text = ''] = /^([dj])1=([\w-]+)$/.exec(fragment) ?? []
  if (form === undefined) throw new Error(broken)
  if (form === 'd' && !canCompress()) throw new Error('This browser cannot read compressed links.')
  return sharedOf(parsed(await textOf(text, form === 'd')))
}

const canCompress = (): boolean => 'CompressionStream' in globalThis

async function textOf(base64: string, isCompressed: boolean): Promise<string> {
  try {
    const packed = bytesOf(base64)
    const bytes = isCompressed
      ? await through(packed, new DecompressionStream('deflate-raw'), textBytesMax)
      : packed
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw error instanceof TooLarge ? error : new Error(broken)
  }
}

class TooLarge extends Error {}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: BlobPart[] = []
  let length = 0
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    length += read.value.length
    chunks.push(read.value)
    if (length <= bytesMax) continue
    await reader.cancel()
    throw new TooLarge(`What a link carries has at most ${bytesMax} bytes.`)
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}

function base64Of(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64.replaceAll('-', '+').replaceAll('_', '/')), (each) => each.charCodeAt(0))

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(broken)
  }
}

function sharedOf(value: unknown): Shared {
  const [policies, connection] = Array.isArray(value) ? value : []
  if (typeof policies !== 'string' || !isObject(connection)) throw new Error(broken)
  const field = (name: keyof Connection, charsMax = fieldCharsMax): string => {
    const given = Object.hasOwn(connection, name) ? connection[name] : ''
    if (typeof given !== 'string' || given.length > charsMax) throw new Error(broken)
    return given
  }
  const type = questionTypes.find(([each]) => each === field('type'))?.[0]
  if (type === undefined) throw new Error(broken)
  return {
    policies,
    connection: {
      type,
      client: field('client'),
      endpoint: field('endpoint'),
      method: field('method'),
      path: field('path'),
      country: field('country'),
      asn: field('asn'),
      more: field('more', moreCharsMax),
    },
  }
}
